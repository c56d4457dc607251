//! Reply → tool result; error → tool error or protocol error.

use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock};
use serde::Deserialize;
use serde_json::{Value, json};

use super::engine::EngineError;
use crate::catalog::RawJson;
use crate::reply::Reply;
use crate::reply::ReplyError;
use crate::router::RouteError;

/// Levels of nesting a schema may have in structured content; a parser that
/// recurses is safe up to here. The text part has every schema whole.
const MAX_DEPTH: usize = 256;

/// Text and structured content of one reply.
pub(super) fn success(reply: &Reply) -> Result<CallToolResult, ErrorData> {
    let text = ContentBlock::text(reply.to_text());
    let mut result = CallToolResult::success(vec![text]);
    result.structured_content = Some(structured(reply)?);
    Ok(result)
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

fn structured(reply: &Reply) -> Result<Value, ErrorData> {
    let mut bare = reply.clone();
    for one in &mut bare.matches {
        (one.input_schema, one.annotations) = (None, None);
    }
    let mut value = serde_json::to_value(&bare)
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    let records = value.get_mut("matches").and_then(Value::as_array_mut);
    for (record, one) in records.into_iter().flatten().zip(&reply.matches) {
        let Some(record) = record.as_object_mut() else {
            continue;
        };
        if let Some(raw) = &one.input_schema {
            let schema = parse(raw);
            if schema.is_none() {
                record.insert("shortened".to_owned(), json!(true));
            }
            record.insert(
                "input_schema".to_owned(),
                schema.unwrap_or_else(|| json!({"type": "object"})),
            );
        }
        if let Some(annotations) = one.annotations.as_ref().and_then(parse) {
            record.insert("annotations".to_owned(), annotations);
        }
    }
    Ok(value)
}

/// `None` for JSON nested deeper than [`MAX_DEPTH`].
fn parse(raw: &RawJson) -> Option<Value> {
    if depth(raw.get()) > MAX_DEPTH {
        return None;
    }
    let mut parser = serde_json::Deserializer::from_str(raw.get());
    parser.disable_recursion_limit();
    Value::deserialize(&mut parser).ok()
}

fn depth(json: &str) -> usize {
    let (mut depth, mut deepest, mut in_string, mut escaped) = (0_usize, 0, false, false);
    for byte in json.bytes() {
        match byte {
            b'"' if !escaped => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
        escaped = in_string && byte == b'\\' && !escaped;
    }
    deepest
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;

    fn raw(json: String) -> RawJson {
        RawValue::from_string(json).unwrap()
    }

    #[test]
    fn depth_ignores_brackets_in_strings() {
        assert_eq!(depth(r#"{"a":["[[[", {"b\"{":1}]}"#), 3);
    }

    #[test]
    fn deep_schemas_parse_up_to_the_bound_and_never_overflow() {
        let nested = |n: usize| raw(format!("{}1{}", "[".repeat(n), "]".repeat(n)));
        assert!(parse(&nested(200)).is_some());
        assert!(parse(&nested(100_000)).is_none());
    }
}
