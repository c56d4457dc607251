//! Why a remote model gives no vectors, and what to do about it.

use std::time::Duration;

use crate::error::Fault;

/// What can go wrong between this process and a remote model.
///
/// `host` is always host and port; no variant holds the key.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// The base URL cannot be used.
    #[error(
        "`{url}` is no base URL of an embeddings API: {reason}; give one such as `https://api.openai.com/v1`"
    )]
    BadAddress {
        /// As given, without user and password.
        url: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// `--embed-key-env` holds something else; perhaps the key, so it is not shown.
    #[error(
        "`--embed-key-env` takes the name of an environment variable, such as OPENAI_API_KEY, not the key itself"
    )]
    BadKeyVariable,
    /// The key cannot stand in an HTTP header.
    #[error("the key in `{variable}` holds characters that no key has; set it again")]
    BadKey {
        /// The environment variable.
        variable: String,
    },
    /// No connection: name unknown, refused, bad certificate.
    #[error(
        "cannot reach the embeddings API at `{host}`; is it running? `--embed-url` names another"
    )]
    Unreachable {
        /// Who was called.
        host: String,
        /// Why not.
        #[source]
        source: ureq::Error,
    },
    /// Every connection ended in the middle.
    #[error("`{host}` ended the connection {} without an answer; try again later", times(*tries))]
    Broken {
        /// Who was called.
        host: String,
        /// How often.
        tries: usize,
        /// The last time.
        #[source]
        source: ureq::Error,
    },
    /// No answer in time.
    #[error("`{host}` gave no answer within {} s; try again later", after.as_secs_f32())]
    TimedOut {
        /// Who was called.
        host: String,
        /// The limit.
        after: Duration,
    },
    /// Too many requests, or trouble at the server, each time it was asked.
    #[error(
        "`{host}` answers with HTTP {status} after {}: {message}; try again later, what is embedded stays in the cache",
        if *tries == 1 { "one try".to_owned() } else { format!("{tries} tries") }
    )]
    Busy {
        /// Who answered.
        host: String,
        /// 408, 429 or 5xx.
        status: u16,
        /// How often it was asked.
        tries: usize,
        /// Its words, at most 300 characters.
        message: String,
        /// How long it asked to be left alone.
        retry_after: Option<Duration>,
    },
    /// The server does not want this request, now or later.
    #[error("`{host}` refuses with HTTP {status}: {message}; {}", cure(*status, key))]
    Refused {
        /// Who answered.
        host: String,
        /// 3xx or 4xx.
        status: u16,
        /// Its words, at most 300 characters.
        message: String,
        /// What was sent as key.
        key: KeyState,
    },
    /// The answer is no list of embeddings.
    #[error("`{host}` answers with something other than embeddings: {what}; check `--embed-url`")]
    NotEmbeddings {
        /// Who answered.
        host: String,
        /// Where it differs, and how it begins.
        what: String,
    },
    /// The answer of a model that should write is something else.
    #[error("`{host}` answers with something other than a chat completion: {what}")]
    NotWords {
        /// Who answered.
        host: String,
        /// Where it differs.
        what: String,
    },
    /// More or fewer vectors than texts.
    #[error("`{host}` answers {expected} texts with {got} vectors; is it OpenAI-compatible?")]
    OtherCount {
        /// Who answered.
        host: String,
        /// Texts sent.
        expected: usize,
        /// Vectors received.
        got: usize,
    },
    /// A vector of no text, or a second one.
    #[error(
        "`{host}` answers {n_texts} texts with vector {index} twice or out of range; is it OpenAI-compatible?"
    )]
    BadIndex {
        /// Who answered.
        host: String,
        /// Texts sent.
        n_texts: usize,
        /// The `index` at fault.
        index: usize,
    },
    /// Another model, or one that ignores `dimensions`.
    #[error(
        "`{model}` at `{host}` gives {got} numbers a vector, {expected} are wanted; build the index with `--dimensions {got}`, or ask the model it was built with"
    )]
    OtherLength {
        /// Who answered.
        host: String,
        /// What was asked.
        model: String,
        /// By `--dimensions` or the index.
        expected: usize,
        /// In the answer.
        got: usize,
    },
    /// An answer without end.
    #[error("the answer of `{host}` is larger than {limit_bytes} bytes; check `--embed-url`")]
    TooLarge {
        /// Who answered.
        host: String,
        /// What was read of it.
        limit_bytes: u64,
    },
}

/// What was sent as key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyState {
    /// No variable is named.
    NoVariable,
    /// This variable is not set.
    Unset(String),
    /// The content of this variable.
    Sent(String),
}

impl RemoteError {
    /// Who can mend it.
    #[must_use]
    pub fn fault(&self) -> Fault {
        match self {
            Self::BadAddress { .. } | Self::BadKeyVariable => Fault::Caller,
            _ => Fault::Environment,
        }
    }
}

fn times(n: usize) -> String {
    if n == 1 { "once".to_owned() } else { format!("{n} times") }
}

fn cure(status: u16, key: &KeyState) -> String {
    match (status, key) {
        (401 | 403, KeyState::NoVariable) => {
            "name the variable that holds the key with `--embed-key-env`".to_owned()
        }
        (401 | 403, KeyState::Unset(variable)) => {
            format!("set `{variable}`, which holds the key and is empty")
        }
        (401 | 403, KeyState::Sent(variable)) => format!("check the key in `{variable}`"),
        (404, _) => "check `--embed-url` and `--model`".to_owned(),
        (300..=399, _) => {
            "redirects are not followed, name the place with `--embed-url`".to_owned()
        }
        _ => "check `--model` and `--dimensions`".to_owned(),
    }
}
