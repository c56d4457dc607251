//! The formats of a source, and how they are told apart.
//!
//! Owns their names and their order. How each looks is known to its importer.

use std::fmt;
use std::str::FromStr;

use crate::error::Fault;
use crate::sources::catalog;
use crate::sources::fields::Fields;
use crate::sources::mcp_zero;
use crate::sources::tools_list;

/// What a source may be written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Our own: an object with a list of servers.
    Catalog,
    /// The data set of MCP-Zero: servers with parameter strings.
    McpZero,
    /// Answers to `tools/list`, bare or in a recorded session.
    ToolsList,
}

impl Format {
    /// All formats, in the order in which they are tried.
    pub const ALL: [Self; 3] = [Self::Catalog, Self::ToolsList, Self::McpZero];

    /// What a file of this format is, for a message.
    pub(crate) fn what(self) -> &'static str {
        match self {
            Self::Catalog => "an object with a list `servers`",
            Self::McpZero => "a list of servers with `name` and `tools`",
            Self::ToolsList => "an answer to `tools/list` or a JSON-RPC session",
        }
    }

    /// All formats and what they are, for a message.
    pub(crate) fn list() -> String {
        Self::ALL.map(|format| format!("`{format}` ({})", format.what())).join(", ")
    }

    /// The format that a record is of for sure, if any.
    pub(crate) fn recognised_in(fields: &Fields<'_>) -> Option<Self> {
        Self::ALL.into_iter().find(|format| match format {
            Self::Catalog => catalog::recognises(fields),
            Self::McpZero => mcp_zero::recognises(fields),
            Self::ToolsList => tools_list::recognises(fields),
        })
    }

    /// Whether a record can be read as this format if someone insists.
    pub(crate) fn accepts(self, fields: &Fields<'_>) -> bool {
        match self {
            Self::Catalog => catalog::accepts(fields),
            Self::McpZero => mcp_zero::accepts(fields),
            Self::ToolsList => tools_list::accepts(fields),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Catalog => "catalog",
            Self::McpZero => "mcp-zero",
            Self::ToolsList => "tools-list",
        })
    }
}

/// A name that is no format's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no format `{name}`; known are {}", Format::ALL.map(|format| format!("`{format}`")).join(", "))]
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
        let known = Self::ALL.into_iter().find(|format| format.to_string() == name);
        known.ok_or_else(|| UnknownFormat { name: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_is_named_as_it_is_shown() {
        for format in Format::ALL {
            assert_eq!(format.to_string().parse(), Ok(format));
        }
        let error = "yaml".parse::<Format>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "there is no format `yaml`; known are `catalog`, `tools-list`, `mcp-zero`"
        );
        assert_eq!(error.fault(), Fault::Caller);
    }
}
