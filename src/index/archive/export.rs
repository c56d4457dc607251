//! The live generation → one file.

use std::io;
use std::io::BufWriter;
use std::io::Write;
use std::path::Path;

use sha2::{Digest, Sha256};
use tar::{Builder, EntryType, Header};
use tempfile::NamedTempFile;
use zstd::Encoder;

use super::{ArchiveError, NAMES};
use crate::index::Index;
use crate::index::calibration;

/// Vectors hardly get smaller by trying harder.
const LEVEL: i32 = 3;

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// The generation that was live.
    pub generation: u64,
    /// Size of the file.
    pub bytes: u64,
    /// Its checksum.
    pub sha256: String,
}

/// Writes the live generation of `dir` to `out`, replacing what is there.
///
/// # Errors
/// When the generation is damaged or `out` cannot be written; then what was at
/// `out` is still there.
pub fn export(dir: &Path, out: &Path) -> Result<Exported, ArchiveError> {
    let index = Index::open(dir)?;
    index.verify()?;
    calibration::read_checked(dir)?;
    let failed = |source| ArchiveError::Write { path: out.to_owned(), source };
    let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let mut file = NamedTempFile::new_in(folder).map_err(failed)?;
    let (bytes, sha256) = write_hashed(&index, &mut file).map_err(failed)?;
    file.as_file().sync_all().map_err(failed)?;
    open_to_readers(&file).map_err(failed)?;
    file.persist(out).map_err(|error| failed(error.error))?;
    Ok(Exported { generation: index.manifest().generation, bytes, sha256 })
}

/// Size and checksum of what was written.
fn write_hashed(index: &Index, file: impl Write) -> io::Result<(u64, String)> {
    let mut hashed = Hashed { file: BufWriter::new(file), sha256: Sha256::new(), bytes: 0 };
    write(index, &mut hashed)?;
    hashed.flush()?;
    let digest = hashed.sha256.finalize();
    Ok((hashed.bytes, digest.iter().map(|byte| format!("{byte:02x}")).collect()))
}

fn write(index: &Index, out: &mut impl Write) -> io::Result<()> {
    let mut encoder = Encoder::new(out, LEVEL)?;
    encoder.include_checksum(true)?;
    let mut archive = Builder::new(encoder);
    for name in NAMES {
        let folder = if name == calibration::FILE { index.dir() } else { &index.folder };
        let file = match fs_err::File::open(folder.join(name)) {
            Ok(file) => file,
            // Graphs and a calibration are not everybody's.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        let mut header = Header::new_ustar();
        header.set_path(name)?;
        header.set_entry_type(EntryType::Regular);
        header.set_size(file.metadata()?.len());
        header.set_mode(0o644);
        header.set_mtime(0);
        header.set_uid(0);
        header.set_gid(0);
        header.set_cksum();
        archive.append(&header, file)?;
    }
    archive.into_inner()?.finish()?;
    Ok(())
}

/// A temporary file is for its owner only; what is handed on is for all.
fn open_to_readers(file: &NamedTempFile) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        file.as_file().set_permissions(std::fs::Permissions::from_mode(0o644))?;
    }
    #[cfg(not(unix))]
    let _ = file;
    Ok(())
}

/// Counts and hashes on the way.
struct Hashed<W> {
    file: W,
    sha256: Sha256,
    bytes: u64,
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.file.write(bytes)?;
        self.sha256.update(&bytes[..n]);
        self.bytes += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
