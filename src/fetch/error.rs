//! Why a document did not come, and what to do about it.

use std::net::IpAddr;
use std::time::Duration;

use crate::error::Fault;
use crate::fetch::Url;

/// Characters of a server's words that are repeated.
const MAX_MESSAGE_CHARS: usize = 200;

/// What can go wrong between this process and a server.
///
/// `url` is always without user, password and query.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The address cannot be used.
    #[error(
        "`{url}` is no address to read from: {reason}; give one such as `https://example.com/catalog.json`"
    )]
    BadUrl {
        /// What was given.
        url: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// No connection: name unknown, refused, bad certificate.
    #[error("cannot reach `{url}`; check the address and the network, or the proxy variables")]
    Unreachable {
        /// What was asked.
        url: String,
        /// Why not.
        #[source]
        source: ureq::Error,
    },
    /// Every connection ended in the middle.
    #[error("`{url}` ended the connection without a whole answer, try {tries}; try again later")]
    Broken {
        /// What was asked.
        url: String,
        /// How often.
        tries: usize,
        /// The last time.
        #[source]
        source: ureq::Error,
    },
    /// No whole answer in time.
    #[error(
        "`{url}` gave no whole answer within {} s, try {tries}; try again later, or allow more with `--http-timeout`",
        after.as_secs_f32()
    )]
    TimedOut {
        /// What was asked.
        url: String,
        /// The limit of one try.
        after: Duration,
        /// How often.
        tries: usize,
    },
    /// Too many requests, or trouble at the server, each time it was asked.
    #[error("`{url}` answers with HTTP {status}, try {tries}: {message}; try again later")]
    Busy {
        /// What was asked.
        url: String,
        /// 408, 429 or 5xx.
        status: u16,
        /// How often it was asked.
        tries: usize,
        /// Its words, at most 200 characters.
        message: String,
        /// How long it asked to be left alone.
        retry_after: Option<Duration>,
    },
    /// The server does not want this request, now or later.
    #[error("`{url}` refuses with HTTP {status}: {message}; check the address")]
    Refused {
        /// What was asked.
        url: String,
        /// 3xx or 4xx.
        status: u16,
        /// Its words, at most 200 characters.
        message: String,
    },
    /// An answer without end.
    #[error("the answer of `{url}` is larger than {limit_bytes} bytes; check the address")]
    TooLarge {
        /// What was asked.
        url: String,
        /// What was read of it.
        limit_bytes: u64,
    },
    /// A chain or a circle of redirects.
    #[error("`{url}` redirects more than {limit} times; give the address it should end at")]
    TooManyRedirects {
        /// What was asked.
        url: String,
        /// How many are followed.
        limit: u32,
    },
    /// A redirect to what is no address of HTTP.
    #[error("`{url}` redirects to what is no address of HTTP; give the address it should end at")]
    BadRedirect {
        /// What was asked.
        url: String,
    },
    /// A redirect, or a second look-up, leads into a private network.
    #[error(
        "`{url}` leads to `{host}` ({address}), which is in a private network, where only an address that you typed is asked; if you trust that server, say `--allow-private`"
    )]
    PrivateAddress {
        /// What was asked.
        url: String,
        /// Where that leads.
        host: String,
        /// What that is.
        address: IpAddr,
    },
}

impl FetchError {
    /// Who can mend it.
    #[must_use]
    pub fn fault(&self) -> Fault {
        match self {
            Self::BadUrl { .. } => Fault::Caller,
            _ => Fault::Environment,
        }
    }
}

/// The words of an error body on one line, without the query should they repeat it.
pub(super) fn words(body: &[u8], url: &Url) -> String {
    let text = String::from_utf8_lossy(body);
    if text.trim_start().starts_with('<') {
        return "an HTML page".to_owned();
    }
    let text = match url.query() {
        Some(query) if !query.is_empty() => text.replace(query, "…"),
        _ => text.into_owned(),
    };
    let text = text.replace(char::is_control, " ");
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_MESSAGE_CHARS) {
        _ if line.is_empty() => "no reason given".to_owned(),
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
