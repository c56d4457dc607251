//! Where the browser brings the answer: one address on the loopback.
//!
//! Owns who is listened to: only an answer with the `state` of this login
//! counts. Others are turned away, and the login goes on.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::Method;
use hyper::Request;
use hyper::Response;
use hyper::StatusCode;
use hyper::body::Bytes;
use hyper::body::Incoming;
use hyper::header::CACHE_CONTROL;
use hyper::header::CONTENT_SECURITY_POLICY;
use hyper::header::CONTENT_TYPE;
use hyper::header::REFERRER_POLICY;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::rt::TokioTimer;
use reqwest::Url;
use tokio::net::TcpListener;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::login::LoginError;
use crate::login::cleaned;

const PATH: &str = "/callback";

/// How long the browser may take to read its page once all is known.
const LAST_PAGE: Duration = Duration::from_secs(1);

/// Connections at a time; a browser opens a few.
const MAX_CONNECTIONS: usize = 32;

/// A listener at a port that was free.
pub(super) struct Callback {
    listener: TcpListener,
    port: u16,
}

/// What buys the token. It has no `Debug`: the code is secret.
pub(super) struct Answer {
    pub(super) code: String,
    /// Who says to be the authorization server: RFC 9207.
    pub(super) issuer: Option<String>,
}

type Verdict = Result<Answer, LoginError>;

impl Callback {
    pub(super) async fn listen() -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let port = listener.local_addr()?.port();
        Ok(Self { listener, port })
    }

    /// What the browser is sent to.
    pub(super) fn address(&self) -> String {
        format!("http://127.0.0.1:{}{PATH}", self.port)
    }

    /// Waits for the answer to the request with this `state`.
    pub(super) async fn wait(self, state: &str) -> Verdict {
        let (found, mut verdicts) = mpsc::channel(1);
        let state: Arc<str> = state.into();
        let mut connections = JoinSet::new();
        let verdict = loop {
            tokio::select! {
                Some(verdict) = verdicts.recv() => break verdict,
                accepted = self.listener.accept(), if connections.len() < MAX_CONNECTIONS => {
                    let (stream, _) = accepted.map_err(|source| LoginError::Listen { source })?;
                    connections.spawn(serve(stream, Arc::clone(&state), found.clone()));
                }
                Some(_) = connections.join_next() => {}
            }
        };
        drop(self.listener);
        let ended = async { while connections.join_next().await.is_some() {} };
        drop(tokio::time::timeout(LAST_PAGE, ended).await);
        verdict
    }
}

async fn serve(stream: TcpStream, state: Arc<str>, found: mpsc::Sender<Verdict>) {
    let answer = service_fn(move |request: Request<Incoming>| {
        let page = match read(&request, &state) {
            Ok(verdict) => {
                let page = shown(&verdict);
                // A second answer to the same login changes nothing.
                drop(found.try_send(verdict));
                page
            }
            Err(status) => page(status, "This is not the answer that was waited for."),
        };
        async move { Ok::<_, Infallible>(page) }
    });
    let mut http = hyper::server::conn::http1::Builder::new();
    http.keep_alive(false).timer(TokioTimer::new()).header_read_timeout(Duration::from_secs(15));
    if let Err(error) = http.serve_connection(TokioIo::new(stream), answer).await {
        tracing::debug!(%error, "a connection of the browser has ended");
    }
}

/// What a request says of the login; a status for one that is not of it.
fn read(request: &Request<Incoming>, state: &str) -> Result<Verdict, StatusCode> {
    if request.uri().path() != PATH {
        return Err(StatusCode::NOT_FOUND);
    }
    if request.method() != Method::GET {
        return Err(StatusCode::METHOD_NOT_ALLOWED);
    }
    let url = format!("http://127.0.0.1/?{}", request.uri().query().unwrap_or_default());
    let url = Url::parse(&url).map_err(|_| StatusCode::BAD_REQUEST)?;
    let field = |name: &str| {
        let mut pairs = url.query_pairs();
        pairs.find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
    };
    if field("state").as_deref() != Some(state) {
        tracing::warn!("an answer with a wrong `state` was turned away");
        return Err(StatusCode::BAD_REQUEST);
    }
    if let Some(error) = field("error") {
        let description = field("error_description").map(|words| format!(": {words}"));
        let problem = cleaned(&format!("{error}{}", description.unwrap_or_default()));
        return Ok(Err(LoginError::Refused { problem }));
    }
    let code = field("code").filter(|code| !code.is_empty()).ok_or(StatusCode::BAD_REQUEST)?;
    Ok(Ok(Answer { code, issuer: field("iss") }))
}

fn shown(verdict: &Verdict) -> Response<Full<Bytes>> {
    let text = match verdict {
        Ok(_) => {
            "toolscout has got the answer. You can close this page and go back to the terminal."
        }
        Err(_) => "The login was refused. The terminal says why.",
    };
    page(StatusCode::OK, text)
}

/// A page that loads nothing and tells nobody its address.
fn page(status: StatusCode, text: &str) -> Response<Full<Bytes>> {
    let html = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>toolscout</title><p>{text}</p></html>\n"
    );
    let mut response = Response::new(Full::new(Bytes::from(html)));
    *response.status_mut() = status;
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CACHE_CONTROL, "no-store"),
        (REFERRER_POLICY, "no-referrer"),
        (CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
    ];
    for (name, value) in headers {
        response.headers_mut().insert(name, hyper::header::HeaderValue::from_static(value));
    }
    response
}
