//! Web pages that may call, and what their browsers ask before.
//!
//! The MCP library refuses requests of other pages; here those that are let in
//! are told so, else no page could read an answer.

use std::time::Duration;

use hyper::Method;
use hyper::header::HeaderName;
use hyper::header::HeaderValue;
use hyper::header::WWW_AUTHENTICATE;
use tower_http::cors::AllowHeaders;
use tower_http::cors::AllowOrigin;
use tower_http::cors::CorsLayer;

use super::auth::SESSION;

/// Pages of this machine, whatever their port.
const LOCAL: [&str; 3] = ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"];

/// How long a browser keeps in mind what it may send.
const KEPT: Duration = Duration::from_secs(3_600);

/// Local pages, and `more`, as the MCP library takes them.
pub(super) fn with_local(more: Vec<String>) -> Vec<String> {
    LOCAL.iter().map(|one| (*one).to_owned()).chain(more).collect()
}

/// What answers preflights, and adds to answers who may read them.
pub(super) fn cors(allowed: Vec<String>) -> CorsLayer {
    let is_allowed = move |origin: &HeaderValue, _: &_| {
        origin.to_str().is_ok_and(|origin| allowed.iter().any(|one| is(one, origin)))
    };
    CorsLayer::new()
        .allow_origin(AllowOrigin::predicate(is_allowed))
        .allow_methods([Method::GET, Method::POST, Method::DELETE])
        .allow_headers(AllowHeaders::mirror_request())
        .allow_private_network(true)
        .expose_headers([HeaderName::from_static(SESSION), WWW_AUTHENTICATE])
        .max_age(KEPT)
}

/// Whether an origin is the allowed one; `:*` stands for any port, or none.
fn is(allowed: &str, origin: &str) -> bool {
    let Some(base) = allowed.strip_suffix(":*") else {
        return allowed.trim_end_matches('/').eq_ignore_ascii_case(origin);
    };
    let Some((head, rest)) = origin.split_at_checked(base.len()) else { return false };
    let port = rest.strip_prefix(':').unwrap_or(if rest.is_empty() { "0" } else { "" });
    head.eq_ignore_ascii_case(base) && port.parse::<u16>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_the_allowed_one_and_no_other() {
        for (allowed, origin) in [
            ("http://localhost:*", "http://localhost:5173"),
            ("http://localhost:*", "http://localhost"),
            ("https://app.example.com", "https://app.example.com"),
            ("https://App.example.com/", "https://app.example.com"),
        ] {
            assert!(is(allowed, origin), "{allowed} {origin}");
        }
        for (allowed, origin) in [
            ("http://localhost:*", "http://localhost.evil.example"),
            ("http://localhost:*", "http://localhost:80.evil.example"),
            ("http://localhost:*", "https://localhost:80"),
            ("https://app.example.com", "https://app.example.com.evil.example"),
            ("https://app.example.com", "https://app.example.com:8443"),
            ("https://app.example.com", "null"),
            ("http://[::1]:*", "é"),
        ] {
            assert!(!is(allowed, origin), "{allowed} {origin}");
        }
    }
}
