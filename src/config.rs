//! Where things are: command line > environment > default, merged once.
//!
//! The only file that reads the environment.

use std::path::PathBuf;

use anyhow::Context;

use crate::cli::Global;
use crate::secret::Secret;

/// Validated settings, passed down by reference.
#[derive(Clone, Debug)]
pub struct Config {
    /// Index directory.
    pub index: PathBuf,
    /// Index of the bundled sample, for `demo` only.
    pub sample_index: PathBuf,
    /// Embedding cache, shared by every command.
    pub cache: PathBuf,
    /// Models and runtime.
    pub models: PathBuf,
    /// Public data sets.
    pub data: PathBuf,
    /// No progress, no remarks.
    pub quiet: bool,
    /// Data as JSON.
    pub json: bool,
}

impl Config {
    /// Merges flags, environment and defaults.
    ///
    /// # Errors
    /// Fails when there is neither `TOOLSCOUT_HOME` nor a data directory.
    pub fn load(global: &Global) -> anyhow::Result<Self> {
        let home = home()?;
        Ok(Self {
            index: global.index.clone().unwrap_or_else(|| home.join("index").join("default")),
            sample_index: home.join("index").join("sample"),
            cache: home.join("index").join("cache"),
            models: home.join("models"),
            data: home.join("eval").join("data"),
            quiet: global.quiet,
            json: global.json,
        })
    }
}

/// The content of an environment variable that holds a key; `None` if there is none.
#[must_use]
pub fn secret(variable: &str) -> Option<Secret> {
    #[expect(clippy::disallowed_methods, reason = "this file is where the environment is read")]
    let given = std::env::var_os(variable)?;
    Secret::new(&given.to_string_lossy())
}

fn home() -> anyhow::Result<PathBuf> {
    #[expect(clippy::disallowed_methods, reason = "this file is where the environment is read")]
    let given = std::env::var_os("TOOLSCOUT_HOME").filter(|home| !home.is_empty());
    if let Some(home) = given {
        return Ok(PathBuf::from(home));
    }
    directories::ProjectDirs::from("", "", "toolscout")
        .map(|dirs| dirs.data_dir().to_owned())
        .context("no home directory found; set TOOLSCOUT_HOME to a folder for indexes and models")
}
