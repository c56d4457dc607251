//! Logs: on stderr only, because stdout belongs to data and to the protocol.

use std::io::IsTerminal;

use anyhow::Context;
use tracing_subscriber::EnvFilter;

/// Starts logging at `level`, which may be a full filter (`toolscout=debug`).
///
/// # Errors
/// Fails on a filter that does not parse.
pub fn start(level: &str) -> anyhow::Result<()> {
    // rmcp warns of every mistake of a client, which gets an answer anyway.
    let directives = if level == "warn" { "warn,rmcp=error" } else { level };
    let filter = EnvFilter::try_new(directives)
        .with_context(|| format!("`--log {level}` is no level; use error, warn, info or debug"))?;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false)
        .try_init()
        .map_err(|error| anyhow::anyhow!("logging cannot start: {error}"))
}
