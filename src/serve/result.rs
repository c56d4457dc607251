//! Reply → tool result; error → tool error or protocol error.

use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock};

use super::engine::EngineError;
use crate::reply::Reply;
use crate::reply::ReplyError;
use crate::router::RouteError;

/// Text and structured content of one reply.
pub(super) fn success(reply: &Reply) -> CallToolResult {
    let text = ContentBlock::text(reply.to_text());
    let mut result = CallToolResult::success(vec![text]);
    result.structured_content = Some(reply.to_value());
    result
}

/// A failure that a model can act on.
pub(super) fn failure(message: &str) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(message)])
}

/// A bad cursor is a protocol error, everything else a result the model sees.
pub(super) fn from_error(error: &EngineError) -> Result<CallToolResult, ErrorData> {
    if let EngineError::Route(RouteError::Reply(
        reply @ (ReplyError::BadCursor | ReplyError::StaleCursor { .. }),
    )) = error
    {
        return Err(ErrorData::invalid_params(reply.to_string(), None));
    }
    Ok(failure(&error.to_string()))
}
