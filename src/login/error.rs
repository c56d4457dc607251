//! Why a login fails, and why tokens cannot be kept.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Why somebody is not logged in. No message holds a code or a token.
#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    /// The address is none.
    #[error("its address is no http or https address")]
    BadAddress,
    /// The address names who is calling.
    #[error("its address holds a user or password, so no login is used")]
    HasPassword,
    /// Nothing is published.
    #[error(
        "`{url}` does not say where to log in (it has no OAuth metadata); give a token as a header of its entry"
    )]
    NoMetadata {
        /// Without its query.
        url: String,
    },
    /// What is published cannot be had or used.
    #[error("it cannot be found out where to log in: {problem}")]
    Discovery {
        /// What the library says, cleaned.
        problem: String,
    },
    /// Codes and tokens would go where others can read them.
    #[error("the {what} `{endpoint}` is no https address")]
    UnsafeEndpoint {
        /// Which one.
        what: &'static str,
        /// As published, cleaned.
        endpoint: String,
    },
    /// We cannot introduce ourselves.
    #[error("the authorization server does not take this program as a client: {problem}")]
    Registration {
        /// What the library says, cleaned.
        problem: String,
    },
    /// Nobody could tell us of the login.
    #[error("cannot listen on 127.0.0.1 for the answer of the browser")]
    Listen {
        /// What the system says.
        source: io::Error,
    },
    /// The person, or the authorization server, says no.
    #[error("the authorization server refuses the login: {problem}")]
    Refused {
        /// Its words, cleaned.
        problem: String,
    },
    /// Nobody came back.
    #[error(
        "nobody has logged in within {}; run the command again, or give more time with `--timeout`",
        humantime::format_duration(*after)
    )]
    TimedOut {
        /// The limit.
        after: Duration,
    },
    /// The code buys nothing.
    #[error("the authorization server gives no token: {problem}")]
    NoToken {
        /// What the library says, cleaned.
        problem: String,
    },
    /// Tokens of one authorization server are not shown to another.
    #[error("the server sends to another authorization server than the one that gave the token")]
    Moved,
    /// The login is over.
    #[error("the authorization server no longer renews the token")]
    Ended,
    /// The tokens cannot be kept.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl LoginError {
    /// Whether only somebody who logs in again can mend it; else it may pass.
    pub(super) fn needs_person(&self) -> bool {
        !matches!(self, Self::Discovery { .. } | Self::NoMetadata { .. } | Self::NoToken { .. })
    }
}

/// Why tokens cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Others can read or replace them.
    #[error(
        "`{path}` is open to others (mode {mode:03o}), who may know the tokens; run `chmod {cure} {path}` and log in again",
        path = path.display()
    )]
    Open {
        /// The file or folder.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
        /// What they should be.
        cure: &'static str,
    },
    /// What is there was not written by this program.
    #[error("`{path}` holds no tokens of this server; remove it and log in again", path = path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// The disk.
    #[error("the tokens at `{path}` cannot be read or written", path = path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}
