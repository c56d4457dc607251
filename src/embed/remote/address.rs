//! The address of a remote model: what is accepted, what may be shown.

use ureq::http::Uri;

use super::error::RemoteError;
use crate::fetch::wire;

/// A base address that was checked; no part of it is secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address {
    /// Without a slash at its end.
    pub(super) base: String,
    /// Host, and port where it is given.
    pub(super) host: String,
    /// Without the port.
    pub(super) name: String,
    pub(super) is_encrypted: bool,
}

impl Address {
    pub(super) fn parse(url: &str) -> Result<Self, RemoteError> {
        let bad = |reason| RemoteError::BadAddress { url: without_user(url), reason };
        let base = url.trim().trim_end_matches('/');
        let scheme = base.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
        let is_encrypted = match scheme.as_deref() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(bad("it does not begin with https:// or http://")),
        };
        let uri: Uri = base.parse().map_err(|_| bad("it does not parse"))?;
        let authority = uri.authority().ok_or_else(|| bad("it has no host"))?;
        if authority.host().is_empty() {
            return Err(bad("it has no host"));
        }
        if authority.as_str().contains('@') {
            return Err(bad("a user or password does not belong into it"));
        }
        if uri.query().is_some() || url.contains('#') {
            return Err(bad("it has more than a path after the host"));
        }
        Ok(Self {
            base: base.to_owned(),
            host: authority.as_str().to_ascii_lowercase(),
            name: wire::host_name(authority.host()),
            is_encrypted,
        })
    }

    /// Whether it is this machine.
    pub(super) fn is_loopback(&self) -> bool {
        wire::is_loopback(&self.name)
    }
}

/// `url` as it may be shown: without anything before an `@`.
fn without_user(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    match rest.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}://***@{host}"),
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(url: &str) -> String {
        Address::parse(url).unwrap_err().to_string()
    }

    #[test]
    fn slashes_at_the_end_do_not_matter() {
        let address = Address::parse("https://API.example.org:8443/v1//").unwrap();
        assert_eq!(address.base, "https://API.example.org:8443/v1");
        assert_eq!(address.host, "api.example.org:8443");
        assert!(address.is_encrypted && !address.is_loopback());
    }

    #[test]
    fn this_machine_is_known_by_name_and_number() {
        for (url, expected) in [
            ("http://localhost:11434/v1", true),
            ("http://127.0.0.1/v1", true),
            ("http://127.9.9.9:80", true),
            ("http://[::1]:8080/v1", true),
            ("http://10.0.0.1/v1", false),
            ("http://localhost.example.org/v1", false),
            ("http://127.0.0.1.example.org/v1", false),
        ] {
            assert_eq!(Address::parse(url).unwrap().is_loopback(), expected, "{url}");
        }
    }

    #[test]
    fn what_is_no_base_address_is_refused_with_the_reason() {
        for (url, reason) in [
            ("", "does not begin with"),
            ("api.openai.com/v1", "does not begin with"),
            ("file:///etc/passwd", "does not begin with"),
            ("https://", "does not begin with"),
            ("https://ho st/v1", "does not parse"),
            ("https://:80/v1", "no host"),
            ("https://host/v1?key=1", "more than a path"),
            ("https://host/v1#x", "more than a path"),
        ] {
            let message = refusal(url);
            assert!(message.contains(reason), "{url}: {message}");
        }
    }

    #[test]
    fn a_password_in_the_address_is_refused_unseen() {
        let message = refusal("https://me:hunter2@host/v1");
        assert!(message.contains("https://***@host/v1"), "{message}");
        assert!(!message.contains("hunter2") && !message.contains("me:"), "{message}");
    }
}
