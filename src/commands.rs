//! The commands: arguments → library → terminal.
//!
//! Owns everything that is printed. Data goes to stdout, progress and remarks
//! to stderr.

mod demo;
mod index;
mod models;
mod progress;
mod route;
mod serve;
mod terminal;

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;

use crate::cli::Cli;
use crate::cli::Command;
use crate::cli::RankingArg;
use crate::config::Config;
use crate::embed::CachedEmbedder;
use crate::embed::Embedder;
use crate::embed::OnnxEmbedder;
use crate::embed::StandInEmbedder;
use crate::models as model_room;
use crate::router::RankingMode;

/// How a command ended well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Exit code 0.
    Done,
    /// Exit code 3: the request was answered, but nothing matched.
    NothingMatched,
}

/// Runs the command of `cli`.
///
/// # Errors
/// Anything that keeps it from its result, with the cure where one is known.
pub fn run(cli: Cli) -> anyhow::Result<Outcome> {
    let config = Config::load(&cli.global)?;
    match cli.command {
        Command::Demo => demo::run(&config)?,
        Command::Models(command) => models::run(&config, command)?,
        Command::Index(command) => index::run(&config, command)?,
        Command::Route(arguments) => return route::run(&config, &arguments),
        Command::Serve(arguments) => serve::run(&config, &arguments)?,
    }
    Ok(Outcome::Done)
}

/// The embedder called `name`, with the cache before it.
fn load_embedder(config: &Config, name: &str) -> anyhow::Result<Arc<dyn Embedder>> {
    load_embedder_from(&config.models, &config.cache, name)
}

fn load_embedder_from(
    models: &Path,
    cache: &Path,
    name: &str,
) -> anyhow::Result<Arc<dyn Embedder>> {
    if name == StandInEmbedder::NAME {
        return Ok(Arc::new(CachedEmbedder::new(StandInEmbedder::default(), cache)));
    }
    let store = model_room::ModelStore::new(models);
    let model = model_room::find(name)?;
    let embedder =
        OnnxEmbedder::load(&store, model).with_context(|| format!("cannot load model `{name}`"))?;
    Ok(Arc::new(CachedEmbedder::new(embedder, cache)))
}

impl From<RankingArg> for RankingMode {
    fn from(ranking: RankingArg) -> Self {
        match ranking {
            RankingArg::Scout => Self::Scout,
            RankingArg::McpZero => Self::McpZero,
        }
    }
}

/// Prints an error and its causes to stderr.
pub fn print_error(error: &anyhow::Error) {
    let bold = anstyle::AnsiColor::Red.on_default().bold();
    terminal::say(&format!("{bold}error{bold:#}: {error:#}"));
}
