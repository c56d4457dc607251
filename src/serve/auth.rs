//! Who is let in over HTTP: `Authorization: Bearer TOKEN`, and whose session it is.
//!
//! Host and Origin of the protocol's requests are checked by the MCP library.

use std::sync::Arc;

use hyper::HeaderMap;
use hyper::header::AUTHORIZATION;
use hyper::header::HOST;
use hyper::header::ORIGIN;
use hyper::http::uri::Authority;
use quick_cache::sync::Cache;

use crate::access::Policy;
use crate::access::Tenants;
use crate::access::Visitor;

/// Sessions whose tenant is remembered; one that is forgotten is opened anew.
const SESSIONS: usize = 65_536;

/// Header of a session.
pub(super) const SESSION: &str = "mcp-session-id";

/// Who may come in.
#[derive(Clone, Debug)]
pub enum Door {
    /// Everybody who can reach the address, which is this machine.
    Open(Arc<Policy>),
    /// Who has a token.
    Locked(Tenants),
}

/// The door, and who has come through it.
pub(super) struct Guard {
    door: Door,
    hosts: Vec<String>,
    sessions: Cache<String, Arc<str>>,
}

impl Guard {
    pub(super) fn new(door: Door, hosts: &[String]) -> Self {
        let hosts = hosts.iter().filter_map(|host| name_of(host)).collect();
        Self { door, hosts, sessions: Cache::new(SESSIONS) }
    }

    /// Whether a request may come from a page in a browser: it says so, or it
    /// reaches an open door under a name that anybody can give this address.
    pub(super) fn is_web_page(&self, headers: &HeaderMap) -> bool {
        let is_ours = |headers: &HeaderMap| {
            let host = headers.get(HOST).and_then(|host| name_of(host.to_str().ok()?));
            host.is_some_and(|host| self.hosts.contains(&host))
        };
        headers.contains_key(ORIGIN) || matches!(self.door, Door::Open(_)) && !is_ours(headers)
    }

    /// Who it is; `None` without a valid token where one is needed.
    pub(super) fn visitor(&self, headers: &HeaderMap) -> Option<Visitor> {
        match &self.door {
            Door::Open(policy) => {
                Some(Visitor { policy: Arc::clone(policy), ..Visitor::default() })
            }
            Door::Locked(tenants) => {
                let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
                let (scheme, token) = value.split_once(' ')?;
                let is_bearer = scheme.eq_ignore_ascii_case("bearer");
                is_bearer.then(|| tenants.visitor(token.trim())).flatten().cloned()
            }
        }
    }

    /// Remembers whose session was opened.
    pub(super) fn note_session(&self, visitor: &Visitor, headers: &HeaderMap) {
        if let (Door::Locked(_), Some(session)) = (&self.door, session(headers)) {
            self.sessions.insert(session.to_owned(), Arc::clone(&visitor.name));
        }
    }

    /// Whether the session that a request names, if it names one, is the visitor's.
    pub(super) fn is_own_session(&self, visitor: &Visitor, headers: &HeaderMap) -> bool {
        match (&self.door, session(headers)) {
            (Door::Open(_), _) | (_, None) => true,
            (Door::Locked(_), Some(session)) => {
                self.sessions.get(session).is_some_and(|owner| owner == visitor.name)
            }
        }
    }
}

/// `Example.com:80` → `example.com`, `[::1]:80` and `::1` → `::1`.
fn name_of(host: &str) -> Option<String> {
    if host.parse::<std::net::IpAddr>().is_ok() {
        return Some(host.to_owned());
    }
    let authority: Authority = host.parse().ok()?;
    Some(authority.host().trim_matches(['[', ']']).to_ascii_lowercase())
}

fn session(headers: &HeaderMap) -> Option<&str> {
    headers.get(SESSION)?.to_str().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: &'static str, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name.parse().unwrap(), value.parse().unwrap())])
    }

    #[test]
    fn only_a_whole_token_opens() {
        let guard = Guard::new(Door::Locked(Tenants::one("s3cret", Arc::default())), &[]);
        let opens = |value: &str| guard.visitor(&with("authorization", value)).is_some();
        assert!(opens("Bearer s3cret") && opens("bearer  s3cret"));
        for value in
            ["", "Bearer", "Bearer ", "Basic s3cret", "s3cret", "Bearer s3cre", "Bearer s3crets"]
        {
            assert!(!opens(value), "{value}");
        }
        assert!(guard.visitor(&HeaderMap::new()).is_none());
        assert!(Guard::new(Door::Open(Arc::default()), &[]).visitor(&HeaderMap::new()).is_some());
    }

    #[test]
    fn a_session_is_its_openers() {
        let guard = Guard::new(Door::Locked(Tenants::default()), &[]);
        let [a, b] = ["a", "b"].map(|name| Visitor { name: name.into(), ..Visitor::default() });
        let headers = with(SESSION, "one");
        guard.note_session(&a, &headers);
        assert!(guard.is_own_session(&a, &headers) && !guard.is_own_session(&b, &headers));
        assert!(!guard.is_own_session(&a, &with(SESSION, "other")));
        assert!(guard.is_own_session(&b, &HeaderMap::new()));
    }

    #[test]
    fn a_web_page_is_known_by_its_origin_or_its_name_for_us() {
        let hosts = ["localhost", "127.0.0.1", "::1", "Tools.example:8642"].map(str::to_owned);
        let open = Guard::new(Door::Open(Arc::default()), &hosts);
        for host in ["localhost:8642", "LOCALHOST", "127.0.0.1:1", "[::1]:8642", "tools.example"] {
            assert!(!open.is_web_page(&with("host", host)), "{host}");
        }
        for host in ["evil.example", "localhost.evil.example", "", "127.0.0.1.evil.example:80"] {
            assert!(open.is_web_page(&with("host", host)), "{host}");
        }
        assert!(open.is_web_page(&HeaderMap::new()));
        let locked = Guard::new(Door::Locked(Tenants::default()), &hosts);
        assert!(!locked.is_web_page(&with("host", "10.0.0.7:8642")));
        assert!(locked.is_web_page(&with("origin", "https://evil.example")));
    }
}
