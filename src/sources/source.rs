//! One source as a user names it: a path or a URL, and how it is read.

use std::path::Path;
use std::path::PathBuf;

use crate::fetch::FetchError;
use crate::fetch::PrivateHosts;
use crate::fetch::Url;
use crate::sources::Format;
use crate::sources::Opened;
use crate::sources::SourceError;
use crate::sources::mirror;
use crate::sources::mirror::Asked;
use crate::sources::mirror::Fetching;
use crate::sources::open;
use crate::sources::parse;

/// Where a source is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A file or a folder.
    Path(PathBuf),
    /// A registry or a document over HTTP.
    Url(Url),
}

impl Place {
    /// What begins like an address of HTTP is one, all else is a path.
    ///
    /// # Errors
    /// [`FetchError::BadUrl`].
    pub fn parse(text: &Path) -> Result<Self, FetchError> {
        match text.to_str().filter(|text| Url::is_likely(text)) {
            Some(url) => Ok(Self::Url(Url::parse(url)?)),
            None => Ok(Self::Path(text.to_owned())),
        }
    }

    /// As it may be shown: without what the query of a URL says.
    #[must_use]
    pub fn shown(&self) -> String {
        match self {
            Self::Path(path) => path.display().to_string(),
            Self::Url(url) => url.shown(),
        }
    }
}

/// One source of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Where it is.
    pub place: Place,
    /// The format that the user forced.
    pub format: Option<Format>,
    /// Whether redirects of a URL may lead into private networks.
    pub private: PrivateHosts,
}

impl Source {
    /// A file or a folder whose format is recognised.
    #[must_use]
    pub fn of_path(path: impl Into<PathBuf>) -> Self {
        Self { place: Place::Path(path.into()), format: None, private: PrivateHosts::default() }
    }
}

/// Reads a source; what came from a URL is kept in the folder `mirrors`, if it is to be.
///
/// # Errors
/// When nothing of it can be taken over; then the mirror stays as it was.
pub fn read_source(
    source: &Source,
    mirrors: &Path,
    fetching: Fetching,
) -> Result<(Opened, Option<Asked>), SourceError> {
    let url = match &source.place {
        Place::Path(path) => return Ok((open(path, source.format)?, None)),
        Place::Url(url) => url,
    };
    let found = mirror::refresh(mirrors, (url, source.private), source.format, fetching)?;
    let import = parse(&url.shown(), &found.bytes, found.format)?;
    if fetching.keep {
        found.keep()?;
    }
    Ok((Opened::Import(import), Some(found.asked)))
}

/// Forgets what `mirrors` knows of URLs that are none of these sources.
pub fn forget_others(sources: &[Source], mirrors: &Path) {
    let urls = sources.iter().filter_map(|source| match &source.place {
        Place::Url(url) => Some(url),
        Place::Path(_) => None,
    });
    mirror::keep_only(mirrors, urls);
}
