//! The arguments of `discover_tools` and `call_tool`: JSON → what is asked.
//!
//! Models write numbers as strings and leave fields empty; what is clear is
//! taken, what is not is refused with a message that says the right form.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::reply::Detail;
use crate::router::Ask;
use crate::router::Options;

const MAX_TOP_K: u64 = 20;
const DEFAULT_MAX_BYTES: usize = 16_384;
const MIN_MAX_BYTES: u64 = 200;

/// Characters that a message shows of what was given, and of the name of a tool.
const MAX_SHOWN: usize = 40;
const MAX_NAME: usize = 128;

/// Arguments that cannot be understood; the message is for the model.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum BadArguments {
    #[error(
        "argument `{name}` is unknown; use request, server, tool, top_k, detail, max_bytes, exclude, cursor"
    )]
    Unknown { name: String },
    #[error("argument `{name}` must be {expected}, got {got}")]
    WrongType { name: &'static str, expected: &'static str, got: String },
    #[error("give the `name` of the tool as `discover_tools` showed it, and its `arguments`")]
    NoName,
    #[error("argument `{name}` is unknown; use name, arguments")]
    UnknownOfCall { name: String },
    #[error("give either `request` or `server`/`tool`, not both")]
    Both,
}

/// Reads `arguments`; what is absent comes from `defaults`.
pub(super) fn read(
    arguments: &Map<String, Value>,
    defaults: &Options,
) -> Result<(Ask, Options), BadArguments> {
    let known = ["request", "server", "tool", "top_k", "detail", "max_bytes", "exclude", "cursor"];
    if let Some(name) = arguments.keys().find(|name| !known.contains(&name.as_str())) {
        return Err(BadArguments::Unknown { name: cut(name, MAX_SHOWN).into_owned() });
    }
    let given = |name: &str| arguments.get(name).filter(|value| !value.is_null());
    let text = |name| given(name).map(|value| as_text(name, value)).transpose();
    let number = |name, min, max| given(name).map(|v| as_number(name, v, min, max)).transpose();
    let ask = ask(text("request")?, text("server")?, text("tool")?)?;
    let detail = text("detail")?.filter(|word| !word.is_empty()).map(as_detail).transpose()?;
    let options = Options {
        top_k: number("top_k", 1, MAX_TOP_K)?.unwrap_or(defaults.top_k),
        detail: detail.unwrap_or(defaults.detail),
        max_bytes: Some(number("max_bytes", MIN_MAX_BYTES, u64::MAX)?.unwrap_or(DEFAULT_MAX_BYTES)),
        exclude: given("exclude").map(as_names).transpose()?.unwrap_or_default(),
        cursor: text("cursor")?,
        method: defaults.method,
        floor: defaults.floor,
        view: None,
        remark: None,
    };
    Ok((ask, options))
}

/// What `call_tool` is asked.
#[derive(Debug)]
pub(super) struct GivenCall {
    /// The exposed name of the tool.
    pub(super) name: String,
    /// The object for it, to look at.
    pub(super) arguments: Value,
    /// The same as it was written, where it came as text.
    pub(super) written: Option<String>,
}

/// Reads the arguments of `call_tool`: the exposed name of a tool and an object.
///
/// Models write the object as a string, or its members beside the name; the
/// first is clear and taken.
pub(super) fn read_call(mut given: Map<String, Value>) -> Result<GivenCall, BadArguments> {
    let name = match given.remove("name") {
        Some(Value::String(name)) if !name.trim().is_empty() => name.trim().to_owned(),
        Some(Value::Null | Value::String(_)) | None => return Err(BadArguments::NoName),
        Some(other) => return Err(wrong("name", "a string", &other)),
    };
    let (arguments, written) = match given.remove("arguments") {
        None | Some(Value::Null) => (Value::Object(Map::new()), None),
        Some(Value::String(text)) => {
            let parsed = serde_json::from_str(&text).ok().filter(Value::is_object);
            match parsed {
                Some(object) => (object, Some(text)),
                None => return Err(wrong("arguments", "an object", &Value::String(text))),
            }
        }
        Some(object @ Value::Object(_)) => (object, None),
        Some(other) => return Err(wrong("arguments", "an object", &other)),
    };
    match given.keys().next() {
        Some(name) => Err(BadArguments::UnknownOfCall { name: cut(name, MAX_SHOWN).into_owned() }),
        None => Ok(GivenCall { name, arguments, written }),
    }
}

fn ask(
    request: Option<String>,
    server: Option<String>,
    tool: Option<String>,
) -> Result<Ask, BadArguments> {
    let filled = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.trim().is_empty());
    match (filled(&request), filled(&server) || filled(&tool)) {
        (true, true) => Err(BadArguments::Both),
        (_, true) => Ok(Ask::Fields { server, tool }),
        // An empty text gets the parser's message, which shows the right form.
        (_, false) => Ok(Ask::Text(request.unwrap_or_default())),
    }
}

fn as_text(name: &'static str, value: &Value) -> Result<String, BadArguments> {
    let wrong = || wrong(name, "a string", value);
    value.as_str().map(str::to_owned).ok_or_else(wrong)
}

fn as_number(name: &'static str, value: &Value, min: u64, max: u64) -> Result<usize, BadArguments> {
    let number = match value {
        Value::Number(number) => number.as_u64().or_else(|| whole(number.as_f64()?)),
        Value::String(digits) => digits.trim().parse().ok(),
        _ => None,
    };
    let expected = match name {
        "top_k" => "a whole number from 1 to 20",
        _ => "a whole number of bytes, at least 200",
    };
    number
        .filter(|number| (min..=max).contains(number))
        .and_then(|number| usize::try_from(number).ok())
        .ok_or_else(|| wrong(name, expected, value))
}

/// `3.0` is 3: some clients know only one kind of number.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked just before")]
fn whole(number: f64) -> Option<u64> {
    (number.fract() == 0.0 && (0.0..1e15).contains(&number)).then_some(number as u64)
}

fn as_detail(word: String) -> Result<Detail, BadArguments> {
    let value = Value::String(word);
    let expected = "`names`, `summary` or `schema`";
    value
        .as_str()
        .and_then(|word| word.parse().ok())
        .ok_or_else(|| wrong("detail", expected, &value))
}

fn as_names(value: &Value) -> Result<Vec<String>, BadArguments> {
    let expected = "an array of tool names";
    match value {
        Value::String(name) => Ok(vec![name.clone()]),
        Value::Array(names) => names
            .iter()
            .map(|name| {
                name.as_str().map(str::to_owned).ok_or_else(|| wrong("exclude", expected, value))
            })
            .collect(),
        _ => Err(wrong("exclude", expected, value)),
    }
}

/// The name of a tool as messages show it: whole, unless somebody plays.
pub(super) fn shown(name: &str) -> Cow<'_, str> {
    cut(name, MAX_NAME)
}

fn wrong(name: &'static str, expected: &'static str, got: &Value) -> BadArguments {
    let got = cut(&got.to_string(), MAX_SHOWN).into_owned();
    BadArguments::WrongType { name, expected, got }
}

fn cut(text: &str, chars: usize) -> Cow<'_, str> {
    match text.char_indices().nth(chars) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(arguments: &Value) -> Result<(Ask, Options), BadArguments> {
        read(arguments.as_object().unwrap(), &Options::default())
    }

    #[test]
    fn names_are_shown_whole_up_to_a_length() {
        let long = "é".repeat(129);
        assert_eq!(shown(&long[..256]), long[..256]);
        assert_eq!(shown(&long), format!("{}…", &long[..256]));
    }

    #[test]
    fn absent_null_and_odd_but_clear_values_are_taken() {
        let (ask, options) = check(&json!({
            "server": "GitHub", "tool": null, "top_k": "5", "max_bytes": 900.0, "exclude": "a__b",
        }))
        .unwrap();
        assert_eq!(ask, Ask::Fields { server: Some("GitHub".into()), tool: None });
        assert_eq!((options.top_k, options.max_bytes), (5, Some(900)));
        assert_eq!(options.exclude, ["a__b"]);
        assert_eq!(options.detail, Detail::Schema);
    }

    #[test]
    fn a_call_needs_a_name_and_an_object() {
        let check = |json: Value| {
            let read = read_call(json.as_object().unwrap().clone());
            read.map(|call| (call.name, call.arguments, call.written))
        };
        let expected = |arguments, written: Option<&str>| {
            Ok(("a__b".to_owned(), arguments, written.map(ToOwned::to_owned)))
        };
        let given = json!({"name": " a__b", "arguments": {"x": 1}});
        assert_eq!(check(given), expected(json!({"x": 1}), None));
        let text = r#"{"x": 1.10}"#;
        let given = json!({"name": "a__b", "arguments": text});
        assert_eq!(check(given), expected(json!({"x": 1.1}), Some(text)));
        assert_eq!(check(json!({"name": "a__b"})), expected(json!({}), None));
        for (bad, said) in [
            (json!({}), "give the `name`"),
            (json!({"name": ""}), "give the `name`"),
            (json!({"name": 7}), "argument `name` must be a string, got 7"),
            (json!({"name": "a", "arguments": [1]}), "`arguments` must be an object, got [1]"),
            (json!({"name": "a", "arguments": "no"}), "`arguments` must be an object"),
            (json!({"name": "a", "x": 1}), "argument `x` is unknown; use name, arguments"),
        ] {
            let error = check(bad).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn unclear_values_are_refused_by_name() {
        for (arguments, expected) in [
            (json!({"top_k": 0}), "argument `top_k` must be a whole number from 1 to 20, got 0"),
            (
                json!({"top_k": 2.5}),
                "argument `top_k` must be a whole number from 1 to 20, got 2.5",
            ),
            (json!({"tool": 7}), "argument `tool` must be a string, got 7"),
            (
                json!({"max_bytes": 10}),
                "argument `max_bytes` must be a whole number of bytes, at least 200, got 10",
            ),
            (
                json!({"detail": "all"}),
                "argument `detail` must be `names`, `summary` or `schema`, got \"all\"",
            ),
            (json!({"exclude": [1]}), "argument `exclude` must be an array of tool names, got [1]"),
            (
                json!({"request": "a", "tool": "b"}),
                "give either `request` or `server`/`tool`, not both",
            ),
        ] {
            assert_eq!(check(&arguments).unwrap_err().to_string(), expected);
        }
        assert!(check(&json!({"topk": 3})).unwrap_err().to_string().contains("`topk` is unknown"));
    }
}
