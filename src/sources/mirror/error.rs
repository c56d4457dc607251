//! Why a URL could not be taken over, and what to do about it.

use std::io;
use std::path::PathBuf;

use crate::error::Fault;
use crate::fetch::FetchError;

/// What can go wrong between a URL and its mirror; what was known stays.
#[derive(Debug, thiserror::Error)]
pub enum MirrorError {
    /// A document did not come.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// A page of a registry did not come.
    #[error("cannot read page {page} of `{url}`; what is known of it stays as it is")]
    Page {
        /// Counted from one.
        page: usize,
        /// The list of servers.
        url: String,
        /// Why not.
        #[source]
        source: Box<FetchError>,
    },
    /// A page is none.
    #[error(
        "page {page} of `{url}` is no page of an MCP registry but {found}; check the address, what is known of it stays as it is"
    )]
    NotAPage {
        /// Counted from one.
        page: usize,
        /// The list of servers.
        url: String,
        /// What there is instead.
        found: String,
    },
    /// A document is a page for people.
    #[error("`{url}` is an HTML page, not a document of a known format; check the address")]
    Html {
        /// What was asked.
        url: String,
    },
    /// Following the cursors would never end.
    #[error(
        "page {page} of `{url}` names the same next page as page {earlier}; the registry runs in a circle, tell its operator"
    )]
    CursorRepeats {
        /// The list of servers.
        url: String,
        /// Counted from one.
        page: usize,
        /// The page that named it first.
        earlier: usize,
    },
    /// Following the cursors does not end.
    #[error("`{url}` has more than {limit} pages; the registry does not end, tell its operator")]
    TooManyPages {
        /// The list of servers.
        url: String,
        /// So many were read.
        limit: usize,
    },
    /// Neither a registry nor a document.
    #[error("`{url}` is neither an MCP registry nor a document of a known format: {tried}")]
    Nothing {
        /// As given.
        url: String,
        /// What was asked, and what came of it.
        tried: String,
    },
    /// The mirror cannot be written.
    #[error("cannot write the mirror in `{}`; the index before it stays in use", path.display())]
    Write {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl MirrorError {
    /// Who can mend it.
    #[must_use]
    pub fn fault(&self) -> Fault {
        match self {
            Self::Fetch(error) => error.fault(),
            Self::Page { source, .. } => source.fault(),
            _ => Fault::Environment,
        }
    }

    /// Whether a registry does not take a parameter of a question.
    pub(super) fn is_of_the_question(&self) -> bool {
        let Self::Page { source, .. } = self else { return false };
        matches!(**source, FetchError::Refused { status: 400 | 422, .. })
    }

    /// Whether the URL may still be something else.
    pub(super) fn is_of_another_kind(&self) -> bool {
        match self {
            Self::NotAPage { page: 1, .. } | Self::Html { .. } => true,
            Self::Fetch(error) => matches!(error, FetchError::Refused { .. }),
            Self::Page { page: 1, source, .. } => matches!(**source, FetchError::Refused { .. }),
            _ => false,
        }
    }
}
