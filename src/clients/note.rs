//! What the user should know of a change.

use std::fmt;
use std::path::PathBuf;

use crate::sources::client_config::Warning;

/// One remark; it quotes no value of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// A server stays where it is: toolscout could not reach it.
    Left {
        /// The server.
        server: String,
        /// Why.
        reason: String,
    },
    /// What the reader of configurations says of a moved server.
    Odd(Warning),
    /// A path that depends on where the server is started.
    Relative {
        /// The server.
        server: String,
        /// Where it stands.
        field: String,
    },
    /// Only the client knows what a reference means.
    Unresolved {
        /// The server.
        server: String,
        /// What it refers to.
        variable: String,
    },
    /// A server of this name had been moved before; the newer one counts.
    Replaced {
        /// The server.
        server: String,
    },
    /// A server of this name is in the file again; that one stays.
    AlreadyBack {
        /// The server.
        server: String,
    },
    /// The client has a list of servers it may start.
    NotAllowed {
        /// Name of the entry.
        name: String,
    },
    /// An entry that does not start toolscout any more.
    NotOurs {
        /// Name of the entry.
        name: String,
    },
    /// Servers that an entry without a record of ours had.
    Elsewhere {
        /// The file they are in.
        path: PathBuf,
    },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Left { server, reason } => {
                write!(f, "`{server}` stays in the client's file: {reason}")
            }
            Self::Odd(warning) => warning.fmt(f),
            Self::Relative { server, field } => write!(
                f,
                "server `{server}`, field `{field}`: is a relative path, which now starts where the client starts toolscout"
            ),
            Self::Unresolved { server, variable } => write!(
                f,
                "server `{server}` needs `{variable}`, which only the client knows: give the value itself"
            ),
            Self::Replaced { server } => {
                write!(f, "`{server}` had been moved before; the one moved now counts")
            }
            Self::AlreadyBack { server } => {
                write!(f, "`{server}` is in the file again; the moved one was left out")
            }
            Self::NotAllowed { name } => {
                write!(f, "the client only starts servers in `mcp.allowed`; add `{name}` to it")
            }
            Self::NotOurs { name } => {
                write!(f, "`{name}` does not start toolscout any more, so it stays")
            }
            Self::Elsewhere { path } => {
                write!(f, "the servers in `{}` were not put back", path.display())
            }
        }
    }
}
