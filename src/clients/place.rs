//! Which file of a client is meant where none is named.

use std::path::Path;
use std::path::PathBuf;

use crate::clients::ClientsError;
use crate::clients::Result;
use crate::sources::client_config::Client;
use crate::sources::client_config::user_places;

/// The file of the first folder that is there: the one in it, or the one that
/// the client would make.
///
/// # Errors
/// When the client has no folder on this machine.
pub fn default_file(client: Client, home: &Path, settings: &Path) -> Result<PathBuf> {
    let places = user_places(client, home, settings);
    let Some(first) = places.first() else {
        return Err(ClientsError::NoPlace);
    };
    let mut there = places.iter().filter(|path| path.is_file() || mark(path, home).is_dir());
    let Some(found) = there.next() else {
        return Err(ClientsError::NotInstalled { client, folder: mark(first, home) });
    };
    let mut same_folder = places.iter().filter(|path| path.parent() == found.parent());
    Ok(same_folder.find(|path| path.is_file()).unwrap_or(found).clone())
}

/// The folder that a client has made if it ever ran. A file right in the home
/// folder has one beside it: `.claude.json` and `.claude`.
fn mark(path: &Path, home: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if parent != home => parent.to_owned(),
        _ => path.with_extension(""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_that_is_there_decides() {
        let home = tempfile::tempdir().unwrap();
        let (home, settings) = (home.path(), home.path().join(".config"));
        let found = |client| default_file(client, home, &settings).ok();
        assert_eq!(found(Client::ClaudeCode), None);
        fs_err::create_dir_all(home.join(".claude")).unwrap();
        assert_eq!(found(Client::ClaudeCode), Some(home.join(".claude.json")));
        let code = settings.join("Code/User");
        fs_err::create_dir_all(settings.join("VSCodium/User")).unwrap();
        fs_err::write(settings.join("VSCodium/User/mcp.json"), "{}").unwrap();
        assert_eq!(found(Client::VsCode), Some(settings.join("VSCodium/User/mcp.json")));
        fs_err::create_dir_all(&code).unwrap();
        fs_err::write(code.join("settings.json"), "{}").unwrap();
        assert_eq!(found(Client::VsCode), Some(code.join("mcp.json")));
        let opencode = settings.join("opencode");
        fs_err::create_dir_all(&opencode).unwrap();
        assert_eq!(found(Client::OpenCode), Some(opencode.join("opencode.json")));
        fs_err::write(opencode.join("opencode.jsonc"), "{}").unwrap();
        assert_eq!(found(Client::OpenCode), Some(opencode.join("opencode.jsonc")));
        assert!(matches!(default_file(Client::Other, home, &settings), Err(ClientsError::NoPlace)));
    }
}
