//! The three ways to a server, as one.

use super::child::Child;
use super::error::UpstreamError;
use super::http::Http;
use super::sse::Sse;

/// A connection over which messages go out; what comes in goes to the desk.
#[derive(Debug)]
pub(super) enum Link {
    /// A process of ours.
    Child(Child),
    /// Streamable HTTP.
    Http(Http),
    /// Server-sent events, as of 2024-11-05.
    Sse(Sse),
}

/// A message on its way out.
#[derive(Debug)]
pub(super) struct Letter {
    /// The number of a request; none for a notification.
    pub(super) id: Option<u64>,
    /// For a header that HTTP servers route by.
    pub(super) method: String,
    /// Likewise, for calls: the name of the tool.
    pub(super) name: Option<String>,
    /// The message.
    pub(super) text: String,
}

impl Link {
    /// Sends a message. Over HTTP it returns once the answer has been read.
    pub(super) async fn send(&self, letter: Letter) -> Result<(), UpstreamError> {
        match self {
            Self::Child(child) => child.send(letter.text).await,
            Self::Http(http) => http.send(letter).await,
            Self::Sse(sse) => sse.send(letter).await,
        }
    }

    /// From now on this version is spoken; HTTP says so in a header.
    pub(super) fn settle(&self, version: &str) {
        match self {
            Self::Child(_) => {}
            Self::Http(http) => http.settle(version),
            Self::Sse(sse) => sse.settle(version),
        }
    }

    /// What the server said last on its standard error.
    pub(super) fn last_words(&self) -> String {
        match self {
            Self::Child(child) => child.last_words(),
            Self::Http(_) | Self::Sse(_) => String::new(),
        }
    }

    /// Ends the connection, and the server if it is ours.
    pub(super) async fn end(self) {
        match self {
            Self::Child(child) => child.end().await,
            Self::Http(http) => http.end().await,
            Self::Sse(sse) => sse.end(),
        }
    }
}
