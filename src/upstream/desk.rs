//! Who waits for which answer of one server.
//!
//! Owns the numbers of requests and what happens to answers nobody waits for:
//! they are dropped, and so is everything that is no message.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;

use serde_json::value::RawValue;
use tokio::sync::oneshot;

use super::error::UpstreamError;
use super::message;
use super::message::Incoming;
use super::message::RpcError;
use super::secrets::Secrets;

/// What came of a request, once the server has answered.
pub(super) type Outcome = Result<Box<RawValue>, RpcError>;

/// Lines that are no message are logged so many times, and then no more.
const LOGGED: usize = 5;

/// The requests under way.
#[derive(Debug, Default)]
pub(super) struct Desk {
    state: Mutex<State>,
    secrets: Secrets,
}

#[derive(Debug, Default)]
struct State {
    last_id: u64,
    waiting: HashMap<u64, oneshot::Sender<Result<Outcome, UpstreamError>>>,
    closed: Option<UpstreamError>,
    n_noise: usize,
}

/// A request under way; whoever drops it no longer waits.
#[derive(Debug)]
pub(super) struct Ticket<'a> {
    desk: &'a Desk,
    /// The number of the request.
    pub(super) id: u64,
    answer: oneshot::Receiver<Result<Outcome, UpstreamError>>,
}

impl Desk {
    /// For a server that may repeat these.
    pub(super) fn new(secrets: Secrets) -> Self {
        Self { state: Mutex::default(), secrets }
    }

    /// Opens a request; fails at once where the connection has ended.
    pub(super) fn open(&self) -> Result<Ticket<'_>, UpstreamError> {
        let mut state = self.state();
        if let Some(reason) = &state.closed {
            return Err(reason.clone());
        }
        let (sender, answer) = oneshot::channel();
        state.last_id += 1;
        let id = state.last_id;
        state.waiting.insert(id, sender);
        Ok(Ticket { desk: self, id, answer })
    }

    /// Takes what the server sent; the text to send back, if it asked something.
    pub(super) fn receive(&self, text: &str) -> Option<String> {
        let repaired;
        let text = match message::repaired(text) {
            Some(text) => {
                repaired = text;
                &repaired
            }
            None => text,
        };
        match message::parse(text) {
            Some(Incoming::Answer { id, outcome }) => {
                let outcome = outcome.map(RawValue::to_owned);
                let waiting = id.and_then(|id| self.state().waiting.remove(&id));
                match waiting {
                    // It may have stopped waiting just now.
                    Some(waiting) => drop(waiting.send(Ok(outcome))),
                    None => self.note_noise(text),
                }
                None
            }
            Some(Incoming::Request { id, method }) => Some(message::answer_to(id, &method)),
            Some(Incoming::Note) => None,
            None => {
                self.note_noise(text);
                if let Some(problem) = message::broken(text) {
                    self.fail_the_only_one(&problem);
                }
                None
            }
        }
    }

    /// An answer that cannot be read is to the one request under way, if there is one.
    fn fail_the_only_one(&self, problem: &str) {
        let mut state = self.state();
        let mut ids = state.waiting.keys();
        if let (Some(&id), None) = (ids.next(), ids.next())
            && let Some(waiting) = state.waiting.remove(&id)
        {
            drop(waiting.send(Err(UpstreamError::NoJson { problem: problem.to_owned() })));
        }
    }

    /// Whether the request still waits.
    pub(super) fn is_open(&self, id: u64) -> bool {
        self.state().waiting.contains_key(&id)
    }

    /// The connection has ended: so do all requests, these and later ones.
    pub(super) fn close(&self, reason: &UpstreamError) {
        let mut state = self.state();
        state.closed.get_or_insert_with(|| reason.clone());
        for (_, waiting) in state.waiting.drain() {
            drop(waiting.send(Err(reason.clone())));
        }
    }

    fn note_noise(&self, text: &str) {
        let n_noise = {
            let mut state = self.state();
            state.n_noise += 1;
            state.n_noise
        };
        if n_noise <= LOGGED && !text.trim().is_empty() {
            let line = self.secrets.hide_in(&super::stderr::shown(text.as_bytes()));
            tracing::debug!(line, "not a message to us, dropped");
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ticket<'_> {
    /// Waits for the answer.
    pub(super) async fn wait(&mut self) -> Result<Outcome, UpstreamError> {
        (&mut self.answer).await.unwrap_or(Err(UpstreamError::Closed))
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        self.desk.state().waiting.remove(&self.id);
    }
}
