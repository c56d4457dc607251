//! Whose list of tools has changed, for whoever lists them anew.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;

use tokio::sync::Notify;

/// Names of servers that said so; a name stands there once, however often it was said.
#[derive(Debug, Default)]
pub(super) struct Changes {
    names: Mutex<BTreeSet<String>>,
    notify: Notify,
}

/// What one server tells.
#[derive(Clone, Debug)]
pub(super) struct OnChange {
    /// Whose list it is.
    pub(super) name: String,
    /// Whom it is told to.
    pub(super) changes: Arc<Changes>,
}

impl OnChange {
    pub(super) fn tell(&self) {
        self.changes.names().insert(self.name.clone());
        self.changes.notify.notify_one();
    }
}

impl Changes {
    /// Waits until there are some, and takes them.
    pub(super) async fn next(&self) -> BTreeSet<String> {
        loop {
            let names = std::mem::take(&mut *self.names());
            if !names.is_empty() {
                return names;
            }
            self.notify.notified().await;
        }
    }

    fn names(&self) -> std::sync::MutexGuard<'_, BTreeSet<String>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
