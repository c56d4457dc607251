//! Why an archive cannot be written or taken over, and what to do about it.

use std::io;
use std::path::PathBuf;

use crate::error::Fault;
use crate::index::IndexError;

/// What can be wrong with an archive of an index; what was there stays.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The index directory says no: nothing built, damaged, not writable.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// The archive cannot be opened.
    #[error("cannot read archive `{}`; check the path", path.display())]
    Read {
        /// As given.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The disk or the file system says no.
    #[error("cannot write `{}`; what was there before stays", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It is something else.
    #[error(
        "`{}` is no archive of an index: {what}; make one with `toolscout index export --out FILE`",
        path.display()
    )]
    Foreign {
        /// As given.
        path: PathBuf,
        /// By what that is seen.
        what: String,
    },
    /// It ends early or a byte of it is another.
    #[error("archive `{}` is cut short or damaged; get it again, or export it again", path.display())]
    Broken {
        /// As given.
        path: PathBuf,
        /// Where reading ended.
        source: io::Error,
    },
    /// It holds what no export writes.
    #[error(
        "archive `{}` holds `{entry}`, {what}; do not trust it, export the index again with `toolscout index export`",
        path.display()
    )]
    Entry {
        /// As given.
        path: PathBuf,
        /// As it is called there.
        entry: String,
        /// Why it may not be there.
        what: String,
    },
    /// Its files do not make an index that this version reads.
    #[error(
        "archive `{}` holds no sound index; export it again, with the same version of toolscout",
        path.display()
    )]
    Unsound {
        /// As given.
        path: PathBuf,
        /// What is wrong, in the temporary folder.
        source: Box<IndexError>,
    },
}

impl ArchiveError {
    /// Who can mend it.
    #[must_use]
    pub fn fault(&self) -> Fault {
        match self {
            Self::Index(error) => error.fault(),
            Self::Read { .. } => Fault::Caller,
            _ => Fault::Environment,
        }
    }
}
