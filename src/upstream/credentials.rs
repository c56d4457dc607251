//! What a server that wants a login is told: the token of the moment.
//!
//! Owns what is asked of whoever keeps tokens. Where they come from, and how
//! they are renewed, is not known here.

use futures_util::future::BoxFuture;

use super::error::UpstreamError;
use crate::secret::Secret;

/// A token on its way; `None` where nobody has logged in.
pub type Bearer<'a> = BoxFuture<'a, Result<Option<Secret>, UpstreamError>>;

/// Tokens of one server, and how a person gets them.
pub trait Credentials: Send + Sync {
    /// The token to send now.
    fn bearer(&self) -> Bearer<'_>;

    /// Another one, because the server has refused this.
    fn fresh<'a>(&'a self, refused: &'a Secret) -> Bearer<'a>;

    /// The command with which a person logs in.
    fn command(&self) -> String;
}
