//! Who asks: whose token it is, and what that token opens.

use std::sync::Arc;

use super::policy::Policy;

/// A client, as far as it matters here.
#[derive(Clone, Debug, Default)]
pub struct Visitor {
    /// Of the tenant; empty where there are none.
    pub name: Arc<str>,
    /// Whether it had to show a token.
    pub has_token: bool,
    /// What it may see and call.
    pub policy: Arc<Policy>,
}
