//! One JSON-RPC message: what came in, told apart; what goes out, written.
//!
//! Owns the envelope. What stands in results and parameters stays raw.

use std::borrow::Cow;

use serde::Deserialize;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::catalog::RawJson;

/// A message that a server sent.
#[derive(Debug)]
pub(super) enum Incoming<'a> {
    /// To a request of ours, if it knows its number.
    Answer { id: Option<u64>, outcome: Result<&'a RawValue, RpcError> },
    /// A request to us.
    Request { id: &'a RawValue, method: Cow<'a, str> },
    /// Something that wants no answer.
    Note { method: Cow<'a, str>, params: Option<&'a RawValue> },
}

/// The error of an answer.
#[derive(Clone, Debug, Deserialize)]
pub struct RpcError {
    /// As JSON-RPC and MCP number them; 0 where it is no integer.
    #[serde(default, deserialize_with = "code")]
    pub code: i64,
    /// For people.
    #[serde(default)]
    pub message: String,
    /// As the server wrote it.
    #[serde(default)]
    pub data: Option<RawJson>,
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
    params: Option<&'a RawValue>,
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
        (Some(method), None) => Some(Incoming::Note { method, params: frame.params }),
        (None, id) => {
            let id = id.and_then(number);
            let outcome = match (frame.error, frame.result) {
                (Some(error), _) => Err(rpc_error(error)),
                (None, Some(result)) => Ok(result),
                (None, None) => return None,
            };
            Some(Incoming::Answer { id, outcome })
        }
    }
}

/// The request of ours that word of progress is about.
pub(super) fn progress_of(params: &RawValue) -> Option<u64> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Progress<'a> {
        #[serde(borrow)]
        progress_token: &'a RawValue,
    }
    number(serde_json::from_str::<Progress<'_>>(params.get()).ok()?.progress_token)
}

/// Our number, also where it comes back as `"7"` or `7.0`.
fn number(id: &RawValue) -> Option<u64> {
    let id = id.get().trim_matches('"');
    id.strip_suffix(".0").unwrap_or(id).parse().ok()
}

/// A message that is almost JSON, mended: `NaN` and infinities, which some
/// libraries write, are null, and bare control characters in strings escaped.
/// For what is none as it is; `None` where nothing is to be mended.
pub(super) fn mended(text: &str) -> Option<String> {
    let suspicious = |text: &str| {
        text.contains("NaN") || text.contains("Infinity") || text.contains(|c: char| c < ' ')
    };
    if !text.starts_with('{') || !suspicious(text) {
        return None;
    }
    let (mut mended, mut rest) = (String::with_capacity(text.len() + 16), text);
    let (mut in_string, mut escaped) = (false, false);
    while let Some(c) = rest.chars().next() {
        let odd = ["-Infinity", "Infinity", "NaN"].into_iter().find(|odd| rest.starts_with(odd));
        let length = match odd.filter(|_| !in_string) {
            Some(odd) => {
                mended.push_str("null");
                odd.len()
            }
            None if in_string && c < ' ' => {
                mended.push_str(&format!("\\u{:04x}", u32::from(c)));
                1
            }
            None => {
                mended.push(c);
                c.len_utf8()
            }
        };
        match c {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            _ => {}
        }
        rest = &rest[length..];
    }
    (mended != text).then_some(mended)
}

/// What is wrong with a text that should have been an answer; `None` for other noise.
pub(super) fn broken(text: &str) -> Option<String> {
    let is_answer = text.starts_with('{')
        && text.contains(r#""jsonrpc""#)
        && (text.contains(r#""result""#) || text.contains(r#""error""#));
    let error = serde_json::from_str::<Frame<'_>>(text).err().filter(|_| is_answer)?;
    Some(format!("{error}"))
}

fn rpc_error(error: &RawValue) -> RpcError {
    serde_json::from_str(error.get()).unwrap_or_else(|_| RpcError {
        code: 0,
        message: error.get().to_owned(),
        data: None,
    })
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
        assert_eq!(answer(r#"{"jsonrpc":"2.0","id":"7","result":1}"#), (Some(7), Ok("1")));
        assert_eq!(answer(r#"{"jsonrpc":"2.0","id":7.0,"result":1}"#), (Some(7), Ok("1")));
        assert_eq!(answer(r#"{"jsonrpc":"2.0","id":"x","result":1}"#), (None, Ok("1")));
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
        assert!(
            matches!(parse(r#"{"jsonrpc":"2.0","method":"n"}"#), Some(Incoming::Note { method, params: None }) if method == "n")
        );
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
    fn almost_json_is_mended_and_no_more() {
        let text = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":NaN,\"b\":-Infinity,\"c\":\"NaN \\\"\t\",\"d\":[Infinity]}}";
        let mended = mended(text).unwrap();
        let expected = r#"{"jsonrpc":"2.0","id":1,"result":{"a":null,"b":null,"c":"NaN \"\u0009","d":[null]}}"#;
        assert_eq!(mended, expected);
        assert!(matches!(parse(&mended), Some(Incoming::Answer { id: Some(1), outcome: Ok(_) })));
        for text in ["ready NaN", r#"{"jsonrpc":"2.0","id":1,"result":"NaN"}"#, "[NaN]"] {
            assert_eq!(super::mended(text), None, "{text}");
        }
        assert_eq!(broken("{\"level\":1"), None);
        assert!(broken(r#"{"jsonrpc":"2.0","id":1,"result":{"a":}}"#).is_some());
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
