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
    /// Tokens of servers that somebody has logged in to.
    pub tokens: PathBuf,
    /// Public data sets.
    pub data: PathBuf,
    /// What was done to the configurations of clients.
    pub clients: PathBuf,
    /// The index directory, where someone has named it.
    pub given_index: Option<PathBuf>,
    /// `TOOLSCOUT_HOME`, where it is set.
    pub given_home: Option<PathBuf>,
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
        let given_home = given_home();
        let home = given_home.clone().map_or_else(data_folder, Ok)?;
        Ok(Self {
            index: global.index.clone().unwrap_or_else(|| home.join("index").join("default")),
            sample_index: home.join("index").join("sample"),
            cache: home.join("index").join("cache"),
            models: home.join("models"),
            tokens: home.join("tokens"),
            data: home.join("eval").join("data"),
            clients: home.join("clients"),
            given_index: global.index.clone(),
            given_home,
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

/// Whether an environment variable is set; what it holds stays where it is.
#[must_use]
pub fn is_set(variable: &str) -> bool {
    #[expect(clippy::disallowed_methods, reason = "this file is where the environment is read")]
    let given = std::env::var_os(variable);
    given.is_some()
}

/// The environment as it is now; variables that are no text are left out.
#[must_use]
pub fn environment() -> Vec<(String, String)> {
    let all = std::env::vars_os();
    all.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// Where programs keep their settings on this machine.
#[derive(Clone, Debug)]
pub struct UserFolders {
    /// The home folder.
    pub home: PathBuf,
    /// Settings of programs: `.config`, `Application Support`, `AppData`.
    pub settings: PathBuf,
    /// The working directory, in which a project may have its own.
    pub project: PathBuf,
}

impl UserFolders {
    /// Finds them, as the system does.
    ///
    /// # Errors
    /// Fails for a user without a home folder.
    pub fn find() -> anyhow::Result<Self> {
        let folders = directories::BaseDirs::new()
            .context("no home folder found; name the files with `--from`")?;
        let project = std::env::current_dir().context("the working directory is gone")?;
        let (home, settings) = (folders.home_dir().to_owned(), folders.config_dir().to_owned());
        Ok(Self { home, settings, project })
    }
}

fn given_home() -> Option<PathBuf> {
    #[expect(clippy::disallowed_methods, reason = "this file is where the environment is read")]
    let given = std::env::var_os("TOOLSCOUT_HOME");
    given.filter(|home| !home.is_empty()).map(PathBuf::from)
}

fn data_folder() -> anyhow::Result<PathBuf> {
    directories::ProjectDirs::from("", "", "toolscout")
        .map(|dirs| dirs.data_dir().to_owned())
        .context("no home directory found; set TOOLSCOUT_HOME to a folder for indexes and models")
}
