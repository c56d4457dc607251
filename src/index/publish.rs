//! Making a generation live: temporary folder, fsync, rename, swap.
//!
//! Owns the order of steps that makes a crash at any point harmless: the old
//! generation stays valid until `CURRENT` has been replaced.

use std::io::Write;
use std::path::Path;

use super::format::{CURRENT, MANIFEST, MANIFEST_SHA256};
use super::write::{sha256_hex, to_json};
use super::{IndexError, Manifest};

/// Writes the folder under a temporary name, then renames it, then `CURRENT`.
///
/// Fails with the first file that cannot be written; then nothing is left of
/// the new generation, and the live one stays.
pub(super) fn publish(
    dir: &Path,
    manifest: &Manifest,
    files: &[(&str, &[u8])],
) -> Result<(), IndexError> {
    let name = format!("gen-{}", manifest.generation);
    let temporary = dir.join(format!("{name}.tmp"));
    let manifest = to_json("manifest", manifest)?;
    let checksum = format!("{}  {MANIFEST}\n", sha256_hex(&manifest)).into_bytes();
    let all = files
        .iter()
        .copied()
        .chain([(MANIFEST, manifest.as_slice()), (MANIFEST_SHA256, checksum.as_slice())]);
    let done = write_folder(&temporary, all)
        .and_then(|()| rename(&temporary, &dir.join(&name)))
        .and_then(|()| write_file(&dir.join("CURRENT.tmp"), format!("{name}\n").as_bytes()))
        .and_then(|()| rename(&dir.join("CURRENT.tmp"), &dir.join(CURRENT)));
    if done.is_err() {
        // What was begun goes; if even that fails, the next build removes it.
        for leftover in [&temporary, &dir.join(&name)] {
            remove_logged(leftover);
        }
        remove_logged(&dir.join("CURRENT.tmp"));
        return done;
    }
    sync_folder(dir)
}

fn write_folder<'a>(
    folder: &Path,
    files: impl Iterator<Item = (&'a str, &'a [u8])>,
) -> Result<(), IndexError> {
    fs_err::create_dir_all(folder).map_err(|source| IndexError::Write {
        path: folder.to_owned(),
        bytes: 0,
        source,
    })?;
    for (name, bytes) in files {
        write_file(&folder.join(name), bytes)?;
    }
    sync_folder(folder)
}

fn write_file(path: &Path, bytes: &[u8]) -> Result<(), IndexError> {
    let written = fs_err::File::create(path).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    written.map_err(|source| IndexError::Write {
        path: path.to_owned(),
        bytes: bytes.len() as u64,
        source,
    })
}

fn rename(from: &Path, to: &Path) -> Result<(), IndexError> {
    fs_err::rename(from, to).map_err(|source| IndexError::Write {
        path: to.to_owned(),
        bytes: 0,
        source,
    })
}

/// Makes renames in `folder` survive a power cut.
fn sync_folder(folder: &Path) -> Result<(), IndexError> {
    if cfg!(unix) {
        fs_err::File::open(folder)
            .and_then(|folder| folder.sync_all())
            .map_err(|source| IndexError::Write { path: folder.to_owned(), bytes: 0, source })?;
    }
    Ok(())
}

/// Generations in `dir` that hold a manifest, ascending.
pub(super) fn generations(dir: &Path) -> Vec<u64> {
    let has_manifest = |number: &u64| dir.join(format!("gen-{number}")).join(MANIFEST).is_file();
    numbered(dir).into_iter().filter(has_manifest).collect()
}

/// Numbers that are taken, be it by a folder of somebody else, ascending.
fn numbered(dir: &Path) -> Vec<u64> {
    let Ok(entries) = fs_err::read_dir(dir) else {
        return Vec::new();
    };
    let mut found: Vec<u64> = entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.strip_prefix("gen-")?.parse().ok())
        .collect();
    found.sort_unstable();
    found
}

pub(super) fn newest_generation(dir: &Path) -> Option<u64> {
    numbered(dir).last().copied()
}

/// Temporary files of a build or an import that was killed; nothing else is touched.
pub(super) fn remove_leftovers(dir: &Path) -> Result<(), IndexError> {
    let failed = |source| IndexError::Read { path: dir.to_owned(), source };
    for entry in fs_err::read_dir(dir).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let stem = name.strip_suffix(".tmp").unwrap_or_default();
        let is_generation = stem.strip_prefix("gen-").is_some_and(|n| n.parse::<u64>().is_ok());
        let is_import = stem.starts_with("import-");
        if stem == CURRENT || ((is_generation || is_import) && path.is_dir()) {
            remove_logged(&path);
        }
    }
    Ok(())
}

/// Keeps the new generation and the one that was live before it.
///
/// One that goes is a leftover first: if the removal is killed half-way, the
/// next build knows it for ours although its manifest is gone.
pub(super) fn forget_old(dir: &Path, new: u64, before: Option<u64>) {
    for generation in generations(dir) {
        if generation != new && Some(generation) != before {
            let [old, leftover] =
                ["", ".tmp"].map(|ending| dir.join(format!("gen-{generation}{ending}")));
            match fs_err::rename(&old, &leftover) {
                Ok(()) => remove_logged(&leftover),
                Err(error) => tracing::warn!(%error, "cannot remove an old generation"),
            }
        }
    }
}

fn remove_logged(path: &Path) {
    let removed = if path.is_dir() {
        fs_err::remove_dir_all(path)
    } else if path.exists() {
        fs_err::remove_file(path)
    } else {
        Ok(())
    };
    if let Err(error) = removed {
        tracing::warn!(%error, "cannot remove a leftover of an earlier build");
    }
}
