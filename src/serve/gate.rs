//! An index that is being built while requests already come.

use std::sync::Arc;
use std::sync::Condvar;
use std::sync::Mutex;
use std::sync::PoisonError;

use tokio::sync::Notify;

/// Where those wait who need the index.
#[derive(Debug, Default)]
pub struct Gate {
    state: Mutex<State>,
    changed: Condvar,
    /// The same for those who hold no thread.
    told: Notify,
    /// Servers that are in no index yet, but may be in the next one.
    awaited: Mutex<Arc<[String]>>,
}

#[derive(Clone, Debug, Default)]
enum State {
    /// Nothing is being built.
    #[default]
    Open,
    Building,
    Failed(String),
}

impl Gate {
    /// From now on who needs an index waits for it.
    pub fn close(&self) {
        self.set(State::Building);
    }

    /// There is an index of all that is to be had.
    pub fn open(&self) {
        self.open_but_for(Vec::new());
    }

    /// There is an index, but these servers are still asked.
    pub fn open_but_for(&self, awaited: Vec<String>) {
        *self.awaited.lock().unwrap_or_else(PoisonError::into_inner) = awaited.into();
        self.set(State::Open);
    }

    /// Servers that are still asked.
    pub(super) fn awaited(&self) -> Arc<[String]> {
        Arc::clone(&self.awaited.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// There will be none, and why.
    pub fn fail(&self, reason: String) {
        self.set(State::Failed(reason));
    }

    /// Whether something is being built.
    pub(super) fn is_closed(&self) -> bool {
        matches!(*self.state.lock().unwrap_or_else(PoisonError::into_inner), State::Building)
    }

    /// Waits for what is being built, if anything is.
    pub(super) async fn opened(&self) {
        loop {
            let mut told = std::pin::pin!(self.told.notified());
            told.as_mut().enable();
            if !self.is_closed() {
                return;
            }
            told.await;
        }
    }

    /// Waits for what is being built; false if nothing was. Blocking.
    pub(super) fn wait(&self) -> Result<bool, String> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut has_waited = false;
        loop {
            match &*state {
                State::Open => return Ok(has_waited),
                State::Failed(reason) => return Err(reason.clone()),
                State::Building => has_waited = true,
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn set(&self, new: State) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = new;
        self.changed.notify_all();
        self.told.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn who_waits_goes_on_when_the_gate_opens_or_fails() {
        let gate = Arc::new(Gate::default());
        gate.opened().await;
        for open in [Gate::open as fn(&Gate), |gate: &Gate| gate.fail("why".to_owned())] {
            gate.close();
            let waits = Arc::clone(&gate);
            let mut waiting = tokio::spawn(async move { waits.opened().await });
            let early = tokio::time::timeout(Duration::from_millis(20), &mut waiting).await;
            assert!(early.is_err());
            open(&gate);
            waiting.await.unwrap();
        }
    }
}
