//! The servers that can be called, by the entries of configurations they come from.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::sync::Arc;

use crate::catalog::Entry;
use crate::upstream::Guardian;
use crate::upstream::Pool;
use crate::upstream::PoolLimits;
use crate::upstream::Target;

/// A pool of servers, and who is who.
pub struct Backends {
    pool: Pool,
    names: HashMap<Entry, String>,
    /// Why some cannot be called.
    impossible: BTreeMap<String, String>,
}

impl Backends {
    /// Takes over servers, or why they cannot be called; a name that comes
    /// again is told apart. Must run within tokio.
    #[must_use]
    pub fn new(
        servers: Vec<(Entry, Result<Target, String>)>,
        guardian: Option<&Arc<Guardian>>,
        limits: PoolLimits,
    ) -> Self {
        let (mut targets, mut names) = (BTreeMap::new(), HashMap::new());
        let mut impossible = BTreeMap::new();
        for (entry, target) in servers {
            let mut name = entry.name.clone();
            let mut n = 2;
            while targets.contains_key(&name) || impossible.contains_key(&name) {
                name = format!("{} #{n}", entry.name);
                n += 1;
            }
            names.insert(entry, name.clone());
            match target {
                Ok(target) => drop(targets.insert(name, target)),
                Err(reason) => drop(impossible.insert(name, reason)),
            }
        }
        let pool = Pool::new(targets.into_iter().collect(), guardian, limits);
        Self { pool, names, impossible }
    }

    /// What the server of an entry is called in the pool. A configuration that
    /// has moved is known by the name of its server, if that is the only one.
    #[must_use]
    pub fn name_of(&self, entry: &Entry) -> Option<&str> {
        let by_name = || {
            let mut alike = self.names.iter().filter(|(known, _)| known.name == entry.name);
            alike.next().filter(|_| alike.next().is_none()).map(|(_, name)| name)
        };
        self.names.get(entry).or_else(by_name).map(String::as_str)
    }

    /// The entry of a server of the pool.
    #[must_use]
    pub fn entry_of(&self, name: &str) -> Option<&Entry> {
        self.names.iter().find(|(_, known)| *known == name).map(|(entry, _)| entry)
    }

    /// Why a server cannot be called at all.
    #[must_use]
    pub fn impossible(&self, name: &str) -> Option<&str> {
        self.impossible.get(name).map(String::as_str)
    }

    /// The servers themselves.
    #[must_use]
    pub fn pool(&self) -> &Pool {
        &self.pool
    }
}
