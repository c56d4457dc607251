//! Which hosts may be sent a key without being asked for again.
//!
//! An index names the host of its remote model and the variable with the key.
//! One that a stranger made could name any host and any variable; so a key
//! goes only where an index was built from here, or where the user says so.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, bail};

use crate::cli::EmbedPlace;
use crate::config::Config;
use crate::embed::RemoteModel;

/// Remembers that the user named this host and this variable himself.
pub(super) fn remember(config: &Config, remote: &RemoteModel) -> anyhow::Result<()> {
    let Some(line) = line(remote) else { return Ok(()) };
    if known(config)?.contains(&line) {
        return Ok(());
    }
    let path = path(config);
    fs_err::create_dir_all(&config.cache)?;
    let mut file = fs_err::OpenOptions::new().create(true).append(true).open(path)?;
    writeln!(file, "{line}").context("cannot remember the host of the remote model")
}

/// Fails where an index asks for a key that nobody here has granted its host.
pub(super) fn require(
    config: &Config,
    remote: &RemoteModel,
    place: &EmbedPlace,
) -> anyhow::Result<()> {
    let Some(line) = line(remote) else { return Ok(()) };
    if place.embed_key_env.is_some() || known(config)?.contains(&line) {
        return Ok(());
    }
    let (url, variable) = (&remote.base_url, remote.key_env.as_deref().unwrap_or_default());
    bail!(
        "the index asks to send the key in `{variable}` to `{url}`, and no index was built from there on this machine; if you trust it, add `--embed-key-env {variable}`"
    );
}

/// The same for the model that summarises, which is named anew by a build alone.
pub(super) fn require_summarizer(config: &Config, remote: &RemoteModel) -> anyhow::Result<()> {
    let Some(line) = line(remote) else { return Ok(()) };
    if known(config)?.contains(&line) {
        return Ok(());
    }
    let (url, variable) = (&remote.base_url, remote.key_env.as_deref().unwrap_or_default());
    bail!(
        "the index asks to send the key in `{variable}` to `{url}` for summaries, and no index was built from there on this machine; if you trust it, build it again with `--summarize {url}`"
    );
}

/// `None` for a place that needs no key.
fn line(remote: &RemoteModel) -> Option<String> {
    Some(format!("{} {}", remote.key_env.as_deref()?, remote.base_url))
}

fn path(config: &Config) -> PathBuf {
    config.cache.join("trusted-hosts")
}

fn known(config: &Config) -> anyhow::Result<Vec<String>> {
    match fs_err::read_to_string(path(config)) {
        Ok(text) => Ok(text.lines().map(str::to_owned).collect()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}
