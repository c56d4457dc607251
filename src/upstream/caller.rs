//! Who sends requests to a server that is called.
//!
//! Owns the headers of its entry, its token, and that both go to its origin
//! alone. A request that is refused for its token goes out once more with a
//! fresh one, and never a third time.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use reqwest::RequestBuilder;
use reqwest::Response;
use reqwest::StatusCode;
use reqwest::Url;
use reqwest::header::HeaderMap;
use reqwest::header::HeaderName;
use reqwest::header::HeaderValue;
use reqwest::header::WWW_AUTHENTICATE;

use super::credentials::Credentials;
use super::error::UpstreamError;
use super::http::causes;
use super::http::printable;
use super::http::unreachable;
use super::secrets::Secrets;
use super::stderr::shown;
use super::target::Address;
use crate::secret::Secret;

/// Redirects of one request, all within its origin.
const MAX_REDIRECTS: usize = 3;

/// A client for one server; `Debug` hides all of it.
#[derive(Clone)]
pub(super) struct Caller {
    client: reqwest::Client,
    credentials: Option<Arc<dyn Credentials>>,
    secrets: Secrets,
}

impl Caller {
    pub(super) fn new(address: &Address) -> Result<Self, UpstreamError> {
        let (credentials, secrets) = (address.credentials.clone(), address.secrets.clone());
        Ok(Self { client: client(address)?, credentials, secrets })
    }

    pub(super) fn get(&self, url: &Url) -> RequestBuilder {
        self.client.get(url.clone())
    }

    pub(super) fn post(&self, url: &Url) -> RequestBuilder {
        self.client.post(url.clone())
    }

    pub(super) fn delete(&self, url: &Url) -> RequestBuilder {
        self.client.delete(url.clone())
    }

    /// Sends a request to an address of this server; a 401 is an error.
    pub(super) async fn send(
        &self,
        request: RequestBuilder,
        url: &Url,
    ) -> Result<Response, UpstreamError> {
        let Some(credentials) = &self.credentials else {
            return passed(self.send_with(request, url, None).await?, None, None);
        };
        let token = credentials.bearer().await?;
        let again = request.try_clone();
        let response = self.send_with(request, url, token.as_ref()).await?;
        let refused = (response.status() == StatusCode::UNAUTHORIZED).then_some(token.as_ref());
        let (Some(Some(refused)), Some(again)) = (refused, again) else {
            return passed(response, Some(&**credentials), token.as_ref());
        };
        let fresh = credentials.fresh(refused).await?;
        let response = self.send_with(again, url, fresh.as_ref()).await?;
        passed(response, Some(&**credentials), fresh.as_ref())
    }

    /// What a server says in an error, without what is secret.
    pub(super) fn shown(&self, body: &[u8]) -> String {
        self.secrets.hide_in(&shown(body))
    }

    async fn send_with(
        &self,
        mut request: RequestBuilder,
        url: &Url,
        token: Option<&Secret>,
    ) -> Result<Response, UpstreamError> {
        if let Some(token) = token {
            self.secrets.learn(token.expose());
            request = request.bearer_auth(token.expose());
        }
        request.send().await.map_err(|error| unreachable(url, &error))
    }
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Caller(***)")
    }
}

/// The answer to a request with this token, unless it asks for a login.
fn passed(
    response: Response,
    credentials: Option<&dyn Credentials>,
    token: Option<&Secret>,
) -> Result<Response, UpstreamError> {
    if response.status() != StatusCode::UNAUTHORIZED {
        return Ok(response);
    }
    let had_token = token.is_some();
    let (challenged, metadata) = challenge(response.headers());
    if !challenged && !had_token {
        return Err(UpstreamError::NeedsCredentials);
    }
    let problem = if had_token { "it refuses the token that it got" } else { "" }.to_owned();
    // Without metadata there is nowhere to log in, unless somebody has already.
    let command = credentials.filter(|_| had_token || !metadata.is_empty());
    let command = command.map(Credentials::command).unwrap_or_default();
    Err(UpstreamError::NeedsLogin { metadata, problem, command })
}

/// Whether a 401 says what it wants, and the address of the server's metadata.
fn challenge(headers: &HeaderMap) -> (bool, String) {
    let challenges = headers.get_all(WWW_AUTHENTICATE);
    let mut challenges = challenges.iter().filter_map(|value| value.to_str().ok()).peekable();
    let is_there = challenges.peek().is_some();
    let metadata = challenges.find_map(|challenge| {
        let (_, rest) = challenge.split_once("resource_metadata=")?;
        let end = |c: char| c == '"' || c == ',' || c.is_whitespace();
        rest.trim_start_matches('"').split(end).next().map(|url| shown(url.as_bytes()))
    });
    (is_there, metadata.unwrap_or_default())
}

/// A client with the headers of an address, which go to its origin alone.
fn client(address: &Address) -> Result<reqwest::Client, UpstreamError> {
    let mut headers = HeaderMap::new();
    for (name, value) in &address.headers {
        let bad = || UpstreamError::BadHeader { name: shown(name.as_bytes()) };
        let key = HeaderName::try_from(name.trim()).map_err(|_| bad())?;
        let mut value = HeaderValue::from_str(value.trim()).map_err(|_| bad())?;
        value.set_sensitive(true);
        headers.append(key, value);
    }
    // Another room may have set it: then it is the same.
    drop(rustls::crypto::ring::default_provider().install_default());
    let same_origin = reqwest::redirect::Policy::custom(|attempt| {
        let stays =
            attempt.previous().first().is_some_and(|url| url.origin() == attempt.url().origin());
        match stays && attempt.previous().len() <= MAX_REDIRECTS {
            true => attempt.follow(),
            false => attempt.stop(),
        }
    });
    reqwest::Client::builder()
        .user_agent(concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION")))
        .default_headers(headers)
        .redirect(same_origin)
        .connect_timeout(Duration::from_secs(10))
        .build()
        .map_err(|error| UpstreamError::Unreachable {
            url: printable(&address.url),
            problem: causes(&error),
        })
}
