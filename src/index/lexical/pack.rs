//! tantivy's files in one file, as tensors of bytes, read through a map.
//!
//! Owns the read-only directory. It takes no lock file and copies only the
//! ranges that a query touches.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use memmap2::Mmap;
use safetensors::{Dtype, SafeTensors, View, tensor::TensorView};
use tantivy::HasLen;
use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    Directory, DirectoryLock, FileHandle, Lock, OwnedBytes, RamDirectory, WatchCallback,
    WatchHandle, WritePtr,
};

use crate::index::IndexError;

/// The bytes of `names` in `ram`, packed.
pub(super) fn pack(ram: &RamDirectory, names: HashSet<PathBuf>) -> Result<Vec<u8>, IndexError> {
    let damaged = |what: String| IndexError::Damaged { path: PathBuf::from("lexical"), what };
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    for name in names {
        // Parts that a schema does not need are listed, but never written.
        let Ok(file) = ram.open_read(&name) else { continue };
        let bytes = file.read_bytes().map_err(|error| damaged(error.to_string()))?;
        files.push((name.display().to_string(), bytes.to_vec()));
    }
    files.sort();
    let views: Vec<(&str, TensorView<'_>)> = files
        .iter()
        .map(|(name, bytes)| {
            Ok((name.as_str(), TensorView::new(Dtype::U8, vec![bytes.len()], bytes)?))
        })
        .collect::<Result<_, safetensors::SafeTensorError>>()
        .map_err(|error| damaged(error.to_string()))?;
    safetensors::serialize(views, None).map_err(|error| damaged(error.to_string()))
}

/// A packed directory; cheap to clone.
#[derive(Clone)]
pub(super) struct Pack {
    file: Arc<Mmap>,
    parts: Arc<HashMap<PathBuf, Range<usize>>>,
}

impl Pack {
    pub(super) fn open(path: &Path, file: &Arc<Mmap>) -> Result<Self, IndexError> {
        let parsed = SafeTensors::deserialize(file).map_err(|error| IndexError::Damaged {
            path: path.to_owned(),
            what: error.to_string(),
        })?;
        let base = file.as_ptr().addr();
        let range = |view: &TensorView<'_>| {
            let start = view.data().as_ptr().addr() - base;
            start..start + View::data_len(view)
        };
        let parts = parsed.iter().map(|(name, view)| (PathBuf::from(name), range(&view))).collect();
        Ok(Self { file: Arc::clone(file), parts: Arc::new(parts) })
    }

    fn part(&self, path: &Path) -> Result<Part, OpenReadError> {
        let range = self.parts.get(path).cloned();
        range
            .map(|range| Part { file: Arc::clone(&self.file), range })
            .ok_or_else(|| OpenReadError::FileDoesNotExist(path.to_owned()))
    }
}

impl fmt::Debug for Pack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pack").field("parts", &self.parts).finish_non_exhaustive()
    }
}

/// One file of the pack.
struct Part {
    file: Arc<Mmap>,
    range: Range<usize>,
}

impl Part {
    fn bytes(&self, range: Range<usize>) -> Option<&[u8]> {
        self.file.get(self.range.clone())?.get(range)
    }
}

impl HasLen for Part {
    fn len(&self) -> usize {
        self.range.len()
    }
}

impl fmt::Debug for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Part({:?})", self.range)
    }
}

impl FileHandle for Part {
    fn read_bytes(&self, range: Range<usize>) -> io::Result<OwnedBytes> {
        let bytes = self.bytes(range).ok_or(io::ErrorKind::UnexpectedEof)?;
        Ok(OwnedBytes::new(bytes.to_vec()))
    }
}

impl Directory for Pack {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        Ok(Arc::new(self.part(path)?))
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        Ok(self.parts.contains_key(path))
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        let part = self.part(path)?;
        Ok(part.bytes(0..part.len()).unwrap_or_default().to_vec())
    }

    fn acquire_lock(&self, _lock: &Lock) -> Result<DirectoryLock, LockError> {
        // Nobody writes to a pack.
        Ok(DirectoryLock::from(Box::new(())))
    }

    fn watch(&self, _callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        Ok(WatchHandle::empty())
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        Err(DeleteError::FileDoesNotExist(path.to_owned()))
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        Err(OpenWriteError::FileAlreadyExists(path.to_owned()))
    }

    fn atomic_write(&self, _path: &Path, _data: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }
}
