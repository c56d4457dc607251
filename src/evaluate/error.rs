//! Why there are no figures.

use std::path::PathBuf;

use crate::build::BuildError;
use crate::error::Fault;
use crate::index::IndexError;
use crate::router::RouteError;
use crate::sources::SourceError;

/// What can go wrong in an evaluation.
#[derive(Debug, thiserror::Error)]
pub enum EvalError {
    /// A file of a data set is not there.
    #[error(
        "data set `{set}` needs `{path}`, which is missing; get it with `toolscout eval fetch {set}`, or name the folder that has it with `--data`"
    )]
    MissingFile {
        /// The set that needs it.
        set: String,
        /// Where it was looked for.
        path: PathBuf,
    },
    /// A file is not the one that the figures belong to.
    #[error(
        "`{path}` of data set `{set}` has sha256 {found}, but eval/datasets.toml says {expected}; get it again with `toolscout eval fetch {set}`"
    )]
    ChangedFile {
        /// The set that needs it.
        set: String,
        /// The file.
        path: PathBuf,
        /// As recorded.
        expected: String,
        /// As it is.
        found: String,
    },
    /// A file that was converted by other means than this program's.
    #[error(
        "`{file}` cannot be fetched: it was converted from {repository} by other means; put it into the data folder as `{path}`, or name a folder that has it with `--data`"
    )]
    NoOrigin {
        /// As the registry calls it.
        file: String,
        /// In the data folder.
        path: PathBuf,
        /// Where it comes from.
        repository: String,
    },
    /// git does not get a file.
    #[error("`git {step}` of {repository} failed: {reason}")]
    Git {
        /// The repository.
        repository: String,
        /// `fetch`, `show` …
        step: String,
        /// What git said.
        reason: String,
    },
    /// A file cannot be read.
    #[error("cannot read `{path}`")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A file has not the form that its data set has.
    #[error("`{path}` is not what its data set should be: {reason}")]
    BadSet {
        /// The file.
        path: PathBuf,
        /// What is odd about it.
        reason: String,
    },
    /// A line of a case or request file is none.
    #[error("`{path}`, line {line}, is no case: {reason}")]
    BadCase {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// A file without a single case.
    #[error(
        "`{path}` holds no case; write one JSON object a line, with `id`, `request` and `gold`"
    )]
    NoCases {
        /// The file.
        path: PathBuf,
    },
    /// A name that is not in a list.
    #[error("there is no {kind} `{name}`; there are {known}")]
    Unknown {
        /// Data set, arm, pool …
        kind: &'static str,
        /// As asked.
        name: String,
        /// All names.
        known: String,
    },
    /// eval/datasets.toml, or a gate, cannot be read.
    #[error("`{path}` cannot be read as TOML")]
    Toml {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: Box<toml::de::Error>,
    },
    /// A catalogue cannot be read.
    #[error(transparent)]
    Source(Box<SourceError>),
    /// An index cannot be built.
    #[error(transparent)]
    Build(Box<BuildError>),
    /// An index cannot be read.
    #[error(transparent)]
    Index(Box<IndexError>),
    /// A request cannot be routed.
    #[error("case `{id}` cannot be routed")]
    Route {
        /// The case.
        id: String,
        /// Why.
        #[source]
        source: Box<RouteError>,
    },
    /// The router does not start.
    #[error(transparent)]
    Router(Box<RouteError>),
    /// A pool cannot be written to be indexed.
    #[error("cannot write a pool of tools to `{path}`")]
    Write {
        /// Where to.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}

impl EvalError {
    /// Who can mend it.
    #[must_use]
    pub fn fault(&self) -> Fault {
        match self {
            Self::Unknown { .. } | Self::BadCase { .. } | Self::NoCases { .. } => Fault::Caller,
            Self::Source(error) => error.fault(),
            Self::Build(error) => error.fault(),
            Self::Index(error) => error.fault(),
            Self::Route { source, .. } | Self::Router(source) => source.fault(),
            _ => Fault::Environment,
        }
    }
}

impl From<RouteError> for EvalError {
    fn from(source: RouteError) -> Self {
        Self::Router(Box::new(source))
    }
}

impl From<BuildError> for EvalError {
    fn from(source: BuildError) -> Self {
        Self::Build(Box::new(source))
    }
}

impl From<IndexError> for EvalError {
    fn from(source: IndexError) -> Self {
        Self::Index(Box::new(source))
    }
}

impl From<SourceError> for EvalError {
    fn from(source: SourceError) -> Self {
        Self::Source(Box::new(source))
    }
}
