//! What we have noted of the files we changed, so that all can be undone.
//!
//! Owns the folder `clients`: for each file of a client its bytes as they were,
//! a record, and the servers that were moved. All may hold secrets, so their
//! owner alone may read them.

use std::fs::File;
use std::fs::TryLockError;
use std::io;
use std::path::Path;
use std::path::PathBuf;

use serde::Deserialize;
use serde::Serialize;

use crate::clients::ClientsError;
use crate::clients::Result;
use crate::clients::file;
use crate::clients::file::ClientFile;
use crate::clients::layout;
use crate::clients::layout::Language;
use crate::sources::client_config::Client;

const LOCK: &str = ".lock";

/// One change at a time; freed when the process ends, however it ends.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Makes the folder and waits for its lock.
    ///
    /// # Errors
    /// When the folder cannot be made or written.
    pub(crate) fn acquire(folder: &Path) -> Result<Self> {
        let path = folder.join(LOCK);
        let failed = |source| ClientsError::Write { path: path.clone(), source };
        file::make_private_folder(folder).map_err(failed)?;
        let mut options = fs_err::OpenOptions::new();
        let options = options.create(true).truncate(false).write(true);
        let file = options.open(&path).map_err(failed)?.into_parts().0;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => file.lock().map_err(failed)?,
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        file::sweep_own(folder);
        Ok(Self { _file: file })
    }
}

/// What was done to one file.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Record {
    /// The file.
    pub(crate) path: PathBuf,
    /// Names of our entries in it.
    pub(crate) names: Vec<String>,
    /// Digest of the file as it was; none if there was no file.
    pub(crate) before: Option<String>,
    /// Digests of all that installs made of it, nobody else having changed it:
    /// from each of them the way back is the backup.
    pub(crate) after: Vec<String>,
}

/// How a file stands to its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// As it was before.
    Original,
    /// As an install left it.
    Installed,
    /// Someone has changed it since.
    Edited,
}

impl Record {
    pub(crate) fn state_of(&self, file: &ClientFile) -> State {
        let now = file.sha256();
        match &now {
            _ if now == self.before => State::Original,
            Some(now) if self.after.contains(now) => State::Installed,
            _ => State::Edited,
        }
    }
}

/// Our files about one file of a client.
#[derive(Debug)]
pub(crate) struct Slot {
    /// The servers that were moved, written as the client writes them.
    pub(crate) moved: PathBuf,
    /// The bytes as they were.
    pub(crate) backup: PathBuf,
    noted: PathBuf,
    /// None where nothing is noted.
    pub(crate) record: Option<Record>,
}

impl Slot {
    /// Named like the client; its second file gets a digest of its path.
    ///
    /// # Errors
    /// When a record cannot be read, or could not name the file.
    pub(crate) fn of(folder: &Path, client: Client, path: &Path) -> Result<Self> {
        if path.to_str().is_none() {
            return Err(ClientsError::NotText { path: path.to_owned() });
        }
        let digest = file::sha256(path.as_os_str().as_encoded_bytes());
        let own = Self::named(folder, client, &format!("{}-{}", client.id(), &digest[..8]))?;
        let first = Self::named(folder, client, client.id())?;
        let is_free = first.record.as_ref().is_none_or(|record| record.path == path);
        Ok(if own.record.is_none() && is_free { first } else { own })
    }

    fn named(folder: &Path, client: Client, name: &str) -> Result<Self> {
        let ending = match layout::language(client, Path::new("")) {
            Language::Toml => "toml",
            _ => "json",
        };
        let noted = folder.join(format!("{name}.record"));
        let record = match read(&noted)? {
            None => None,
            Some(bytes) => Some(
                serde_json::from_slice(&bytes)
                    .map_err(|source| ClientsError::Record { path: noted.clone(), source })?,
            ),
        };
        let moved = folder.join(format!("{name}.{ending}"));
        let backup = folder.join(format!("{name}.backup"));
        Ok(Self { moved, backup, noted, record })
    }

    /// The text of the moved servers, if there are any.
    ///
    /// # Errors
    /// When the file is there and cannot be read.
    pub(crate) fn moved_text(&self) -> Result<Option<String>> {
        let Some(bytes) = read(&self.moved)? else {
            return Ok(None);
        };
        let not_utf8 = |_| ClientsError::NotUtf8 { path: self.moved.clone() };
        String::from_utf8(bytes).map(Some).map_err(not_utf8)
    }

    /// The bytes before the first install; nothing if there was no file.
    ///
    /// # Errors
    /// When they cannot be read.
    pub(crate) fn backup_bytes(&self) -> Result<Vec<u8>> {
        fs_err::read(&self.backup)
            .map_err(|source| ClientsError::Read { path: self.backup.clone(), source })
    }

    /// Writes the record.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn note(&self, record: &Record) -> Result<()> {
        let bytes = serde_json::to_vec_pretty(record).map_err(|_not_text| {
            // The path is the only thing in it that JSON may not be able to hold.
            ClientsError::NotText { path: record.path.clone() }
        })?;
        file::keep(&self.noted, &bytes)
    }

    /// Removes all of it; the record goes first, so that a rest means nothing.
    ///
    /// # Errors
    /// When a file cannot be removed.
    pub(crate) fn forget(&self) -> Result<()> {
        for path in [&self.noted, &self.moved, &self.backup] {
            remove(path)?;
        }
        Ok(())
    }
}

/// Removes a file of ours, if it is there.
pub(crate) fn remove(path: &Path) -> Result<()> {
    match fs_err::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(ClientsError::Write { path: path.to_owned(), source })
        }
        _ => Ok(()),
    }
}

fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    match fs_err::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ClientsError::Read { path: path.to_owned(), source }),
    }
}
