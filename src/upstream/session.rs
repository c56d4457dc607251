//! A conversation with one server: requests with a limit of time.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::desk::Desk;
use super::desk::Outcome;
use super::error::UpstreamError;
use super::handshake;
use super::handshake::Era;
use super::link::Letter;
use super::link::Link;
use super::message::Outgoing;
use super::params::Params;

/// A call may take so many times its limit, if word of progress keeps coming.
const MAX_EXTENSIONS: u32 = 10;

/// A server that has introduced itself.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) line: Line,
    pub(super) era: Era,
    /// What it answered to `initialize`, or to `server/discover`.
    pub(super) hello: Box<RawValue>,
}

/// A connection before anything has been agreed on.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) link: Link,
    pub(super) desk: Arc<Desk>,
}

impl Session {
    /// The version that is spoken.
    pub(super) fn version(&self) -> &str {
        self.era.version()
    }

    /// Asks, and gives the result as it came.
    ///
    /// # Errors
    /// When the server refuses, ends, or takes longer than `limit`.
    pub(super) async fn request(
        &self,
        method: &str,
        params: Params,
        limit: Duration,
    ) -> Result<Box<RawValue>, UpstreamError> {
        let outcome = self.line.request(method, self.era.complete(params), limit).await?;
        outcome.map_err(|error| handshake::refused(&self.line, method, &error))
    }

    /// Calls a tool, and gives the answer as it came, be it an error.
    ///
    /// The server is told when nobody waits any more. Word of progress, its
    /// parameters as they came, goes to `on_progress` and starts the limit anew,
    /// ten times at most.
    ///
    /// # Errors
    /// When the server ends, or takes longer than `limit`.
    pub(super) async fn call(
        &self,
        params: Params,
        limit: Duration,
        on_progress: Option<&mut (dyn FnMut(Box<RawValue>) + Send)>,
    ) -> Result<Outcome, UpstreamError> {
        let params = self.era.complete(params);
        self.line.call("tools/call", params, limit, on_progress).await
    }

    /// From now on the server may say by itself that its list has changed.
    pub(super) fn listen(&self) {
        let letter = match self.era {
            Era::Handshake(_) => None,
            Era::Stateless => {
                let wanted = serde_json::json!({ "toolsListChanged": true });
                let params = self.era.complete(Params::default().with("notifications", &wanted));
                // It stays unanswered for as long as the server may speak.
                let id = self.line.desk.open().map(|ticket| ticket.id).ok();
                id.map(|id| letter(Some(id), "subscriptions/listen", &params))
            }
        };
        if letter.is_some() || matches!(self.era, Era::Handshake(_)) {
            self.line.link.listen(letter);
        }
    }

    /// Ends it, and the server if it is ours.
    pub(super) async fn end(&self) {
        self.line.link.end().await;
    }

    /// Whether nothing can be asked any more.
    pub(super) fn is_closed(&self) -> bool {
        self.line.desk.is_closed()
    }
}

impl Line {
    /// Sends a request and waits for its answer, whatever it is.
    pub(super) async fn request(
        &self,
        method: &str,
        params: Params,
        limit: Duration,
    ) -> Result<Outcome, UpstreamError> {
        let mut ticket = self.desk.open()?;
        let letter = letter(Some(ticket.id), method, &params);
        let exchange = async {
            match self.link.send(letter).await {
                // Why the connection has ended is known to the desk.
                Err(UpstreamError::Closed) | Ok(()) => ticket.wait().await,
                Err(error) => Err(error),
            }
        };
        let late = |_| Err(self.no_answer(method, limit));
        tokio::time::timeout(limit, exchange).await.unwrap_or_else(late)
    }

    async fn call(
        &self,
        method: &str,
        mut params: Params,
        limit: Duration,
        mut on_progress: Option<&mut (dyn FnMut(Box<RawValue>) + Send)>,
    ) -> Result<Outcome, UpstreamError> {
        let mut ticket = self.desk.open()?;
        let mut unanswered = Unanswered { line: self, id: ticket.id, is_over: false };
        if on_progress.is_some() {
            params = params.with_progress_token(ticket.id);
        }
        let mut sending = std::pin::pin!(self.link.send(letter(Some(ticket.id), method, &params)));
        let (last, mut is_sent) = (Instant::now() + limit * MAX_EXTENSIONS, false);
        let mut deadline = Instant::now() + limit;
        let mut note = |progress| on_progress.as_mut().map(|note| note(progress));
        let outcome = loop {
            tokio::select! {
                biased;
                sent = &mut sending, if !is_sent => match sent {
                    Err(UpstreamError::Closed) | Ok(()) => is_sent = true,
                    Err(error) => break Err(error),
                },
                Some(progress) = ticket.progress.next() => {
                    note(progress);
                    deadline = last.min(Instant::now() + limit);
                }
                outcome = &mut ticket.answer, if is_sent => {
                    break outcome.unwrap_or(Err(UpstreamError::Closed));
                }
                () = tokio::time::sleep_until(deadline) => {
                    return Err(self.no_answer(method, limit));
                }
            }
        };
        unanswered.is_over = true;
        while let Some(Some(progress)) = ticket.progress.next().now_or_never() {
            note(progress);
        }
        outcome
    }

    fn no_answer(&self, method: &str, after: Duration) -> UpstreamError {
        let stderr = self.link.last_words();
        UpstreamError::NoAnswer { method: method.to_owned(), after, stderr }
    }

    /// Sends a notification; whoever dislikes it shows so in what follows.
    pub(super) async fn notify(&self, method: &str, limit: Duration) {
        let sending = self.link.send(letter(None, method, &Params::default()));
        match tokio::time::timeout(limit, sending).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(%error, method, "a notification is refused"),
            Err(_) => tracing::debug!(method, "a notification is not taken in time"),
        }
    }
}

/// A call under way; dropped before its answer, the server is told.
struct Unanswered<'a> {
    line: &'a Line,
    id: u64,
    is_over: bool,
}

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            let params = Params::default().with("requestId", &self.id);
            self.line.link.send_soon(letter(None, "notifications/cancelled", &params));
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
