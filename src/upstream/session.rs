//! A conversation with one server: requests with a limit of time.

use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;

use super::desk::Desk;
use super::desk::Outcome;
use super::error::UpstreamError;
use super::handshake;
use super::handshake::Era;
use super::link::Letter;
use super::link::Link;
use super::message::Outgoing;
use super::params::Params;

/// A server that has introduced itself.
#[derive(Debug)]
pub struct Session {
    pub(super) line: Line,
    pub(super) era: Era,
    pub(super) hello: Box<RawValue>,
}

/// A connection before anything has been agreed on.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) link: Link,
    pub(super) desk: Arc<Desk>,
}

impl Session {
    /// What it answered to `initialize`, or to `server/discover`.
    #[must_use]
    pub fn hello(&self) -> &RawValue {
        &self.hello
    }

    /// The version that is spoken.
    #[must_use]
    pub fn version(&self) -> &str {
        self.era.version()
    }

    /// Asks, and gives the result as it came.
    ///
    /// # Errors
    /// When the server refuses, ends, or takes longer than `limit`.
    pub async fn request(
        &self,
        method: &str,
        params: Params,
        limit: Duration,
    ) -> Result<Box<RawValue>, UpstreamError> {
        let params = self.era.complete(params);
        let outcome = self.line.request(method, &params, limit).await?;
        outcome.map_err(|error| handshake::refused(method, &error))
    }

    /// Ends it, and the server if it is ours.
    pub async fn end(self) {
        self.line.link.end().await;
    }
}

impl Line {
    /// Sends a request and waits for its answer, whatever it is.
    pub(super) async fn request(
        &self,
        method: &str,
        params: &Params,
        limit: Duration,
    ) -> Result<Outcome, UpstreamError> {
        let mut ticket = self.desk.open()?;
        let letter = letter(Some(ticket.id), method, params);
        let exchange = async {
            match self.link.send(letter).await {
                // Why the connection has ended is known to the desk.
                Err(UpstreamError::Closed) | Ok(()) => ticket.wait().await,
                Err(error) => Err(error),
            }
        };
        tokio::time::timeout(limit, exchange).await.unwrap_or_else(|_| {
            Err(UpstreamError::NoAnswer {
                method: method.to_owned(),
                after: limit,
                stderr: self.link.last_words(),
            })
        })
    }

    /// Sends a notification.
    /// Whoever dislikes it shows so in what follows.
    pub(super) async fn notify(&self, method: &str, limit: Duration) {
        let sending = self.link.send(letter(None, method, &Params::default()));
        match tokio::time::timeout(limit, sending).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(%error, method, "a notification is refused"),
            Err(_) => tracing::debug!(method, "a notification is not taken in time"),
        }
    }
}

fn letter(id: Option<u64>, method: &str, params: &Params) -> Letter {
    let text = serde_json::to_string(&Outgoing::new(id, method, params)).unwrap_or_else(|error| {
        tracing::error!(%error, method, "a request cannot be written");
        String::new()
    });
    Letter { id, method: method.to_owned(), name: params.text("name"), text }
}
