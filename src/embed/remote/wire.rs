//! One question and its answer over HTTP, asked again while that may help.

use std::io::{ErrorKind, Read};
use std::time::{Duration, Instant};

use ureq::http::header::{AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER};
use ureq::http::{HeaderMap, Response};
use ureq::tls::{RootCerts, TlsConfig};
use ureq::{Agent, Body, Proxy, Timeout};

use super::RemoteModel;
use super::address::Address;
use super::answer;
use super::error::RemoteError;
use super::key::Key;
use crate::secret::Secret;

/// Pauses between tries when the server names none.
const PAUSES: [Duration; 4] = [
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
];
const TRIES: usize = PAUSES.len() + 1;

/// Longest pause that a server may ask for.
const MAX_PAUSE: Duration = Duration::from_secs(60);

/// Bytes of an error body that are looked at.
const MAX_ERROR_BYTES: u64 = 65_536;

/// How long to wait and how much to read.
pub struct Limits {
    /// To connect.
    pub connect: Duration,
    /// From the name look-up to the last byte, for one try.
    pub whole: Duration,
    /// For all tries and pauses of one call; none where nobody waits for it.
    pub in_all: Option<Duration>,
    /// Of a good answer; 128 vectors of 4,096 numbers take about 12 MB.
    pub response_bytes: u64,
    /// Called between two tries.
    pub pause: Box<dyn Fn(Duration) + Send + Sync>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            whole: Duration::from_secs(60),
            in_all: None,
            response_bytes: 64 << 20,
            pause: Box::new(std::thread::sleep),
        }
    }
}

impl Limits {
    /// For texts that somebody waits for: an agent gives a tool call up after
    /// a minute or less, so a busy server is reported well before.
    #[must_use]
    pub fn of_a_request() -> Self {
        Self { in_all: Some(Duration::from_secs(10)), ..Self::default() }
    }

    /// The end of a call that begins now.
    pub(super) fn deadline(&self) -> Option<Instant> {
        Some(Instant::now() + self.in_all?)
    }
}

/// A server that can be asked, and the key for it.
pub(super) struct Wire {
    agent: Agent,
    url: String,
    host: String,
    key: Key,
    limits: Limits,
}

impl Wire {
    /// Gets ready to ask `remote` at `path`, such as `/embeddings`.
    pub(super) fn new(
        remote: &RemoteModel,
        path: &str,
        key: Option<&Secret>,
        limits: Limits,
    ) -> Result<Self, RemoteError> {
        let address = Address::parse(&remote.base_url)?;
        let key = Key::new(remote.key_env.as_deref(), key)?;
        if key.header().is_some() && !address.is_encrypted && !address.is_loopback() {
            tracing::warn!("the key for `{}` travels unencrypted, over http", address.host);
        }
        Ok(Self {
            agent: agent(&address, &limits),
            url: format!("{}{path}", address.base),
            host: address.host,
            key,
            limits,
        })
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(super) fn host(&self) -> &str {
        &self.host
    }

    pub(super) fn key(&self) -> &Key {
        &self.key
    }

    /// The body of a good answer. After `deadline` nothing is waited for.
    pub(super) fn post(
        &self,
        question: &[u8],
        deadline: Option<Instant>,
    ) -> Result<Vec<u8>, RemoteError> {
        for (pause, n_try) in PAUSES.into_iter().zip(1..) {
            let error = match self.post_once(question, n_try, deadline) {
                Err(error) => error,
                done => return done,
            };
            let (reason, pause) = match &error {
                RemoteError::Busy { status, retry_after, .. } => {
                    (format!("answers with HTTP {status}"), retry_after.unwrap_or(pause))
                }
                RemoteError::Broken { .. } => ("ended the connection".to_owned(), pause),
                _ => return Err(error),
            };
            if deadline.is_some_and(|deadline| Instant::now() + pause >= deadline) {
                return Err(error);
            }
            let (host, seconds) = (&self.host, pause.as_secs_f32());
            tracing::warn!("`{host}` {reason}, try {n_try} of {TRIES}; next in {seconds} s");
            (self.limits.pause)(pause);
        }
        self.post_once(question, TRIES, deadline)
    }

    fn post_once(
        &self,
        question: &[u8],
        n_try: usize,
        deadline: Option<Instant>,
    ) -> Result<Vec<u8>, RemoteError> {
        let mut request = self.agent.post(&self.url).header(CONTENT_TYPE, "application/json");
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let is_short = left.is_some_and(|left| left < self.limits.whole);
        if is_short {
            // Zero would mean no limit.
            let left = left.map(|left| left.max(Duration::from_millis(1)));
            request = request.config().timeout_global(left).build();
        }
        let whole = self.limits.in_all.filter(|_| is_short).unwrap_or(self.limits.whole);
        let failed = |error| self.failed(error, n_try, whole);
        if let Some(header) = self.key.header() {
            request = request.header(AUTHORIZATION, header);
        }
        let response = request.send(question).map_err(failed)?;
        if !response.status().is_success() {
            return Err(self.rejected(response, n_try));
        }
        let mut body = response.into_body();
        let body = body.with_config().limit(self.limits.response_bytes);
        body.read_to_vec().map_err(failed)
    }

    /// `whole` is the limit that a time-out of the whole try stands for.
    fn failed(&self, error: ureq::Error, tries: usize, whole: Duration) -> RemoteError {
        let host = self.host.clone();
        match error {
            ureq::Error::Timeout(Timeout::Connect) => {
                RemoteError::TimedOut { host, after: self.limits.connect }
            }
            ureq::Error::Timeout(_) => RemoteError::TimedOut { host, after: whole },
            ureq::Error::BodyExceedsLimit(limit_bytes) => {
                RemoteError::TooLarge { host, limit_bytes }
            }
            source if is_reset(&source) => RemoteError::Broken { host, tries, source },
            source => RemoteError::Unreachable { host, source },
        }
    }

    fn rejected(&self, response: Response<Body>, tries: usize) -> RemoteError {
        let status = response.status().as_u16();
        let retry_after = retry_after(response.headers());
        let mut body = Vec::new();
        let read = response.into_body().into_reader().take(MAX_ERROR_BYTES).read_to_end(&mut body);
        if let Err(error) = read {
            tracing::debug!(%error, "the error body of `{}` is cut short", self.host);
        }
        let (host, message) = (self.host.clone(), answer::message(&body, &self.key));
        match status {
            408 | 429 | 500.. => RemoteError::Busy { host, status, tries, message, retry_after },
            _ => RemoteError::Refused { host, status, message, key: self.key.state().clone() },
        }
    }
}

/// Redirects are refused: they could carry the key to another host. A proxy has
/// no business between this machine and itself. Certificates are those the
/// system trusts, because companies put their own before the world's.
fn agent(address: &Address, limits: &Limits) -> Agent {
    let proxy = if address.is_loopback() { None } else { Proxy::try_from_env() };
    Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .proxy(proxy)
        .tls_config(TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build())
        .timeout_connect(Some(limits.connect))
        .timeout_global(Some(limits.whole))
        .user_agent(concat!("toolscout/", env!("CARGO_PKG_VERSION")))
        .build()
        .into()
}

/// Whole seconds only; a date is rare, and needs a clock.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(MAX_PAUSE))
}

fn is_reset(error: &ureq::Error) -> bool {
    use ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    match error {
        ureq::Error::Io(error) => {
            matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof)
        }
        _ => false,
    }
}
