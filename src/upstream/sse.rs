//! HTTP as of protocol 2024-11-05: a stream of events, and an address to post to.
//!
//! Owns that stream. Answers come on it; a POST only says that it has arrived.

use std::sync::Arc;
use std::sync::OnceLock;
use std::time::Duration;

use futures_util::StreamExt;
use reqwest::Response;
use reqwest::Url;
use reqwest::header::ACCEPT;
use reqwest::header::CONTENT_TYPE;
use sse_stream::SseStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::caller::Caller;
use super::desk::Desk;
use super::error::UpstreamError;
use super::http;
use super::link::Letter;
use super::target::Address;

/// A server whose answers come on a stream.
#[derive(Debug)]
pub(super) struct Sse {
    caller: Caller,
    endpoint: Url,
    version: OnceLock<String>,
    reader: JoinHandle<()>,
    replies: tokio::sync::mpsc::Sender<String>,
}

impl Sse {
    /// Opens the stream at the address, or where it used to be: at `sse` beside it.
    pub(super) async fn open(
        address: &Address,
        desk: &Arc<Desk>,
        limit: Duration,
    ) -> Result<Self, UpstreamError> {
        let caller = Caller::new(address)?;
        let given = http::url(&address.url)?;
        let opening = async {
            match stream(&caller, &given).await {
                Err(first) => {
                    let beside = given.join("sse").ok().filter(|beside| *beside != given);
                    let Some(beside) = beside else { return Err(first) };
                    let response = stream(&caller, &beside).await.map_err(|_| first)?;
                    Ok((beside, response))
                }
                Ok(response) => Ok((given.clone(), response)),
            }
        };
        let late = || UpstreamError::NoAnswer {
            method: "GET".to_owned(),
            after: limit,
            stderr: String::new(),
        };
        let (url, response) = tokio::time::timeout(limit, opening).await.map_err(|_| late())??;
        let (found, endpoint) = oneshot::channel();
        let (replies, to_send) = tokio::sync::mpsc::channel(16);
        let reader = Reader { url: url.clone(), desk: Arc::clone(desk), replies: replies.clone() };
        let reader = tokio::spawn(reader.run(response, found));
        let endpoint = tokio::time::timeout(limit, endpoint).await.map_err(|_| late())?;
        let endpoint = endpoint.ok().and_then(|path| url.join(&path).ok());
        // It would get our headers, so it must be the server that they are for.
        let Some(endpoint) = endpoint.filter(|endpoint| endpoint.origin() == url.origin()) else {
            reader.abort();
            return Err(UpstreamError::BadAnswer {
                method: "GET".to_owned(),
                problem: "names no address of its own to post to".to_owned(),
            });
        };
        tokio::spawn(send_replies(caller.clone(), endpoint.clone(), to_send));
        Ok(Self { caller, endpoint, version: OnceLock::new(), reader, replies })
    }

    /// From now on this version is named in every request.
    pub(super) fn settle(&self, version: &str) {
        self.version.get_or_init(|| version.to_owned());
    }

    /// Posts a message; its answer comes on the stream.
    pub(super) async fn send(&self, letter: Letter) -> Result<(), UpstreamError> {
        let mut request = self
            .caller
            .post(&self.endpoint)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream");
        if let Some(version) = self.version.get() {
            request = request.header("mcp-protocol-version", version);
        }
        let response = self.caller.send(request.body(letter.text), &self.endpoint).await?;
        check(&self.caller, response, &self.endpoint).await.map(drop)
    }

    /// Posts a message without waiting.
    pub(super) fn send_soon(&self, text: String) {
        drop(self.replies.try_send(text));
    }

    /// Ends the stream.
    pub(super) fn end(&self) {
        self.reader.abort();
    }
}

impl Drop for Sse {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

async fn send_replies(
    caller: Caller,
    endpoint: Url,
    mut to_send: tokio::sync::mpsc::Receiver<String>,
) {
    while let Some(text) = to_send.recv().await {
        let request = caller.post(&endpoint).header(CONTENT_TYPE, "application/json");
        if let Err(error) = caller.send(request.body(text), &endpoint).await {
            tracing::debug!(%error, "an answer to a question of a server is lost");
        }
    }
}

/// Asks for a stream of events.
async fn stream(caller: &Caller, url: &Url) -> Result<Response, UpstreamError> {
    let request = caller.get(url).header(ACCEPT, "text/event-stream");
    let response = caller.send(request, url).await?;
    let response = check(caller, response, url).await?;
    match http::is_events(&response) {
        true => Ok(response),
        false => Err(UpstreamError::BadAnswer {
            method: "GET".to_owned(),
            problem: "is no stream of events".to_owned(),
        }),
    }
}

async fn check(caller: &Caller, response: Response, url: &Url) -> Result<Response, UpstreamError> {
    let status = response.status();
    match status.is_success() {
        true => Ok(response),
        false => Err(http::http_error(status, caller.shown(&http::body(response, url).await?))),
    }
}

/// Reads the stream to its end.
struct Reader {
    url: Url,
    desk: Arc<Desk>,
    replies: tokio::sync::mpsc::Sender<String>,
}

impl Reader {
    async fn run(self, response: Response, found: oneshot::Sender<String>) {
        let mut found = Some(found);
        let mut events = SseStream::from_bytes_stream(http::events_of(response));
        let mut problem = "the stream of events has ended".to_owned();
        while let Some(event) = events.next().await {
            let event = match event {
                Ok(event) => event,
                Err(error) => {
                    problem = error.to_string();
                    break;
                }
            };
            let data = event.data.unwrap_or_default();
            if event.event.as_deref() == Some("endpoint") {
                if let Some(found) = found.take() {
                    drop(found.send(data));
                }
            } else if let Some(reply) = self.desk.receive(&data) {
                drop(self.replies.try_send(reply));
            }
        }
        self.desk.close(&http::broken(&self.url, &problem));
    }
}
