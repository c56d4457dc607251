//! From a target to a session: started or called, and introduced.

use std::sync::Arc;
use std::time::Duration;

use super::changes::OnChange;
use super::child::Child;
use super::desk::Desk;
use super::error::UpstreamError;
use super::guardian::Guardian;
use super::handshake;
use super::http::Http;
use super::http::Listener;
use super::link::Link;
use super::session::Line;
use super::session::Session;
use super::sse::Sse;
use super::target::Dialect;
use super::target::Target;

/// Starts or calls a server and introduces us; `limit` holds for each step.
pub(super) async fn to(
    target: &Target,
    guardian: Option<Arc<Guardian>>,
    on_change: Option<OnChange>,
    limit: Duration,
) -> Result<Session, UpstreamError> {
    let new_desk = || Arc::new(Desk::new(target.secrets().clone(), on_change.clone()));
    let desk = new_desk();
    let link = match target {
        Target::Stdio(program) => Link::Child(Child::start(program, &desk, guardian)?),
        Target::Http(address) if address.dialect == Dialect::Sse => {
            Link::Sse(Sse::open(address, &desk, limit).await?)
        }
        Target::Http(address) => Link::Http(Http::new(address, &desk)?, Listener::default()),
    };
    match (handshake::greet(Line { link, desk }, limit).await, target) {
        (Err(error), Target::Http(address))
            if address.dialect == Dialect::Auto && error.may_be_sse() =>
        {
            let desk = new_desk();
            let Ok(sse) = Sse::open(address, &desk, limit).await else {
                return Err(error);
            };
            handshake::greet(Line { link: Link::Sse(sse), desk }, limit).await
        }
        (result, _) => result,
    }
}
