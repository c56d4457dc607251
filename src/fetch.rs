//! Documents over HTTP: bounded, patient, and kept away from private networks.
//!
//! Owns how a URL that somebody typed is asked: time-outs, sizes, repeats, where
//! redirects may lead. Must not know what a document says, nor read the
//! environment (ureq looks up the proxy variables itself).

mod address;
mod error;
mod guard;
pub(crate) mod wire;

pub use address::Url;
pub use error::FetchError;

use std::time::Duration;

use serde::Deserialize;
use serde::Serialize;
use ureq::Agent;
use ureq::Body;
use ureq::RequestExt;
use ureq::Timeout;
use ureq::http::HeaderMap;
use ureq::http::Request;
use ureq::http::Response;
use ureq::http::header;
use ureq::unversioned::transport::DefaultConnector;

use crate::fetch::guard::Guard;
use crate::fetch::guard::Private;

/// Pauses between tries when the server names none.
const PAUSES: [Duration; 3] =
    [Duration::from_millis(500), Duration::from_secs(1), Duration::from_secs(2)];
const TRIES: usize = PAUSES.len() + 1;

/// Redirects that are followed.
const MAX_REDIRECTS: u32 = 5;

/// Bytes of an error body that are looked at.
const MAX_ERROR_BYTES: u64 = 16_384;

/// How long to wait and how much to read.
pub struct Limits {
    /// To connect.
    pub connect: Duration,
    /// From the name look-up to the last byte, for one try.
    pub whole: Duration,
    /// Of a document.
    pub body_bytes: u64,
    /// Called between two tries.
    pub pause: Box<dyn Fn(Duration) + Send + Sync>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            whole: Duration::from_secs(60),
            body_bytes: 64 << 20,
            pause: Box::new(std::thread::sleep),
        }
    }
}

impl Limits {
    /// The usual ones, but with this long for one try.
    #[must_use]
    pub fn of(whole: Duration) -> Self {
        let usual = Self::default();
        Self { connect: usual.connect.min(whole), whole, ..usual }
    }
}

/// What tells whether a document has changed, as its server said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Validators {
    /// `ETag`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    /// `Last-Modified`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
}

/// What a server answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The document is still the one that the validators are of.
    Unchanged,
    /// All of it.
    Document {
        /// As sent.
        body: Vec<u8>,
        /// For the next time.
        validators: Validators,
    },
}

/// Asks the server of one URL that somebody typed.
pub struct Fetcher {
    agent: Agent,
    limits: Limits,
}

impl Fetcher {
    /// Gets ready to ask the host of `typed`, which may be anywhere. Where its
    /// redirects lead must be public, unless `private` allows more.
    #[must_use]
    pub fn new(typed: &Url, private: PrivateHosts, limits: Limits) -> Self {
        let proxy = wire::proxy_to(typed.host());
        let guard = Guard::new(typed, proxy.as_ref(), private);
        let config = wire::config(proxy, limits.connect, limits.whole)
            .max_redirects(MAX_REDIRECTS)
            .accept("application/json, application/yaml;q=0.9, */*;q=0.5")
            .build();
        Self { agent: Agent::with_parts(config, DefaultConnector::default(), guard), limits }
    }

    /// The document at `url`, unless it still is what `known` says.
    ///
    /// # Errors
    /// When there is none, after several tries where trying again may help.
    pub fn get(&self, url: &Url, known: &Validators) -> Result<Answer, FetchError> {
        for (pause, n_try) in PAUSES.into_iter().zip(1..) {
            let error = match self.get_once(url, known, n_try) {
                Err(error) => error,
                done => return done,
            };
            let pause = match &error {
                FetchError::Busy { retry_after, .. } => retry_after.unwrap_or(pause),
                FetchError::TimedOut { .. } | FetchError::Broken { .. } => pause,
                _ => return Err(error),
            };
            let seconds = pause.as_secs_f32();
            tracing::warn!("{error}: try {n_try} of {TRIES}; next in {seconds} s");
            (self.limits.pause)(pause);
        }
        self.get_once(url, known, TRIES)
    }

    fn get_once(&self, url: &Url, known: &Validators, tries: usize) -> Result<Answer, FetchError> {
        let failed = |error| self.failed(url, error, tries);
        let mut request = Request::get(url.as_str());
        if let Some(etag) = &known.etag {
            request = request.header(header::IF_NONE_MATCH, etag);
        }
        if let Some(date) = &known.last_modified {
            request = request.header(header::IF_MODIFIED_SINCE, date);
        }
        let request = request.body(()).map_err(|source| failed(source.into()))?;
        let response = request.with_agent(&self.agent).run().map_err(failed)?;
        if response.status().as_u16() == 304 && *known != Validators::default() {
            return Ok(Answer::Unchanged);
        }
        if !response.status().is_success() {
            return Err(rejected(url, response, tries));
        }
        let validators = validators(response.headers());
        let mut body = response.into_body();
        let body = body.with_config().limit(self.limits.body_bytes).read_to_vec();
        Ok(Answer::Document { body: body.map_err(failed)?, validators })
    }

    fn failed(&self, url: &Url, error: ureq::Error, tries: usize) -> FetchError {
        let url = url.shown();
        match error {
            ureq::Error::Timeout(Timeout::Connect) => {
                FetchError::TimedOut { url, after: self.limits.connect, tries }
            }
            ureq::Error::Timeout(_) => {
                FetchError::TimedOut { url, after: self.limits.whole, tries }
            }
            ureq::Error::BodyExceedsLimit(limit_bytes) => FetchError::TooLarge { url, limit_bytes },
            ureq::Error::TooManyRedirects => {
                FetchError::TooManyRedirects { url, limit: MAX_REDIRECTS }
            }
            // Their words may hold the target with all its secrets.
            ureq::Error::BadUri(_) | ureq::Error::RedirectFailed | ureq::Error::Http(_) => {
                FetchError::BadRedirect { url }
            }
            ureq::Error::Other(other) => match other.downcast::<Private>() {
                Ok(private) => {
                    let Private { host, address } = *private;
                    FetchError::PrivateAddress { url, host, address }
                }
                Err(other) => FetchError::Unreachable { url, source: ureq::Error::Other(other) },
            },
            source if wire::is_reset(&source) => FetchError::Broken { url, tries, source },
            source => FetchError::Unreachable { url, source },
        }
    }
}

/// Whether redirects may lead into private networks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PrivateHosts {
    /// To the host that was typed, if that is private, and to no other.
    #[default]
    Refused,
    /// Anywhere.
    Allowed,
}

fn rejected(url: &Url, response: Response<Body>, tries: usize) -> FetchError {
    let status = response.status().as_u16();
    let retry_after = wire::retry_after(response.headers());
    let body = wire::error_body(response.into_body(), MAX_ERROR_BYTES, &url.shown());
    let (message, url) = (error::words(&body, url), url.shown());
    match status {
        408 | 429 | 500.. => FetchError::Busy { url, status, tries, message, retry_after },
        _ => FetchError::Refused { url, status, message },
    }
}

fn validators(headers: &HeaderMap) -> Validators {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    Validators { etag: text(header::ETAG), last_modified: text(header::LAST_MODIFIED) }
}
