//! A URL that somebody typed: what is accepted, what may be shown.

use std::net::IpAddr;

use ureq::http::Uri;

use crate::fetch::FetchError;

/// An address that was checked; without user, password and fragment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    text: String,
    host: String,
}

impl Url {
    /// Whether a text is meant as a URL rather than as a path.
    #[must_use]
    pub fn is_likely(text: &str) -> bool {
        let scheme = text.trim_start().split_once("://").map(|(scheme, _)| scheme);
        scheme.is_some_and(|scheme| {
            scheme.eq_ignore_ascii_case("https") || scheme.eq_ignore_ascii_case("http")
        })
    }

    /// Reads an address of HTTP.
    ///
    /// # Errors
    /// [`FetchError::BadUrl`].
    pub fn parse(text: &str) -> Result<Self, FetchError> {
        let bad = |reason| FetchError::BadUrl { url: shown(text), reason };
        let whole = text.trim();
        if !Self::is_likely(whole) {
            return Err(bad("it does not begin with https:// or http://"));
        }
        let text = whole.split('#').next().unwrap_or_default();
        let uri: Uri = text.parse().map_err(|_| bad("it does not parse"))?;
        let authority = uri.authority().ok_or_else(|| bad("it has no host"))?;
        if authority.as_str().contains('@') {
            return Err(bad("a user or password does not belong into it"));
        }
        if authority.host().is_empty() {
            return Err(bad("it has no host"));
        }
        let host = host_name(authority.host());
        Ok(Self { text: text.to_owned(), host })
    }

    /// All of it, to be sent and recorded.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// As it may be shown: what its query says may be secret.
    #[must_use]
    pub fn shown(&self) -> String {
        shown(&self.text)
    }

    /// In lower case, an address without its brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// What stands after the host and before the query, without a slash at its end.
    #[must_use]
    pub fn path(&self) -> &str {
        let (_, rest) = self.text.split_once("://").unwrap_or_default();
        let rest = rest.split('?').next().unwrap_or_default();
        rest.find('/').map_or("", |start| &rest[start..]).trim_end_matches('/')
    }

    /// What stands after the question mark, if there is one.
    #[must_use]
    pub fn query(&self) -> Option<&str> {
        self.text.split_once('?').map(|(_, query)| query)
    }

    /// The address below this one, without its query.
    #[must_use]
    pub fn below(&self, path: &str) -> Self {
        let base = self.text.split('?').next().unwrap_or_default().trim_end_matches('/');
        Self { text: format!("{base}{path}"), host: self.host.clone() }
    }

    /// The same address with more in its query; keys that it has stay.
    #[must_use]
    pub fn with_query(&self, parameters: &[(&str, &str)]) -> Self {
        let mut text = self.text.clone();
        let given: Vec<&str> = self.query().unwrap_or_default().split('&').collect();
        for (key, value) in parameters {
            if given.iter().any(|pair| pair.split('=').next() == Some(key)) {
                continue;
            }
            let joint = match text.contains('?') {
                false => "?",
                true if text.ends_with(['?', '&']) => "",
                true => "&",
            };
            text = format!("{text}{joint}{key}={}", encoded(value));
        }
        Self { text, host: self.host.clone() }
    }

    /// Whether it is this machine.
    pub(crate) fn is_loopback(&self) -> bool {
        self.host == "localhost"
            || self.host.ends_with(".localhost")
            || self.host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
    }
}

/// A host as it is compared.
pub(super) fn host_name(host: &str) -> String {
    host.trim_matches(['[', ']']).to_ascii_lowercase()
}

/// Without anything before an `@`, and without what the query says.
fn shown(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let authority = match authority.rsplit_once('@') {
        Some((_, host)) => format!("***@{host}"),
        None => authority.to_owned(),
    };
    let (path, query) = match path.split_once(['?', '#']) {
        Some((path, _)) => (path, "?…"),
        None => (path, ""),
    };
    let scheme = if scheme.is_empty() { String::new() } else { format!("{scheme}://") };
    format!("{scheme}{authority}{path}{query}").replace(char::is_control, " ")
}

/// Percent-encoded, whatever the bytes: an opaque text comes back as it was.
fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(byte));
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_an_address() {
        let url = Url::parse(" HTTPS://Api.Example.com:8443/v0/servers/?a=1#x ").unwrap();
        assert_eq!(url.as_str(), "HTTPS://Api.Example.com:8443/v0/servers/?a=1");
        assert_eq!((url.host(), url.path()), ("api.example.com", "/v0/servers"));
        assert_eq!(url.query(), Some("a=1"));
        assert_eq!(url.shown(), "HTTPS://Api.Example.com:8443/v0/servers/?…");
        assert_eq!(url.below("/x").as_str(), "HTTPS://Api.Example.com:8443/v0/servers/x");
        let root = Url::parse("http://[::1]").unwrap();
        assert_eq!((root.path(), root.host(), root.is_loopback()), ("", "::1", true));
    }

    #[test]
    fn a_cursor_is_encoded_byte_for_byte_and_given_parameters_stay() {
        let url = Url::parse("https://example.com/v0/servers?limit=7").unwrap();
        let page = url.with_query(&[("limit", "100"), ("cursor", "a/b:1+ä=&?")]);
        assert_eq!(
            page.as_str(),
            "https://example.com/v0/servers?limit=7&cursor=a%2Fb%3A1%2B%C3%A4%3D%26%3F"
        );
        let bare = Url::parse("https://example.com/x").unwrap().with_query(&[("a", "1")]);
        assert_eq!(bare.as_str(), "https://example.com/x?a=1");
    }

    #[test]
    fn what_is_no_address_is_refused_and_secrets_are_not_shown() {
        for (url, reason) in [
            ("example.com/x", "does not begin with"),
            ("file:///etc/passwd", "does not begin with"),
            ("https://", "does not parse"),
            ("https://ho st/v1", "does not parse"),
            ("https://me:hunter2@host/v1?token=hunter2", "user or password"),
        ] {
            let message = Url::parse(url).unwrap_err().to_string();
            assert!(message.contains(reason), "{url}: {message}");
            assert!(!message.contains("hunter2") && !message.contains("me:"), "{message}");
        }
    }

    #[test]
    fn a_path_is_not_taken_for_an_address() {
        for (text, expected) in [
            ("https://example.com", true),
            ("HTTP://example.com", true),
            ("catalog.json", false),
            ("/srv/http/x.json", false),
            ("C:\\x.json", false),
        ] {
            assert_eq!(Url::is_likely(text), expected, "{text}");
        }
    }
}
