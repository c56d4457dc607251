//! `call_tool`: exposed name and arguments → the answer of the server.
//!
//! Owns what is checked before a server is asked, and what its failures look
//! like to a model. The answer itself goes through as it came.

use std::sync::Arc;
use std::time::Instant;

use rmcp::ErrorData;
use rmcp::RoleServer;
use rmcp::model::CallToolResult;
use rmcp::model::ErrorCode;
use rmcp::model::JsonObject;
use rmcp::model::ProgressNotificationParam;
use rmcp::service::RequestContext;
use serde_json::Value;
use serde_json::value::RawValue;
use serde_json::value::to_raw_value;
use tokio::sync::mpsc;

use super::arguments;
use super::arguments::GivenCall;
use super::directory::Found;
use super::discovery::is_stateless;
use super::engine::Engine;
use super::engine::EngineError;
use super::finish;
use super::finish::Era;
use super::report;
use super::result;
use crate::access::Refusal;
use crate::access::Visitor;
use crate::catalog::RawJson;
use crate::surface;
use crate::upstream::Call;
use crate::upstream::Outcome;
use crate::upstream::Pool;
use crate::upstream::UpstreamError;

/// Keys of `_meta` that are between us and the client, not for the server.
const OURS: &str = "io.modelcontextprotocol/";

/// A call that may be sent.
struct Ready {
    exposed: String,
    server: String,
    tool: String,
    arguments: RawJson,
}

/// Calls a tool for a client.
///
/// # Errors
/// What the server answered as an error of the protocol; everything else that
/// goes wrong is a result that the model sees.
pub(super) async fn call(
    engine: &Arc<Engine>,
    visitor: Visitor,
    given: JsonObject,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResult, ErrorData> {
    let _under_way = engine.calls.token();
    let given = match arguments::read_call(given) {
        Ok(read) => read,
        Err(error) => return Ok(result::failure(&error.to_string())),
    };
    engine.first_index().await;
    let prepared = {
        let (engine, visitor) = (Arc::clone(engine), visitor.clone());
        tokio::task::spawn_blocking(move || prepare(&engine, &visitor, &given)).await
    };
    let Ready { exposed, server, tool, arguments } = match prepared {
        Ok(Ok(ready)) => ready,
        Ok(Err(refusal)) => return Ok(result::failure(&refusal)),
        Err(error) => return Err(ErrorData::internal_error(error.to_string(), None)),
    };
    let Some(backends) = engine.backends() else {
        return Ok(result::failure("no server is configured that could be called"));
    };
    let era = if is_stateless(&context) { Era::Stateless } else { Era::Handshake };
    let call = Call { tool, arguments, meta: meta(&context) };
    let (cancelled, start) = (context.ct.clone(), Instant::now());
    report::selected(engine, &visitor, &server, &exposed);
    let answered = tokio::select! {
        answered = with_progress(backends.pool(), &server, call, &context) => answered,
        // Dropped, the call tells the server; the library sends no answer.
        () = cancelled.cancelled() => return Err(ErrorData::internal_error("cancelled", None)),
    };
    report::called(engine, &server, &answered, start.elapsed());
    match answered {
        Ok(Ok(answer)) => match finish::result(&answer, era) {
            Ok(text) => Ok(engine.shelf.keep(&text)),
            Err(problem) => Ok(result::failure(&format!("`{server}` {problem}"))),
        },
        Ok(Err(error)) => {
            let data = error.data.map(|data| engine.shelf.keep_data(&finish::line(data.get())));
            let code = i32::try_from(error.code).unwrap_or(ErrorCode::INTERNAL_ERROR.0);
            Err(ErrorData::new(ErrorCode(code), error.message, data))
        }
        Err(error) => Ok(result::failure(&unavailable(&server, &error))),
    }
}

/// Finds the tool and checks the arguments; blocking.
fn prepare(engine: &Engine, visitor: &Visitor, given: &GivenCall) -> Result<Ready, String> {
    let (name, arguments) = (given.name.as_str(), &given.arguments);
    let live = engine.live().map_err(|error: EngineError| error.to_string())?;
    let unknown = || {
        let (name, discover) = (arguments::shown(name), surface::TOOL_NAME);
        format!(
            "`{name}` is no tool that can be called here; find one with `{discover}` and give its `name`"
        )
    };
    let callable = match live.directory.find(name) {
        Found::Tool(callable) => callable,
        Found::Removed if visitor.policy.allows_all() => {
            return Err(format!("`{name}` has been removed from its server"));
        }
        Found::Removed | Found::Unknown => return Err(unknown()),
    };
    let record = live.router.index().tool(callable.tool).map_err(|error| error.to_string())?;
    let checked = visitor.policy.check(&record.server, &record.name, record.annotations.as_ref());
    checked.map_err(|refusal| match refusal {
        // Whether there is such a tool is nobody's business.
        Refusal::NotAllowed => unknown(),
        refusal => format!("`{name}` is not called: {refusal}"),
    })?;
    if let Some(backends) = engine.backends()
        && let Some(reason) = backends.impossible(&callable.server)
    {
        return Err(format!("`{}` cannot be called: it {reason}", callable.server));
    }
    let problems = live.schema(callable.tool, &record).problems(arguments);
    if !problems.is_empty() {
        let list = problems.join("\n- ");
        return Err(format!("the arguments do not fit the schema of `{name}`:\n- {list}"));
    }
    let arguments = match &given.written {
        Some(text) => RawValue::from_string(finish::line(text).into_owned()),
        None => to_raw_value(arguments),
    };
    let arguments = arguments.map_err(|error| error.to_string())?;
    let server = callable.server.clone();
    Ok(Ready { exposed: record.exposed, server, tool: record.name, arguments })
}

/// What the server gets of the client's `_meta`.
fn meta(context: &RequestContext<RoleServer>) -> JsonObject {
    let all = context.meta.0.0.clone();
    all.into_iter().filter(|(key, _)| key != "progressToken" && !key.starts_with(OURS)).collect()
}

/// Calls, and passes word of progress on under the token of the client.
async fn with_progress(
    pool: &Pool,
    server: &str,
    call: Call,
    context: &RequestContext<RoleServer>,
) -> Result<Outcome, UpstreamError> {
    let Some(token) = context.meta.get_progress_token() else {
        return pool.call(server, call, None).await;
    };
    let (noted, mut notes) = mpsc::unbounded_channel();
    let mut on_progress = move |raw: RawJson| {
        let mut params: Value = serde_json::from_str(raw.get()).unwrap_or_default();
        params["progressToken"] = serde_json::to_value(&token).unwrap_or_default();
        if let Ok(params) = serde_json::from_value::<ProgressNotificationParam>(params) {
            drop(noted.send(params));
        }
    };
    let peer = context.peer.clone();
    let passing = async move {
        while let Some(note) = notes.recv().await {
            drop(peer.notify_progress(note).await);
        }
    };
    let calling = async move {
        let answered = pool.call(server, call, Some(&mut on_progress)).await;
        // What was noted has been sent before the answer goes out.
        drop(on_progress);
        answered
    };
    let (answered, ()) = futures_util::future::join(calling, passing).await;
    answered
}

fn unavailable(server: &str, error: &UpstreamError) -> String {
    format!("the server `{server}` gave no answer: {error}")
}
