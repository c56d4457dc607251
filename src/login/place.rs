//! Which server tokens are for: the origin and path of its address.

use reqwest::Url;
use sha2::Digest;
use sha2::Sha256;

use crate::login::LoginError;

/// A server that can be logged in to, without the query of its address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place(Url);

impl Place {
    /// Reads an address.
    pub(super) fn of(text: &str) -> Result<Self, LoginError> {
        let url = Url::parse(text.trim()).ok().filter(|url| {
            let is_named = url.host_str().is_some_and(|host| !host.is_empty());
            matches!(url.scheme(), "http" | "https") && is_named
        });
        let mut url = url.ok_or(LoginError::BadAddress)?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(LoginError::HasPassword);
        }
        // Keys of services stand there; no authorization server is to see them.
        url.set_query(None);
        url.set_fragment(None);
        Ok(Self(url))
    }

    pub(super) fn url(&self) -> &Url {
        &self.0
    }

    pub(super) fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Names of files: no two servers have the same.
    pub(super) fn hash(&self) -> String {
        hex::encode(&Sha256::digest(self.as_str())[..16])
    }

    /// Whether something that is sent to `endpoint` is as safe as on the way to
    /// the server itself.
    pub(super) fn trusts(&self, endpoint: &str) -> bool {
        let Ok(endpoint) = Url::parse(endpoint) else { return false };
        let is_plain = endpoint.scheme() == "http" && self.0.scheme() == "http";
        endpoint.scheme() == "https" || is_plain
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_makes_no_other_server_but_a_path_does() {
        let place = |text: &str| Place::of(text).unwrap();
        let mcp = place("https://API.example.com:443/mcp?key=1#x");
        assert_eq!(mcp.as_str(), "https://api.example.com/mcp");
        assert_eq!(mcp.hash(), place("https://api.example.com/mcp").hash());
        for other in [
            "https://api.example.com/mcp/",
            "http://api.example.com/mcp",
            "https://example.com/mcp",
        ] {
            assert_ne!(mcp.hash(), place(other).hash(), "{other}");
        }
        assert!(matches!(Place::of("https://me:pw@example.com"), Err(LoginError::HasPassword)));
        for text in ["example.com", "file:///etc/passwd", "https://"] {
            assert!(matches!(Place::of(text), Err(LoginError::BadAddress)), "{text}");
        }
    }

    #[test]
    fn an_endpoint_is_https_unless_the_server_is_plain_itself() {
        let secure = Place::of("https://example.com/mcp").unwrap();
        let plain = Place::of("http://127.0.0.1:1/mcp").unwrap();
        assert!(secure.trusts("https://login.example.com/token"));
        assert!(plain.trusts("http://127.0.0.1:2/token"));
        for endpoint in ["http://login.example.com", "file:///bin/sh", "javascript:x", "token"] {
            assert!(!secure.trusts(endpoint), "{endpoint}");
        }
        assert!(!plain.trusts("file:///bin/sh"));
    }
}
