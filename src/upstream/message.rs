//! One JSON-RPC message: what came in, told apart; what goes out, written.
//!
//! Owns the envelope. What stands in results and parameters stays raw.

use std::borrow::Cow;

use serde::Deserialize;
use serde::Serialize;
use serde_json::value::RawValue;

/// A message that a server sent.
#[derive(Debug)]
pub(super) enum Incoming<'a> {
    /// To a request of ours, if it knows its number.
    Answer { id: Option<u64>, outcome: Result<&'a RawValue, RpcError> },
    /// A request to us.
    Request { id: &'a RawValue, method: Cow<'a, str> },
    /// Something that wants no answer.
    Note,
}

/// The error of an answer.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct RpcError {
    /// As JSON-RPC and MCP number them; 0 where it is no integer.
    #[serde(default, deserialize_with = "code")]
    pub(super) code: i64,
    /// For people.
    #[serde(default)]
    pub(super) message: String,
}

fn code<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    Ok(serde_json::Value::deserialize(deserializer)?.as_i64().unwrap_or_default())
}

#[derive(Deserialize)]
struct Frame<'a> {
    #[serde(borrow)]
    jsonrpc: Cow<'a, str>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// Reads a message; `None` for anything else that a server may print.
pub(super) fn parse(text: &str) -> Option<Incoming<'_>> {
    let frame: Frame<'_> =
        serde_json::from_str(text).ok().filter(|f: &Frame<'_>| f.jsonrpc == "2.0")?;
    match (frame.method, frame.id) {
        (Some(method), Some(id)) => Some(Incoming::Request { id, method }),
        (Some(_), None) => Some(Incoming::Note),
        (None, id) => {
            let id = id.and_then(|id| id.get().parse().ok());
            let outcome = match (frame.error, frame.result) {
                (Some(error), _) => Err(rpc_error(error)),
                (None, Some(result)) => Ok(result),
                (None, None) => return None,
            };
            Some(Incoming::Answer { id, outcome })
        }
    }
}

fn rpc_error(error: &RawValue) -> RpcError {
    serde_json::from_str(error.get())
        .unwrap_or_else(|_| RpcError { code: 0, message: error.get().to_owned() })
}

/// A message to a server.
#[derive(Debug, Serialize)]
pub(super) struct Outgoing<'a, P: Serialize> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    method: &'a str,
    params: P,
}

impl<'a, P: Serialize> Outgoing<'a, P> {
    /// A request with a number, a notification without.
    pub(super) fn new(id: Option<u64>, method: &'a str, params: P) -> Self {
        Self { jsonrpc: "2.0", id, method, params }
    }
}

/// What we answer to a request of a server: a ping is answered, all else is
/// refused, for we offered nothing.
pub(super) fn answer_to(id: &RawValue, method: &str) -> String {
    match method {
        "ping" => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#),
        _ => format!(
            r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"not offered by this client"}}}}"#
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_told_apart() {
        let answer = |text| match parse(text) {
            Some(Incoming::Answer { id, outcome }) => {
                (id, outcome.map(RawValue::get).map_err(|error| (error.code, error.message)))
            }
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(
            answer(r#"{"jsonrpc":"2.0","id":7,"result":{"a": 1}}"#),
            (Some(7), Ok(r#"{"a": 1}"#))
        );
        assert_eq!(answer(r#"{"jsonrpc":"2.0","id":"7","result":1}"#), (None, Ok("1")));
        assert_eq!(
            answer(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no","data":[]}}"#),
            (Some(1), Err((-32601, "no".to_owned())))
        );
        assert_eq!(
            answer(r#"{"jsonrpc":"2.0","id":null,"error":"odd"}"#),
            (None, Err((0, r#""odd""#.to_owned())))
        );
        assert!(matches!(
            parse(r#"{"jsonrpc":"2.0","id":"x","method":"ping"}"#),
            Some(Incoming::Request { method, .. }) if method == "ping"
        ));
        assert!(matches!(parse(r#"{"jsonrpc":"2.0","method":"n"}"#), Some(Incoming::Note)));
    }

    #[test]
    fn what_is_no_message_is_none() {
        for text in [
            "",
            "42",
            "null",
            "[1,2]",
            "{broken",
            r#"{"level":"info"}"#,
            "ready 🚀",
            r#"{"jsonrpc":"1.0","id":1,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1}"#,
        ] {
            assert!(parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn a_deep_result_is_no_reason_to_overflow() {
        let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{deep}}}"#);
        assert!(matches!(parse(&text), Some(Incoming::Answer { id: Some(1), outcome: Ok(_) })));
    }

    #[test]
    fn a_ping_is_answered_and_a_wish_refused() {
        let id = RawValue::from_string(r#""a b""#.to_owned()).unwrap();
        assert_eq!(answer_to(&id, "ping"), r#"{"jsonrpc":"2.0","id":"a b","result":{}}"#);
        assert!(answer_to(&id, "roots/list").contains("-32601"));
    }
}
