//! One file → the files of a generation, none of which is trusted.
//!
//! Refuses whatever `export` would not have written: other names, links,
//! paths, repeated files, sizes that are out of proportion.

use std::collections::BTreeSet;
use std::io;
use std::io::BufReader;
use std::io::Read;
use std::io::Seek;
use std::path::Path;

use tar::{Archive, Entry, EntryType};
use zstd::Decoder;

use super::{ArchiveError, NAMES};
use crate::index::Manifest;
use crate::index::calibration;
use crate::index::format::MANIFEST;
use crate::index::format::MANIFEST_SHA256;
use crate::index::read::read_manifest;

/// First bytes of zstd.
const MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];

/// An index gets a few times smaller, a bomb some thousand times.
const MAX_RATIO: u64 = 200;

/// Small archives may unpack to this much whatever their size.
const MIN_LIMIT: u64 = 64 << 20;

/// Unpacks `file` into the empty `folder`; the files there are those of the
/// manifest, but their contents are not checked.
pub(super) fn unpack(file: &Path, folder: &Path) -> Result<Manifest, ArchiveError> {
    let broken = |source| ArchiveError::Broken { path: file.to_owned(), source };
    let (opened, limit) = open(file)?;
    let decoder = Decoder::new(opened).map_err(broken)?;
    // A little more, so that the end of what fits is still seen.
    let mut archive = Archive::new(decoder.take(limit + (1 << 20)));
    let (mut names, mut left, mut manifest) = (BTreeSet::new(), limit, None);
    // Raw: long names and other extensions are entries to be refused.
    for entry in archive.entries().map_err(broken)?.raw(true) {
        let mut entry = entry.map_err(broken)?;
        let name = name_of(&entry, &names).map_err(|(entry, what)| ArchiveError::Entry {
            path: file.to_owned(),
            entry,
            what,
        })?;
        let size = entry.size();
        left = left.checked_sub(size).ok_or_else(|| ArchiveError::Entry {
            path: file.to_owned(),
            entry: name.to_owned(),
            what: format!("which makes more than {limit} bytes of it"),
        })?;
        let mut written = fs_err::File::create(folder.join(name))
            .map_err(|source| ArchiveError::Write { path: folder.join(name), source })?;
        if io::copy(&mut entry, &mut written).map_err(broken)? != size {
            return Err(broken(io::ErrorKind::UnexpectedEof.into()));
        }
        names.insert(name);
        if name == MANIFEST_SHA256 {
            manifest = Some(read_manifest(folder).map_err(|source| ArchiveError::Unsound {
                path: file.to_owned(),
                source: Box::new(source),
            })?);
        }
    }
    check_end(archive.into_inner()).map_err(broken)?;
    let foreign = |what: String| ArchiveError::Foreign { path: file.to_owned(), what };
    let manifest = manifest.ok_or_else(|| foreign("it has no manifest".to_owned()))?;
    let expected = manifest.files.keys().map(String::as_str).chain([MANIFEST, MANIFEST_SHA256]);
    let expected: BTreeSet<&str> = expected.collect();
    names.remove(calibration::FILE);
    match names.symmetric_difference(&expected).next() {
        Some(name) if names.contains(name) => {
            Err(foreign(format!("its manifest does not know its `{name}`")))
        }
        Some(name) => Err(foreign(format!("it lacks `{}`", name.escape_debug()))),
        None => Ok(manifest),
    }
}

/// The file, and how much may come out of it.
fn open(file: &Path) -> Result<(BufReader<fs_err::File>, u64), ArchiveError> {
    let failed = |source| ArchiveError::Read { path: file.to_owned(), source };
    let mut opened = fs_err::File::open(file).map_err(failed)?;
    let bytes = opened.metadata().map_err(failed)?.len();
    let mut magic = Vec::new();
    (&mut opened).take(4).read_to_end(&mut magic).map_err(failed)?;
    if magic != MAGIC {
        let what = "it does not begin as zstd does".to_owned();
        return Err(ArchiveError::Foreign { path: file.to_owned(), what });
    }
    opened.rewind().map_err(failed)?;
    Ok((BufReader::new(opened), bytes.saturating_mul(MAX_RATIO).saturating_add(MIN_LIMIT)))
}

/// The name of an entry that may stand here, or what it is called and why not.
fn name_of<R: Read>(
    entry: &Entry<'_, R>,
    before: &BTreeSet<&str>,
) -> Result<&'static str, (String, String)> {
    let written = entry.path_bytes();
    let shown: String = String::from_utf8_lossy(&written).escape_debug().take(80).collect();
    let kind = entry.header().entry_type();
    if kind != EntryType::Regular {
        return Err((shown, format!("which is no file but {kind:?}")));
    }
    let Some(name) = NAMES.into_iter().find(|name| name.as_bytes() == &*written) else {
        return Err((shown, "which is no file of an index".to_owned()));
    };
    if before.contains(name) {
        return Err((shown, "which it holds twice".to_owned()));
    }
    let expected = NAMES.get(before.len()).filter(|_| before.len() < 2);
    match expected {
        Some(first) if *first != name => Err((shown, format!("where `{first}` should be"))),
        _ => Ok(name),
    }
}

/// After the last entry there are zeros, and a checksum that only now is seen.
fn check_end(mut rest: impl Read) -> io::Result<()> {
    let mut buffer = [0; 4096];
    loop {
        match rest.read(&mut buffer)? {
            0 => return Ok(()),
            n if buffer[..n].iter().all(|byte| *byte == 0) => {}
            _ => return Err(io::Error::new(io::ErrorKind::InvalidData, "more after its end")),
        }
    }
}
