//! The clients whose configurations are known, and how to tell whose one is.

use std::fmt;
use std::path::Path;

use crate::sources::client_config::document::Language;
use crate::sources::client_config::template::Syntax;
use crate::sources::fields::Fields;
use crate::sources::fields::Kind;

/// Whose configuration a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Client {
    /// Claude Code: `.mcp.json`, `.claude.json`.
    ClaudeCode,
    /// Claude Desktop.
    ClaudeDesktop,
    /// Codex: TOML.
    Codex,
    /// Continue: YAML with a list.
    Continue,
    /// Cursor.
    Cursor,
    /// Gemini CLI.
    Gemini,
    /// Kiro.
    Kiro,
    /// opencode: `mcp`, commands as lists.
    OpenCode,
    /// VS Code: `servers` and `inputs`.
    VsCode,
    /// Windsurf: `serverUrl`.
    Windsurf,
    /// Zed: `context_servers`.
    Zed,
    /// It has servers, but neither its name nor its shape says whose it is.
    Other,
}

/// Endings of paths that no other client has.
const PATHS: &[(&str, Client)] = &[
    ("claude_desktop_config.json", Client::ClaudeDesktop),
    ("/.mcp.json", Client::ClaudeCode),
    ("/.claude.json", Client::ClaudeCode),
    ("/.codex/config.toml", Client::Codex),
    ("/.continue/config.yaml", Client::Continue),
    ("/.cursor/mcp.json", Client::Cursor),
    ("/.gemini/settings.json", Client::Gemini),
    ("/.kiro/settings/mcp.json", Client::Kiro),
    ("/opencode.json", Client::OpenCode),
    ("/opencode.jsonc", Client::OpenCode),
    ("/.vscode/mcp.json", Client::VsCode),
    ("/user/mcp.json", Client::VsCode),
    ("/user/settings.json", Client::VsCode),
    ("/windsurf/mcp_config.json", Client::Windsurf),
    ("/zed/settings.json", Client::Zed),
    ("/.zed/settings.json", Client::Zed),
];

/// Words in a file's name, for files that were saved elsewhere.
const WORDS: &[(&str, Client)] = &[
    ("desktop", Client::ClaudeDesktop),
    ("claude", Client::ClaudeCode),
    ("codex", Client::Codex),
    ("continue", Client::Continue),
    ("cursor", Client::Cursor),
    ("gemini", Client::Gemini),
    ("kiro", Client::Kiro),
    ("opencode", Client::OpenCode),
    ("vscode", Client::VsCode),
    ("windsurf", Client::Windsurf),
    ("zed", Client::Zed),
];

impl Client {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::ClaudeCode,
        Self::ClaudeDesktop,
        Self::Codex,
        Self::Continue,
        Self::Cursor,
        Self::Gemini,
        Self::Kiro,
        Self::OpenCode,
        Self::VsCode,
        Self::Windsurf,
        Self::Zed,
        Self::Other,
    ];

    /// The client with this [`id`](Self::id).
    #[must_use]
    pub fn named(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|client| client.id() == id)
    }

    /// Told by the place of a file, then by its shape, then by its name.
    pub(crate) fn of(path: &Path, fields: &Fields<'_>, language: Language) -> Self {
        let place = format!("/{}", path.display()).replace('\\', "/").to_lowercase();
        let by_place = PATHS.iter().find(|(ending, _)| place.ends_with(ending));
        let name = place.rsplit('/').next().unwrap_or_default();
        let words: Vec<&str> = name.split(|c: char| !c.is_alphanumeric()).collect();
        let by_name = || WORDS.iter().find(|(word, _)| words.contains(word));
        by_place
            .map(|(_, client)| *client)
            .or_else(|| Self::of_shape(fields, language))
            .or_else(|| by_name().map(|(_, client)| *client))
            .unwrap_or(Self::Other)
    }

    fn of_shape(fields: &Fields<'_>, language: Language) -> Option<Self> {
        let is = |key, kind| fields.get(key).is_some_and(|json| Kind::of(json) == kind);
        let mcp = fields.object("mcp");
        match language {
            Language::Toml => Some(Self::Codex),
            Language::Yaml if is("mcpServers", Kind::Array) => Some(Self::Continue),
            _ if is("context_servers", Kind::Object) => Some(Self::Zed),
            _ if is("servers", Kind::Object) || fields.get("mcp.servers").is_some() => {
                Some(Self::VsCode)
            }
            _ if mcp.as_ref().is_some_and(|mcp| mcp.object("servers").is_some()) => {
                Some(Self::VsCode)
            }
            _ if mcp.is_some() && fields.get("mcpServers").is_none() => Some(Self::OpenCode),
            _ => Self::of_entries(fields),
        }
    }

    /// By keys that only one client has.
    fn of_entries(fields: &Fields<'_>) -> Option<Self> {
        let servers = fields.object("mcpServers")?;
        let any = |key: &str| servers.objects().any(|entry| entry.get(key).is_some());
        match () {
            () if any("httpUrl") => Some(Self::Gemini),
            () if any("serverUrl") => Some(Self::Windsurf),
            () => None,
        }
    }

    /// How it writes references to variables.
    pub(crate) fn syntax(self) -> Syntax {
        match self {
            Self::Gemini => Syntax::Dollar,
            Self::OpenCode => Syntax::Curly,
            Self::Continue => Syntax::DoubleBraces,
            _ => Syntax::Braces,
        }
    }

    /// Whether it expands references at all.
    pub(crate) fn expands(self) -> bool {
        !matches!(self, Self::ClaudeDesktop | Self::Zed)
    }

    /// A word for machines, such as `vscode`.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::ClaudeDesktop => "claude-desktop",
            Self::Codex => "codex",
            Self::Continue => "continue",
            Self::Cursor => "cursor",
            Self::Gemini => "gemini",
            Self::Kiro => "kiro",
            Self::OpenCode => "opencode",
            Self::VsCode => "vscode",
            Self::Windsurf => "windsurf",
            Self::Zed => "zed",
            Self::Other => "other",
        }
    }
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ClaudeCode => "Claude Code",
            Self::ClaudeDesktop => "Claude Desktop",
            Self::Codex => "Codex",
            Self::Continue => "Continue",
            Self::Cursor => "Cursor",
            Self::Gemini => "Gemini",
            Self::Kiro => "Kiro",
            Self::OpenCode => "opencode",
            Self::VsCode => "VS Code",
            Self::Windsurf => "Windsurf",
            Self::Zed => "Zed",
            Self::Other => "MCP client",
        })
    }
}
