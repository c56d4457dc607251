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
