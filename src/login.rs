//! Logging in to servers that are called: OAuth in a browser, and the tokens.
//!
//! Owns the store of tokens, who may read it, and that a token goes to the
//! server it was given for and to no other. The steps of OAuth are the MCP
//! library's; which of its answers are believed is decided here. Must not know
//! configurations, nor print: a caller gives a name and an address.

mod callback;
mod error;
mod flow;
mod place;
mod renew;
mod store;

pub use crate::login::error::LoginError;
pub use crate::login::error::StoreError;
pub use crate::login::store::TokenStore;

use std::time::Duration;

use crate::fetch::PrivateHosts;
use crate::login::callback::Callback;
use crate::login::flow::Flow;
use crate::login::place::Place;

/// How a login goes.
#[derive(Clone, Copy, Debug)]
pub struct LoginSettings {
    /// How long the person may take.
    pub patience: Duration,
    /// Whether the authorization server may be in a private network although
    /// the server is not.
    pub private: PrivateHosts,
}

/// Logs in to the server at `url`, and keeps what it gives.
///
/// `show` gets the address that a person has to open; what it does must not
/// take long. Nothing is kept unless all has gone well.
///
/// # Errors
/// When the server does not say where to log in, when the authorization server
/// or the person refuses, when time is up, or when the store cannot be written.
pub async fn log_in(
    store: &TokenStore,
    url: &str,
    settings: LoginSettings,
    show: impl FnOnce(&str),
) -> Result<(), LoginError> {
    let place = Place::of(url)?;
    // Better now than after somebody has taken the trouble.
    store.make_folder()?;
    let callback = Callback::listen().await.map_err(|source| LoginError::Listen { source })?;
    let flow = Flow::begin(&place, settings.private, &callback.address()).await?;
    show(flow.address());
    let waiting = callback.wait(flow.state());
    let answer = tokio::time::timeout(settings.patience, waiting).await;
    let answer = answer.map_err(|_| LoginError::TimedOut { after: settings.patience })??;
    let grant = flow.finish(&answer).await?;
    let _lock = store.lock(&place).await?;
    Ok(store.save(&place, &grant)?)
}

/// Removes the tokens of the server at `url`; whether there were any.
///
/// # Errors
/// When the address is none, or the file cannot be removed.
pub async fn log_out(store: &TokenStore, url: &str) -> Result<bool, LoginError> {
    let place = Place::of(url)?;
    if !store.has(&place) {
        return Ok(false);
    }
    // Nobody who is just renewing them writes them again.
    let _lock = store.lock(&place).await?;
    Ok(store.remove(&place)?)
}

/// What others say, as one line of bounded length without control characters.
fn cleaned(text: &str) -> String {
    const MAX_CHARS: usize = 300;
    let text = text.replace(char::is_control, " ");
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
