//! The structured part of a reply, as a JSON value.
//!
//! Numbers become what a JSON parser reads them as, and an object's last
//! duplicate key counts; the text part has every schema token for token.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Match, Reply};
use crate::catalog::RawJson;

/// Levels of nesting a schema may have here; a parser that recurses is safe up
/// to this depth.
const MAX_DEPTH: usize = 256;

/// All of a reply.
pub(super) fn reply(reply: &Reply) -> Value {
    let head = Reply { matches: Vec::new(), ..reply.clone() };
    let mut value = plain(&head);
    if let Some(object) = value.as_object_mut() {
        object.insert("matches".to_owned(), reply.matches.iter().map(record).collect());
    }
    value
}

/// One match; a schema nested too deep becomes an open object, marked.
pub(super) fn record(one: &Match) -> Value {
    let mut value = plain(&Match { input_schema: None, annotations: None, ..one.clone() });
    let Some(object) = value.as_object_mut() else { return value };
    if let Some(raw) = &one.input_schema {
        let schema = parse(raw);
        if schema.is_none() {
            object.insert("shortened".to_owned(), json!(true));
        }
        let schema = schema.unwrap_or_else(|| json!({"type": "object"}));
        object.insert("input_schema".to_owned(), schema);
    }
    if let Some(annotations) = one.annotations.as_ref().and_then(parse) {
        object.insert("annotations".to_owned(), annotations);
    }
    value
}

/// Strings and numbers alone cannot fail to become a value.
fn plain<T: serde::Serialize>(value: &T) -> Value {
    serde_json::to_value(value).unwrap_or(Value::Null)
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
