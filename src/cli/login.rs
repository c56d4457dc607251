//! `toolscout login …` and `toolscout logout …`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::index::duration;

/// `toolscout login …`
#[derive(Args, Clone, Debug)]
pub struct Login {
    /// Which server.
    #[command(flatten)]
    pub who: LoginServer,
    /// Only print the address to open
    #[arg(long)]
    pub no_browser: bool,
    /// How long to wait for the answer of the browser
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration)]
    pub timeout: Duration,
    /// Let the server name an authorization server in a private network
    #[arg(long)]
    pub allow_private: bool,
}

/// A server that can be logged in to.
#[derive(Args, Clone, Debug)]
pub struct LoginServer {
    /// Name of an HTTP server in a client configuration
    pub server: String,
    /// Client configurations to look in [default: those the index was built from]
    #[arg(long, num_args = 1.., value_name = "FILE")]
    pub config: Vec<PathBuf>,
}
