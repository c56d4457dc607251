//! How much of a service one tenant may take at a time.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;

/// Requests under way, streams included, by tenant.
pub(super) struct Shares {
    /// Of each.
    limit: usize,
    taken: Mutex<HashMap<Arc<str>, Arc<()>>>,
}

/// A request under way, until it is dropped.
pub(super) struct Share {
    _held: Arc<()>,
}

impl Shares {
    /// Three quarters of all that are served at a time for the greediest.
    pub(super) fn of(n_connections: usize) -> Self {
        Self { limit: (n_connections / 4 * 3).max(1), taken: Mutex::default() }
    }

    /// One more request of a tenant; `None` if there are too many.
    pub(super) fn take(&self, tenant: &Arc<str>) -> Option<Share> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let held = taken.entry(Arc::clone(tenant)).or_default();
        let n_held = Arc::strong_count(held) - 1;
        (n_held < self.limit).then(|| Share { _held: Arc::clone(held) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_bounded_and_comes_back() {
        let shares = Shares::of(8);
        let [a, b] = ["a", "b"].map(Arc::<str>::from);
        let mut held: Vec<Share> = (0..6).map(|_| shares.take(&a).unwrap()).collect();
        assert!(shares.take(&a).is_none());
        assert!(shares.take(&b).is_some());
        drop(held.pop());
        assert!(shares.take(&a).is_some());
    }
}
