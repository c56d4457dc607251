//! Streamable HTTP: one address, a POST for each message.
//!
//! Owns sessions, headers and what a status means. An answer is JSON or a
//! stream of events; either way what it holds goes to the desk.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::OnceLock;
use std::sync::PoisonError;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::TryStreamExt;
use reqwest::RequestBuilder;
use reqwest::Response;
use reqwest::Url;
use reqwest::header::ACCEPT;
use reqwest::header::CONTENT_TYPE;
use reqwest::header::HeaderValue;
use serde_json::value::RawValue;
use sse_stream::SseStream;
use tokio::task::AbortHandle;
use tokio_util::bytes::Bytes;

use super::caller::Caller;
use super::child::MAX_MESSAGE;
use super::desk::Desk;
use super::error::UpstreamError;
use super::link::Letter;
use super::stderr::shown;
use super::target::Address;

const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";
const METHOD: &str = "mcp-method";
const NAME: &str = "mcp-name";

/// Longer parts of a path may be keys.
const MAX_SEGMENT: usize = 20;

/// A server that is called; a clone is the same session.
#[derive(Clone, Debug)]
pub(super) struct Http {
    caller: Caller,
    url: Url,
    desk: Arc<Desk>,
    session: Arc<Mutex<Option<HeaderValue>>>,
    version: Arc<OnceLock<HeaderValue>>,
}

/// The task that reads what a server says by itself; dropped, it ends.
#[derive(Debug, Default)]
pub(super) struct Listener(Mutex<Option<AbortHandle>>);

impl Listener {
    pub(super) fn keep(&self, task: AbortHandle) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = kept.replace(task) {
            before.abort();
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some(task) = self.0.lock().unwrap_or_else(PoisonError::into_inner).take() {
            task.abort();
        }
    }
}

impl Http {
    pub(super) fn new(address: &Address, desk: &Arc<Desk>) -> Result<Self, UpstreamError> {
        Ok(Self {
            caller: Caller::new(address)?,
            url: url(&address.url)?,
            desk: Arc::clone(desk),
            session: Arc::default(),
            version: Arc::default(),
        })
    }

    /// From now on this version is named in every request.
    pub(super) fn settle(&self, version: &str) {
        if let Ok(version) = HeaderValue::from_str(version) {
            self.version.get_or_init(|| version);
        }
    }

    /// Posts a message and gives all that comes back to the desk.
    pub(super) async fn send(&self, letter: Letter) -> Result<(), UpstreamError> {
        let response = self.post(&letter).await?;
        let status = response.status();
        if let Some(session) = response.headers().get(SESSION) {
            *self.session.lock().unwrap_or_else(PoisonError::into_inner) = Some(session.clone());
        }
        if status.as_u16() == 404 && self.session().is_some() {
            return Err(UpstreamError::SessionGone);
        }
        let Some(id) = letter.id else {
            // Whatever comes back to a notification is no answer, and may never end.
            return if status.is_success() {
                Ok(())
            } else {
                Err(http_error(status, String::new()))
            };
        };
        if status.is_success() && is_events(&response) {
            return self.read_events(response, id).await;
        }
        let body = body(response, &self.url).await?;
        // An error of the protocol may come with a status of its own.
        self.receive(&String::from_utf8_lossy(&body)).await;
        match self.desk.is_open(id) {
            false => Ok(()),
            true if status.is_success() => Err(UpstreamError::BadAnswer {
                method: letter.method,
                problem: format!("is no message of the protocol: {}", self.caller.shown(&body)),
            }),
            true => Err(http_error(status, self.caller.shown(&body))),
        }
    }

    /// Posts a notification without waiting; what comes back is not read.
    pub(super) fn send_soon(&self, letter: &Letter) {
        let request = self.request(letter).timeout(Duration::from_secs(5));
        let http = self.clone();
        tokio::spawn(async move { http.caller.send(request, &http.url).await });
    }

    /// Reads what the server says by itself: on the stream that it answers
    /// `letter` with, or that it gives for a GET. Most give none.
    pub(super) fn listen(&self, letter: Option<&Letter>) -> AbortHandle {
        let request = match letter {
            Some(letter) => self.request(letter),
            None => {
                let get = self.caller.get(&self.url).header(ACCEPT, "text/event-stream");
                self.with_session(get)
            }
        };
        let http = self.clone();
        let reading = async move {
            let Ok(response) = http.caller.send(request, &http.url).await else { return };
            if !response.status().is_success() || !is_events(&response) {
                return;
            }
            let mut events = SseStream::from_bytes_stream(events_of(response));
            while let Some(Ok(event)) = events.next().await {
                http.receive(&event.data.unwrap_or_default()).await;
            }
        };
        tokio::spawn(reading).abort_handle()
    }

    /// Tells the server that its session is no longer needed, if there is one.
    pub(super) async fn end(&self) {
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(session) = session {
            let request = self.caller.delete(&self.url).header(SESSION, session);
            let request = request.timeout(Duration::from_secs(1));
            // It may know no DELETE; it forgets us sooner or later.
            drop(self.caller.send(request, &self.url).await);
        }
    }

    async fn post(&self, letter: &Letter) -> Result<Response, UpstreamError> {
        self.caller.send(self.request(letter), &self.url).await
    }

    fn request(&self, letter: &Letter) -> RequestBuilder {
        let mut request = self
            .caller
            .post(&self.url)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream")
            .header(METHOD, &letter.method);
        if let Some(name) = letter.name.as_deref().and_then(|name| HeaderValue::from_str(name).ok())
        {
            request = request.header(NAME, name);
        }
        self.with_session(request).body(letter.text.clone())
    }

    fn with_session(&self, mut request: RequestBuilder) -> RequestBuilder {
        if let Some(version) = self.version.get() {
            request = request.header(VERSION, version);
        }
        if let Some(session) = self.session() {
            request = request.header(SESSION, session);
        }
        request
    }

    /// Reads events until the answer has come; other messages may stand before it.
    async fn read_events(&self, response: Response, id: u64) -> Result<(), UpstreamError> {
        let mut events = SseStream::from_bytes_stream(bounded(response));
        while let Some(event) = events.next().await {
            let event = event.map_err(|error| broken(&self.url, &error))?;
            if let Some(data) = event.data {
                self.receive(&data).await;
            }
            if !self.desk.is_open(id) {
                return Ok(());
            }
        }
        Err(broken(&self.url, &"the stream of events ends before the answer"))
    }

    /// Takes one message, or a list of them, and answers what is asked.
    async fn receive(&self, text: &str) {
        let batch: Result<Vec<&RawValue>, _> = serde_json::from_str(text);
        let one = [text];
        let all: Vec<&str> = match &batch {
            Ok(batch) => batch.iter().map(|message| message.get()).collect(),
            Err(_) => one.to_vec(),
        };
        for text in all {
            if let Some(text) = self.desk.receive(text) {
                let reply = Letter { id: None, method: String::new(), name: None, text };
                if let Err(error) = self.post(&reply).await {
                    tracing::debug!(%error, "an answer to a question of a server is lost");
                }
            }
        }
    }

    fn session(&self) -> Option<HeaderValue> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Reads an address.
pub(super) fn url(text: &str) -> Result<Url, UpstreamError> {
    let url = Url::parse(text).ok().filter(|url| {
        matches!(url.scheme(), "http" | "https")
            && url.host_str().is_some_and(|host| !host.is_empty())
    });
    url.ok_or_else(|| UpstreamError::BadAddress { url: printable(text) })
}

/// An address without what may be secret in it.
pub(super) fn printable(text: &str) -> String {
    match Url::parse(text) {
        Ok(url) if url.host_str().is_some() => {
            // Some services have the key in the path.
            let is_long = |segment: &&str| segment.len() > MAX_SEGMENT;
            let segments = url.path().split('/').map(|one| if is_long(&one) { "***" } else { one });
            let path: Vec<&str> = segments.collect();
            format!("{}{}", url.origin().ascii_serialization(), path.join("/"))
        }
        _ => "***".to_owned(),
    }
}

/// Whether the body is a stream of events.
pub(super) fn is_events(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.trim_start().to_ascii_lowercase().starts_with("text/event-stream"))
}

/// The bytes of a body; more than any message may have is an error.
pub(super) fn bounded(
    response: Response,
) -> impl futures_util::Stream<Item = Result<Bytes, std::io::Error>> + Unpin {
    let mut n_bytes = 0;
    Box::pin(response.bytes_stream().map_err(std::io::Error::other).and_then(move |bytes| {
        n_bytes += bytes.len();
        std::future::ready(match n_bytes > MAX_MESSAGE {
            true => Err(std::io::Error::other(UpstreamError::TooLarge { limit: MAX_MESSAGE })),
            false => Ok(bytes),
        })
    }))
}

/// The bytes of a stream that may go on for days; one event may not.
pub(super) fn events_of(
    response: Response,
) -> impl futures_util::Stream<Item = Result<Bytes, std::io::Error>> + Unpin {
    let (mut n_bytes, mut last) = (0, b' ');
    Box::pin(response.bytes_stream().map_err(std::io::Error::other).and_then(move |bytes| {
        for byte in bytes.iter().copied().filter(|byte| *byte != b'\r') {
            n_bytes = if (last, byte) == (b'\n', b'\n') { 0 } else { n_bytes + 1 };
            last = byte;
        }
        std::future::ready(match n_bytes > MAX_MESSAGE {
            true => Err(std::io::Error::other(UpstreamError::TooLarge { limit: MAX_MESSAGE })),
            false => Ok(bytes),
        })
    }))
}

/// A whole body.
pub(super) async fn body(response: Response, url: &Url) -> Result<Vec<u8>, UpstreamError> {
    let collect = |mut all: Vec<u8>, bytes: Bytes| async move {
        all.extend_from_slice(&bytes);
        Ok(all)
    };
    bounded(response).try_fold(Vec::new(), collect).await.map_err(|error| broken(url, &error))
}

/// What a status that is no success means.
pub(super) fn http_error(status: reqwest::StatusCode, snippet: String) -> UpstreamError {
    UpstreamError::Http { status: status.as_u16(), snippet }
}

/// The server could not be asked.
pub(super) fn unreachable(url: &Url, error: &reqwest::Error) -> UpstreamError {
    UpstreamError::Unreachable { url: printable(url.as_str()), problem: causes(&error) }
}

/// The server stopped in the middle.
pub(super) fn broken(url: &Url, problem: &impl std::fmt::Display) -> UpstreamError {
    UpstreamError::Unreachable { url: printable(url.as_str()), problem: problem.to_string() }
}

/// The innermost cause: those around it repeat the address, which may be secret.
pub(super) fn causes(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    shown(cause.to_string().as_bytes())
}
