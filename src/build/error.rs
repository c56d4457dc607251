//! What can go wrong in a build.

use std::path::PathBuf;

use crate::embed::EmbedError;
use crate::error::Fault;
use crate::fetch::FetchError;
use crate::index::IndexError;
use crate::sources::SourceError;
use crate::sources::UnknownFormat;

/// What can go wrong in a build.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A source cannot be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// What servers answered cannot be kept, or none can be started.
    #[error("the servers of `{}` cannot be asked: {source}", path.display())]
    Live {
        /// Their configuration.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// Of the servers of a configuration none gave a list of tools.
    #[error("none of the {n_servers} servers of `{}` gave a list of tools; the first, `{server}`: {reason}", path.display())]
    NoAnswers {
        /// Their configuration.
        path: PathBuf,
        /// Servers that are switched on.
        n_servers: usize,
        /// Name of the first one.
        server: String,
        /// Why it gave none.
        reason: String,
    },
    /// Nothing of that name waits for approval.
    #[error("`{name}` is not the name of one server or tool that is withheld; withheld {}", match withheld.as_slice() { [] => "is nothing".to_owned(), all => format!("are {}", all.join(", ")) })]
    NothingToApprove {
        /// As given.
        name: String,
        /// What is: server and tool.
        withheld: Vec<String>,
    },
    /// The model cannot run.
    #[error(transparent)]
    Embed(#[from] EmbedError),
    /// The index cannot be written.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// The index was built from a format that this version does not know.
    #[error(transparent)]
    Format(#[from] UnknownFormat),
    /// The index names a URL that cannot be read again.
    #[error(transparent)]
    Url(#[from] FetchError),
    /// The path could not be recorded, and so not be read again by an update.
    #[error("the path of source `{path}` is not UTF-8; rename it")]
    PathNotText {
        /// With what is unreadable replaced.
        path: String,
    },
    /// The index was made elsewhere, and what it was made of is there.
    #[error(
        "the index was imported, and its source `{}` belongs to the machine it was built on; take a newer one over with `toolscout index import FILE`, or build from sources that are here with `toolscout index build --from SRC`",
        path.display()
    )]
    Imported {
        /// As recorded there.
        path: PathBuf,
    },
    /// No source was named.
    #[error("no source given; name at least one with `--from FILE`")]
    NoSource,
}

impl BuildError {
    /// Who can mend it.
    #[must_use]
    pub fn fault(&self) -> Fault {
        match self {
            Self::Source(error) => error.fault(),
            Self::Embed(error) => error.fault(),
            Self::Index(error) => error.fault(),
            Self::Format(error) => error.fault(),
            Self::Url(error) => error.fault(),
            Self::Imported { .. }
            | Self::PathNotText { .. }
            | Self::Live { .. }
            | Self::NoAnswers { .. } => Fault::Environment,
            Self::NothingToApprove { .. } | Self::NoSource => Fault::Caller,
        }
    }
}
