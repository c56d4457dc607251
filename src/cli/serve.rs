//! `toolscout serve …`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::EmbedPlace;
use super::RankingArg;
use super::index::duration;
use super::index::patience;
use super::probability;

/// `toolscout serve …`
#[derive(Args, Clone, Debug)]
pub struct Serve {
    /// Client configurations whose servers can be called [default: those the index was built from]; without an index it is built from them
    #[arg(long, num_args = 1.., value_name = "FILE")]
    pub config: Vec<PathBuf>,
    /// Serve streamable HTTP at this address instead of stdio, such as 127.0.0.1:8642
    #[arg(long, value_name = "ADDR")]
    pub http: Option<SocketAddr>,
    /// Who may use HTTP.
    #[command(flatten)]
    pub door: DoorArgs,
    /// Which algorithm
    #[arg(long, value_enum, default_value_t = RankingArg::Scout, value_name = "NAME")]
    pub ranking: RankingArg,
    /// Confidence under which the answer is "no tool fits", 0 to 1 [default: that of the calibration]
    #[arg(long, value_name = "P", value_parser = probability)]
    pub floor: Option<f32>,
    /// Also list what was found as tools of their own, for older clients that honour `list_changed`
    #[arg(long)]
    pub dynamic_tools: bool,
    /// Offer and call only tools that are annotated as read-only
    #[arg(long)]
    pub read_only: bool,
    /// Offer and call only these tools: `SERVER` or `SERVER/TOOL`, `*` for anything
    #[arg(long, num_args = 1.., value_name = "PATTERN")]
    pub allow: Vec<String>,
    /// Neither offer nor call these tools, whatever else is allowed
    #[arg(long, num_args = 1.., value_name = "PATTERN")]
    pub deny: Vec<String>,
    /// How servers are called.
    #[command(flatten)]
    pub calls: CallArgs,
    /// Embedding model of an index that is built from --config
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// Where the model of the index answers.
    #[command(flatten)]
    pub place: EmbedPlace,
}

/// Who may use HTTP.
#[derive(Args, Clone, Debug)]
pub struct DoorArgs {
    /// Environment variable with the bearer token that clients must send
    #[arg(long, value_name = "VAR", requires = "http", conflicts_with = "tenants")]
    pub token_env: Option<String>,
    /// TOML file of tenants: hashes of tokens, and the servers each may use
    #[arg(long, value_name = "FILE", requires = "http")]
    pub tenants: Option<PathBuf>,
    /// Names of this host that clients may use, beside its address and localhost
    #[arg(long, num_args = 1.., value_name = "HOST[:PORT]", requires = "http")]
    pub allow_host: Vec<String>,
    /// Web pages that may call, beside those of localhost
    #[arg(long, num_args = 1.., value_name = "ORIGIN", requires = "http")]
    pub allow_origin: Vec<String>,
    /// How long a client may take to send the head of a request, and then its body
    #[arg(long, value_name = "TIME", default_value = "15s", requires = "http", value_parser = patience)]
    pub client_timeout: Duration,
}

/// How servers are called.
#[derive(Args, Clone, Copy, Debug)]
pub struct CallArgs {
    /// How long a server may take from its start to its first answer
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration)]
    pub start_timeout: Duration,
    /// How long a call may take; word of progress starts it anew, ten times at most
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub call_timeout: Duration,
    /// End a server that nobody has called for so long
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = duration)]
    pub idle_timeout: Duration,
    /// Calls of one server at the same time
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..))]
    pub calls_at_once: u16,
}
