//! Who waits for which answer of one server.
//!
//! Owns the numbers of requests and what happens to answers nobody waits for:
//! they are dropped, and so is everything that is no message. Word of progress
//! goes to who waits for the answer, that of a changed list to who listens.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;

use serde_json::value::RawValue;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::oneshot;

use super::changes::OnChange;
use super::error::UpstreamError;
use super::message;
use super::message::Incoming;
use super::message::RpcError;
use super::secrets::Secrets;

/// What came of a request, once the server has answered.
pub type Outcome = Result<Box<RawValue>, RpcError>;

/// Words of progress that wait for who asked; of more, the oldest are dropped.
const QUEUE: usize = 64;

/// Lines that are no message are logged so many times, and then no more.
const LOGGED: usize = 5;

/// The requests under way.
#[derive(Debug, Default)]
pub(super) struct Desk {
    state: Mutex<State>,
    secrets: Secrets,
    on_change: Option<OnChange>,
}

#[derive(Debug, Default)]
struct State {
    last_id: u64,
    waiting: HashMap<u64, Waiting>,
    closed: Option<UpstreamError>,
    n_noise: usize,
}

#[derive(Debug)]
struct Waiting {
    answer: oneshot::Sender<Result<Outcome, UpstreamError>>,
    progress: broadcast::Sender<Box<RawValue>>,
}

/// A request under way; whoever drops it no longer waits.
#[derive(Debug)]
pub(super) struct Ticket<'a> {
    desk: &'a Desk,
    /// The number of the request.
    pub(super) id: u64,
    /// Gone where the connection has ended.
    pub(super) answer: oneshot::Receiver<Result<Outcome, UpstreamError>>,
    pub(super) progress: Progress,
}

/// The parameters of `notifications/progress` for one request, as they came.
#[derive(Debug)]
pub(super) struct Progress(broadcast::Receiver<Box<RawValue>>);

impl Desk {
    /// For a server that may repeat these.
    pub(super) fn new(secrets: Secrets, on_change: Option<OnChange>) -> Self {
        Self { state: Mutex::default(), secrets, on_change }
    }

    /// Opens a request; fails at once where the connection has ended.
    pub(super) fn open(&self) -> Result<Ticket<'_>, UpstreamError> {
        let mut state = self.state();
        if let Some(reason) = &state.closed {
            return Err(reason.clone());
        }
        let (sender, answer) = oneshot::channel();
        let (noted, progress) = broadcast::channel(QUEUE);
        state.last_id += 1;
        let id = state.last_id;
        state.waiting.insert(id, Waiting { answer: sender, progress: noted });
        Ok(Ticket { desk: self, id, answer, progress: Progress(progress) })
    }

    /// Takes what the server sent; the text to send back, if it asked something.
    pub(super) fn receive(&self, text: &str) -> Option<String> {
        let mended;
        let message = match message::parse(text) {
            None => {
                mended = message::mended(text);
                mended.as_deref().and_then(message::parse)
            }
            message => message,
        };
        match message {
            Some(Incoming::Answer { id, outcome }) => {
                let outcome = outcome.map(RawValue::to_owned);
                let waiting = id.and_then(|id| self.state().waiting.remove(&id));
                match waiting {
                    // It may have stopped waiting just now.
                    Some(waiting) => drop(waiting.answer.send(Ok(outcome))),
                    None => self.note_noise(text),
                }
                None
            }
            Some(Incoming::Request { id, method }) => Some(message::answer_to(id, &method)),
            Some(Incoming::Note { method, params }) => {
                self.note(&method, params);
                None
            }
            None => {
                self.note_noise(text);
                if let Some(problem) = message::broken(text) {
                    self.fail_the_only_one(&problem);
                }
                None
            }
        }
    }

    fn note(&self, method: &str, params: Option<&RawValue>) {
        match (method, params) {
            ("notifications/progress", Some(params)) => {
                let id = message::progress_of(params);
                let state = self.state();
                if let Some(waiting) = id.and_then(|id| state.waiting.get(&id)) {
                    drop(waiting.progress.send(params.to_owned()));
                }
            }
            ("notifications/tools/list_changed", _) => {
                if let Some(on_change) = &self.on_change {
                    on_change.tell();
                }
            }
            _ => {}
        }
    }

    /// An answer that cannot be read is to the one request under way, if there is one.
    fn fail_the_only_one(&self, problem: &str) {
        let mut state = self.state();
        let mut ids = state.waiting.keys();
        if let (Some(&id), None) = (ids.next(), ids.next())
            && let Some(waiting) = state.waiting.remove(&id)
        {
            drop(waiting.answer.send(Err(UpstreamError::NoJson { problem: problem.to_owned() })));
        }
    }

    /// Whether the request still waits.
    pub(super) fn is_open(&self, id: u64) -> bool {
        self.state().waiting.contains_key(&id)
    }

    /// Whether the connection has ended.
    pub(super) fn is_closed(&self) -> bool {
        self.state().closed.is_some()
    }

    /// The connection has ended: so do all requests, these and later ones.
    pub(super) fn close(&self, reason: &UpstreamError) {
        let mut state = self.state();
        state.closed.get_or_insert_with(|| reason.clone());
        for (_, waiting) in state.waiting.drain() {
            drop(waiting.answer.send(Err(reason.clone())));
        }
    }

    /// Words of the server without what is secret and what steers a terminal.
    pub(super) fn shown(&self, text: &str) -> String {
        self.secrets.hide_in(&super::stderr::shown(text.as_bytes()))
    }

    fn note_noise(&self, text: &str) {
        let n_noise = {
            let mut state = self.state();
            state.n_noise += 1;
            state.n_noise
        };
        if n_noise <= LOGGED && !text.trim().is_empty() {
            let line = self.shown(text);
            tracing::debug!(line, "not a message to us, dropped");
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Progress {
    /// The next ones; `None` once there are no more.
    pub(super) async fn next(&mut self) -> Option<Box<RawValue>> {
        loop {
            match self.0.recv().await {
                Ok(params) => return Some(params),
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return None,
            }
        }
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
