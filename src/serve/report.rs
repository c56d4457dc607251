//! What happened, for whoever runs the service: events in the log, and counts.
//!
//! Owns the two events from which hit-rate@1 can be read: `routing_complete`
//! and `tool_selected`. Neither holds arguments, tokens or texts of requests.

use std::sync::Arc;
use std::time::Duration;

use super::engine::Engine;
use super::engine::EngineError;
use crate::access::Visitor;
use crate::router::Routed;
use crate::surface;
use crate::upstream::Outcome;
use crate::upstream::UpstreamError;

/// A discovery was answered.
pub(super) fn discovered(
    engine: &Engine,
    visitor: &Visitor,
    routed: &Result<Routed, EngineError>,
    time: Duration,
) {
    let (metrics, tenant) = (&engine.metrics, &*visitor.name);
    metrics.took("discover", time);
    let routed = match routed {
        Ok(routed) => routed,
        Err(error) => {
            metrics.request(surface::TOOL_NAME, "error");
            tracing::info!(event = "routing_failed", tenant, %error);
            return;
        }
    };
    metrics.took("embed", routed.embedding);
    metrics.took("rank", time.saturating_sub(routed.embedding));
    let reply = &routed.reply;
    let n_abstained = reply.requests.iter().filter(|request| request.abstained).count();
    metrics.abstained(n_abstained);
    let outcome = if n_abstained == reply.requests.len() { "abstained" } else { "ok" };
    metrics.request(surface::TOOL_NAME, outcome);
    for one in &reply.matches {
        engine.offered.insert((Arc::clone(&visitor.name), one.name.clone()), one.rank);
    }
    tracing::info!(
        event = "routing_complete",
        tenant,
        requests = reply.requests.len(),
        matches = reply.matches.len(),
        abstained = n_abstained,
        first = reply.matches.first().map(|one| one.name.as_str()),
        confidence = reply.requests.first().and_then(|one| one.confidence),
        ms = ms(time),
    );
}

/// A tool is about to be called.
pub(super) fn selected(engine: &Engine, visitor: &Visitor, server: &str, exposed: &str) {
    let offered = engine.offered.get(&(Arc::clone(&visitor.name), exposed.to_owned()));
    let rank = offered.unwrap_or(0);
    engine.metrics.selected(rank);
    tracing::info!(event = "tool_selected", tenant = &*visitor.name, server, tool = exposed, rank);
}

/// A call has ended.
pub(super) fn called(
    engine: &Engine,
    server: &str,
    answered: &Result<Outcome, UpstreamError>,
    time: Duration,
) {
    engine.metrics.took("call", time);
    let outcome = match answered {
        Ok(Ok(_)) => "ok",
        Ok(Err(_)) => "refused",
        Err(_) => "error",
    };
    engine.metrics.request(surface::CALL_NAME, outcome);
    match answered {
        Err(error) => tracing::warn!(event = "call_failed", server, %error, ms = ms(time)),
        Ok(_) => tracing::debug!(event = "call_complete", server, outcome, ms = ms(time)),
    }
}

/// Tools were listed: ours, in place of all.
pub(super) fn listed(engine: &Engine) {
    let tokens = engine.surface().tokens;
    let ours = tokens.tool_entry_with_output_schema + tokens.instructions;
    engine.metrics.saved(tokens.all_schemas.saturating_sub(ours));
}

fn ms(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e5).round() / 100.0
}
