//! Where clients keep their configurations.
//!
//! Owns the list; the roots are told by who knows the machine.

use std::path::Path;
use std::path::PathBuf;

use crate::sources::client_config::Client;

/// Below the home folder.
const HOME: &[(&str, Client)] = &[
    (".claude.json", Client::ClaudeCode),
    (".cursor/mcp.json", Client::Cursor),
    (".codeium/windsurf/mcp_config.json", Client::Windsurf),
    (".config/zed/settings.json", Client::Zed),
    (".codex/config.toml", Client::Codex),
    (".gemini/settings.json", Client::Gemini),
    (".kiro/settings/mcp.json", Client::Kiro),
    (".config/opencode/opencode.json", Client::OpenCode),
    (".config/opencode/opencode.jsonc", Client::OpenCode),
    (".continue/config.yaml", Client::Continue),
];

/// Below the folder where the system keeps settings of programs.
const SETTINGS: &[(&str, Client)] = &[
    ("Claude/claude_desktop_config.json", Client::ClaudeDesktop),
    ("Code/User/mcp.json", Client::VsCode),
    ("Code/User/settings.json", Client::VsCode),
    ("Code - Insiders/User/mcp.json", Client::VsCode),
    ("VSCodium/User/mcp.json", Client::VsCode),
    ("zed/settings.json", Client::Zed),
    ("opencode/opencode.json", Client::OpenCode),
    ("opencode/opencode.jsonc", Client::OpenCode),
];

/// Below the folder of a project.
const PROJECT: &[(&str, Client)] = &[
    (".mcp.json", Client::ClaudeCode),
    (".cursor/mcp.json", Client::Cursor),
    (".vscode/mcp.json", Client::VsCode),
    (".zed/settings.json", Client::Zed),
    (".codex/config.toml", Client::Codex),
    (".gemini/settings.json", Client::Gemini),
    (".kiro/settings/mcp.json", Client::Kiro),
    ("opencode.json", Client::OpenCode),
    ("opencode.jsonc", Client::OpenCode),
];

/// A folder of files in the home folder or a project.
const CONTINUE_FOLDER: &str = ".continue/mcpServers";

/// The configurations that are there, by client, each once.
#[must_use]
pub fn places(home: &Path, settings: &Path, project: &Path) -> Vec<(Client, PathBuf)> {
    let mut places = Vec::new();
    for (root, names) in [(home, HOME), (settings, SETTINGS), (project, PROJECT)] {
        places.extend(names.iter().map(|(name, client)| (*client, root.join(name))));
    }
    for root in [home, project] {
        let folder = root.join(CONTINUE_FOLDER);
        places.extend(files_of(&folder).into_iter().map(|path| (Client::Continue, path)));
    }
    places.retain(|(_, path)| path.is_file());
    places.sort_by_key(|(client, _)| *client);
    let mut seen = Vec::new();
    places.retain(|(_, path)| {
        // The same file may be below two roots.
        let whole = fs_err::canonicalize(path).unwrap_or_else(|_| path.clone());
        let is_new = !seen.contains(&whole);
        seen.push(whole);
        is_new
    });
    places
}

/// Where a client may keep what holds in every project, the likeliest first,
/// whether it is there or not.
#[must_use]
pub fn user_places(client: Client, home: &Path, settings: &Path) -> Vec<PathBuf> {
    let roots = [(home, HOME), (settings, SETTINGS)];
    let places = roots.into_iter().flat_map(|(root, names)| {
        let of_client = names.iter().filter(|(_, owner)| *owner == client);
        of_client.map(|(name, _)| root.join(name))
    });
    // VS Code only reads servers there that older versions have written.
    let is_current = |path: &PathBuf| client != Client::VsCode || path.ends_with("mcp.json");
    let mut places: Vec<PathBuf> = places.filter(is_current).collect();
    // The two roots of Zed and opencode are one on most systems.
    let mut seen = Vec::new();
    places.retain(|path| {
        let is_new = !seen.contains(path);
        seen.push(path.clone());
        is_new
    });
    places
}

/// Files of a folder by name; none where there is no folder.
fn files_of(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs_err::read_dir(folder) else {
        return Vec::new();
    };
    let mut files: Vec<PathBuf> =
        entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
    files.sort();
    files
}
