//! The meta-server: one tool, one prompt, both protocol eras.
//!
//! The only room that knows rmcp. Owns the session; routing happens in
//! `router`, on blocking threads, so that `initialize` never waits for it.

mod arguments;
mod discovery;
mod engine;
mod result;

pub use engine::{Engine, EngineError, Loader};

use std::sync::Arc;

use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;

use discovery::Discovery;

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
pub async fn stdio(engine: Arc<Engine>) -> Result<(), ServeError> {
    let service = Discovery::new(engine).serve(rmcp::transport::stdio_pipes()).await;
    let running = match service {
        Ok(running) => running,
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(ServeError::Initialize(Box::new(error))),
    };
    running.waiting().await?;
    Ok(())
}
