//! `confidence.toml` beside the generations: a calibration for this catalogue.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Index, IndexError};
use crate::confidence::Calibration;
use crate::embed::Identity;

pub(super) const FILE: &str = "confidence.toml";

/// The file.
#[derive(Debug, Serialize, Deserialize)]
struct Stored {
    /// Digest of the model that the numbers hold for.
    model: String,
    confidence: Calibration,
}

impl Index {
    /// The calibration made for this catalogue, which stays when the index is
    /// built again; `None` without one, or when it is of another model.
    ///
    /// # Errors
    /// Fails when the file is damaged.
    pub fn calibration(&self) -> Result<Option<Calibration>, IndexError> {
        let path = self.dir().join(FILE);
        let text = match fs_err::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(IndexError::Read { path, source }),
        };
        let stored: Stored = toml::from_str(&text)
            .map_err(|error| IndexError::Damaged { path, what: error.to_string() })?;
        let is_own = stored.model == digest(&self.manifest().embedder);
        if !is_own {
            tracing::warn!("`{FILE}` is of another model; calibrate again");
        }
        Ok(is_own.then_some(stored.confidence))
    }

    /// Keeps a calibration of `model` for the index in `dir`.
    ///
    /// # Errors
    /// Fails when the file cannot be written.
    pub fn keep_calibration(
        dir: &Path,
        model: &Identity,
        confidence: Calibration,
    ) -> Result<(), IndexError> {
        replace(dir, &text(model, confidence))
    }
}

/// Puts `text` in place of the calibration of `dir`.
pub(super) fn replace(dir: &Path, text: &str) -> Result<(), IndexError> {
    let path = dir.join(FILE);
    let failed =
        |source| IndexError::Write { path: path.clone(), bytes: text.len() as u64, source };
    let mut file = tempfile::NamedTempFile::new_in(dir).map_err(failed)?;
    std::io::Write::write_all(&mut file, text.as_bytes()).map_err(failed)?;
    file.persist(&path).map_err(|error| failed(error.error))?;
    Ok(())
}

/// The text of the calibration in `dir`, if there is one and it can be read.
pub(super) fn read_checked(dir: &Path) -> Result<Option<String>, IndexError> {
    let path = dir.join(FILE);
    let text = match fs_err::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(IndexError::Read { path, source }),
    };
    match toml::from_str::<Stored>(&text) {
        Ok(_) => Ok(Some(text)),
        Err(error) => Err(IndexError::Damaged { path, what: error.to_string() }),
    }
}

fn text(model: &Identity, confidence: Calibration) -> String {
    let stored = Stored { model: digest(model), confidence };
    toml::to_string(&stored).unwrap_or_default()
}

fn digest(model: &Identity) -> String {
    model.digest().iter().map(|byte| format!("{byte:02x}")).collect()
}
