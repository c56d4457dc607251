//! What is built, from what, and where; and the same again from an index.

use std::path::{Path, PathBuf};

use super::BuildError;
use crate::embed::Identity;
use crate::embed::RemoteModel;
use crate::fetch::PrivateHosts;
use crate::index::SourceRecord;
use crate::index::Storage;
use crate::index::{self};
use crate::sources::Fetching;
use crate::sources::Live;
use crate::sources::Place;
use crate::sources::Refresh;
use crate::sources::Source;

/// What to build, and where.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Files, folders and URLs, in order.
    pub sources: Vec<Source>,
    /// How URLs are asked.
    pub fetching: Fetching,
    /// The index directory.
    pub dir: PathBuf,
    /// Also embed tool descriptions alone, for the paper's ranking.
    pub paper: bool,
    /// How the vectors are stored.
    pub storage: Storage,
    /// Recorded with the index: where its model answers, if it is not a local one.
    pub remote: Option<RemoteModel>,
    /// Recorded with the index: the language model that summarises its servers, if any.
    pub summarizer: Option<RemoteModel>,
    /// How the servers of client configurations are asked.
    pub live: Live,
    /// Withhold a tool whose definition is not the one it was first seen with.
    pub pin: bool,
    /// Withheld tools whose definition is to be approved: `SERVER` or `SERVER/TOOL`.
    pub approve: Vec<String>,
}

impl Plan {
    /// What came from URLs, for the next time.
    pub(super) fn mirrors(&self) -> PathBuf {
        self.dir.join(index::MIRRORS)
    }

    /// What servers answered, for the next time.
    pub(super) fn memory(&self) -> PathBuf {
        self.dir.join(index::LIVE)
    }
}

/// Whether the index in `dir` withholds changed tools; no where there is none.
#[must_use]
pub fn is_pinned(dir: &Path) -> bool {
    index::Index::recorded(dir).is_ok_and(|manifest| manifest.pins.is_some())
}

/// The plan that made the index in `dir`, to be run again, and its model.
///
/// # Errors
/// Fails when there is no index or its manifest names an unknown format.
pub fn recorded_plan(dir: &Path) -> Result<(Plan, Identity), BuildError> {
    let manifest = index::Index::recorded(dir)?;
    let sources = manifest.sources.iter().map(recorded_source).collect::<Result<_, _>>()?;
    let (paper, storage, remote) = (manifest.paper, manifest.storage, manifest.remote);
    let (live, pin, approve) = (Live::default(), manifest.pins.is_some(), Vec::new());
    let (dir, summarizer) = (dir.to_owned(), manifest.summarizer);
    let fetching = Fetching { refresh: Refresh::Changes, ..Fetching::default() };
    let plan =
        Plan { sources, fetching, dir, paper, storage, remote, summarizer, live, pin, approve };
    Ok((plan, manifest.embedder))
}

fn recorded_source(record: &SourceRecord) -> Result<Source, BuildError> {
    let private = match record.allow_private {
        true => PrivateHosts::Allowed,
        false => PrivateHosts::Refused,
    };
    let format = if record.forced { Some(record.format.parse()?) } else { None };
    let place = Place::parse(Path::new(&record.path))?;
    // Whoever made the index would choose what is read, or even started, here.
    match place {
        Place::Path(path) if record.imported => Err(BuildError::Imported { path }),
        place => Ok(Source { place, format, private }),
    }
}
