//! The index on disk and in memory.
//!
//! Owns the directory format: generations, checksums, the swap. A directory
//! can be read by any process while another rebuilds it. Must not know how
//! texts are made or ranked.

mod format;
mod lock;
mod read;
mod write;

pub use format::{
    Absent, Counts, FORMAT_VERSION, FileRecord, Manifest, Matrix, ServerRecord, SourceRecord,
    Surface, SurfaceTokens, ToolRecord,
};
pub use lock::BuildLock;
pub use read::Index;
pub use write::{Draft, Written, write};

use std::path::PathBuf;

use crate::error::Fault;

/// What can be wrong with an index directory.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// Nothing was built here yet.
    #[error("no index at `{dir}`; run `toolscout index build --from SOURCE --out {dir}`")]
    Missing {
        /// The directory asked for.
        dir: PathBuf,
    },
    /// Written by another version of this program.
    #[error(
        "index `{path}` has format version {found}, this toolscout reads {expected}; run `toolscout index build`"
    )]
    Version {
        /// The manifest.
        path: PathBuf,
        /// Version it names.
        found: u64,
        /// [`FORMAT_VERSION`].
        expected: u32,
    },
    /// Built with another model than the one that is loaded.
    #[error(
        "index was built with {index}, but {loaded} is loaded; run `toolscout index build` or choose the model with `--model`"
    )]
    OtherModel {
        /// Model, dimension and digest of the index.
        index: String,
        /// The same of the embedder.
        loaded: String,
    },
    /// A file is not what the manifest says.
    #[error(
        "index file `{path}` is damaged: {what}; run `toolscout index build` or `toolscout index update`"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Both sides: what was expected, what is there.
        what: String,
    },
    /// The index lacks what the paper's ranking needs.
    #[error(
        "ranking `mcp-zero` needs tool descriptions embedded alone, and index `{dir}` has none; rebuild it with `toolscout index build --paper`"
    )]
    NoPaperVectors {
        /// The directory.
        dir: PathBuf,
    },
    /// The disk or the file system says no.
    #[error("cannot write index file `{path}` ({bytes} bytes); the index before it stays in use")]
    Write {
        /// The file.
        path: PathBuf,
        /// Its full size.
        bytes: u64,
        /// No space, file too large, read-only …
        #[source]
        source: std::io::Error,
    },
    /// A file cannot be read.
    #[error("cannot read index file `{path}`")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A value that cannot be written as JSON.
    #[error("cannot serialise `{what}`")]
    Serialise {
        /// Which value.
        what: &'static str,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
}

impl IndexError {
    /// Who can mend it.
    #[must_use]
    pub fn fault(&self) -> Fault {
        match self {
            Self::NoPaperVectors { .. } => Fault::Caller,
            Self::Serialise { .. } => Fault::Bug,
            _ => Fault::Environment,
        }
    }
}
