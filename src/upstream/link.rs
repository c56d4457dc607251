//! The three ways to a server, as one.

use super::child::Child;
use super::error::UpstreamError;
use super::http::Http;
use super::http::Listener;
use super::sse::Sse;

/// A connection over which messages go out; what comes in goes to the desk.
#[derive(Debug)]
pub(super) enum Link {
    /// A process of ours.
    Child(Child),
    /// Streamable HTTP.
    Http(Http, Listener),
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
            Self::Http(http, _) => http.send(letter).await,
            Self::Sse(sse) => sse.send(letter).await,
        }
    }

    /// Sends a notification without waiting; one that cannot go out is lost.
    pub(super) fn send_soon(&self, letter: Letter) {
        match self {
            Self::Child(child) => child.send_soon(letter.text),
            Self::Http(http, _) => http.send_soon(&letter),
            Self::Sse(sse) => sse.send_soon(letter.text),
        }
    }

    /// Opens the way for what the server says by itself; `letter` asks for it
    /// in the stateless era.
    pub(super) fn listen(&self, letter: Option<Letter>) {
        match (self, letter) {
            (Self::Child(child), Some(letter)) => child.send_soon(letter.text),
            (Self::Http(http, listener), letter) => listener.keep(http.listen(letter.as_ref())),
            // It comes on the pipe, or on the stream that is open.
            (Self::Child(_), None) | (Self::Sse(_), _) => {}
        }
    }

    /// From now on this version is spoken; HTTP says so in a header.
    pub(super) fn settle(&self, version: &str) {
        match self {
            Self::Child(_) => {}
            Self::Http(http, _) => http.settle(version),
            Self::Sse(sse) => sse.settle(version),
        }
    }

    /// What the server said last on its standard error.
    pub(super) fn last_words(&self) -> String {
        match self {
            Self::Child(child) => child.last_words(),
            Self::Http(..) | Self::Sse(_) => String::new(),
        }
    }

    /// Ends the connection, and the server if it is ours.
    pub(super) async fn end(&self) {
        match self {
            Self::Child(child) => child.end().await,
            Self::Http(http, _) => http.end().await,
            Self::Sse(sse) => sse.end(),
        }
    }
}
