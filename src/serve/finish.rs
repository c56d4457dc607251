//! The result of a server, fit for the era of the client.
//!
//! Owns the one field in which results of the eras differ; all else stays as
//! it was written.

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::catalog::compact_json;
use crate::catalog::members;

/// How the client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Era {
    /// It opened its session with `initialize`.
    Handshake,
    /// 2026-07-28 and later.
    Stateless,
}

/// Its text; or what is wrong with it.
pub(super) fn result(answer: &RawValue, era: Era) -> Result<String, String> {
    let text = answer.get();
    let Some(fields) = members(text) else {
        return Err("answered with something that is no result".to_owned());
    };
    let kind = fields.iter().find(|(key, _)| key == "resultType").map(|(_, raw)| raw.get());
    let text = match (kind, era) {
        (Some(r#""complete""#), Era::Stateless) | (None, Era::Handshake) => text.to_owned(),
        (Some(r#""complete""#), Era::Handshake) => {
            let rest = fields.iter().filter(|(key, _)| key != "resultType");
            let rest: Vec<String> = rest
                .map(|(key, raw)| format!("{}:{raw}", serde_json::Value::from(&**key)))
                .collect();
            format!("{{{}}}", rest.join(","))
        }
        (None, Era::Stateless) => {
            let rest = text.trim_start().trim_start_matches('{');
            let comma = if fields.is_empty() { "" } else { "," };
            format!(r#"{{"resultType":"complete"{comma}{rest}"#)
        }
        (Some(_), _) => {
            return Err("asks the client for something that cannot be passed on".to_owned());
        }
    };
    Ok(line(&text).into_owned())
}

/// JSON as one line, which a message is.
pub(super) fn line(json: &str) -> Cow<'_, str> {
    if json.contains(['\n', '\r']) { compact_json(json).into() } else { json.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(answer: &str, era: Era) -> Result<String, String> {
        result(&RawValue::from_string(answer.to_owned()).unwrap(), era)
    }

    #[test]
    fn only_the_field_of_the_era_changes() {
        let plain = r#"{"content": [], "n":1.0}"#;
        let complete = r#"{"content":[],"resultType":"complete","n":1.0}"#;
        assert_eq!(check(plain, Era::Handshake).unwrap(), plain);
        assert_eq!(check(complete, Era::Stateless).unwrap(), complete);
        assert_eq!(check(complete, Era::Handshake).unwrap(), r#"{"content":[],"n":1.0}"#);
        assert_eq!(check("{ }", Era::Stateless).unwrap(), r#"{"resultType":"complete" }"#);
        assert_eq!(
            check(plain, Era::Stateless).unwrap(),
            r#"{"resultType":"complete","content": [], "n":1.0}"#
        );
        assert_eq!(check("{\"a\":\n[1,\r\n2]}", Era::Handshake).unwrap(), r#"{"a":[1,2]}"#);
    }

    #[test]
    fn what_is_no_result_is_said_so() {
        for answer in ["7", "null", "[]", r#"{"resultType":"input_required"}"#] {
            assert!(check(answer, Era::Stateless).is_err(), "{answer}");
        }
    }
}
