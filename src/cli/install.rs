//! `toolscout install …` and `toolscout uninstall …`

use std::path::PathBuf;

use clap::Args;

/// `toolscout install …`
#[derive(Args, Debug)]
pub struct Install {
    /// Which client, and where.
    #[command(flatten)]
    pub place: ClientPlace,
    /// Name of the entry
    #[arg(long, default_value = "toolscout", value_name = "NAME")]
    pub name: String,
    /// Move the other servers of the file behind toolscout
    #[arg(long)]
    pub take_over: bool,
}

/// `toolscout uninstall …`
#[derive(Args, Debug)]
pub struct Uninstall {
    /// Which client, and where.
    #[command(flatten)]
    pub place: ClientPlace,
}

/// A configuration, and whether it is touched.
#[derive(Args, Debug)]
pub struct ClientPlace {
    /// claude-code, claude-desktop, codex, cursor, gemini, kiro, opencode, vscode, windsurf, zed;
    /// `other` for a file with `mcpServers`
    #[arg(long, value_name = "NAME")]
    pub client: String,
    /// Its configuration [default: the one that holds in every project]
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Say what would be done; write nothing
    #[arg(long)]
    pub dry_run: bool,
}
