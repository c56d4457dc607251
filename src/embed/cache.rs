//! A cache of vectors on disk, shared by every process of this user.
//!
//! Owns one SQLite file, `vectors.sqlite`: SQLite gives locking between
//! processes and survives `kill -9`, which our own file format would have to
//! earn. Key: sha256 of embedder identity, runtime and text. A cache that
//! cannot be used costs time, never an answer.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension};
use sha2::{Digest, Sha256};

use super::{BadVector, EmbedError, Embedder, Identity, UnitVector};
use crate::confidence::Calibration;

/// How long a writer waits for another process.
const BUSY_TIMEOUT: Duration = Duration::from_secs(60);

type Key = [u8; 32];

/// An embedder that never embeds the same text twice on this machine.
pub struct CachedEmbedder<E> {
    inner: E,
    prefix: Sha256,
    store: Option<Mutex<Connection>>,
}

impl<E: Embedder> CachedEmbedder<E> {
    /// Opens or makes `dir/vectors.sqlite`.
    ///
    /// A file that is no usable cache is reported in the log and left alone;
    /// the embedder then works without it.
    #[must_use]
    pub fn new(inner: E, dir: &Path) -> Self {
        let mut prefix = Sha256::new();
        prefix.update(inner.identity().digest());
        prefix.update(inner.runtime().as_bytes());
        prefix.update([0]);
        let store = open(dir)
            .inspect_err(|error| {
                tracing::warn!(
                    %error,
                    "embedding cache `{}` is not usable, working without it; delete it if it is damaged",
                    dir.join("vectors.sqlite").display(),
                );
            })
            .ok()
            .map(Mutex::new);
        Self { inner, prefix, store }
    }

    /// How many of `texts` are not in the cache yet.
    #[must_use]
    pub fn n_missing(&self, texts: &[&str]) -> usize {
        self.look_up(texts).iter().filter(|found| found.is_none()).count()
    }

    fn key(&self, text: &str) -> Key {
        let mut hash = self.prefix.clone();
        hash.update(text.as_bytes());
        hash.finalize().into()
    }

    fn look_up(&self, texts: &[&str]) -> Vec<Option<UnitVector>> {
        let Some(store) = &self.store else {
            return vec![None; texts.len()];
        };
        let connection = store.lock().unwrap_or_else(PoisonError::into_inner);
        texts
            .iter()
            .map(|text| {
                let bytes = get(&connection, &self.key(text))
                    .inspect_err(|error| tracing::warn!(%error, "embedding cache read failed"))
                    .ok()
                    .flatten()?;
                decode(&bytes, self.inner.identity().dim)
            })
            .collect()
    }

    fn keep(&self, fresh: &[(Key, &UnitVector)]) {
        let Some(store) = &self.store else { return };
        let mut connection = store.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = put_all(&mut connection, fresh) {
            tracing::warn!(%error, "embedding cache write failed");
        }
    }
}

impl<E: Embedder> Embedder for CachedEmbedder<E> {
    fn identity(&self) -> &Identity {
        self.inner.identity()
    }

    fn runtime(&self) -> &str {
        self.inner.runtime()
    }

    fn calibration(&self) -> Option<Calibration> {
        self.inner.calibration()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Result<UnitVector, BadVector>>, EmbedError> {
        let known = self.look_up(texts);
        let missing: Vec<&str> =
            texts.iter().zip(&known).filter(|(_, k)| k.is_none()).map(|(t, _)| *t).collect();
        let computed = self.inner.embed(&missing)?;
        let fresh: Vec<(Key, &UnitVector)> = missing
            .iter()
            .zip(&computed)
            .filter_map(|(text, vector)| vector.as_ref().ok().map(|v| (self.key(text), v)))
            .collect();
        self.keep(&fresh);
        drop(fresh);
        let mut computed = computed.into_iter();
        Ok(known
            .into_iter()
            .map(|hit| match hit {
                Some(vector) => Ok(vector),
                None => computed.next().unwrap_or(Err(BadVector::Zero)),
            })
            .collect())
    }
}

fn open(dir: &Path) -> Result<Connection, Box<dyn std::error::Error + Send + Sync>> {
    fs_err::create_dir_all(dir)?;
    let connection = Connection::open(dir.join("vectors.sqlite"))?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.execute_batch(
        "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, f32le BLOB NOT NULL) WITHOUT ROWID",
    )?;
    Ok(connection)
}

fn get(connection: &Connection, key: &Key) -> rusqlite::Result<Option<Vec<u8>>> {
    connection
        .prepare_cached("SELECT f32le FROM vectors WHERE key = ?1")?
        .query_row([&key[..]], |row| row.get(0))
        .optional()
}

fn put_all(connection: &mut Connection, fresh: &[(Key, &UnitVector)]) -> rusqlite::Result<()> {
    if fresh.is_empty() {
        return Ok(());
    }
    let transaction =
        connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    for (key, vector) in fresh {
        let bytes: Vec<u8> = vector.as_slice().iter().flat_map(|v| v.to_le_bytes()).collect();
        transaction
            .prepare_cached("INSERT OR REPLACE INTO vectors VALUES (?1, ?2)")?
            .execute((&key[..], bytes))?;
    }
    transaction.commit()
}

/// A row that is not a unit vector of the right length counts as absent.
fn decode(bytes: &[u8], dim: usize) -> Option<UnitVector> {
    let (numbers, rest) = bytes.as_chunks::<4>();
    let values: Vec<f32> = numbers.iter().map(|b| f32::from_le_bytes(*b)).collect();
    rest.is_empty().then(|| UnitVector::from_unit(values, dim).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::super::StandInEmbedder;
    use super::*;

    /// Counts the texts that reach the model.
    struct Counting(StandInEmbedder, AtomicUsize);

    impl Embedder for Counting {
        fn identity(&self) -> &Identity {
            self.0.identity()
        }
        fn runtime(&self) -> &str {
            self.0.runtime()
        }
        fn embed(&self, texts: &[&str]) -> Result<Vec<Result<UnitVector, BadVector>>, EmbedError> {
            self.1.fetch_add(texts.len(), Ordering::Relaxed);
            self.0.embed(texts)
        }
    }

    fn cached(dir: &Path) -> CachedEmbedder<Counting> {
        CachedEmbedder::new(Counting(StandInEmbedder::default(), AtomicUsize::new(0)), dir)
    }

    #[test]
    fn a_text_is_embedded_once_across_processes() {
        let dir = tempfile::tempdir().unwrap();
        let first = cached(dir.path());
        let fresh = first.embed(&["a b", "c d", "!"]).unwrap();
        let second = cached(dir.path());
        assert_eq!(second.n_missing(&["a b", "new"]), 1);
        assert_eq!(second.embed(&["c d", "new", "a b"]).unwrap()[2], fresh[0]);
        assert_eq!(second.inner.1.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_damaged_cache_costs_time_only() {
        let dir = tempfile::tempdir().unwrap();
        fs_err::write(dir.path().join("vectors.sqlite"), b"not a database, for sure").unwrap();
        let vectors = cached(dir.path()).embed(&["a b"]).unwrap();
        assert!(vectors[0].is_ok());
    }

    #[test]
    fn a_damaged_row_is_embedded_again() {
        let dir = tempfile::tempdir().unwrap();
        let before = cached(dir.path()).embed(&["a b"]).unwrap();
        let connection = Connection::open(dir.path().join("vectors.sqlite")).unwrap();
        connection.execute("UPDATE vectors SET f32le = x'0000c07f'", []).unwrap();
        assert_eq!(cached(dir.path()).embed(&["a b"]).unwrap(), before);
    }
}
