//! Why a source as a whole cannot be read.
//!
//! Owns the wording: what was found, what was expected, and the cure. A record
//! that cannot be read is no error but a reject.

use std::io;
use std::path::PathBuf;

use crate::error::Fault;
use crate::sources::Format;
use crate::sources::MirrorError;
use crate::sources::text::EncodingError;
use crate::sources::yaml::YamlError;

/// A source of which nothing could be taken over.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// A URL did not give what it should.
    #[error(transparent)]
    Mirror(Box<MirrorError>),
    /// There is no such file.
    #[error("there is no file `{}`; check the path", path.display())]
    NotFound {
        /// As given.
        path: PathBuf,
    },
    /// The file is there, but reading it failed.
    #[error("`{}` cannot be read", path.display())]
    Io {
        /// As given.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The bytes are no text.
    #[error("`{}` is neither UTF-8 nor UTF-16 with a byte order mark", path.display())]
    Encoding {
        /// As given.
        path: PathBuf,
        /// Which encoding it seems to be, or where it breaks.
        source: EncodingError,
    },
    /// There is text, but neither a JSON document nor JSON Lines.
    #[error(
        "`{}` is neither a JSON document nor JSON Lines: line {line}, column {column} is at fault",
        path.display()
    )]
    NotJson {
        /// As given.
        path: PathBuf,
        /// Counted from one.
        line: usize,
        /// In bytes, counted from one; zero at the start of a line.
        column: usize,
        /// What was expected there.
        source: serde_json::Error,
    },
    /// It should be YAML, by its name or its look, and is not.
    #[error("`{}` is not YAML that can be read: line {line}, column {column} is at fault", path.display())]
    NotYaml {
        /// As given.
        path: PathBuf,
        /// Counted from one; zero where it is not known.
        line: u64,
        /// Counted from one; zero where it is not known.
        column: u64,
        /// What is wrong there.
        source: YamlError,
    },
    /// A configuration in TOML is broken.
    #[error("`{}` is not TOML: line {line}: {problem}", path.display())]
    NotToml {
        /// As given.
        path: PathBuf,
        /// Counted from one.
        line: usize,
        /// What was expected there, without the text that is there.
        problem: String,
    },
    /// A folder in which nothing could be used.
    #[error(
        "folder `{}` holds {n_files} JSON and YAML files, none of them in one of these formats: {}",
        path.display(),
        Format::list()
    )]
    NothingKnown {
        /// As given.
        path: PathBuf,
        /// Files that were looked at, also below it.
        n_files: usize,
    },
    /// There is nothing in it.
    #[error("`{}` is empty, where one of these was expected: {}", path.display(), Format::list())]
    Empty {
        /// As given.
        path: PathBuf,
    },
    /// It is JSON, but of no format that we know.
    #[error(
        "`{}` holds {found}, which is none of the known formats: {}; if it is one of them, say which with `--format`",
        path.display(),
        Format::list()
    )]
    UnknownShape {
        /// As given.
        path: PathBuf,
        /// Such as "an object with keys a, b, c".
        found: String,
    },
    /// It is not what `--format` says.
    #[error(
        "`{}` was to be read as `{format}`, which is {}, but holds {found}; leave out `--format` to have it recognised",
        path.display(),
        format.what()
    )]
    WrongShape {
        /// As given.
        path: PathBuf,
        /// The one asked for.
        format: Format,
        /// Such as "an object with keys a, b, c".
        found: String,
    },
}

impl From<MirrorError> for SourceError {
    fn from(error: MirrorError) -> Self {
        Self::Mirror(Box::new(error))
    }
}

impl SourceError {
    /// Whose fault it is: the file's, unless a wrong format was asked for.
    #[must_use]
    pub fn fault(&self) -> Fault {
        match self {
            Self::Mirror(error) => error.fault(),
            Self::WrongShape { .. } => Fault::Caller,
            Self::NotFound { .. }
            | Self::Io { .. }
            | Self::Encoding { .. }
            | Self::NotJson { .. }
            | Self::NotYaml { .. }
            | Self::NotToml { .. }
            | Self::NothingKnown { .. }
            | Self::Empty { .. }
            | Self::UnknownShape { .. } => Fault::Environment,
        }
    }

    /// The error of an attempt to open or read a file.
    pub(crate) fn from_io(path: PathBuf, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::NotFound => Self::NotFound { path },
            _ => Self::Io { path, source },
        }
    }
}
