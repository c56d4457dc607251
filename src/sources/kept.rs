//! Files that sources keep for the next time: replaced as a whole, and removed
//! once nobody wants them.

use std::io;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;

use tempfile::NamedTempFile;

/// Puts `bytes` in place of what is at `path`; its owner alone may read them.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs_err::create_dir_all(folder)?;
    let mut file = NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    if cfg!(unix) {
        fs_err::File::open(folder)?.sync_all()?;
    }
    Ok(())
}

/// Removes all files of `folder` but these, also what a killed run left.
pub(crate) fn keep_only(folder: &Path, kept: &[PathBuf]) {
    let Ok(entries) = fs_err::read_dir(folder) else { return };
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        if !kept.contains(&path)
            && let Err(error) = fs_err::remove_file(&path)
        {
            tracing::warn!(%error, "cannot remove what a source has left");
        }
    }
}
