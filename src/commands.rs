//! The commands: arguments → library → terminal.
//!
//! Owns everything that is printed. Data goes to stdout, progress and remarks
//! to stderr.

mod changes;
mod configurations;
mod demo;
mod embedder;
mod eval;
mod index;
mod install;
mod live;
mod login;
mod models;
mod progress;
mod route;
mod serve;
mod sources;
mod summaries;
mod terminal;
mod trust;
mod watcher;

use crate::cli::Cli;
use crate::cli::Command;
use crate::cli::PrecisionArg;
use crate::cli::RankingArg;
use crate::config::Config;
use crate::router::Method;
use crate::upstream;
use crate::vectors::Precision;

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
        Command::Sources(command) => sources::run(&config, &command)?,
        Command::Install(arguments) => install::install(&config, &arguments)?,
        Command::Uninstall(arguments) => install::uninstall(&config, &arguments)?,
        Command::Route(arguments) => return route::run(&config, &arguments),
        Command::Serve(arguments) => serve::run(&config, &arguments)?,
        Command::Login(arguments) => login::run(&config, &arguments)?,
        Command::Logout(arguments) => login::forget(&config, &arguments)?,
        Command::Eval(command) => eval::run(&config, &command)?,
        Command::Guard => upstream::keep_watch(std::io::stdin().lock()),
    }
    Ok(Outcome::Done)
}

impl From<RankingArg> for Method {
    fn from(ranking: RankingArg) -> Self {
        match ranking {
            RankingArg::Scout => Self::SCOUT,
            RankingArg::McpZero => Self::MCP_ZERO,
        }
    }
}

impl From<PrecisionArg> for Precision {
    fn from(precision: PrecisionArg) -> Self {
        match precision {
            PrecisionArg::F32 => Self::F32,
            PrecisionArg::F16 => Self::F16,
            PrecisionArg::Int8 => Self::Int8,
        }
    }
}

/// Prints an error and its causes to stderr.
pub fn print_error(error: &anyhow::Error) {
    let bold = anstyle::AnsiColor::Red.on_default().bold();
    terminal::say(&format!("{bold}error{bold:#}: {error:#}"));
}
