//! What every client over ureq does alike: whom it trusts, when it asks again,
//! how it repeats a server's words.

use std::io::ErrorKind;
use std::io::Read;
use std::net::IpAddr;
use std::time::Duration;

use ureq::Agent;
use ureq::Body;
use ureq::Proxy;
use ureq::config::ConfigBuilder;
use ureq::http::HeaderMap;
use ureq::http::header::RETRY_AFTER;
use ureq::tls::RootCerts;
use ureq::tls::TlsConfig;
use ureq::typestate::AgentScope;

/// Longest pause that a server may ask for.
const MAX_PAUSE: Duration = Duration::from_secs(60);

/// The settings of a client: certificates are those the system trusts, because
/// companies put their own before the world's; a status is no error yet.
pub(crate) fn config(
    proxy: Option<Proxy>,
    connect: Duration,
    whole: Duration,
) -> ConfigBuilder<AgentScope> {
    Agent::config_builder()
        .http_status_as_error(false)
        .proxy(proxy)
        .tls_config(TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build())
        .timeout_connect(Some(connect))
        .timeout_global(Some(whole))
        .user_agent(concat!("toolscout/", env!("CARGO_PKG_VERSION")))
}

/// The proxy for a host; it has no business between this machine and itself.
pub(crate) fn proxy_to(host: &str) -> Option<Proxy> {
    if is_loopback(host) { None } else { Proxy::try_from_env() }
}

/// A host as it is compared: in lower case, an address without its brackets.
pub(crate) fn host_name(host: &str) -> String {
    host.trim_matches(['[', ']']).to_ascii_lowercase()
}

/// Whether a host, as [`host_name`] gives it, is this machine.
pub(crate) fn is_loopback(host: &str) -> bool {
    host == "localhost"
        || host.ends_with(".localhost")
        || host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
}

/// Whole seconds only; a date is rare, and needs a clock.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(MAX_PAUSE))
}

/// Whether the connection ended in the middle.
pub(crate) fn is_reset(error: &ureq::Error) -> bool {
    use ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    match error {
        ureq::Error::Io(error) => {
            matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof)
        }
        _ => false,
    }
}

/// The body of an error, at most so many bytes; `from` is for the log.
pub(crate) fn error_body(body: Body, max_bytes: u64, from: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Err(error) = body.into_reader().take(max_bytes).read_to_end(&mut bytes) {
        tracing::debug!(%error, "the error body of `{from}` is cut short");
    }
    bytes
}

/// One line without control characters, at most so many characters long.
pub(crate) fn line(text: &str, max_chars: usize) -> String {
    let text = text.replace(char::is_control, " ");
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(max_chars) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
