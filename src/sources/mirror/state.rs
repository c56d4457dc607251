//! The files of a mirror: the document, and what is known of it.
//!
//! The document is replaced first, then the state that names its checksum; who
//! is interrupted in between finds no matching pair and asks for everything.

use std::io::Write;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use serde::Serialize;
use sha2::Digest;
use sha2::Sha256;
use tempfile::NamedTempFile;

use crate::fetch::Url;
use crate::fetch::Validators;
use crate::sources::Format;
use crate::sources::mirror::MirrorError;
use crate::sources::registry;

/// Raised whenever older mirrors would be misread.
const VERSION: u32 = 1;

/// Changes are asked for from a little before the last one on: a registry may
/// publish two of them in the other order than their times say.
const OVERLAP: Duration = Duration::from_secs(300);

/// What stands behind a URL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    /// The API of a registry, at this path below the URL.
    Registry(String),
    /// One document.
    Document,
}

impl Kind {
    /// What `url` may be, the likeliest first.
    pub(super) fn candidates(url: &Url, forced: Option<Format>) -> Vec<Self> {
        let segments: Vec<&str> = url.path().split('/').collect();
        let is_version = |segment: &str| {
            let number = segment.strip_prefix('v').unwrap_or_default();
            number.starts_with(|c: char| c.is_ascii_digit())
        };
        let below = |path: &str| Self::Registry(path.to_owned());
        match segments.as_slice() {
            _ if forced.is_some_and(|format| format != Format::Registry) => vec![Self::Document],
            [.., version, "servers"] if is_version(version) => vec![below("")],
            _ if url.query().is_some() => vec![Self::Document],
            [.., version] if is_version(version) => vec![below("/servers"), Self::Document],
            [.., name] if name.contains('.') => vec![Self::Document],
            _ => vec![below("/v0.1/servers"), below("/v0/servers"), Self::Document],
        }
    }

    /// Where the servers of a registry are listed.
    pub(super) fn endpoint(&self, url: &Url) -> Option<Url> {
        match self {
            Self::Registry(path) if path.is_empty() => Some(url.clone()),
            Self::Registry(path) => Some(url.below(path)),
            Self::Document => None,
        }
    }
}

/// What is known of a mirrored document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct State {
    version: u32,
    /// For people; without its query, which may be secret.
    url: String,
    pub(super) kind: Kind,
    pub(super) validators: Validators,
    /// When the last known entry was changed.
    pub(super) high_water: Option<String>,
    sha256: String,
}

impl State {
    pub(super) fn new(kind: Kind, url: &Url, bytes: &[u8], validators: Validators) -> Self {
        let (url, sha256) = (url.shown(), sha256_hex(bytes));
        Self { version: VERSION, url, kind, validators, high_water: None, sha256 }
    }

    /// From when on changes are asked for.
    pub(super) fn since(&self) -> Option<String> {
        let newest = registry::time(self.high_water.as_deref()?)?.checked_sub(OVERLAP)?;
        Some(humantime::format_rfc3339_seconds(newest).to_string())
    }
}

/// The last time.
pub(super) struct Before {
    pub(super) state: State,
    pub(super) bytes: Vec<u8>,
}

/// Where the mirror of one URL is.
#[derive(Clone, Debug)]
pub(super) struct Files {
    folder: PathBuf,
    stem: String,
}

impl Files {
    pub(super) fn of(folder: &Path, url: &Url) -> Self {
        Self { folder: folder.to_owned(), stem: sha256_hex(url.as_str().as_bytes()) }
    }

    fn document(&self) -> PathBuf {
        self.folder.join(format!("{}.jsonl", self.stem))
    }

    fn state(&self) -> PathBuf {
        self.folder.join(format!("{}.json", self.stem))
    }

    /// The last time, if both files are there and belong together.
    pub(super) fn load(&self) -> Option<Before> {
        let state = fs_err::read(self.state()).ok()?;
        let state: State = serde_json::from_slice(&state).ok()?;
        let bytes = fs_err::read(self.document()).ok()?;
        let fits = state.version == VERSION && state.sha256 == sha256_hex(&bytes);
        if !fits {
            tracing::warn!("the mirror of `{}` is damaged; it is read whole", state.url);
        }
        fits.then_some(Before { state, bytes })
    }

    /// Writes both, unless they already are so.
    pub(super) fn store(&self, state: &State, bytes: &[u8]) -> Result<(), MirrorError> {
        if self.load().is_some_and(|before| before.state == *state && before.bytes == bytes) {
            return Ok(());
        }
        let failed = |source| MirrorError::Write { path: self.folder.clone(), source };
        let state = serde_json::to_vec_pretty(state).map_err(|error| failed(error.into()))?;
        fs_err::create_dir_all(&self.folder).map_err(failed)?;
        self.replace(&self.document(), bytes).map_err(failed)?;
        self.replace(&self.state(), &state).map_err(failed)
    }

    fn replace(&self, path: &Path, bytes: &[u8]) -> std::io::Result<()> {
        let mut file = NamedTempFile::new_in(&self.folder)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        if cfg!(unix) {
            fs_err::File::open(&self.folder)?.sync_all()?;
        }
        Ok(())
    }

    /// Removes all files of `folder` but those of these URLs.
    pub(super) fn keep_only<'a>(folder: &Path, urls: impl Iterator<Item = &'a Url>) {
        let Ok(entries) = fs_err::read_dir(folder) else { return };
        let kept: Vec<PathBuf> = urls
            .map(|url| Self::of(folder, url))
            .flat_map(|files| [files.document(), files.state()])
            .collect();
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            if !kept.contains(&path)
                && let Err(error) = fs_err::remove_file(&path)
            {
                tracing::warn!(%error, "cannot remove an old mirror");
            }
        }
    }
}

fn sha256_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_url_may_be_is_seen_from_its_path() {
        let registry = |path: &str| Kind::Registry(path.to_owned());
        let base = vec![registry("/v0.1/servers"), registry("/v0/servers"), Kind::Document];
        for (url, expected) in [
            ("https://example.com", base.clone()),
            ("https://example.com/mcp/", base),
            ("https://example.com/v0.1/servers", vec![registry("")]),
            ("https://example.com/v0/servers/?limit=5", vec![registry("")]),
            ("https://example.com/v0.1", vec![registry("/servers"), Kind::Document]),
            ("https://example.com/x/catalog.json", vec![Kind::Document]),
            ("https://example.com/dump?key=1", vec![Kind::Document]),
        ] {
            let url = Url::parse(url).unwrap();
            assert_eq!(Kind::candidates(&url, None), expected, "{url:?}");
            let forced = Kind::candidates(&url, Some(Format::Catalog));
            assert_eq!(forced, [Kind::Document]);
        }
    }

    #[test]
    fn a_mirror_whose_files_do_not_belong_together_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let url = Url::parse("https://example.com/x.json").unwrap();
        let files = Files::of(dir.path(), &url);
        assert!(files.load().is_none());
        let mut state = State::new(Kind::Document, &url, b"{}", Validators::default());
        state.high_water = Some("2025-01-01T00:10:00.5Z".to_owned());
        files.store(&state, b"{}").unwrap();
        let before = files.load().unwrap();
        assert_eq!((before.state.since().as_deref()), Some("2025-01-01T00:05:00Z"));
        fs_err::write(files.document(), "[]").unwrap();
        assert!(files.load().is_none());
        Files::keep_only(dir.path(), [].into_iter());
        assert_eq!(fs_err::read_dir(dir.path()).unwrap().count(), 0);
    }
}
