//! MCP servers behind the router: started or called, spoken to, ended.
//!
//! Owns processes, connections and both eras of the protocol, and that a server
//! which hangs, floods, dies or talks nonsense harms nobody but itself. Messages
//! are raw JSON: the types of a library would drop what they do not know, and a
//! whole list of tools over one odd schema. Must not know configurations or
//! catalogues: a [`Target`] has every value in its place.

mod breaker;
mod caller;
mod changes;
mod child;
mod connect;
mod credentials;
mod desk;
mod error;
mod guardian;
mod handshake;
mod http;
mod link;
mod listing;
mod member;
mod message;
mod params;
mod pool;
mod secrets;
mod session;
mod sse;
mod stderr;
mod target;

pub use crate::upstream::credentials::Bearer;
pub use crate::upstream::credentials::Credentials;
pub use crate::upstream::desk::Outcome;
pub use crate::upstream::error::UpstreamError;
pub use crate::upstream::guardian::Guardian;
pub use crate::upstream::guardian::keep_watch;
pub use crate::upstream::listing::Listing;
pub use crate::upstream::member::Health;
pub use crate::upstream::message::RpcError;
pub use crate::upstream::pool::Call;
pub use crate::upstream::pool::Pool;
pub use crate::upstream::pool::PoolLimits;
pub use crate::upstream::secrets::Secrets;
pub use crate::upstream::target::Address;
pub use crate::upstream::target::Dialect;
pub use crate::upstream::target::Program;
pub use crate::upstream::target::Target;

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;

/// How long a server may take, and how many are spoken to at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// From its start to its answer to `initialize`.
    pub start: Duration,
    /// For one page of its list of tools.
    pub page: Duration,
    /// Servers that are started at the same time.
    pub parallel: usize,
}

impl Default for Limits {
    /// 30 s for a start, which may download a package; 30 s a page; 8 at once.
    fn default() -> Self {
        Self { start: Duration::from_secs(30), page: Duration::from_secs(30), parallel: 8 }
    }
}

/// Lists the tools of every target, some at a time; answers in the order of the targets.
///
/// All servers have ended when it returns.
///
/// # Errors
/// One for each server that could not be listed. The outer one: this process
/// cannot run anything at all.
pub fn list_all(
    targets: &[Target],
    guardian: Option<&Arc<Guardian>>,
    limits: Limits,
    on_listed: &mut dyn FnMut(),
) -> std::io::Result<Vec<Result<Listing, UpstreamError>>> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("upstream")
        .enable_all()
        .build()?;
    let mut listed: Vec<_> = targets.iter().map(|_| None).collect();
    runtime.block_on(async {
        let one = |(index, target)| async move {
            (index, listing::of(target, guardian.map(Arc::clone), limits).await)
        };
        let mut all = futures_util::stream::iter(targets.iter().enumerate())
            .map(one)
            .buffer_unordered(limits.parallel.max(1));
        while let Some((index, result)) = all.next().await {
            on_listed();
            listed[index] = Some(result);
        }
    });
    Ok(listed.into_iter().flatten().collect())
}
