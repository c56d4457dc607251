//! Files from the disk as text, counted and hashed on the way.
//!
//! Owns what the record of a source says of its bytes, be they of one file or
//! of all files of a folder in the order in which they were read.

use std::path::Path;

use sha2::Digest;
use sha2::Sha256;

use crate::sources::SourceError;
use crate::sources::text;

/// Reads files; knows how many bytes so far, and their hash.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    sha256: Sha256,
    bytes: u64,
}

impl Reader {
    /// The text of a file, whatever its encoding.
    ///
    /// # Errors
    /// When it cannot be read or is no text.
    pub(crate) fn text(&mut self, path: &Path) -> Result<String, SourceError> {
        let bytes =
            fs_err::read(path).map_err(|source| SourceError::from_io(path.to_owned(), source))?;
        self.decoded(path, &bytes)
    }

    /// The text of bytes that came from elsewhere.
    ///
    /// # Errors
    /// When they are no text.
    pub(crate) fn decoded(&mut self, path: &Path, bytes: &[u8]) -> Result<String, SourceError> {
        self.sha256.update(bytes);
        self.bytes += bytes.len() as u64;
        match text::decode(bytes) {
            Ok(text) => Ok(text.into_owned()),
            Err(source) => Err(SourceError::Encoding { path: path.to_owned(), source }),
        }
    }

    /// Size and SHA-256 of all that was read.
    pub(crate) fn finish(self) -> (u64, String) {
        (self.bytes, hex::encode(self.sha256.finalize()))
    }
}
