//! One request over HTTP: who may make it, how large it may be, what answers it.
//!
//! What is in a message, the MCP library and `discovery` know.

use std::borrow::Cow;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt;
use http_body_util::Full;
use http_body_util::LengthLimitError;
use http_body_util::Limited;
use http_body_util::combinators::BoxBody;
use hyper::HeaderMap;
use hyper::Method;
use hyper::Request;
use hyper::Response;
use hyper::StatusCode;
use hyper::body::Body as _;
use hyper::body::Bytes;
use hyper::body::Frame;
use hyper::body::Incoming;
use hyper::header::AUTHORIZATION;
use hyper::header::CONNECTION;
use hyper::header::CONTENT_LENGTH;
use hyper::header::CONTENT_TYPE;
use hyper::header::HeaderValue;
use hyper::header::WWW_AUTHENTICATE;
use rmcp::transport::StreamableHttpServerConfig;
use rmcp::transport::StreamableHttpService;
use tokio_util::sync::CancellationToken;

use super::auth::Guard;
use super::auth::SESSION;
use super::discovery::Discovery;
use super::engine::Engine;
use super::http::HttpSettings;
use super::http::max_connections;
use super::incoming;
use super::origins;
use super::raw::Shelf;
use super::sessions;
use super::sessions::Sessions;
use super::shares::Shares;

/// The one address of the protocol.
const ENDPOINT: &str = "/mcp";

/// Bytes of one message.
const MAX_BODY: usize = 4 << 20;

type Body = BoxBody<Bytes, Infallible>;

/// What answers requests.
pub(super) struct Service {
    pub(super) engine: Arc<Engine>,
    guard: Guard,
    shares: Shares,
    protocol: StreamableHttpService<Discovery, Sessions>,
    client_time: Duration,
}

impl Service {
    pub(super) fn new(
        engine: Arc<Engine>,
        settings: HttpSettings,
        streams: &CancellationToken,
    ) -> Self {
        let guard = Guard::new(settings.door, &settings.hosts);
        let config = StreamableHttpServerConfig::default()
            .with_allowed_hosts(settings.hosts)
            .with_allowed_origins(origins::with_local(settings.origins))
            .with_max_request_body_bytes(MAX_BODY)
            .with_cancellation_token(streams.clone());
        let handler = {
            let engine = Arc::clone(&engine);
            move || Ok(Discovery::of_visitors(Arc::clone(&engine)))
        };
        let protocol = StreamableHttpService::new(handler, Arc::default(), config);
        let shares = Shares::of(max_connections());
        Self { engine, guard, shares, protocol, client_time: settings.client_time }
    }

    pub(super) async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        match request.uri().path() {
            ENDPOINT => self.protocol(request).await,
            "/healthz" => plain(StatusCode::OK, "ok"),
            "/readyz" | "/metrics" if self.guard.is_web_page(request.headers()) => {
                plain(StatusCode::FORBIDDEN, "not for web pages")
            }
            "/readyz" => self.ready().await,
            "/metrics" => self.metrics(&request),
            _ => plain(StatusCode::NOT_FOUND, "not found; the protocol is at /mcp"),
        }
    }

    async fn protocol(&self, request: Request<Incoming>) -> Response<Body> {
        let Some(visitor) = self.guard.visitor(request.headers()) else {
            tracing::warn!("a request without a valid token is refused");
            return unauthorized();
        };
        if !self.guard.is_own_session(&visitor, request.headers()) {
            return plain(StatusCode::NOT_FOUND, "no such session");
        }
        let Some(share) = self.shares.take(&visitor.name) else {
            tracing::warn!(tenant = &*visitor.name, "a request too many of a tenant is refused");
            return last(StatusCode::TOO_MANY_REQUESTS, "too many requests are under way");
        };
        let (mut parts, body) = request.into_parts();
        let body = match self.body(body).await {
            Ok(body) => body,
            Err(refusal) => return refusal,
        };
        if parts.method == Method::POST
            && is_json(&parts.headers)
            && let Err(bad) = incoming::object(&body)
        {
            return json(StatusCode::BAD_REQUEST, &bad.to_string());
        }
        // The library writes headers to its log.
        parts.headers.remove(AUTHORIZATION);
        parts.extensions.insert(visitor.clone());
        let body = match incoming::with_numbers(&body) {
            Cow::Borrowed(_) => body,
            Cow::Owned(changed) => {
                parts.headers.remove(CONTENT_LENGTH);
                changed.into()
            }
        };
        let request = self.protocol.handle(Request::from_parts(parts, Full::new(body)));
        let answered = sessions::of(Arc::clone(&visitor.name), request).await;
        if answered.headers().contains_key(SESSION) {
            self.guard.note_session(&visitor, answered.headers());
        }
        let shelf = Arc::clone(&self.engine.shelf);
        answered.map(|body| {
            let body = body.map_frame(move |frame| {
                // Held until the last of it is sent.
                let _under_way = &share;
                filled(&shelf, frame)
            });
            body.boxed()
        })
    }

    /// The whole body; or what is said instead of waiting for it.
    async fn body(&self, body: Incoming) -> Result<Bytes, Response<Body>> {
        if body.size_hint().lower() > MAX_BODY as u64 {
            return Err(too_large());
        }
        let read = tokio::time::timeout(self.client_time, Limited::new(body, MAX_BODY).collect());
        match read.await {
            Ok(Ok(body)) => Ok(body.to_bytes()),
            Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
            Ok(Err(_)) => Err(plain(StatusCode::BAD_REQUEST, "the body cannot be read")),
            Err(_) => Err(last(StatusCode::REQUEST_TIMEOUT, "the body takes too long")),
        }
    }

    /// Whether a discovery would be answered.
    async fn ready(&self) -> Response<Body> {
        if let Some(known) = self.engine.is_known_ready() {
            return match known {
                Ok(()) => plain(StatusCode::OK, "ready"),
                Err(why) => plain(StatusCode::SERVICE_UNAVAILABLE, &why),
            };
        }
        let engine = Arc::clone(&self.engine);
        match tokio::task::spawn_blocking(move || engine.is_ready()).await {
            Ok(Ok(())) => plain(StatusCode::OK, "ready"),
            Ok(Err(why)) => plain(StatusCode::SERVICE_UNAVAILABLE, &why),
            Err(error) => plain(StatusCode::SERVICE_UNAVAILABLE, &error.to_string()),
        }
    }

    fn metrics(&self, request: &Request<Incoming>) -> Response<Body> {
        match self.guard.visitor(request.headers()) {
            Some(visitor) if visitor.policy.allows_all() => {
                let text = self.engine.metrics.text(self.engine.backends());
                let mut response = plain(StatusCode::OK, &text);
                let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
                response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
                response
            }
            Some(_) => plain(StatusCode::FORBIDDEN, "only for a token that opens everything"),
            None => unauthorized(),
        }
    }
}

/// An event with the result of a server in place of its placeholder.
fn filled(shelf: &Shelf, frame: Frame<Bytes>) -> Frame<Bytes> {
    let text = frame.data_ref().and_then(|bytes| std::str::from_utf8(bytes).ok());
    match text.and_then(|text| shelf.filled(text)) {
        Some(text) => Frame::data(Bytes::from(text)),
        None => frame,
    }
}

fn unauthorized() -> Response<Body> {
    let mut response = plain(StatusCode::UNAUTHORIZED, "a valid bearer token is needed");
    response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    response
}

fn too_large() -> Response<Body> {
    let said = format!("the body is larger than {MAX_BODY} bytes");
    last(StatusCode::PAYLOAD_TOO_LARGE, &said)
}

/// The last word on a connection, whose body nobody reads to its end.
fn last(status: StatusCode, text: &str) -> Response<Body> {
    let mut response = plain(status, text);
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

fn plain(status: StatusCode, text: &str) -> Response<Body> {
    with_kind("text/plain; charset=utf-8", status, text)
}

fn json(status: StatusCode, text: &str) -> Response<Body> {
    with_kind("application/json", status, text)
}

fn with_kind(kind: &'static str, status: StatusCode, text: &str) -> Response<Body> {
    let mut response = Response::new(Full::new(Bytes::from(text.to_owned())).boxed());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// Whether a body says that it is JSON; what else there may be, the library refuses.
fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.trim_start().to_ascii_lowercase().starts_with("application/json"))
}
