//! `toolscout index …`: its commands, and what several of them share.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::{Build, EmbedPlace};

/// `toolscout index …`
#[derive(Debug, Subcommand)]
pub enum IndexCommand {
    /// Build an index from catalogues, dumps and tool lists
    Build(Build),
    /// Build again from the recorded sources; only changed texts are embedded
    Update {
        /// Index directory [default: --index]
        dir: Option<PathBuf>,
        /// Where the model of the index answers.
        #[command(flatten)]
        place: EmbedPlace,
        /// For sources behind URLs.
        #[command(flatten)]
        patience: Patience,
    },
    /// Update again and again, first at once; a failed run is reported and the index stays
    Watch {
        /// Index directory [default: --index]
        dir: Option<PathBuf>,
        /// Time between two runs, such as 90s, 15m, 1h or 1d; at least 10s
        #[arg(long, value_name = "TIME", value_parser = interval)]
        every: Duration,
        /// Where the model of the index answers.
        #[command(flatten)]
        place: EmbedPlace,
        /// For sources behind URLs.
        #[command(flatten)]
        patience: Patience,
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

/// How long a server of sources may take.
#[derive(Args, Clone, Copy, Debug)]
pub struct Patience {
    /// Seconds for one try of one document or registry page
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    pub http_timeout: Duration,
}

impl Patience {
    /// For one try.
    #[must_use]
    pub fn timeout(self) -> Duration {
        self.http_timeout
    }
}

/// A time of more than nothing and less than a day.
fn seconds(text: &str) -> Result<Duration, BadSeconds> {
    let number = text.parse::<f64>().ok().filter(|n| (0.001..=86_400.0).contains(n));
    number.map(Duration::from_secs_f64).ok_or(BadSeconds)
}

#[derive(Debug, thiserror::Error)]
#[error("use a number of seconds, such as 30")]
struct BadSeconds;

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
        assert!(seconds("0").is_err() && seconds("x").is_err() && seconds("0.5").is_ok());
    }
}
