//! The token of the moment: read where it is kept, renewed when it is due.
//!
//! Owns that one renews for all who wait, in this process and in others, and
//! that a renewal which has begun is also written down.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;
use std::time::Instant;
use std::time::SystemTime;

use crate::login::LoginError;
use crate::login::StoreError;
use crate::login::flow;
use crate::login::place::Place;
use crate::login::store::Grant;
use crate::login::store::Token;
use crate::login::store::TokenStore;
use crate::secret::Secret;
use crate::upstream::Bearer;
use crate::upstream::Credentials;
use crate::upstream::UpstreamError;

/// A token is renewed so long before it expires, or at half of a shorter life.
const MARGIN_SECONDS: u64 = 30;

/// While the token is good, a renewal that failed is tried again after this.
const RETRY: Duration = Duration::from_secs(10);

/// Tokens of one server.
#[derive(Clone)]
pub(super) struct Tokens {
    store: TokenStore,
    place: Place,
    name: String,
    /// When a renewal last failed that may go better later.
    failed: Arc<Mutex<Option<Instant>>>,
}

impl Tokens {
    pub(super) fn new(store: TokenStore, place: Place, name: &str) -> Self {
        Self { store, place, name: name.to_owned(), failed: Arc::default() }
    }

    async fn present(&self) -> Result<Option<Secret>, UpstreamError> {
        let Some(grant) = self.load().await? else { return Ok(None) };
        let is_due = grant.token.is_due(now()) && grant.token.refresh.is_some();
        match is_due && (grant.token.is_over(now()) || !self.has_just_failed()) {
            true => self.renew(None).await,
            // One that nothing renews may still be good.
            false => Ok(Secret::new(&grant.token.access)),
        }
    }

    /// Renews in a task of its own: who waits may leave, and the new token must
    /// not get lost then, for the old one is spent.
    async fn renew(&self, refused: Option<String>) -> Result<Option<Secret>, UpstreamError> {
        let tokens = self.clone();
        let renewal = tokio::spawn(async move { tokens.renew_alone(refused.as_deref()).await });
        renewal.await.unwrap_or(Err(UpstreamError::Closed))
    }

    async fn renew_alone(&self, refused: Option<&str>) -> Result<Option<Secret>, UpstreamError> {
        let _lock = self.store.lock(&self.place).await.map_err(|error| self.unusable(&error))?;
        let Some(mut grant) = self.load().await? else { return Ok(None) };
        let is_new = refused.is_none_or(|refused| grant.token.access != refused);
        if is_new && !grant.token.is_due(now()) {
            // Somebody else was faster.
            return Ok(Secret::new(&grant.token.access));
        }
        if grant.token.refresh.is_none() {
            return Err(self.needs_login("its token is no longer valid, and nothing renews it"));
        }
        match flow::renewed(&self.place, &grant).await {
            Ok(token) => grant.token = token,
            Err(error @ LoginError::Ended) => {
                // Nobody tries again in vain.
                grant.token.refresh = None;
                self.save(grant).await?;
                return Err(self.needs_login(&error.to_string()));
            }
            Err(error) if error.needs_person() => {
                return Err(self.needs_login(&error.to_string()));
            }
            // It may go better the next time; until then the old one may do.
            Err(error) if is_new && !grant.token.is_over(now()) => {
                tracing::warn!(%error, "the token of `{}` is not renewed yet", self.name);
                *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
                return Ok(Secret::new(&grant.token.access));
            }
            Err(error) => return Err(UpstreamError::NotRenewed { problem: error.to_string() }),
        }
        let access = Secret::new(&grant.token.access);
        self.save(grant).await?;
        tracing::info!("the token of `{}` was renewed", self.name);
        Ok(access)
    }

    fn has_just_failed(&self) -> bool {
        let failed = *self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.is_some_and(|failed| failed.elapsed() < RETRY)
    }

    async fn load(&self) -> Result<Option<Grant>, UpstreamError> {
        let (store, place) = (self.store.clone(), self.place.clone());
        let loaded = tokio::task::spawn_blocking(move || store.load(&place)).await;
        loaded.map_err(|_| UpstreamError::Closed)?.map_err(|error| self.unusable(&error))
    }

    async fn save(&self, grant: Grant) -> Result<(), UpstreamError> {
        let (store, place) = (self.store.clone(), self.place.clone());
        let saved = tokio::task::spawn_blocking(move || store.save(&place, &grant)).await;
        saved.map_err(|_| UpstreamError::Closed)?.map_err(|error| self.unusable(&error))
    }

    fn unusable(&self, error: &StoreError) -> UpstreamError {
        let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
        self.needs_login(&format!("{error}{}", cause.unwrap_or_default()))
    }

    fn needs_login(&self, problem: &str) -> UpstreamError {
        UpstreamError::NeedsLogin {
            metadata: String::new(),
            problem: problem.to_owned(),
            command: self.command(),
        }
    }
}

impl Credentials for Tokens {
    fn bearer(&self) -> Bearer<'_> {
        Box::pin(self.present())
    }

    fn fresh<'a>(&'a self, refused: &'a Secret) -> Bearer<'a> {
        Box::pin(self.renew(Some(refused.expose().to_owned())))
    }

    fn command(&self) -> String {
        let is_plain = |c: char| c.is_alphanumeric() || "-_./@:".contains(c);
        let name = self.name.replace(char::is_control, " ");
        match !name.is_empty() && name.chars().all(is_plain) {
            true => format!("`toolscout login {name}`"),
            false => format!("`toolscout login '{}'`", name.replace('\'', "'\\''")),
        }
    }
}

impl Grant {
    /// What no message may show.
    pub(super) fn secrets(&self) -> impl Iterator<Item = String> {
        let token = &self.token;
        let all = [Some(&token.access), token.refresh.as_ref(), self.client.secret.as_ref()];
        all.into_iter().flatten().cloned()
    }
}

impl Token {
    /// Before there is one.
    pub(super) fn none() -> Self {
        Self {
            access: String::new(),
            refresh: None,
            scopes: Vec::new(),
            received_at: None,
            expires_in: None,
        }
    }

    /// Whether it has expired or is about to; one without an end never is.
    fn is_due(&self, now: u64) -> bool {
        let (Some(received_at), Some(expires_in)) = (self.received_at, self.expires_in) else {
            return false;
        };
        let left = received_at.saturating_add(expires_in).saturating_sub(now);
        left < MARGIN_SECONDS.min(expires_in / 2).max(1)
    }

    /// Whether it has expired.
    fn is_over(&self, now: u64) -> bool {
        let ends = self.received_at.zip(self.expires_in);
        ends.is_some_and(|(received_at, life)| received_at.saturating_add(life) <= now)
    }
}

/// Seconds since 1970.
fn now() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "tokens expire by the time of day")]
    let now = SystemTime::now();
    now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_due_shortly_before_its_end() {
        let of = |expires_in| Token { received_at: Some(1_000), expires_in, ..Token::none() };
        for (expires_in, now, expected) in [
            (Some(3_600), 1_000, false),
            (Some(3_600), 4_570, false),
            (Some(3_600), 4_571, true),
            (Some(3_600), 9_999, true),
            (Some(10), 1_005, false),
            (Some(10), 1_006, true),
            (Some(0), 1_000, true),
            (None, 9_999, false),
        ] {
            assert_eq!(of(expires_in).is_due(now), expected, "{expires_in:?} {now}");
        }
        let hour = of(Some(3_600));
        assert!(!hour.is_over(4_599) && hour.is_over(4_600) && !of(None).is_over(u64::MAX));
        let unknown = Token { expires_in: Some(1), ..Token::none() };
        assert!(!unknown.is_due(u64::MAX));
    }

    #[test]
    fn the_command_can_be_typed() {
        let store = TokenStore::new("tokens".into());
        let place = Place::of("https://example.com").unwrap();
        let command = |name: &str| Tokens::new(store.clone(), place.clone(), name).command();
        assert_eq!(command("web"), "`toolscout login web`");
        assert_eq!(command("my $(x) 'server'"), r"`toolscout login 'my $(x) '\''server'\'''`");
    }
}
