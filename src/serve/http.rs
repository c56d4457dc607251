//! Streamable HTTP: both eras at `/mcp`, and what operators ask.
//!
//! Owns connections and their limits: of time, of bytes, of number. What is in
//! a message, the MCP library and `discovery` know.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt;
use http_body_util::Full;
use http_body_util::Limited;
use http_body_util::combinators::BoxBody;
use hyper::Request;
use hyper::Response;
use hyper::StatusCode;
use hyper::body::Bytes;
use hyper::body::Frame;
use hyper::body::Incoming;
use hyper::header::CONTENT_TYPE;
use hyper::header::WWW_AUTHENTICATE;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::rt::TokioTimer;
use hyper_util::server::graceful::GracefulShutdown;
use rmcp::transport::StreamableHttpServerConfig;
use rmcp::transport::StreamableHttpService;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use tokio::net::TcpListener;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::auth::Door;
use super::auth::Guard;
use super::auth::SESSION;
use super::discovery::Discovery;
use super::engine::Engine;

/// The one address of the protocol.
const ENDPOINT: &str = "/mcp";

/// Bytes of one message.
const MAX_BODY: usize = 4 << 20;

/// How long a client may take to send its headers, and then its body.
const HEADER_TIME: Duration = Duration::from_secs(15);
const BODY_TIME: Duration = Duration::from_secs(15);

/// Open connections; more wait.
const MAX_CONNECTIONS: usize = 1_024;

/// How long answers may take to be sent at the end.
const DRAIN: Duration = Duration::from_millis(1_500);

type Body = BoxBody<Bytes, Infallible>;

/// How HTTP is served.
#[derive(Clone, Debug)]
pub struct HttpSettings {
    /// Who may come in.
    pub door: Door,
    /// Names of this host that clients may use beside those of the loopback.
    pub hosts: Vec<String>,
    /// Web pages that may call, such as `https://app.example.com`, beside local ones.
    pub origins: Vec<String>,
}

/// Serves until the engine is closing; then requests under way are answered.
///
/// # Errors
/// None; connections that fail are logged.
pub async fn http(engine: Arc<Engine>, listener: TcpListener, settings: HttpSettings) {
    let closing = engine.closing.clone();
    let streams = CancellationToken::new();
    let service = Arc::new(Service::new(engine, settings, &streams));
    let graceful = GracefulShutdown::new();
    let connections = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listener, &connections) => accepted,
            () = closing.cancelled() => break,
        };
        let Some((stream, permit)) = accepted else { continue };
        let service = Arc::clone(&service);
        let answer = service_fn(move |request| {
            let service = Arc::clone(&service);
            async move { Ok::<_, Infallible>(service.answer(request).await) }
        });
        let mut http = hyper::server::conn::http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(HEADER_TIME);
        let connection = graceful.watch(http.serve_connection(TokioIo::new(stream), answer));
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection has ended");
            }
            drop(permit);
        });
    }
    drop(listener);
    service.engine.calls_end(DRAIN).await;
    // Streams that only wait for news end now.
    streams.cancel();
    drop(tokio::time::timeout(DRAIN, graceful.shutdown()).await);
}

async fn accept(
    listener: &TcpListener,
    connections: &Arc<Semaphore>,
) -> Option<(TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let permit = Arc::clone(connections).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, _)) => {
            // Without it each event of a stream waits some 40 ms.
            if let Err(error) = stream.set_nodelay(true) {
                tracing::debug!(%error, "TCP_NODELAY is not set");
            }
            Some((stream, permit))
        }
        Err(error) => {
            tracing::warn!(%error, "a connection is not accepted");
            // Such as too many open files: those that end make room.
            tokio::time::sleep(Duration::from_millis(50)).await;
            None
        }
    }
}

/// Names under which a client may call an address.
#[must_use]
pub fn hosts(address: SocketAddr, more: &[String]) -> Vec<String> {
    let loopback = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
    let own = (!address.ip().is_unspecified()).then(|| address.ip().to_string());
    loopback.into_iter().chain(own).chain(more.iter().cloned()).collect()
}

struct Service {
    engine: Arc<Engine>,
    guard: Guard,
    protocol: StreamableHttpService<Discovery, LocalSessionManager>,
}

impl Service {
    fn new(engine: Arc<Engine>, settings: HttpSettings, streams: &CancellationToken) -> Self {
        let local = ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"];
        let origins = local.iter().map(|one| (*one).to_owned()).chain(settings.origins);
        let config = StreamableHttpServerConfig::default()
            .with_allowed_hosts(settings.hosts)
            .with_allowed_origins(origins)
            .with_max_request_body_bytes(MAX_BODY)
            .with_cancellation_token(streams.clone());
        let handler = {
            let engine = Arc::clone(&engine);
            move || Ok(Discovery::of_visitors(Arc::clone(&engine)))
        };
        let protocol = StreamableHttpService::new(handler, Arc::default(), config);
        Self { engine, guard: Guard::new(settings.door), protocol }
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        match request.uri().path() {
            ENDPOINT => self.protocol(request).await,
            "/healthz" => plain(StatusCode::OK, "ok"),
            "/readyz" => self.ready().await,
            "/metrics" => match self.guard.visitor(request.headers()) {
                Some(visitor) if visitor.policy.allows_all() => {
                    let text = self.engine.metrics.text(self.engine.backends());
                    let mut response = plain(StatusCode::OK, &text);
                    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
                    response.headers_mut().insert(CONTENT_TYPE, header(kind));
                    response
                }
                Some(_) => plain(StatusCode::FORBIDDEN, "only for a token that opens everything"),
                None => unauthorized(),
            },
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
        let (mut parts, body) = request.into_parts();
        let read = tokio::time::timeout(BODY_TIME, Limited::new(body, MAX_BODY).collect());
        let body = match read.await {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => {
                let said = format!("the body is larger than {MAX_BODY} bytes");
                return plain(StatusCode::PAYLOAD_TOO_LARGE, &said);
            }
            Ok(Err(_)) => return plain(StatusCode::BAD_REQUEST, "the body cannot be read"),
            Err(_) => return plain(StatusCode::REQUEST_TIMEOUT, "the body takes too long"),
        };
        parts.extensions.insert(visitor.clone());
        let answered = self.protocol.handle(Request::from_parts(parts, Full::new(body))).await;
        if answered.headers().contains_key(SESSION) {
            self.guard.note_session(&visitor, answered.headers());
        }
        let shelf = Arc::clone(&self.engine.shelf);
        answered.map(|body| body.map_frame(move |frame| filled(&shelf, frame)).boxed())
    }

    /// Whether a discovery would be answered.
    async fn ready(&self) -> Response<Body> {
        let engine = Arc::clone(&self.engine);
        match tokio::task::spawn_blocking(move || engine.is_ready()).await {
            Ok(Ok(())) => plain(StatusCode::OK, "ready"),
            Ok(Err(why)) => plain(StatusCode::SERVICE_UNAVAILABLE, &why),
            Err(error) => plain(StatusCode::SERVICE_UNAVAILABLE, &error.to_string()),
        }
    }
}

/// An event with the result of a server in place of its placeholder.
fn filled(shelf: &super::raw::Shelf, frame: Frame<Bytes>) -> Frame<Bytes> {
    let text = frame.data_ref().and_then(|bytes| std::str::from_utf8(bytes).ok());
    match text.and_then(|text| shelf.filled(text)) {
        Some(text) => Frame::data(Bytes::from(text)),
        None => frame,
    }
}

fn unauthorized() -> Response<Body> {
    let mut response = plain(StatusCode::UNAUTHORIZED, "a valid bearer token is needed");
    response.headers_mut().insert(WWW_AUTHENTICATE, header("Bearer"));
    response
}

fn plain(status: StatusCode, text: &str) -> Response<Body> {
    let mut response = Response::new(Full::new(Bytes::from(text.to_owned())).boxed());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, header("text/plain; charset=utf-8"));
    response
}

fn header(value: &'static str) -> hyper::header::HeaderValue {
    hyper::header::HeaderValue::from_static(value)
}
