//! One build at a time for each index directory.

use std::fs::{File, TryLockError};
use std::path::Path;

use super::IndexError;
use super::format::LOCK;

/// Held from before the first text is embedded until the swap is done.
///
/// The operating system frees it when the process ends, however it ends.
#[derive(Debug)]
pub struct BuildLock {
    _file: File,
}

impl BuildLock {
    /// Makes the directory and waits for its lock; `on_wait` is called once
    /// if another build holds it.
    ///
    /// # Errors
    /// Fails when the directory cannot be made or written.
    pub fn acquire(dir: &Path, on_wait: impl FnOnce()) -> Result<Self, IndexError> {
        let path = dir.join(LOCK);
        let failed = |source| IndexError::Write { path: path.clone(), bytes: 0, source };
        fs_err::create_dir_all(dir).map_err(failed)?;
        let file = fs_err::OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(failed)?
            .into_parts()
            .0;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                on_wait();
                file.lock().map_err(failed)?;
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        Ok(Self { _file: file })
    }
}
