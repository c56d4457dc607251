//! The meta-server: one tool or two, one prompt, both protocol eras.
//!
//! The only room that knows rmcp. Owns the session; routing happens in
//! `router`, on blocking threads, so that `initialize` never waits for it.

mod arguments;
mod auth;
mod awaited;
mod backends;
mod calls;
mod counted;
mod directory;
mod discovery;
mod engine;
mod finish;
mod gate;
mod http;
mod incoming;
mod live;
mod meter;
mod metrics;
mod offers;
mod origins;
mod raw;
mod relaxed;
mod report;
mod result;
mod schema;
mod service;
mod sessions;
mod shares;
mod stdio;
mod subschemas;

pub use auth::Door;
pub use backends::Backends;
pub use engine::{Engine, EngineError, Loader};
pub use http::{HttpSettings, hosts, http};

use std::sync::Arc;

use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::access::Policy;
use discovery::Discovery;
use stdio::Lines;

/// Why a session ended badly.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The opening exchange failed.
    #[error("the client did not open an MCP session")]
    Initialize(#[source] Box<ServerInitializeError>),
    /// The session's task ended abnormally.
    #[error("the session ended abnormally")]
    Session(#[from] tokio::task::JoinError),
}

/// Serves one client on stdin and stdout until stdin ends.
///
/// A client that closes stdin before `initialize` just changed its mind.
///
/// # Errors
/// Fails when the client speaks no MCP.
pub async fn stdio(engine: Arc<Engine>, policy: Arc<Policy>) -> Result<(), ServeError> {
    let (reader, writer) = rmcp::transport::stdio_pipes();
    session(engine, policy, reader, writer).await
}

/// Serves one client on a pair of byte streams until `reader` ends.
///
/// # Errors
/// As [`stdio`].
pub async fn session<R, W>(
    engine: Arc<Engine>,
    policy: Arc<Policy>,
    reader: R,
    writer: W,
) -> Result<(), ServeError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let lines = Lines::new(&engine, reader, writer);
    let service = Discovery::new(engine, policy).serve(lines).await;
    let running = match service {
        Ok(running) => running,
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(ServeError::Initialize(Box::new(error))),
    };
    running.waiting().await?;
    Ok(())
}
