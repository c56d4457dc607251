//! How each client writes its servers.
//!
//! Owns the keys and the shape of an entry; what a value is, is up to `entry`.

use std::path::Path;

use crate::clients::entry::Entry;
use crate::sources::client_config::Client;

/// What a file is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    /// JSON, with or without comments.
    Json,
    /// TOML.
    Toml,
    /// YAML, which is not edited.
    Yaml,
}

/// One value of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    Text(String),
    Texts(Vec<String>),
    On,
}

impl Field {
    pub(crate) fn into_texts(self) -> Vec<String> {
        match self {
            Self::Text(text) => vec![text],
            Self::Texts(texts) => texts,
            Self::On => Vec::new(),
        }
    }
}

/// What the file of a client is written in.
pub(crate) fn language(client: Client, path: &Path) -> Language {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let is_yaml = ["yaml", "yml"].contains(&ending.to_lowercase().as_str());
    match client {
        Client::Continue => Language::Yaml,
        _ if is_yaml => Language::Yaml,
        Client::Codex => Language::Toml,
        _ => Language::Json,
    }
}

/// The ways to the servers that a client knows: the first one that a file has
/// counts, and the last one where it has none.
pub(crate) fn ways(client: Client, path: &Path) -> &'static [&'static [&'static str]] {
    let is_settings = path.file_name().is_some_and(|name| name == "settings.json");
    match client {
        Client::VsCode if is_settings => &[&["mcp.servers"], &["servers"], &["mcp", "servers"]],
        Client::VsCode => &[&["mcp", "servers"], &["mcp.servers"], &["servers"]],
        Client::Zed => &[&["context_servers"]],
        Client::OpenCode => &[&["mcp"]],
        Client::Codex => &[&["mcp_servers"]],
        _ => &[&["mcpServers"]],
    }
}

/// What stands beside the servers and belongs to them.
pub(crate) fn beside(client: Client) -> Option<&'static str> {
    match client {
        Client::VsCode => Some("inputs"),
        Client::Gemini => Some("mcp"),
        _ => None,
    }
}

/// The key of a server's environment.
pub(crate) fn environment(client: Client) -> &'static str {
    match client {
        Client::OpenCode => "environment",
        _ => "env",
    }
}

/// What says how to start a server.
pub(crate) fn start(client: Client, entry: &Entry) -> Vec<(&'static str, Field)> {
    let command = entry.command.clone();
    match client {
        Client::OpenCode => {
            let words = std::iter::once(command).chain(entry.args.iter().cloned());
            vec![("command", Field::Texts(words.collect()))]
        }
        _ => {
            vec![("command", Field::Text(command)), ("args", Field::Texts(entry.args.clone()))]
        }
    }
}

/// A key of an entry, where there is one, and its value.
type Member = Option<(&'static str, Field)>;

/// What a new entry has before that, and after it.
pub(crate) fn frame(client: Client) -> (Member, Member) {
    let text = |key, word: &str| Some((key, Field::Text(word.to_owned())));
    match client {
        Client::VsCode => (text("type", "stdio"), None),
        Client::Zed => (text("source", "custom"), None),
        Client::OpenCode => (text("type", "local"), Some(("enabled", Field::On))),
        _ => (None, None),
    }
}
