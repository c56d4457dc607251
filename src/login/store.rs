//! Tokens on disk: one file a server, which its owner alone may read.
//!
//! Owns that no file is half written, that two processes do not renew the same
//! tokens at once, and that what others can read is not used.

use std::io;
use std::io::Read;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Deserialize;
use serde::Serialize;
use tempfile::NamedTempFile;

use crate::fetch::PrivateHosts;
use crate::login::StoreError;
use crate::login::place::Place;
use crate::login::renew::Tokens;
use crate::upstream::Credentials;

/// No honest file is larger.
const MAX_BYTES: u64 = 1 << 20;

/// What was agreed on with an authorization server. It has no `Debug`: most of
/// it is secret.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Grant {
    /// Origin and path of the server that the tokens are for.
    pub(super) server: String,
    /// What they are for in the words of the server: RFC 8707.
    pub(super) resource: String,
    /// Who gave them.
    pub(super) issuer: Option<String>,
    pub(super) token_endpoint: String,
    pub(super) private: PrivateHosts,
    pub(super) client: Client,
    pub(super) token: Token,
}

/// Who we are to the authorization server.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Client {
    pub(super) id: String,
    pub(super) secret: Option<String>,
    pub(super) redirect_uri: String,
}

/// What is sent, and what renews it.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Token {
    pub(super) access: String,
    pub(super) refresh: Option<String>,
    pub(super) scopes: Vec<String>,
    /// Seconds since 1970.
    pub(super) received_at: Option<u64>,
    /// Seconds; `None` where nobody has said.
    pub(super) expires_in: Option<u64>,
}

/// The folder of all tokens.
#[derive(Clone, Debug)]
pub struct TokenStore {
    folder: PathBuf,
}

/// Held while tokens are renewed; the system frees it if the process ends.
pub(super) struct Lock {
    _file: std::fs::File,
}

impl TokenStore {
    /// A store in this folder, which is made when there is something to keep.
    #[must_use]
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The tokens of the server at `url`, which a configuration calls `name`;
    /// `None` for an address that no login is used with.
    #[must_use]
    pub fn credentials(&self, name: &str, url: &str) -> Option<Arc<dyn Credentials>> {
        let place = Place::of(url).ok()?;
        Some(Arc::new(Tokens::new(self.clone(), place, name)))
    }

    /// Where the tokens are.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn has(&self, place: &Place) -> bool {
        self.file(place).exists()
    }

    /// What is kept for a server.
    pub(super) fn load(&self, place: &Place) -> Result<Option<Grant>, StoreError> {
        let path = self.file(place);
        let failed = |source| StoreError::Io { path: path.clone(), source };
        let file = match fs_err::File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let folder = fs_err::metadata(&self.folder).map_err(failed)?;
        check_closed(&self.folder, &folder, "700")?;
        check_closed(&path, &file.metadata().map_err(failed)?, "600")?;
        let mut bytes = Vec::new();
        file.take(MAX_BYTES).read_to_end(&mut bytes).map_err(failed)?;
        let grant: Option<Grant> = serde_json::from_slice(&bytes).ok();
        let grant = grant.filter(|grant| grant.server == place.as_str());
        grant.map(Some).ok_or_else(|| StoreError::Damaged { path: path.clone() })
    }

    /// Keeps this in place of what was there.
    pub(super) fn save(&self, place: &Place, grant: &Grant) -> Result<(), StoreError> {
        let path = self.file(place);
        let failed = |source| StoreError::Io { path: path.clone(), source };
        let bytes = serde_json::to_vec_pretty(grant).map_err(|error| failed(error.into()))?;
        self.make_folder()?;
        // It is made for its owner alone.
        let mut file = NamedTempFile::new_in(&self.folder).map_err(failed)?;
        file.write_all(&bytes).map_err(failed)?;
        file.as_file().sync_all().map_err(failed)?;
        file.persist(&path).map_err(|error| failed(error.error))?;
        if cfg!(unix) {
            fs_err::File::open(&self.folder)
                .and_then(|folder| folder.sync_all())
                .map_err(failed)?;
        }
        Ok(())
    }

    /// Forgets a server; whether it was known.
    pub(super) fn remove(&self, place: &Place) -> Result<bool, StoreError> {
        let path = self.file(place);
        match fs_err::remove_file(&path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(source) => Err(StoreError::Io { path, source }),
        }
    }

    /// Waits until nobody else, in this process or another, renews the tokens
    /// of this server.
    pub(super) async fn lock(&self, place: &Place) -> Result<Lock, StoreError> {
        self.make_folder()?;
        let path = self.folder.join(format!("{}.lock", place.hash()));
        let failed = |source| StoreError::Io { path: path.clone(), source };
        let lock = {
            let path = path.clone();
            move || {
                let mut options = fs_err::OpenOptions::new();
                let file = options.create(true).truncate(false).write(true).open(path)?;
                let file = file.into_parts().0;
                file.lock()?;
                Ok(Lock { _file: file })
            }
        };
        let locked = tokio::task::spawn_blocking(lock).await;
        locked.map_err(io::Error::from).and_then(|locked| locked).map_err(failed)
    }

    fn file(&self, place: &Place) -> PathBuf {
        self.folder.join(format!("{}.json", place.hash()))
    }

    /// Makes the folder for its owner alone, or looks whether it is so.
    pub(super) fn make_folder(&self) -> Result<(), StoreError> {
        let failed = |source| StoreError::Io { path: self.folder.clone(), source };
        if let Some(above) = self.folder.parent() {
            fs_err::create_dir_all(above).map_err(failed)?;
        }
        match private_folder(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let folder = fs_err::metadata(&self.folder).map_err(failed)?;
                check_closed(&self.folder, &folder, "700")
            }
            made => made.map_err(failed),
        }
    }
}

#[cfg(unix)]
fn private_folder(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().mode(0o700).create(path)
}

#[cfg(not(unix))]
fn private_folder(path: &Path) -> io::Result<()> {
    fs_err::create_dir(path)
}

/// Whether nobody but its owner can do anything with it.
#[cfg(unix)]
fn check_closed(
    path: &Path,
    metadata: &std::fs::Metadata,
    cure: &'static str,
) -> Result<(), StoreError> {
    use std::os::unix::fs::PermissionsExt;
    let mode = metadata.permissions().mode() & 0o777;
    match mode & 0o077 {
        0 => Ok(()),
        _ => Err(StoreError::Open { path: path.to_owned(), mode, cure }),
    }
}

/// Folders of a user are closed to others by what they inherit.
#[cfg(not(unix))]
fn check_closed(_: &Path, _: &std::fs::Metadata, _: &'static str) -> Result<(), StoreError> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(server: &str) -> Grant {
        Grant {
            server: server.to_owned(),
            resource: server.to_owned(),
            issuer: Some("https://login.example.com".to_owned()),
            token_endpoint: "https://login.example.com/token".to_owned(),
            private: PrivateHosts::Refused,
            client: Client {
                id: "c".to_owned(),
                secret: None,
                redirect_uri: "http://127.0.0.1:1/callback".to_owned(),
            },
            token: Token {
                access: "access".to_owned(),
                refresh: None,
                scopes: Vec::new(),
                received_at: Some(1),
                expires_in: None,
            },
        }
    }

    fn store() -> (tempfile::TempDir, TokenStore, Place) {
        let home = tempfile::tempdir().unwrap();
        let store = TokenStore::new(home.path().join("new").join("tokens"));
        (home, store, Place::of("https://example.com/mcp").unwrap())
    }

    #[test]
    fn what_is_kept_is_there_again_until_it_is_removed() {
        let (_home, store, place) = store();
        assert!(store.load(&place).unwrap().is_none());
        assert!(!store.remove(&place).unwrap());
        store.save(&place, &grant(place.as_str())).unwrap();
        assert_eq!(store.load(&place).unwrap().unwrap().token.access, "access");
        let other = Place::of("https://example.com/other").unwrap();
        assert!(store.load(&other).unwrap().is_none());
        assert!(store.remove(&place).unwrap());
        assert!(store.load(&place).unwrap().is_none());
    }

    #[test]
    fn tokens_of_another_server_are_not_used() {
        let (_home, store, place) = store();
        store.save(&place, &grant("https://example.com/other")).unwrap();
        assert!(matches!(store.load(&place), Err(StoreError::Damaged { .. })));
        fs_err::write(store.file(&place), "{").unwrap();
        assert!(matches!(store.load(&place), Err(StoreError::Damaged { .. })));
    }

    #[cfg(unix)]
    #[test]
    fn what_others_can_read_is_refused_with_the_cure() {
        use std::os::unix::fs::PermissionsExt;
        let (_home, store, place) = store();
        let mode = |path: &Path, mode: u32| {
            fs_err::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        store.save(&place, &grant(place.as_str())).unwrap();
        let file = store.file(&place);
        let modes = [&store.folder, &file]
            .map(|path| fs_err::metadata(path).unwrap().permissions().mode() & 0o777);
        assert_eq!(modes, [0o700, 0o600]);
        mode(&file, 0o640);
        let message = store.load(&place).err().unwrap().to_string();
        assert!(message.contains("(mode 640)") && message.contains("`chmod 600 "), "{message}");
        mode(&file, 0o600);
        mode(&store.folder, 0o755);
        let message = store.load(&place).err().unwrap().to_string();
        assert!(message.contains("(mode 755)") && message.contains("`chmod 700 "), "{message}");
        assert!(store.save(&place, &grant(place.as_str())).is_err());
    }

    #[tokio::test]
    async fn one_at_a_time_renews() {
        let (_home, store, place) = store();
        let lock = store.lock(&place).await.unwrap();
        let soon = std::time::Duration::from_millis(50);
        assert!(tokio::time::timeout(soon, store.lock(&place)).await.is_err());
        drop(lock);
        store.lock(&place).await.unwrap();
    }
}
