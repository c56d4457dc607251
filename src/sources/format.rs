//! The formats of a source, and how they are told apart.
//!
//! Owns their names and their order. How each looks is known to its importer.

use std::fmt;
use std::str::FromStr;

use crate::error::Fault;
use crate::sources::catalog;
use crate::sources::docker;
use crate::sources::fields::Fields;
use crate::sources::findings::Findings;
use crate::sources::livemcpbench;
use crate::sources::mcp_zero;
use crate::sources::records::Record;
use crate::sources::registry;
use crate::sources::toolhive;
use crate::sources::tools_list;
use crate::sources::toucan;

/// What a source may be written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Our own: an object with a list of servers.
    Catalog,
    /// Docker's catalogue: `server.yaml` and `tools.json`, or a map.
    Docker,
    /// The server list of LiveMCPBench.
    LiveMcpBench,
    /// The data set of MCP-Zero: servers with parameter strings.
    McpZero,
    /// Saved answers of the official registry, and `server.json`.
    Registry,
    /// ToolHive's registry, old or new.
    ToolHive,
    /// Answers to `tools/list`, bare or in a recorded session.
    ToolsList,
    /// Toucan's labelled dumps of Smithery.
    Toucan,
    /// The configuration of an MCP client, whose servers are asked.
    ClientConfig,
    /// A folder with files of several formats; no file has this one.
    Mixed,
}

impl Format {
    /// The formats of files that hold tools, in the order in which they are tried.
    pub const ALL: [Self; 8] = [
        Self::Toucan,
        Self::LiveMcpBench,
        Self::ToolHive,
        Self::Docker,
        Self::Registry,
        Self::Catalog,
        Self::ToolsList,
        Self::McpZero,
    ];

    /// What a file of this format is, for a message.
    pub(crate) fn what(self) -> &'static str {
        match self {
            Self::Catalog => "an object with a list `servers`",
            Self::Docker => "a `server.yaml` or a map `registry` of such servers",
            Self::LiveMcpBench => "a list of servers with `config` and tools by inner server",
            Self::McpZero => "a list of servers with `name` and `tools`",
            Self::Registry => "an answer of an MCP registry or a `server.json`",
            Self::ToolHive => "a registry of ToolHive",
            Self::ToolsList => "an answer to `tools/list` or a JSON-RPC session",
            Self::Toucan => "a server with `metadata` as crawled",
            Self::ClientConfig => "the configuration of an MCP client",
            Self::Mixed => "a folder of files in several formats",
        }
    }

    /// All formats and what they are, for a message.
    pub(crate) fn list() -> String {
        let all = Self::ALL.into_iter().chain([Self::ClientConfig]);
        all.map(|format| format!("`{format}` ({})", format.what())).collect::<Vec<_>>().join(", ")
    }

    /// The format that a record is of for sure, if any.
    pub(crate) fn recognised_in(fields: &Fields<'_>) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.recognises(fields))
    }

    fn recognises(self, fields: &Fields<'_>) -> bool {
        match self {
            Self::Catalog => catalog::recognises(fields),
            Self::Docker => docker::recognises(fields),
            Self::LiveMcpBench => livemcpbench::recognises(fields),
            Self::McpZero => mcp_zero::recognises(fields),
            Self::Registry => registry::recognises(fields),
            Self::ToolHive => toolhive::recognises(fields),
            Self::ToolsList => tools_list::recognises(fields),
            Self::Toucan => toucan::recognises(fields),
            Self::ClientConfig | Self::Mixed => false,
        }
    }

    /// Whether a record can be read as this format if someone insists.
    pub(crate) fn accepts(self, fields: &Fields<'_>) -> bool {
        match self {
            Self::Catalog => catalog::accepts(fields),
            Self::Docker => docker::accepts(fields),
            Self::LiveMcpBench => livemcpbench::accepts(fields),
            Self::McpZero => mcp_zero::accepts(fields),
            Self::Registry => registry::accepts(fields),
            Self::ToolHive => toolhive::accepts(fields),
            Self::ToolsList => tools_list::accepts(fields),
            Self::Toucan => toucan::accepts(fields),
            Self::ClientConfig | Self::Mixed => false,
        }
    }

    /// Reads the records; `stem` names a server that does not name itself.
    pub(crate) fn import(self, records: &[Record<'_>], stem: &str, found: &mut Findings) {
        match self {
            Self::Catalog => catalog::import(records, found),
            Self::Docker => docker::import(records, found),
            Self::LiveMcpBench => livemcpbench::import(records, found),
            Self::McpZero => mcp_zero::import(records, found),
            Self::Registry => registry::import(records, found),
            Self::ToolHive => toolhive::import(records, found),
            Self::ToolsList => tools_list::import(records, stem, found),
            Self::Toucan => toucan::import(records, found),
            Self::ClientConfig | Self::Mixed => {}
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Catalog => "catalog",
            Self::Docker => "docker",
            Self::LiveMcpBench => "livemcpbench",
            Self::McpZero => "mcp-zero",
            Self::Registry => "registry",
            Self::ToolHive => "toolhive",
            Self::ToolsList => "tools-list",
            Self::Toucan => "toucan",
            Self::ClientConfig => "client-config",
            Self::Mixed => "mixed",
        })
    }
}

/// A name that is no format's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no format `{name}`; known are {}, `{}`", Format::ALL.map(|format| format!("`{format}`")).join(", "), Format::ClientConfig)]
pub struct UnknownFormat {
    /// As given.
    pub name: String,
}

impl UnknownFormat {
    /// Always the caller's.
    #[must_use]
    pub fn fault(&self) -> Fault {
        Fault::Caller
    }
}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        let mut all = Self::ALL.into_iter().chain([Self::ClientConfig]);
        let known = all.find(|format| format.to_string() == name);
        known.ok_or_else(|| UnknownFormat { name: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_is_named_as_it_is_shown() {
        for format in Format::ALL.into_iter().chain([Format::ClientConfig]) {
            assert_eq!(format.to_string().parse(), Ok(format));
        }
        let error = "yaml".parse::<Format>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "there is no format `yaml`; known are `toucan`, `livemcpbench`, `toolhive`, `docker`, \
             `registry`, `catalog`, `tools-list`, `mcp-zero`, `client-config`"
        );
        assert_eq!(error.fault(), Fault::Caller);
    }
}
