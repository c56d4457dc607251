//! What can go wrong with a server behind the router.

use std::sync::Arc;
use std::time::Duration;

/// Why a server did not answer. No message holds a secret of its configuration.
#[derive(Clone, Debug, thiserror::Error)]
pub enum UpstreamError {
    /// The program is not there.
    #[error("`{command}` is not found in PATH `{path}`; install it or give its full path")]
    NotFound {
        /// As looked for.
        command: String,
        /// Where.
        path: String,
    },
    /// The program is there and cannot be started.
    #[error("`{command}` cannot be started: {source}")]
    Start {
        /// As looked for.
        command: String,
        /// What the system says.
        source: Arc<std::io::Error>,
    },
    /// It is to run in a folder that is not there.
    #[error("its folder `{folder}` does not exist")]
    NoFolder {
        /// As configured.
        folder: String,
    },
    /// It ended, or closed its output.
    #[error("it {}{}", end(status), words("; its last words: ", stderr))]
    Ended {
        /// Such as `exit status: 1`, if known.
        status: String,
        /// The end of its standard error, cleaned.
        stderr: String,
    },
    /// It no longer reads.
    #[error("it closed its input{}", words("; its last words: ", stderr))]
    ClosedInput {
        /// The end of its standard error, cleaned.
        stderr: String,
    },
    /// What should have been its answer cannot be read.
    #[error("its answer is no JSON: {problem}")]
    NoJson {
        /// What the parser says.
        problem: String,
    },
    /// It takes too long.
    #[error("no answer to `{method}` in {} s{}", after.as_secs_f32(), words("; its last words: ", stderr))]
    NoAnswer {
        /// What was asked.
        method: String,
        /// The limit.
        after: Duration,
        /// The end of its standard error, cleaned.
        stderr: String,
    },
    /// It answered with an error.
    #[error("it refuses `{method}`: {message} ({code})")]
    Refused {
        /// What was asked.
        method: String,
        /// Of JSON-RPC.
        code: i64,
        /// Its words, cleaned.
        message: String,
    },
    /// It speaks another version.
    #[error("it speaks MCP `{theirs}`; this program speaks {ours}", ours = super::handshake::known())]
    Version {
        /// As it says, cleaned.
        theirs: String,
    },
    /// It answered, but not what the protocol asks for.
    #[error("its answer to `{method}` {problem}")]
    BadAnswer {
        /// What was asked.
        method: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The address is none.
    #[error("`{url}` is no http or https address that can be called")]
    BadAddress {
        /// Without query and credentials.
        url: String,
    },
    /// A header cannot be sent.
    #[error("header `{name}` holds what no header may hold")]
    BadHeader {
        /// Its name; the value may be secret.
        name: String,
    },
    /// Nobody answers there, or the connection broke.
    #[error("`{url}` cannot be reached: {problem}")]
    Unreachable {
        /// Without query and credentials.
        url: String,
        /// What the network says.
        problem: String,
    },
    /// It wants a login.
    #[error(
        "it needs a login{}{}{}",
        words(", as described at ", metadata),
        words("; ", problem),
        words("; run ", command)
    )]
    NeedsLogin {
        /// Address of its metadata, if it names one.
        metadata: String,
        /// Why the tokens that are there do not do.
        problem: String,
        /// With which a person logs in, if that is known.
        command: String,
    },
    /// The token that is there has to be renewed, and is not.
    #[error("its token cannot be renewed now: {problem}")]
    NotRenewed {
        /// What the authorization server, or the way to it, lacks.
        problem: String,
    },
    /// It wants credentials, and does not say which.
    #[error("it needs credentials (HTTP 401); give them as a header of its entry")]
    NeedsCredentials,
    /// Its HTTP answer is an error.
    #[error("it answers HTTP {status}{}", words(": ", snippet))]
    Http {
        /// Such as 500.
        status: u16,
        /// The begin of the body, cleaned.
        snippet: String,
    },
    /// It has forgotten our session.
    #[error("it has forgotten the session")]
    SessionGone,
    /// What it sends is too large.
    #[error("it sends more than {} MB at once", limit >> 20)]
    TooLarge {
        /// In bytes.
        limit: usize,
    },
    /// It failed, and is left alone for a while.
    #[error("{reason}; it is tried again in {} s", rest.as_secs() + 1)]
    Resting {
        /// How long still.
        rest: Duration,
        /// Of the failure.
        reason: String,
    },
    /// Other calls of it are under way.
    #[error("it is busy: {at_once} calls of it are under way, and none ended in time")]
    Busy {
        /// Calls at the same time.
        at_once: usize,
    },
    /// Nobody is called so.
    #[error("no server of that name is configured")]
    Unknown,
    /// We ended the connection.
    #[error("the connection has been closed")]
    Closed,
}

fn end(status: &str) -> String {
    match status {
        "" => "closed its output".to_owned(),
        status => format!("ended with {status}"),
    }
}

/// The words with `before` in front, or nothing.
fn words(before: &str, words: &str) -> String {
    if words.is_empty() { String::new() } else { format!("{before}{words}") }
}

#[cfg(unix)]
fn is_scarce(error: &std::io::Error) -> bool {
    use rustix::io::Errno;
    let scarce = [Errno::MFILE, Errno::NFILE, Errno::AGAIN, Errno::NOMEM];
    scarce.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

#[cfg(not(unix))]
fn is_scarce(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::OutOfMemory
}

impl UpstreamError {
    /// Whether somebody has to give credentials before it can work.
    pub(super) fn is_of_login(&self) -> bool {
        matches!(self, Self::NeedsLogin { .. } | Self::NeedsCredentials)
    }

    /// Whether this program lacks what it takes, such as open files, and the
    /// server has done nothing wrong.
    pub(super) fn is_ours(&self) -> bool {
        matches!(self, Self::Start { source, .. } if is_scarce(source))
    }

    /// Whether a server that only knows server-sent events would have failed like this.
    pub(super) fn may_be_sse(&self) -> bool {
        matches!(self, Self::Http { status: 400 | 404 | 405, .. })
    }
}
