//! What a file measures: its size and its sha256.
//!
//! Owns the hashing while reading or copying. Must not decide what a file
//! should measure: the manifest does.

use std::fmt;
use std::io;
use std::io::Read;
use std::io::Write;
use std::path::Path;

use fs_err as fs;
use sha2::Digest;
use sha2::Sha256;

/// Size and checksum of a file; two files that agree in it are the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    /// Size.
    pub bytes: u64,
    /// 64 lower-case hex digits.
    pub sha256: String,
}

impl Fingerprint {
    /// Measures a text in memory.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Self {
        Self { bytes: bytes.len() as u64, sha256: hex::encode(Sha256::digest(bytes)) }
    }

    /// Measures a file on disk, which it reads to the end.
    pub(crate) fn of_file(path: &Path) -> io::Result<Self> {
        let mut file = fs::File::open(path)?;
        copy(&mut file, &mut io::sink(), 0).map_err(CopyError::into_cause)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256 {} ({} bytes)", self.sha256, self.bytes)
    }
}

/// Which side of a copy failed.
#[derive(Debug)]
pub(crate) enum CopyError {
    /// The source cannot be read, or does not unpack.
    Read(io::Error),
    /// The copy cannot be written.
    Write(io::Error),
}

impl CopyError {
    /// The error itself, where the side does not matter.
    pub(crate) fn into_cause(self) -> io::Error {
        match self {
            Self::Read(cause) | Self::Write(cause) => cause,
        }
    }
}

/// Copies and measures in one pass.
///
/// Everything is measured, but at most `limit_bytes` are written: a packed
/// file that unpacks to more than it should cannot fill the disk.
pub(crate) fn copy(
    reader: &mut dyn Read,
    writer: &mut dyn Write,
    limit_bytes: u64,
) -> Result<Fingerprint, CopyError> {
    let mut hasher = Sha256::new();
    let mut bytes = 0_u64;
    let mut buffer = vec![0; 1 << 17];
    loop {
        let n_read = match reader.read(&mut buffer) {
            Ok(0) => break,
            Ok(n_read) => n_read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(CopyError::Read(error)),
        };
        let chunk = &buffer[..n_read];
        hasher.update(chunk);
        let room = usize::try_from(limit_bytes.saturating_sub(bytes)).unwrap_or(usize::MAX);
        writer.write_all(&chunk[..n_read.min(room)]).map_err(CopyError::Write)?;
        bytes += n_read as u64;
    }
    Ok(Fingerprint { bytes, sha256: hex::encode(hasher.finalize()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FIPS 180-2, appendix B.1.
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn a_copy_is_measured_as_the_standard_says() {
        let mut copied = Vec::new();
        let found = copy(&mut &b"abc"[..], &mut copied, 3).unwrap();
        assert_eq!(found, Fingerprint { bytes: 3, sha256: ABC.to_owned() });
        assert_eq!(found, Fingerprint::of_bytes(b"abc"));
        assert_eq!(copied, b"abc");
    }

    #[test]
    fn too_much_is_measured_but_not_written() {
        let long = vec![7; 300_000];
        let mut copied = Vec::new();
        let found = copy(&mut &*long, &mut copied, 140_000).unwrap();
        assert_eq!(found, Fingerprint::of_bytes(&long));
        assert_eq!(copied.len(), 140_000);
    }
}
