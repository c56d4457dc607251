//! One message of a client: its text → what the MCP library takes, or what is
//! wrong with it, with the code that JSON-RPC has for it and the id it came with.

use std::borrow::Cow;
use std::fmt;

use rmcp::model::ClientJsonRpcMessage;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::catalog::compact_json;
use crate::surface;

const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const INVALID_PARAMS: i32 = -32602;

/// Requests whose parameters must be an object, or absent.
const WITH_PARAMS: [&str; 6] =
    ["initialize", "tools/list", "tools/call", "prompts/list", "prompts/get", "server/discover"];

/// A message that cannot be taken; shown as the answer to it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BadMessage {
    code: i32,
    /// As it was written: a number may be too long for any type.
    id: Option<String>,
    why: String,
}

impl BadMessage {
    /// It is no request, whose it may be.
    pub(super) fn no_request(why: impl Into<String>) -> Self {
        Self { code: INVALID_REQUEST, id: None, why: why.into() }
    }
}

impl fmt::Display for BadMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = self.id.as_deref().unwrap_or("null");
        let (code, why) = (self.code, Value::from(&*self.why));
        write!(f, r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":{why}}}}}"#)
    }
}

/// A message whose numbers the MCP library would round, such as integers beyond
/// 64 bits among the arguments of a tool, with these arguments as a string,
/// which is taken too.
pub(super) fn with_numbers(message: &[u8]) -> Cow<'_, [u8]> {
    match changed_arguments(message) {
        Some(arguments) => {
            // The arguments stand in the message.
            let start = arguments.get().as_ptr().addr() - message.as_ptr().addr();
            let end = start + arguments.get().len();
            let quoted = Value::from(arguments.get()).to_string();
            [&message[..start], quoted.as_bytes(), &message[end..]].concat().into()
        }
        None => message.into(),
    }
}

/// The arguments for a server's tool, where they would not come out as they came in.
fn changed_arguments(message: &[u8]) -> Option<&RawValue> {
    #[derive(Deserialize)]
    struct Message<'a> {
        #[serde(borrow)]
        params: Params<'a>,
    }
    #[derive(Deserialize)]
    struct Params<'a> {
        #[serde(borrow)]
        name: Cow<'a, str>,
        #[serde(borrow)]
        arguments: Call<'a>,
    }
    #[derive(Deserialize)]
    struct Call<'a> {
        #[serde(borrow)]
        arguments: &'a RawValue,
    }
    let message: Message<'_> = serde_json::from_slice(message).ok()?;
    let arguments = message.params.arguments.arguments;
    let is_call = message.params.name == surface::CALL_NAME && arguments.get().starts_with('{');
    (is_call && arguments.get().contains(is_digit) && !survives(arguments)).then_some(arguments)
}

fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
}

/// Whether a value is written as it was, spaces aside.
fn survives(raw: &RawValue) -> bool {
    let read = serde_json::from_str::<Value>(raw.get());
    let written = read.and_then(|value| serde_json::to_string(&value));
    written.is_ok_and(|written| written == compact_json(raw.get()))
}

/// A message, or nothing: a notification or an answer that cannot be read.
pub(super) fn read(text: &[u8]) -> Result<Option<ClientJsonRpcMessage>, BadMessage> {
    let text = &*with_numbers(text);
    let value = object(text)?;
    let id = value.get("id").filter(|id| id.is_string() || id.is_number()).and(raw_id(text));
    if id.is_some()
        && let Some(why) = bad_params(&value)
    {
        return Err(BadMessage { code: INVALID_PARAMS, id, why });
    }
    let (has_id, has_method) = (value.get("id").is_some(), value.get("method").is_some());
    match (serde_json::from_value(value), id) {
        (Ok(_), None) if has_id && has_method => {
            Err(BadMessage::no_request("the id of a request is a string or a number"))
        }
        (Ok(message), _) => Ok(Some(message)),
        (Err(why), id) if id.is_some() || has_id == has_method => {
            Err(BadMessage { code: INVALID_REQUEST, id, why: format!("no request: {why}") })
        }
        (Err(why), _) => {
            tracing::warn!(%why, "a message without an id cannot be read, ignored");
            Ok(None)
        }
    }
}

/// The object that a message is.
pub(super) fn object(text: &[u8]) -> Result<Value, BadMessage> {
    match serde_json::from_slice(text) {
        Ok(object @ Value::Object(_)) => Ok(object),
        Ok(Value::Array(_)) => Err(BadMessage::no_request("batches are not supported")),
        Ok(_) => Err(BadMessage::no_request("a message is an object")),
        Err(why) => {
            Err(BadMessage { code: PARSE_ERROR, id: None, why: format!("not JSON: {why}") })
        }
    }
}

/// The id as it was written.
fn raw_id(text: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Message<'a> {
        #[serde(borrow)]
        id: Option<&'a RawValue>,
    }
    // Where it stands twice, no one knows which it is.
    let message: Message<'_> = serde_json::from_slice(text).ok()?;
    message.id.map(|id| id.get().to_owned())
}

/// What is wrong with the parameters of a known request, if anything.
fn bad_params(message: &Value) -> Option<String> {
    let method = message.get("method")?.as_str()?;
    let params = message.get("params").filter(|params| !params.is_null())?;
    if !WITH_PARAMS.contains(&method) {
        return None;
    }
    if !params.is_object() {
        return Some(format!("params of {method} must be an object"));
    }
    let cursor = params.get("cursor")?;
    let is_list = method.ends_with("/list");
    (is_list && !cursor.is_string() && !cursor.is_null())
        .then(|| format!("cursor of {method} must be a string"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(line: &str, code: i32, id: &str) {
        let answer = read(line.as_bytes()).unwrap_err();
        assert_eq!((answer.code, answer.id.as_deref().unwrap_or("null")), (code, id), "{line}");
        let shown: Value = serde_json::from_str(&answer.to_string()).unwrap();
        assert_eq!(shown["error"]["code"], json!(code));
    }

    #[test]
    fn what_is_no_message_gets_the_code_for_it() {
        check("{", PARSE_ERROR, "null");
        check("\u{0}", PARSE_ERROR, "null");
        for line in ["[]", "[1]", r#""x""#, "7", "null", "{}", r#"{"a":1}"#] {
            check(line, INVALID_REQUEST, "null");
        }
        check(r#"{"id":7,"jsonrpc":"2.0"}"#, INVALID_REQUEST, "7");
        check(
            r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":3}"#,
            INVALID_PARAMS,
            r#""a""#,
        );
        check(
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":3}}"#,
            INVALID_PARAMS,
            "1",
        );
    }

    #[test]
    fn an_odd_id_gets_an_answer_and_a_long_one_comes_back_whole() {
        for id in ["null", "{}", "[1]", "true"] {
            let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
            check(&line, INVALID_REQUEST, "null");
        }
        for id in ["123456789012345678901234567890", "1.5", "1e400"] {
            let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
            let answer = read(line.as_bytes()).unwrap_err();
            assert!(answer.id.as_deref().is_none_or(|it| it == id), "{answer}");
        }
    }

    #[test]
    fn arguments_with_long_numbers_become_text_and_others_stay() {
        let message = |arguments: &str| {
            format!(
                r#"{{"id":1,"params":{{"name":"call_tool","arguments":{{"name":"a","arguments":{arguments}}}}}}}"#
            )
        };
        for long in [r#"{"n": 123456789012345678901234567890}"#, r#"{"n":1.10, "s": "é\n"}"#] {
            let text = message(long);
            let changed: Value = serde_json::from_slice(&with_numbers(text.as_bytes())).unwrap();
            assert_eq!(changed["params"]["arguments"]["arguments"], long);
        }
        for short in
            [r#"{"n": 18446744073709551615, "f": [1.5, "é"]}"#, r#"{"a": "1.10"}"#, "[1.10]"]
        {
            let text = message(short);
            assert_eq!(*with_numbers(text.as_bytes()), *text.as_bytes());
        }
        for other in ["", "{", r#"{"params":{"name":"x","arguments":{"arguments":{"n":1.10}}}}"#] {
            assert_eq!(*with_numbers(other.as_bytes()), *other.as_bytes());
        }
    }

    #[test]
    fn messages_are_read_and_what_wants_no_answer_gets_none() {
        for line in [
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":""}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","id":7,"result":{}}"#,
        ] {
            assert!(read(line.as_bytes()).unwrap().is_some(), "{line}");
        }
        for line in [r#"{"jsonrpc":"2.0","method":7}"#, r#"{"jsonrpc":"2.0","id":null,"result":7}"#]
        {
            assert!(read(line.as_bytes()).unwrap().is_none(), "{line}");
        }
    }
}
