//! Streamable HTTP: both eras at `/mcp`, and what operators ask.
//!
//! Owns connections: their number, their time, their end. Each request of them
//! is for `service`.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::rt::TokioIo;
use hyper_util::rt::TokioTimer;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::Semaphore;
use tokio_io_timeout::TimeoutStream;
use tokio_util::sync::CancellationToken;
use tower::Layer;

use super::auth::Door;
use super::engine::Engine;
use super::origins;
use super::service::Service;

/// Open connections; more wait. No more than half of the files that may be
/// open: servers need some too.
const MAX_CONNECTIONS: usize = 1_024;

/// At the end, how long the last calls may take, their servers ended under
/// them, and how long their answers, and what is left of streams.
const CALLS_END: Duration = Duration::from_millis(2_700);
const ANSWERS_END: Duration = Duration::from_millis(300);
const STREAMS_END: Duration = Duration::from_millis(500);

/// How HTTP is served.
#[derive(Clone, Debug)]
pub struct HttpSettings {
    /// Who may come in.
    pub door: Door,
    /// Names of this host that clients may use beside those of the loopback.
    pub hosts: Vec<String>,
    /// Web pages that may call, such as `https://app.example.com`, beside local ones.
    pub origins: Vec<String>,
    /// How long a client may take to send the head of a request, then its body,
    /// and to read on when there is more of an answer.
    pub client_time: Duration,
}

/// Serves until the engine is closing; then requests under way are answered.
///
/// # Errors
/// None; connections that fail are logged.
pub async fn http(engine: Arc<Engine>, listener: TcpListener, settings: HttpSettings) {
    let closing = engine.closing.clone();
    let streams = CancellationToken::new();
    let client_time = settings.client_time;
    let cors = origins::cors(origins::with_local(settings.origins.clone()));
    let service = Arc::new(Service::new(engine, settings, &streams));
    let graceful = GracefulShutdown::new();
    let connections = Arc::new(Semaphore::new(max_connections()));
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listener, &connections) => accepted,
            () = closing.cancelled() => break,
        };
        let Some((stream, permit)) = accepted else { continue };
        let service = Arc::clone(&service);
        let answer = tower::service_fn(move |request| {
            let service = Arc::clone(&service);
            async move { Ok::<_, Infallible>(service.answer(request).await) }
        });
        let answer = TowerToHyperService::new(cors.layer(answer));
        // Who reads nothing would hold a place for ever.
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(client_time));
        let mut http = hyper::server::conn::http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(client_time);
        let connection =
            graceful.watch(http.serve_connection(TokioIo::new(Box::pin(stream)), answer));
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection has ended");
            }
            drop(permit);
        });
    }
    drop(listener);
    service.engine.calls_end(CALLS_END).await;
    let mut all_sent = std::pin::pin!(graceful.shutdown());
    if tokio::time::timeout(ANSWERS_END, &mut all_sent).await.is_err() {
        // What is left are streams that only wait for news.
        streams.cancel();
        drop(tokio::time::timeout(STREAMS_END, all_sent).await);
    }
}

/// Connections at the same time.
#[cfg(not(unix))]
pub(super) fn max_connections() -> usize {
    MAX_CONNECTIONS
}

/// Connections at the same time.
#[cfg(unix)]
pub(super) fn max_connections() -> usize {
    use rustix::process::{Resource, getrlimit};
    let files = getrlimit(Resource::Nofile).current.and_then(|files| usize::try_from(files).ok());
    files.map_or(MAX_CONNECTIONS, |files| MAX_CONNECTIONS.min(files / 2).max(1))
}

async fn accept(
    listener: &TcpListener,
    connections: &Arc<Semaphore>,
) -> Option<(TcpStream, OwnedSemaphorePermit)> {
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
