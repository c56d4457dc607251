//! The steps of OAuth, as the MCP library takes them.
//!
//! Owns what is believed of what a server publishes: where it leads must be as
//! safe as the server itself. The library looks at the addresses it connects
//! to: those of a public server may not be in a private network. Its log shows
//! codes and what servers give beside tokens, so it is not heard.

use reqwest::Url;
use rmcp::transport::auth::AuthError;
use rmcp::transport::auth::AuthorizationManager;
use rmcp::transport::auth::AuthorizationMetadata;
use rmcp::transport::auth::CredentialStore;
use rmcp::transport::auth::InMemoryCredentialStore;
use rmcp::transport::auth::OAuthClientConfig;
use rmcp::transport::auth::OAuthTokenResponse;
use rmcp::transport::auth::StoredCredentials;
use serde::Deserialize;
use serde_json::json;
use tracing::instrument::WithSubscriber;
use tracing::subscriber::NoSubscriber;

use crate::fetch::PrivateHosts;
use crate::login::LoginError;
use crate::login::callback::Answer;
use crate::login::cleaned;
use crate::login::place::Place;
use crate::login::store::Client;
use crate::login::store::Grant;
use crate::login::store::Token;
use crate::upstream::Secrets;

/// A login under way.
pub(super) struct Flow {
    manager: AuthorizationManager,
    memory: InMemoryCredentialStore,
    address: String,
    state: String,
    /// All but the token.
    grant: Grant,
}

impl Flow {
    /// Finds out where to log in, and makes us known there.
    pub(super) async fn begin(
        place: &Place,
        private: PrivateHosts,
        redirect_uri: &str,
    ) -> Result<Self, LoginError> {
        Self::begin_aloud(place, private, redirect_uri)
            .with_subscriber(NoSubscriber::default())
            .await
    }

    /// The address that a person has to open.
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// What the answer must hold.
    pub(super) fn state(&self) -> &str {
        &self.state
    }

    /// Buys the token.
    pub(super) async fn finish(self, answer: &Answer) -> Result<Grant, LoginError> {
        let exchange = self.manager.exchange_code_for_token_with_issuer(
            &answer.code,
            &self.state,
            answer.issuer.as_deref(),
        );
        exchange.with_subscriber(NoSubscriber::default()).await.map_err(|error| {
            let secrets =
                Secrets::new([answer.code.clone()].into_iter().chain(self.grant.secrets()));
            LoginError::NoToken { problem: secrets.hide_in(&cleaned(&error.to_string())) }
        })?;
        let token = token(&self.memory).await?;
        Ok(Grant { token, ..self.grant })
    }

    async fn begin_aloud(
        place: &Place,
        private: PrivateHosts,
        redirect_uri: &str,
    ) -> Result<Self, LoginError> {
        let (mut manager, metadata) = discovered(place, private).await?;
        let token_endpoint = metadata.token_endpoint.clone();
        let issuer = metadata.issuer.clone();
        if metadata.registration_endpoint.is_none() {
            let problem = "it registers no clients by itself".to_owned();
            return Err(LoginError::Registration { problem });
        }
        manager.set_metadata(metadata);
        let memory = InMemoryCredentialStore::new();
        manager.set_credential_store(memory.clone());
        let scopes = manager.select_initial_scopes(&[]).await;
        let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
        let registered =
            manager.register_client(env!("CARGO_PKG_NAME"), redirect_uri, &scopes).await;
        let client =
            registered.map_err(|error| LoginError::Registration { problem: words(&error) })?;
        let address = manager.get_authorization_url(&scopes).await;
        let address = address.map_err(|error| LoginError::Discovery { problem: words(&error) })?;
        let [state, resource] = ["state", "resource"].map(|name| field(&address, name));
        let grant = Grant {
            server: place.as_str().to_owned(),
            resource,
            issuer,
            token_endpoint,
            private,
            client: Client {
                id: client.client_id,
                secret: client.client_secret,
                redirect_uri: client.redirect_uri,
            },
            token: Token::none(),
        };
        Ok(Self { manager, memory, address, state, grant })
    }
}

/// Renews a token; the library asks once.
pub(super) async fn renewed(place: &Place, grant: &Grant) -> Result<Token, LoginError> {
    renewed_aloud(place, grant).with_subscriber(NoSubscriber::default()).await
}

async fn renewed_aloud(place: &Place, grant: &Grant) -> Result<Token, LoginError> {
    // Asked again, because the library learns only so what the token is for.
    let (mut manager, metadata) = discovered(place, grant.private).await?;
    if metadata.token_endpoint != grant.token_endpoint || metadata.issuer != grant.issuer {
        return Err(LoginError::Moved);
    }
    let failed = |error: &AuthError| LoginError::NoToken {
        problem: Secrets::new(grant.secrets()).hide_in(&words(error)),
    };
    manager.set_metadata(metadata);
    let client = OAuthClientConfig::new(&grant.client.id, &grant.client.redirect_uri);
    manager
        .configure_client(match &grant.client.secret {
            Some(secret) => client.with_client_secret(secret),
            None => client,
        })
        .map_err(|error| failed(&error))?;
    let memory = InMemoryCredentialStore::new();
    let stored = stored(grant).ok_or(LoginError::Ended)?;
    memory.save(stored).await.map_err(|error| failed(&error))?;
    manager.set_credential_store(memory.clone());
    match manager.refresh_token().await {
        Ok(_) => token(&memory).await,
        Err(AuthError::TokenRefreshRejected(_) | AuthError::AuthorizationRequired) => {
            Err(LoginError::Ended)
        }
        Err(error) => Err(failed(&error)),
    }
}

/// What a server publishes, with every endpoint looked at.
async fn discovered(
    place: &Place,
    private: PrivateHosts,
) -> Result<(AuthorizationManager, AuthorizationMetadata), LoginError> {
    // Another room may have set it: then it is the same.
    drop(rustls::crypto::ring::default_provider().install_default());
    let manager = match private {
        PrivateHosts::Allowed => {
            AuthorizationManager::new_allowing_private_addresses(place.url().clone()).await
        }
        PrivateHosts::Refused => AuthorizationManager::new(place.url().clone()).await,
    };
    let failed = |error: AuthError| LoginError::Discovery { problem: words(&error) };
    let manager = manager.map_err(failed)?;
    let found = manager.resolve_metadata().await.map_err(failed)?;
    if !found.source.is_discovered() {
        return Err(LoginError::NoMetadata { url: place.as_str().to_owned() });
    }
    let metadata = found.metadata;
    for (what, endpoint) in [
        ("page to log in at", Some(&metadata.authorization_endpoint)),
        ("token endpoint", Some(&metadata.token_endpoint)),
        ("registration endpoint", metadata.registration_endpoint.as_ref()),
    ] {
        if let Some(endpoint) = endpoint.filter(|endpoint| !place.trusts(endpoint)) {
            return Err(LoginError::UnsafeEndpoint { what, endpoint: cleaned(endpoint) });
        }
    }
    Ok((manager, metadata))
}

/// All that an error says, innermost included.
fn words(error: &AuthError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    cleaned(&text)
}

fn field(address: &str, name: &str) -> String {
    let url = Url::parse(address).ok();
    let mut pairs = url.iter().flat_map(Url::query_pairs);
    pairs.find(|(key, _)| key == name).map(|(_, value)| value.into_owned()).unwrap_or_default()
}

/// What the library has got, as ours.
async fn token(memory: &InMemoryCredentialStore) -> Result<Token, LoginError> {
    #[derive(Deserialize)]
    struct Got {
        access_token: String,
        token_type: String,
        refresh_token: Option<String>,
        expires_in: Option<u64>,
    }
    let none = || LoginError::NoToken { problem: "its answer holds none".to_owned() };
    let stored = memory.load().await.ok().flatten().ok_or_else(none)?;
    let got = serde_json::to_value(stored.token_response).map_err(|_| none())?;
    let got: Got = serde_json::from_value(got).map_err(|_| none())?;
    if !got.token_type.eq_ignore_ascii_case("bearer") {
        let problem = format!("it is of type `{}`, not `Bearer`", cleaned(&got.token_type));
        return Err(LoginError::NoToken { problem });
    }
    // Of what RFC 6750 lets a token consist; anything else can be in no header.
    if got.access_token.is_empty() || !got.access_token.bytes().all(|byte| byte.is_ascii_graphic())
    {
        let problem = "it is empty, or holds what no token may hold".to_owned();
        return Err(LoginError::NoToken { problem });
    }
    Ok(Token {
        access: got.access_token,
        refresh: got.refresh_token,
        scopes: stored.granted_scopes,
        received_at: stored.token_received_at,
        expires_in: got.expires_in,
    })
}

/// What we have got, as the library has it.
fn stored(grant: &Grant) -> Option<StoredCredentials> {
    let token = &grant.token;
    let response = json!({
        "access_token": token.access,
        "token_type": "bearer",
        "refresh_token": token.refresh,
        "expires_in": token.expires_in,
    });
    let response: OAuthTokenResponse = serde_json::from_value(response).ok()?;
    let (id, scopes) = (grant.client.id.clone(), token.scopes.clone());
    let stored = StoredCredentials::new(id, Some(response), scopes, token.received_at);
    Some(stored.with_issuer(grant.issuer.clone()))
}
