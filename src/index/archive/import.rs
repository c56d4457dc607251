//! One file → the live generation of an index directory.
//!
//! Everything is unpacked and verified in a temporary folder of that directory
//! first, under its lock; a build removes what is left of an import that was
//! killed.

use std::path::Path;

use tempfile::TempDir;

use super::ArchiveError;
use super::unpack::unpack;
use crate::catalog::ServerId;
use crate::catalog::ToolId;
use crate::index::BuildLock;
use crate::index::Index;
use crate::index::IndexError;
use crate::index::Manifest;
use crate::index::Written;
use crate::index::calibration;
use crate::index::format::LOCK;
use crate::index::publish::{forget_old, newest_generation, publish, remove_leftovers};
use crate::index::read::map;

/// Makes the generation in `file` the live one of `dir`; `on_wait` is called
/// once if another build holds the lock.
///
/// # Errors
/// When the file is not exactly what `export` writes; then nothing is touched.
pub fn import(file: &Path, dir: &Path, on_wait: impl FnOnce()) -> Result<Written, ArchiveError> {
    let was_there = dir.exists();
    let lock = BuildLock::acquire(dir, on_wait)?;
    let done = take_over(file, dir, &lock);
    if done.is_err() && !was_there {
        drop(lock);
        // Only the lock is in it; where more is, somebody else was here.
        let removed = fs_err::remove_file(dir.join(LOCK)).and_then(|()| fs_err::remove_dir(dir));
        if let Err(error) = removed {
            tracing::debug!(%error, "the new index directory stays");
        }
    }
    done
}

fn take_over(file: &Path, dir: &Path, _lock: &BuildLock) -> Result<Written, ArchiveError> {
    remove_leftovers(dir)?;
    let temporary = tempfile::Builder::new().prefix("import-").suffix(".tmp").tempdir_in(dir);
    let temporary =
        temporary.map_err(|source| ArchiveError::Write { path: dir.to_owned(), source })?;
    let folder = temporary.path().join("gen-1");
    fs_err::create_dir(&folder)
        .map_err(|source| ArchiveError::Write { path: folder.clone(), source })?;
    let unpacked = unpack(file, &folder)?;
    let unsound =
        |source| ArchiveError::Unsound { path: file.to_owned(), source: Box::new(source) };
    check(&temporary).map_err(unsound)?;
    let confidence = calibration::read_checked(&folder).map_err(unsound)?;
    let written = make_live(dir, &folder, &own(unpacked))?;
    if let Some(confidence) = confidence {
        calibration::replace(dir, &confidence)?;
    }
    Ok(written)
}

/// All that `verify` does, and every record of the catalogue.
fn check(temporary: &TempDir) -> Result<(), IndexError> {
    let index = Index::open_generation(temporary.path(), "gen-1")?;
    index.verify()?;
    index.surface()?;
    let counts = index.manifest().counts;
    (0..).take(counts.servers).try_for_each(|id| index.server(ServerId(id)).map(|_| ()))?;
    (0..).take(counts.tools).try_for_each(|id| index.tool(ToolId(id)).map(|_| ()))
}

/// What its maker allowed himself is not allowed here.
fn own(mut manifest: Manifest) -> Manifest {
    for source in &mut manifest.sources {
        source.allow_private = false;
        source.imported = true;
    }
    manifest
}

fn make_live(dir: &Path, folder: &Path, unpacked: &Manifest) -> Result<Written, ArchiveError> {
    let live = Index::open(dir).ok().filter(|index| index.verify().is_ok());
    let before = live.map(|live| live.manifest().clone());
    let numbered = |generation| Manifest { generation, ..unpacked.clone() };
    if let Some(live) = &before
        && *live == numbered(live.generation)
    {
        return Ok(Written::Unchanged(live.generation));
    }
    let manifest = numbered(newest_generation(dir).map_or(1, |newest| newest.saturating_add(1)));
    let names = manifest.files.keys();
    let files: Vec<(&str, _)> = names
        .map(|name| Ok((name.as_str(), map(&folder.join(name))?)))
        .collect::<Result<_, IndexError>>()?;
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, map)| (*name, &map[..])).collect();
    publish(dir, &manifest, &files)?;
    forget_old(dir, manifest.generation, before.map(|before| before.generation));
    Ok(Written::New(manifest.generation))
}
