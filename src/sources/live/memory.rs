//! What servers answered, kept in a file for each configuration.
//!
//! Owns that file: a list of servers, replaced as a whole. It is a
//! memory and no more: without it, or with one that cannot be read, all
//! servers are asked again.

use std::collections::HashMap;
use std::io;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;
use std::time::SystemTime;

use serde::Deserialize;
use serde::Serialize;
use serde_json::value::RawValue;
use sha2::Digest;
use sha2::Sha256;

use crate::upstream::Listing;

/// How a file begins that is not whole yet.
const TEMPORARY: &str = ".tmp-";

/// One server.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Remembered {
    /// As its configuration calls it.
    pub(super) name: String,
    /// A hash of how it was started or called.
    pub(super) launch: String,
    /// When it answered: RFC 3339.
    pub(super) listed_at: String,
    /// The version that was spoken.
    pub(super) version: String,
    /// How it introduced itself.
    pub(super) hello: Option<Box<RawValue>>,
    /// Its tools; none if it never gave a list.
    pub(super) pages: Vec<Box<RawValue>>,
    /// What was odd about the list.
    pub(super) warnings: Vec<String>,
    /// Why it gave no list since.
    pub(super) failure: Option<Failure>,
}

/// Why a server gave no list.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Failure {
    pub(super) reason: String,
    /// A hash of how it was started or called then.
    pub(super) launch: String,
    /// When it failed first: RFC 3339.
    pub(super) since: String,
}

impl Failure {
    pub(super) fn new(reason: String, launch: String, now: SystemTime) -> Self {
        Self { reason, launch, since: written(now) }
    }
}

impl Remembered {
    pub(super) fn of(name: &str, launch: String, listing: Listing, now: SystemTime) -> Self {
        Self {
            name: name.to_owned(),
            launch,
            listed_at: written(now),
            version: listing.version,
            hello: Some(listing.hello),
            pages: listing.pages,
            warnings: listing.warnings,
            failure: None,
        }
    }

    /// Whether it answered within `age`. A time to come is none: the clock was wrong.
    pub(super) fn is_fresh(&self, now: SystemTime, age: Duration) -> bool {
        let listed_at = humantime::parse_rfc3339(&self.listed_at).ok();
        let passed = listed_at.and_then(|at| now.duration_since(at).ok());
        self.failure.is_none() && passed.is_some_and(|passed| passed < age)
    }
}

fn written(time: SystemTime) -> String {
    humantime::format_rfc3339_seconds(time).to_string()
}

/// Where the servers of a configuration are remembered.
pub(super) fn file_of(memory: &Path, configuration: &Path) -> PathBuf {
    let hash = Sha256::digest(configuration.as_os_str().as_encoded_bytes());
    let name: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    memory.join(format!("{name}.json"))
}

/// All servers of a file by name.
pub(super) fn read(file: &Path) -> HashMap<String, Remembered> {
    let read = fs_err::read(file).and_then(|bytes| Ok(serde_json::from_slice(&bytes)?));
    let servers: Vec<Remembered> = match read {
        Ok(servers) => servers,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => {
            let file = file.display();
            tracing::warn!(%error, %file, "what servers answered before is lost; all are asked");
            Vec::new()
        }
    };
    servers.into_iter().map(|server| (server.name.clone(), server)).collect()
}

/// Replaces the file; readable by its owner alone, for the hashes cover secrets.
pub(super) fn write(file: &Path, servers: &[Remembered]) -> io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    fs_err::create_dir_all(folder)?;
    for left in fs_err::read_dir(folder)?.flatten() {
        // Of a run that was killed: writers hold the lock of the index.
        if left.file_name().to_string_lossy().starts_with(TEMPORARY) {
            fs_err::remove_file(left.path())?;
        }
    }
    let mut temporary = tempfile::Builder::new().prefix(TEMPORARY).tempfile_in(folder)?;
    let mut writer = io::BufWriter::new(&mut temporary);
    serde_json::to_writer(&mut writer, servers)?;
    writer.flush()?;
    drop(writer);
    temporary.as_file().sync_all()?;
    temporary.persist(file).map_err(|error| error.error)?;
    Ok(())
}
