//! What can go wrong with a client's file, and whose fault it is.
//!
//! Owns the wording. No message quotes a file: its values may be secrets.

use std::io;
use std::path::PathBuf;

use crate::error::Fault;
use crate::sources::SourceError;
use crate::sources::client_config::Client;

/// Why a client's file was left as it is.
#[derive(Debug, thiserror::Error)]
pub enum ClientsError {
    /// No client has this name.
    #[error("there is no client `{name}`; known are {}", known.join(", "))]
    UnknownClient {
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<&'static str>,
    },
    /// The entry needs a name.
    #[error("the entry has no name; give one with `--name`")]
    NoName,
    /// The client's folder is not there.
    #[error(
        "there is no `{}`, so {client} does not seem to be installed; start it once, or name its file with `--file`",
        folder.display()
    )]
    NotInstalled {
        /// The client.
        client: Client,
        /// What it would have made.
        folder: PathBuf,
    },
    /// It has no place of its own.
    #[error(
        "it is not known where this client keeps its configuration; name the file with `--file`"
    )]
    NoPlace,
    /// The file cannot be edited without loss, but the entry can be pasted.
    #[error(
        "`{}` is {}, so it was left as it is; put this in it by hand:\n\n{snippet}",
        path.display(),
        reason.as_str()
    )]
    ByHand {
        /// The file.
        path: PathBuf,
        /// Why not.
        reason: Reason,
        /// What to paste.
        snippet: String,
    },
    /// The file is written in a way that an edit would break.
    #[error(
        "`{}` cannot be edited without moving what others wrote; take the entry out by hand, nothing was changed",
        path.display()
    )]
    Uneditable {
        /// The file.
        path: PathBuf,
    },
    /// YAML, which is not edited.
    #[error("`{}` is YAML, which toolscout does not edit; take the entry out by hand", path.display())]
    Yaml {
        /// The file.
        path: PathBuf,
    },
    /// The file breaks the rules of its language.
    #[error(
        "`{}` cannot be read: line {line}, column {column}: {problem}; mend it there, nothing was changed",
        path.display()
    )]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Counted from one.
        line: usize,
        /// In characters, counted from one.
        column: usize,
        /// What is wrong there.
        problem: String,
    },
    /// The file is no UTF-8.
    #[error("`{}` is not UTF-8; save it as UTF-8, nothing was changed", path.display())]
    NotUtf8 {
        /// The file.
        path: PathBuf,
    },
    /// Something else stands where the servers should.
    #[error("`{key}` in `{}` is not an object; mend it, nothing was changed", path.display())]
    NotAnObject {
        /// The file.
        path: PathBuf,
        /// The key; `the document` for all of it.
        key: String,
    },
    /// Two things have one name.
    #[error("`{key}` stands twice in `{}`; remove one, nothing was changed", path.display())]
    Twice {
        /// The file.
        path: PathBuf,
        /// The key.
        key: String,
    },
    /// The name is taken.
    #[error(
        "`{name}` in `{}` does not start toolscout; choose another name with `--name`, or remove it there",
        path.display()
    )]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Name of the entry.
        name: String,
    },
    /// The file may not be written.
    #[error("`{}` is read-only; make it writable, nothing was changed", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// Another program was at the file.
    #[error("`{}` was changed by another program just now; run this again", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// The file is a link to nothing.
    #[error("`{}` is a link to nothing; mend or remove it", path.display())]
    DeadLink {
        /// The link.
        path: PathBuf,
    },
    /// A path that no configuration can hold.
    #[error("`{}` is not text, so no configuration can name it; choose another path", path.display())]
    NotText {
        /// The path.
        path: PathBuf,
    },
    /// What we have noted is damaged.
    #[error("`{}` is damaged; move it away, and put back the backup beside it if you need it", path.display())]
    Record {
        /// The file of ours.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// What was moved cannot be read as a configuration.
    #[error("what was moved cannot be read; nothing was changed")]
    Moved(#[source] SourceError),
    /// Reading failed.
    #[error("`{}` cannot be read", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Writing failed.
    #[error("`{}` cannot be written; nothing was changed in it", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// Why a file has to be edited by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It is YAML.
    Yaml,
    /// Its keys are scattered.
    Scattered,
}

impl Reason {
    fn as_str(self) -> &'static str {
        match self {
            Self::Yaml => "YAML, which toolscout does not edit",
            Self::Scattered => "written in a way that an edit would move what others wrote",
        }
    }
}

impl ClientsError {
    /// Who can mend it.
    #[must_use]
    pub fn fault(&self) -> Fault {
        match self {
            Self::UnknownClient { .. } | Self::NoName | Self::NoPlace => Fault::Caller,
            _ => Fault::Environment,
        }
    }
}
