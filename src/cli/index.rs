//! `toolscout index …`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::Subcommand;

use super::PrecisionArg;

/// `toolscout index …`
#[derive(Debug, Subcommand)]
pub enum IndexCommand {
    /// Build an index from client configurations, registries, catalogues, tool lists
    Build(Build),
    /// Build again from the recorded sources; only changed texts are embedded
    Update {
        /// Index directory [default: --index]
        dir: Option<PathBuf>,
        /// Show what would be added, changed and removed; write nothing
        #[arg(long)]
        dry_run: bool,
        /// From now on withhold tools whose definition changes, until they are approved
        #[arg(long, conflicts_with = "unpin")]
        pin: bool,
        /// Withhold nothing any more
        #[arg(long)]
        unpin: bool,
        /// How sources are asked again.
        #[command(flatten)]
        again: Again,
    },
    /// Offer withheld tools with the definition that was seen, and update
    Approve {
        /// `SERVER` or `SERVER/TOOL`, as `update` and `inspect` name them
        #[arg(required = true, value_name = "SERVER[/TOOL]")]
        names: Vec<String>,
        /// How sources are asked again.
        #[command(flatten)]
        again: Again,
    },
    /// Update again and again, first at once; a failed run is reported and the index stays
    Watch {
        /// Index directory [default: --index]
        dir: Option<PathBuf>,
        /// Time between two runs, such as 90s, 15m, 1h or 1d; at least 10s
        #[arg(long, value_name = "TIME", value_parser = interval)]
        every: Duration,
        /// How sources are asked again.
        #[command(flatten)]
        again: Again,
    },
    /// Write the index to one file, to be imported elsewhere
    Export {
        /// Index directory [default: --index]
        dir: Option<PathBuf>,
        /// The file, such as `index.tar.zst`; equal indexes give equal bytes
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
    },
    /// Take over an exported index, after every byte of it was checked
    Import {
        /// A file that `index export` wrote
        file: PathBuf,
        /// Where to [default: --index]
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
    /// Counts, model, sources, sizes, rejects
    Inspect {
        /// Index directory [default: --index]
        dir: Option<PathBuf>,
    },
    /// Read every byte again and compare checksums
    Verify {
        /// Index directory [default: --index]
        dir: Option<PathBuf>,
    },
}

/// `toolscout index build …`
#[derive(Args, Debug)]
pub struct Build {
    /// Client configurations, registries (URL or dump), catalogues, tool lists, folders of them; several make one index
    #[arg(long, required = true, num_args = 1.., value_name = "SRC")]
    pub from: Vec<PathBuf>,
    /// Where to [default: --index]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Embedding model: a local one, or the name it has at --embed-url
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// Base URL of an OpenAI-compatible API that embeds, such as `https://api.openai.com/v1`
    #[arg(long, value_name = "URL", requires = "model")]
    pub embed_url: Option<String>,
    /// Length of the vectors to ask that API for [default: the model's own]
    #[arg(long, value_name = "N", requires = "embed_url", value_parser = clap::value_parser!(u16).range(1..))]
    pub dimensions: Option<u16>,
    /// Environment variable with its key [default: `OPENAI_API_KEY`; none on this machine]
    #[arg(long, value_name = "VAR", requires = "embed_url")]
    pub embed_key_env: Option<String>,
    /// Format of the sources instead of recognising it
    #[arg(long, value_name = "NAME", value_parser = ["catalog", "docker", "livemcpbench", "mcp-zero", "registry", "toolhive", "tools-list", "toucan", "client-config"])]
    pub format: Option<String>,
    /// Follow redirects of URLs into private networks too
    #[arg(long)]
    pub allow_private: bool,
    /// For sources behind URLs.
    #[command(flatten)]
    pub patience: Patience,
    /// Also embed tool descriptions alone, which `--ranking mcp-zero` needs
    #[arg(long)]
    pub paper: bool,
    /// How the vectors are stored: f16 takes half the bytes of f32, int8 a quarter
    #[arg(long, value_enum, default_value_t = PrecisionArg::F32, value_name = "NAME")]
    pub precision: PrecisionArg,
    /// Search a graph of neighbours instead of every row where there are more tool texts, or server texts (three a server), than this [default: 20000]
    #[arg(long, value_name = "N")]
    pub ann_above: Option<usize>,
    /// Base URL of an OpenAI-compatible API whose language model summarises the servers
    #[arg(long, value_name = "URL", requires = "summarize_model")]
    pub summarize: Option<String>,
    /// Name of that model
    #[arg(long, value_name = "NAME", requires = "summarize")]
    pub summarize_model: Option<String>,
    /// Environment variable with its key [default: `OPENAI_API_KEY`; none on this machine]
    #[arg(long, value_name = "VAR", requires = "summarize")]
    pub summarize_key_env: Option<String>,
    /// Withhold a tool whose definition changes later, until `index approve`
    #[arg(long)]
    pub pin: bool,
    /// How servers are asked for their tools.
    #[command(flatten)]
    pub live: LiveArgs,
}

/// How the sources of an index are asked again.
#[derive(Args, Clone, Debug)]
pub struct Again {
    /// Where the model of the index answers.
    #[command(flatten)]
    pub place: EmbedPlace,
    /// For sources behind URLs.
    #[command(flatten)]
    pub patience: Patience,
    /// How servers are asked for their tools.
    #[command(flatten)]
    pub live: LiveArgs,
}

/// How the servers of client configurations are asked for their tools.
#[derive(Args, Clone, Debug)]
pub struct LiveArgs {
    /// How long a server may take from its start to its first answer
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration)]
    pub start_timeout: Duration,
    /// How long a server may take for one page of its tools
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration)]
    pub page_timeout: Duration,
    /// Servers that are started and asked at the same time
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..))]
    pub parallel: u16,
    /// Do not ask a server again that answered less long ago; `0s` asks all
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = duration)]
    pub refresh_after: Duration,
}

/// Where the remote model of an index answers now; an index with a local
/// model has no use for it.
#[derive(Args, Clone, Debug)]
pub struct EmbedPlace {
    /// Base URL at which the remote model of the index answers [default: as recorded]
    #[arg(long, env = "TOOLSCOUT_EMBED_URL", value_name = "URL", hide_env_values = true)]
    pub embed_url: Option<String>,
    /// Environment variable with its key [default: as recorded, on the recorded host]
    #[arg(long, value_name = "VAR")]
    pub embed_key_env: Option<String>,
}

/// How long a server of sources may take.
#[derive(Args, Clone, Copy, Debug)]
pub struct Patience {
    /// For one try of one document or registry page
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub http_timeout: Duration,
}

impl Patience {
    /// For one try.
    #[must_use]
    pub fn timeout(self) -> Duration {
        // Zero would mean no limit.
        self.http_timeout.max(Duration::from_millis(1))
    }
}

/// `30s`, `500ms`, `1h`; a mere number is seconds. A day at most.
pub(super) fn duration(text: &str) -> Result<Duration, BadDuration> {
    let seconds = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let parsed = seconds.or_else(|| humantime::parse_duration(text).ok());
    parsed.filter(|duration| *duration <= Duration::from_secs(86_400)).ok_or(BadDuration)
}

#[derive(Debug, thiserror::Error)]
#[error("use a time of at most a day, such as 500ms, 30s or 1h")]
pub(super) struct BadDuration;

/// A time in which somebody else can do something.
pub(super) fn patience(text: &str) -> Result<Duration, BadPatience> {
    let parsed = duration(text).map_err(|_| BadPatience)?;
    Some(parsed).filter(|time| *time >= Duration::from_secs(1)).ok_or(BadPatience)
}

#[derive(Debug, thiserror::Error)]
#[error("use a time from a second to a day, such as 5s, 30s or 1h")]
pub(super) struct BadPatience;

/// A time that gives the servers of sources some rest.
fn interval(text: &str) -> Result<Duration, BadInterval> {
    const MIN: Duration = Duration::from_secs(10);
    match humantime::parse_duration(text) {
        Ok(every) if every < MIN => Err(BadInterval::TooShort),
        Ok(every) => Ok(every),
        Err(source) => Err(BadInterval::NoTime { source }),
    }
}

#[derive(Debug, thiserror::Error)]
enum BadInterval {
    #[error("that is under 10 seconds, which is the least; use 10s or more")]
    TooShort,
    #[error("{source}; use a time such as 90s, 15m, 1h or 1d")]
    NoTime { source: humantime::DurationError },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_a_number_and_a_unit() {
        for (text, seconds) in [("90s", 90), ("15m", 900), ("1h", 3_600), ("1d", 86_400)] {
            assert_eq!(interval(text).unwrap(), Duration::from_secs(seconds));
        }
        for (text, expected) in [("9s", "under 10 seconds"), ("90", "90s"), ("soon", "15m")] {
            let message = interval(text).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
        assert_eq!(duration("0.5").unwrap(), Duration::from_millis(500));
        assert_eq!(duration("1h").unwrap(), Duration::from_secs(3_600));
        assert_eq!(patience("1s").unwrap(), Duration::from_secs(1));
        assert!(patience("0").is_err() && patience("999ms").is_err() && patience("2d").is_err());
        for text in ["x", "-1", "2d", "NaN", ""] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
