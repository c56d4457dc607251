//! Where a server is: a program to start or an address to call.
//!
//! Owns nothing but the values. They may be secret, so `Debug` hides them.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use super::credentials::Credentials;
use super::secrets::Secrets;

/// A server, ready to be spoken to.
#[derive(Clone)]
pub enum Target {
    /// It is started, and spoken to on its standard input and output.
    Stdio(Program),
    /// It is called over HTTP.
    Http(Address),
}

/// What is started.
#[derive(Clone)]
pub struct Program {
    /// Looked up in the `PATH` of `env`, if it is no path.
    pub command: String,
    /// Each one argument; no shell sees them.
    pub args: Vec<String>,
    /// The whole environment of the process.
    pub env: Vec<(String, String)>,
    /// Where it runs; here, if nothing is said.
    pub cwd: Option<PathBuf>,
    /// What no message may show.
    pub secrets: Secrets,
}

/// What is called.
#[derive(Clone)]
pub struct Address {
    /// `http` or `https`.
    pub url: String,
    /// Sent with every request.
    pub headers: Vec<(String, String)>,
    /// Which of the two ways of the protocol.
    pub dialect: Dialect,
    /// Tokens, if it may be logged in to.
    pub credentials: Option<Arc<dyn Credentials>>,
    /// What no message may show.
    pub secrets: Secrets,
}

/// How MCP is spoken over HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Streamable HTTP.
    Streamable,
    /// Server-sent events and a second address, as of 2024-11-05.
    Sse,
    /// Streamable HTTP, and server-sent events where it is refused.
    Auto,
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stdio(_) => "Stdio(***)",
            Self::Http(_) => "Http(***)",
        })
    }
}

impl Target {
    /// What no message may show.
    #[must_use]
    pub fn secrets(&self) -> &Secrets {
        match self {
            Self::Stdio(program) => &program.secrets,
            Self::Http(address) => &address.secrets,
        }
    }
}

impl Program {
    /// The value of a variable in its environment.
    pub(super) fn variable(&self, name: &str) -> Option<&str> {
        self.env.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}
