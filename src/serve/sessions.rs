//! Sessions of clients over HTTP: the MCP library's own, but not without end.
//!
//! Where one more is opened than there may be, the tenant with the most of them
//! loses the one that has been quiet the longest; its client gets 404 and opens
//! another. One in which a call is under way is not quiet.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::time::Duration;
use std::time::Instant;

use futures_util::Stream;
use futures_util::StreamExt;
use rmcp::model::ClientJsonRpcMessage;
use rmcp::model::ServerJsonRpcMessage;
use rmcp::transport::streamable_http_server::session::ServerSseMessage;
use rmcp::transport::streamable_http_server::session::SessionId;
use rmcp::transport::streamable_http_server::session::SessionManager;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;

/// Sessions at the same time.
const MAX_SESSIONS: usize = 1_024;

/// A session that says nothing for so long is closed.
const QUIET: Duration = Duration::from_secs(3_600);

/// The sessions of a service.
pub(super) struct Sessions {
    local: LocalSessionManager,
    heard: Mutex<HashMap<SessionId, Heard>>,
}

/// What is known of a session.
struct Heard {
    /// The tenant whose it is.
    opener: Arc<str>,
    last: Instant,
    /// Held once more by each call under way.
    calls: Arc<()>,
}

tokio::task_local! {
    /// Who asks, in the task of a request: the library does not hand it on.
    static VISITOR: Arc<str>;
}

/// Answers a request of a tenant, who may open a session with it.
pub(super) async fn of<F: Future>(tenant: Arc<str>, request: F) -> F::Output {
    VISITOR.scope(tenant, request).await
}

impl Default for Sessions {
    fn default() -> Self {
        let mut local = LocalSessionManager::default();
        local.session_config.keep_alive = Some(QUIET);
        Self { local, heard: Mutex::default() }
    }
}

type Error = <LocalSessionManager as SessionManager>::Error;
type Transport = <LocalSessionManager as SessionManager>::Transport;

impl Sessions {
    fn hear(&self, id: &SessionId) {
        if let Some(heard) = self.heard().get_mut(id) {
            heard.last = Instant::now();
        }
    }

    /// The same of a session in which a call begins; it ends with what is returned.
    fn hear_call(&self, id: &SessionId) -> Option<Arc<()>> {
        self.hear(id);
        self.heard().get(id).map(|heard| Arc::clone(&heard.calls))
    }

    /// Notes a new session of who asks; returns the one that must make room for it.
    fn note(&self, id: &SessionId) -> Option<SessionId> {
        let opener = VISITOR.try_with(Arc::clone).unwrap_or_default();
        let mut heard = self.heard();
        let leaves = if heard.len() < MAX_SESSIONS { None } else { leaves(&heard, &opener) };
        if let Some(leaves) = &leaves {
            heard.remove(leaves);
        }
        heard.insert(id.clone(), Heard { opener, last: Instant::now(), calls: Arc::default() });
        leaves
    }

    fn heard(&self) -> MutexGuard<'_, HashMap<SessionId, Heard>> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The session that makes room for a new one of `opener`.
fn leaves(heard: &HashMap<SessionId, Heard>, opener: &Arc<str>) -> Option<SessionId> {
    let mut n_sessions: HashMap<&str, usize> = HashMap::from([(&**opener, 1)]);
    for one in heard.values() {
        *n_sessions.entry(&one.opener).or_default() += 1;
    }
    let key = |one: &Heard| {
        let is_called = Arc::strong_count(&one.calls) > 1;
        (Reverse(n_sessions.get(&*one.opener)), is_called, one.last)
    };
    heard.iter().min_by_key(|(_, one)| key(one)).map(|(id, _)| id.clone())
}

impl SessionManager for Sessions {
    type Error = Error;
    type Transport = Transport;

    async fn create_session(&self) -> Result<(SessionId, Transport), Error> {
        let (id, transport) = self.local.create_session().await?;
        if let Some(leaves) = self.note(&id) {
            tracing::warn!("more than {MAX_SESSIONS} sessions; the quietest one is closed");
            self.local.close_session(&leaves).await?;
        }
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Error> {
        self.local.initialize_session(id, message).await
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Error> {
        self.local.has_session(id).await
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Error> {
        self.heard().remove(id);
        self.local.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Error> {
        let call = self.hear_call(id);
        let stream = self.local.create_stream(id, message).await?;
        Ok(stream.inspect(move |_| {
            // Held as long as the stream, which ends with the answer.
            let _under_way = &call;
        }))
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), Error> {
        self.hear(id);
        self.local.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Error> {
        self.hear(id);
        self.local.create_standalone_stream(id).await
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Error> {
        self.hear(id);
        self.local.resume(id, last_event_id).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quietest_session_makes_room() {
        let sessions = Sessions::default();
        let id = |n: usize| SessionId::from(n.to_string());
        for n in 0..MAX_SESSIONS {
            assert_eq!(sessions.note(&id(n)), None);
        }
        sessions.hear(&id(0));
        assert_eq!(sessions.note(&id(MAX_SESSIONS)), Some(id(1)));
        assert_eq!(sessions.heard().len(), MAX_SESSIONS);
        sessions.hear(&id(1));
        assert_eq!(sessions.heard().len(), MAX_SESSIONS);
        let call = sessions.hear_call(&id(2));
        sessions.heard().values_mut().for_each(|one| one.last = Instant::now());
        let oldest = sessions.heard().get(&id(2)).unwrap().last - Duration::from_secs(9);
        sessions.heard().get_mut(&id(2)).unwrap().last = oldest;
        assert_ne!(sessions.note(&id(MAX_SESSIONS + 1)), Some(id(2)));
        drop(call);
        assert_eq!(sessions.note(&id(MAX_SESSIONS + 2)), Some(id(2)));
    }

    #[tokio::test]
    async fn a_tenant_cannot_push_out_the_sessions_of_another() {
        let sessions = Sessions::default();
        let id = |tenant: &str, n: usize| SessionId::from(format!("{tenant}{n}"));
        of("a".into(), async { assert_eq!(sessions.note(&id("a", 0)), None) }).await;
        of("b".into(), async {
            for n in 1..MAX_SESSIONS {
                assert_eq!(sessions.note(&id("b", n)), None);
            }
            for n in 0..10 {
                assert_eq!(sessions.note(&id("b", MAX_SESSIONS + n)), Some(id("b", n + 1)));
            }
        })
        .await;
        of("a".into(), async { assert_eq!(sessions.note(&id("a", 1)), Some(id("b", 11))) }).await;
    }
}
