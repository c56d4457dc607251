//! One server of a pool: started on first use, kept, replaced when it has ended.
//!
//! Owns its session and its health. A failure here is nobody else's business.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::time::Duration;
use std::time::Instant;

use serde_json::value::RawValue;
use tokio::sync::Semaphore;

use super::PoolLimits;
use super::breaker::Breaker;
use super::changes::OnChange;
use super::connect;
use super::desk::Outcome;
use super::error::UpstreamError;
use super::guardian::Guardian;
use super::listing;
use super::listing::Listing;
use super::params::Params;
use super::session::Session;
use super::target::Target;

/// Calls in a row without an answer after which a server is started anew.
const MAX_UNANSWERED: u32 = 3;

/// A server and what is known of it.
pub(super) struct Member {
    target: Target,
    guardian: Option<Arc<Guardian>>,
    on_change: OnChange,
    limits: PoolLimits,
    /// Calls at a time.
    slots: Semaphore,
    /// Held by the one who starts it.
    starting: tokio::sync::Mutex<()>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    session: Option<Arc<Session>>,
    breaker: Breaker,
    /// Of the present session: whether it answered a call, and calls since without.
    has_answered: bool,
    n_unanswered: u32,
    /// Whether the session before ended in a call and had answered none.
    has_crashed: bool,
    used: Option<Instant>,
    is_over: bool,
    health: Health,
}

/// How a server is doing, as counted since this program started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// Whether it is connected now.
    pub is_up: bool,
    /// Whether it is left alone for a while after a failure.
    pub is_resting: bool,
    /// How often it was started or connected to.
    pub n_starts: u64,
    /// Calls that were sent to it.
    pub n_calls: u64,
    /// Calls that got no answer, and starts that failed.
    pub n_failures: u64,
}

impl Member {
    pub(super) fn new(
        target: Target,
        guardian: Option<Arc<Guardian>>,
        on_change: OnChange,
        limits: PoolLimits,
    ) -> Self {
        Self {
            target,
            guardian,
            on_change,
            limits,
            slots: Semaphore::new(limits.at_once.max(1)),
            starting: tokio::sync::Mutex::default(),
            state: Mutex::default(),
        }
    }

    /// Calls a tool; connects first if need be. Nothing is ever called twice,
    /// unless the server says that it knows nothing of the first time.
    pub(super) async fn call(
        self: &Arc<Self>,
        params: &Params,
        mut on_progress: Option<&mut (dyn FnMut(Box<RawValue>) + Send)>,
    ) -> Result<Outcome, UpstreamError> {
        let limit = self.limits.call;
        let _slot = tokio::time::timeout(limit, self.slots.acquire())
            .await
            .map_err(|_| UpstreamError::Busy { at_once: self.limits.at_once })?;
        let mut again = 1;
        loop {
            let session = self.session().await?;
            self.state().health.n_calls += 1;
            let noted = on_progress.as_mut().map(|note| &mut **note as &mut (dyn FnMut(_) + Send));
            let result = session.call(params.clone(), limit, noted).await;
            self.note(&session, result.as_ref().err());
            match result {
                Err(UpstreamError::SessionGone) if again > 0 => again -= 1,
                result => return result,
            }
        }
    }

    /// Lists its tools anew.
    pub(super) async fn list(self: &Arc<Self>) -> Result<Listing, UpstreamError> {
        let session = self.session().await?;
        listing::of_session(&session, self.limits.page).await
    }

    /// The session; who waits for it does not end its start by leaving.
    async fn session(self: &Arc<Self>) -> Result<Arc<Session>, UpstreamError> {
        if let Some(session) = self.live()? {
            return Ok(session);
        }
        let member = Arc::clone(self);
        let started = tokio::spawn(async move {
            let _one_at_a_time = member.starting.lock().await;
            match member.live()? {
                Some(session) => Ok(session),
                None => member.start().await,
            }
        });
        started.await.unwrap_or(Err(UpstreamError::Closed))
    }

    /// The session that is there, if it may be used; why not, if it rests.
    fn live(&self) -> Result<Option<Arc<Session>>, UpstreamError> {
        let mut state = self.state();
        if state.is_over {
            return Err(UpstreamError::Closed);
        }
        state.session.take_if(|session| session.is_closed());
        if let Some(session) = &state.session {
            return Ok(Some(Arc::clone(session)));
        }
        match state.breaker.rest(Instant::now()) {
            Some((rest, reason)) => Err(UpstreamError::Resting { rest, reason: reason.to_owned() }),
            None => Ok(None),
        }
    }

    async fn start(&self) -> Result<Arc<Session>, UpstreamError> {
        self.state().health.n_starts += 1;
        let (guardian, on_change) = (self.guardian.clone(), Some(self.on_change.clone()));
        let connected =
            connect::to(&self.target, guardian, on_change, self.limits.start).await.map(Arc::new);
        let mut state = self.state();
        match connected {
            Ok(session) if state.is_over => {
                tokio::spawn(async move { session.end().await });
                Err(UpstreamError::Closed)
            }
            Ok(session) => {
                state.session = Some(Arc::clone(&session));
                (state.has_answered, state.n_unanswered) = (false, 0);
                state.used = Some(Instant::now());
                session.listen();
                Ok(session)
            }
            Err(error) => {
                state.health.n_failures += 1;
                state.fail(&error);
                Err(error)
            }
        }
    }

    /// Keeps in mind how a call went.
    fn note(&self, session: &Arc<Session>, error: Option<&UpstreamError>) {
        let mut state = self.state();
        state.used = Some(Instant::now());
        let is_present = state.session.as_ref().is_some_and(|it| Arc::ptr_eq(it, session));
        let Some(error) = error else {
            if is_present {
                (state.has_answered, state.n_unanswered) = (true, 0);
                state.has_crashed = false;
                state.breaker.succeeded();
            }
            return;
        };
        state.health.n_failures += 1;
        if !is_present {
            // Another call has already drawn the conclusions.
            return;
        }
        match error {
            UpstreamError::NoAnswer { .. } => {
                state.n_unanswered += 1;
                if state.n_unanswered >= MAX_UNANSWERED {
                    state.session = None;
                    state.fail(error);
                }
            }
            UpstreamError::SessionGone => state.session = None,
            error if session.is_closed() || error.is_of_login() => {
                state.session = None;
                // One that works and is killed is started again at once, and so
                // is one that has not worked yet, the first time.
                let again = !state.has_answered && std::mem::replace(&mut state.has_crashed, true);
                if again || error.is_of_login() {
                    state.fail(error);
                }
            }
            _ => {}
        }
    }

    /// Ends the session if nothing is under way and none was for `age`.
    pub(super) fn rest_if_idle(&self, age: Duration) {
        let all = u32::try_from(self.limits.at_once.max(1)).unwrap_or(u32::MAX);
        // Nobody gets a slot, and with it the session, while these are held.
        let Ok(_slots) = self.slots.try_acquire_many(all) else { return };
        let mut state = self.state();
        if state.used.is_some_and(|used| used.elapsed() >= age) {
            // The last to hold it; dropped, it ends.
            state.session = None;
            state.used = None;
        }
    }

    /// How it is doing.
    pub(super) fn health(&self) -> Health {
        let state = self.state();
        Health {
            is_up: state.session.as_ref().is_some_and(|session| !session.is_closed()),
            is_resting: state.breaker.rest(Instant::now()).is_some(),
            ..state.health
        }
    }

    /// Ends it for good, calls under way included.
    pub(super) async fn end(&self) {
        let session = {
            let mut state = self.state();
            state.is_over = true;
            state.session.take()
        };
        if let Some(session) = session {
            session.end().await;
        }
        // One that is just being started ends as soon as it is there.
        drop(self.starting.lock().await);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn fail(&mut self, error: &UpstreamError) {
        let (now, reason) = (Instant::now(), error.to_string());
        match error {
            error if error.is_ours() => {}
            error if error.is_of_login() => self.breaker.is_hopeless(now, reason),
            _ => self.breaker.failed(now, reason),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn what_this_program_lacks_is_no_fault_of_the_server() {
        let start = |source: std::io::Error| UpstreamError::Start {
            command: "x".to_owned(),
            source: Arc::new(source),
        };
        let rests = |error| {
            let mut state = State::default();
            state.fail(&error);
            state.breaker.rest(Instant::now()).is_some()
        };
        let too_many_files = rustix::io::Errno::MFILE.raw_os_error();
        assert!(!rests(start(std::io::Error::from_raw_os_error(too_many_files))));
        assert!(rests(start(std::io::ErrorKind::PermissionDenied.into())));
    }
}
