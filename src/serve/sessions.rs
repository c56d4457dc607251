//! Sessions of clients over HTTP: the MCP library's own, but not without end.
//!
//! Whoever opens one more than there may be closes the one that has been quiet
//! the longest; its client gets 404 and opens another.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::time::Duration;
use std::time::Instant;

use futures_util::Stream;
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
    /// When each was last heard of.
    heard: Mutex<HashMap<SessionId, Instant>>,
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
        if let Some(last) = self.heard().get_mut(id) {
            *last = Instant::now();
        }
    }

    /// Notes a new session; returns the one that must make room for it.
    fn note(&self, id: &SessionId) -> Option<SessionId> {
        let mut heard = self.heard();
        let quietest = || heard.iter().min_by_key(|(_, last)| **last).map(|(id, _)| id.clone());
        let leaves = if heard.len() < MAX_SESSIONS { None } else { quietest() };
        if let Some(leaves) = &leaves {
            heard.remove(leaves);
        }
        heard.insert(id.clone(), Instant::now());
        leaves
    }

    fn heard(&self) -> MutexGuard<'_, HashMap<SessionId, Instant>> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
        self.hear(id);
        self.local.create_stream(id, message).await
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
    }
}
