//! The servers behind a router that runs: called by name, each on its own.
//!
//! Owns who is connected. Must run within tokio.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::Weak;
use std::time::Duration;

use serde_json::Map;
use serde_json::Value;
use tokio::task::AbortHandle;

use super::changes::Changes;
use super::changes::OnChange;
use super::desk::Outcome;
use super::error::UpstreamError;
use super::guardian::Guardian;
use super::listing::Listing;
use super::member::Health;
use super::member::Member;
use super::params::Params;
use super::target::Target;
use crate::catalog::RawJson;

/// How long servers may take, and how much is asked of one at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolLimits {
    /// From its start to its answer to `initialize`.
    pub start: Duration,
    /// For one page of its list of tools.
    pub page: Duration,
    /// For a call, anew with each word of progress, ten times at most.
    pub call: Duration,
    /// A server that nobody has called for so long is ended.
    pub idle: Duration,
    /// Calls of one server at the same time.
    pub at_once: usize,
}

impl Default for PoolLimits {
    /// 30 s for a start and a page, 60 s for a call, ended after 10 minutes, 16 at once.
    fn default() -> Self {
        Self {
            start: Duration::from_secs(30),
            page: Duration::from_secs(30),
            call: Duration::from_secs(60),
            idle: Duration::from_secs(600),
            at_once: 16,
        }
    }
}

/// Idle servers are not looked for more often.
const SHORTEST_LOOK: Duration = Duration::from_millis(50);

/// A call of a tool.
#[derive(Clone, Debug)]
pub struct Call {
    /// Its name on the server.
    pub tool: String,
    /// An object.
    pub arguments: RawJson,
    /// `_meta` of the call, without a token of progress.
    pub meta: Map<String, Value>,
}

/// Servers by name.
pub struct Pool {
    members: BTreeMap<String, Arc<Member>>,
    changes: Arc<Changes>,
    reaper: AbortHandle,
}

impl Pool {
    /// A pool of these servers, none of which is started yet.
    #[must_use]
    pub fn new(
        servers: Vec<(String, Target)>,
        guardian: Option<&Arc<Guardian>>,
        limits: PoolLimits,
    ) -> Self {
        let changes = Arc::new(Changes::default());
        let member = |(name, target): (String, Target)| {
            let on_change = OnChange { name: name.clone(), changes: Arc::clone(&changes) };
            (name, Arc::new(Member::new(target, guardian.map(Arc::clone), on_change, limits)))
        };
        let members: BTreeMap<_, _> = servers.into_iter().map(member).collect();
        let all: Vec<_> = members.values().map(Arc::downgrade).collect();
        let reaper = tokio::spawn(reap(all, limits.idle)).abort_handle();
        Self { members, changes, reaper }
    }

    /// Calls a tool, and gives the answer as it came, be it an error.
    ///
    /// Dropped before its end, the server is told. `on_progress` takes the
    /// parameters of each word of progress, with a token of ours.
    ///
    /// # Errors
    /// When the server cannot be started, ends, rests, is busy or gives no answer in time.
    pub async fn call(
        &self,
        server: &str,
        call: Call,
        on_progress: Option<&mut (dyn FnMut(RawJson) + Send)>,
    ) -> Result<Outcome, UpstreamError> {
        let params = Params::default()
            .with("name", &call.tool)
            .with_raw("arguments", call.arguments)
            .with_meta(call.meta);
        self.member(server)?.call(&params, on_progress).await
    }

    /// Lists the tools of a server anew.
    ///
    /// # Errors
    /// As [`Pool::call`], and where it refuses.
    pub async fn list(&self, server: &str) -> Result<Listing, UpstreamError> {
        self.member(server)?.list().await
    }

    /// Waits until servers say that their lists have changed; whose they are.
    pub async fn changed(&self) -> BTreeSet<String> {
        self.changes.next().await
    }

    /// Whether a server of that name is here.
    #[must_use]
    pub fn has(&self, server: &str) -> bool {
        self.members.contains_key(server)
    }

    /// How the servers are doing, by name.
    #[must_use]
    pub fn health(&self) -> Vec<(&str, Health)> {
        self.members.iter().map(|(name, member)| (name.as_str(), member.health())).collect()
    }

    /// Ends all servers; later calls fail.
    pub async fn end(&self) {
        self.reaper.abort();
        futures_util::future::join_all(self.members.values().map(|member| member.end())).await;
    }

    fn member(&self, server: &str) -> Result<&Arc<Member>, UpstreamError> {
        self.members.get(server).ok_or(UpstreamError::Unknown)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.reaper.abort();
    }
}

/// Ends servers that nobody calls any more.
async fn reap(members: Vec<Weak<Member>>, idle: Duration) {
    loop {
        tokio::time::sleep((idle / 4).max(SHORTEST_LOOK)).await;
        for member in members.iter().filter_map(Weak::upgrade) {
            member.rest_if_idle(idle);
        }
    }
}
