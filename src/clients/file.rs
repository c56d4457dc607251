//! One file of a client on the disk: read once, replaced as a whole.
//!
//! Owns links, rights, byte order marks, and that whoever kills us leaves the
//! old file or the new one.

use std::fs::Metadata;
use std::io;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;

use sha2::Digest;
use sha2::Sha256;
use tempfile::NamedTempFile;

use crate::clients::ClientsError;
use crate::clients::Result;

const MARK: &str = "\u{FEFF}";
/// How the names of files begin that are not yet in place.
const UNFINISHED: &str = ".toolscout-";

/// A file as it was when we read it.
#[derive(Debug)]
pub(crate) struct ClientFile {
    /// With all links followed.
    pub(crate) path: PathBuf,
    /// None where there is no file.
    pub(crate) bytes: Option<Vec<u8>>,
}

impl ClientFile {
    /// Reads the file at `path`, or learns that there is none.
    ///
    /// # Errors
    /// When it is there and cannot be read.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let failed = |source| ClientsError::Read { path: path.to_owned(), source };
        let path = match fs_err::canonicalize(path) {
            Ok(path) => path,
            Err(_) if fs_err::symlink_metadata(path).is_ok() => {
                return Err(ClientsError::DeadLink { path: path.to_owned() });
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let whole = std::path::absolute(path).map_err(failed)?;
                return Ok(Self { path: with_real_folder(&whole), bytes: None });
            }
            Err(error) => return Err(failed(error)),
        };
        let bytes = fs_err::read(&path).map_err(failed)?;
        Ok(Self { path, bytes: Some(bytes) })
    }

    /// Its text without a byte order mark; nothing where there is no file.
    ///
    /// # Errors
    /// When it is no UTF-8.
    pub(crate) fn text(&self) -> Result<&str> {
        let text = std::str::from_utf8(self.bytes.as_deref().unwrap_or_default())
            .map_err(|_not_utf8| ClientsError::NotUtf8 { path: self.path.clone() })?;
        Ok(text.strip_prefix(MARK).unwrap_or(text))
    }

    /// The bytes of a new text, with a byte order mark if the file has one.
    pub(crate) fn encoded(&self, text: &str) -> Vec<u8> {
        let has_mark = self.bytes.as_ref().is_some_and(|bytes| bytes.starts_with(MARK.as_bytes()));
        let mark = if has_mark { MARK } else { "" };
        [mark.as_bytes(), text.as_bytes()].concat()
    }

    /// Digest of what was read; none where there is no file.
    pub(crate) fn sha256(&self) -> Option<String> {
        self.bytes.as_deref().map(sha256)
    }

    /// Fails where the file could not be replaced.
    ///
    /// # Errors
    /// When it is read-only.
    pub(crate) fn check_writable(&self) -> Result<()> {
        match self.metadata()? {
            Some(metadata) if metadata.permissions().readonly() => {
                Err(ClientsError::ReadOnly { path: self.path.clone() })
            }
            _ => Ok(()),
        }
    }

    /// Puts other bytes in its place, with the same rights and owner.
    ///
    /// # Errors
    /// When it cannot be written, or is no longer what was read.
    pub(crate) fn replace(&self, bytes: &[u8]) -> Result<()> {
        self.check_writable()?;
        let metadata = self.metadata()?;
        let failed = |source| ClientsError::Write { path: self.path.clone(), source };
        let folder = self.path.parent().unwrap_or(Path::new("."));
        fs_err::create_dir_all(folder).map_err(failed)?;
        let prefix = unfinished(&self.path);
        sweep(folder, &prefix);
        let file = written(folder, &prefix, (bytes, metadata.as_ref())).map_err(failed)?;
        self.check_unchanged()?;
        file.persist(&self.path).map_err(|error| failed(error.error))?;
        sync(folder).map_err(failed)
    }

    /// Removes the file, if it is there.
    ///
    /// # Errors
    /// When it cannot be removed, or is no longer what was read.
    pub(crate) fn remove(&self) -> Result<()> {
        self.check_writable()?;
        self.check_unchanged()?;
        let failed = |source| ClientsError::Write { path: self.path.clone(), source };
        fs_err::remove_file(&self.path).map_err(failed)?;
        sync(self.path.parent().unwrap_or(Path::new("."))).map_err(failed)
    }

    /// Clients write their files whenever they like.
    fn check_unchanged(&self) -> Result<()> {
        let now = match fs_err::read(&self.path) {
            Ok(bytes) => Some(bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(source) => return Err(ClientsError::Read { path: self.path.clone(), source }),
        };
        let is_same = now == self.bytes;
        is_same.then_some(()).ok_or_else(|| ClientsError::Changed { path: self.path.clone() })
    }

    fn metadata(&self) -> Result<Option<Metadata>> {
        match fs_err::metadata(&self.path) {
            Ok(metadata) => Ok(Some(metadata)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(ClientsError::Read { path: self.path.clone(), source }),
        }
    }
}

/// In lower-case hexadecimal digits.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// Puts a file of ours in place; its owner alone may read it.
pub(crate) fn keep(path: &Path, bytes: &[u8]) -> Result<()> {
    let failed = |source| ClientsError::Write { path: path.to_owned(), source };
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file =
        tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(folder).map_err(failed)?;
    file.write_all(bytes).and_then(|()| file.as_file().sync_all()).map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    sync(folder).map_err(failed)
}

/// How the names of files begin that are to take the place of this one; no
/// file of its user is called so.
fn unfinished(path: &Path) -> String {
    format!("{UNFINISHED}{}-", &sha256(path.as_os_str().as_encoded_bytes())[..12])
}

/// Removes what killed runs have left in a folder of files of ours; whoever
/// calls this holds its lock.
pub(crate) fn sweep_own(folder: &Path) {
    sweep(folder, UNFINISHED);
}

/// Removes what killed runs have left; a file that is being written is locked.
fn sweep(folder: &Path, prefix: &str) {
    let Ok(entries) = fs_err::read_dir(folder) else {
        return;
    };
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_left = || fs_err::File::open(&path).is_ok_and(|file| file.file().try_lock().is_ok());
        if name.starts_with(prefix)
            && is_left()
            && let Err(error) = fs_err::remove_file(&path)
        {
            tracing::warn!(%error, "cannot remove what a killed run has left");
        }
    }
}

/// A complete file beside the one it shall replace.
///
/// A new one is its owner's alone: servers that come back may bring secrets.
fn written(
    folder: &Path,
    prefix: &str,
    (bytes, like): (&[u8], Option<&Metadata>),
) -> io::Result<NamedTempFile> {
    let mut file = tempfile::Builder::new().prefix(prefix).tempfile_in(folder)?;
    file.as_file().lock()?;
    file.write_all(bytes)?;
    if let Some(like) = like {
        #[cfg(unix)]
        keep_owner(&file, like)?;
        file.as_file().set_permissions(like.permissions())?;
    }
    file.as_file().sync_all()?;
    Ok(file)
}

/// A file that root changes still belongs to its user.
#[cfg(unix)]
fn keep_owner(file: &NamedTempFile, like: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let now = file.as_file().metadata()?;
    if (now.uid(), now.gid()) == (like.uid(), like.gid()) {
        return Ok(());
    }
    std::os::unix::fs::chown(file.path(), Some(like.uid()), Some(like.gid()))
}

fn sync(folder: &Path) -> io::Result<()> {
    if cfg!(unix) {
        fs_err::File::open(folder)?.sync_all()?;
    }
    Ok(())
}

/// The path a new file will have once its links are followed.
fn with_real_folder(path: &Path) -> PathBuf {
    let real = |folder: &Path| {
        let rest = path.strip_prefix(folder).ok()?;
        Some(fs_err::canonicalize(folder).ok()?.join(rest))
    };
    path.ancestors().skip(1).find_map(real).unwrap_or_else(|| path.to_owned())
}

/// Makes a folder, which its owner alone may enter, and those above it.
#[cfg(unix)]
pub(crate) fn make_private_folder(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    if let Some(above) = folder.parent() {
        fs_err::create_dir_all(above)?;
    }
    match std::fs::DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => Ok(()),
        made => made,
    }
}

/// Folders of a user are closed to others by what they inherit.
#[cfg(not(unix))]
pub(crate) fn make_private_folder(folder: &Path) -> io::Result<()> {
    fs_err::create_dir_all(folder)
}
