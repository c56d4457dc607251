//! Type words as people write them, `list of int` or `str | None`.
//!
//! Owns the vocabulary, the little grammar around it, and its translation into
//! JSON Schema. Claims no type for a word it does not know.

use serde_json::Map;
use serde_json::Value;
use serde_json::json;

/// What a value looks like, as far as a type expression tells.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Shape {
    /// Nothing is known.
    Any,
    /// One of the seven types of JSON Schema.
    Plain(&'static str),
    /// An array of items of one shape.
    List(Box<Self>),
    /// One of several strings.
    Literals(Vec<String>),
    /// One of several shapes; claims nothing if one of them is `Any`.
    OneOf(Vec<Self>),
}

impl Shape {
    /// The shape an expression names, and what of it must be told in words.
    ///
    /// Recursion follows the nesting of the expression: bound its length.
    pub(crate) fn parse(text: &str) -> (Self, Option<&str>) {
        if let Some(names) = strip_prefix_ignoring_case(text, "enum:") {
            let literals = Self::literals(&split_outside_brackets(names, &['|']));
            let unread = (literals == Self::Any).then_some(text);
            return (literals, unread);
        }
        if let Some((before, after)) = text.split_once(':') {
            let shape = Self::of(before);
            if shape.is_fully_known() {
                return (shape, Some(after.trim()));
            }
        }
        let shape = Self::of(text);
        let unread = (!shape.is_fully_known()).then_some(text);
        (shape, unread)
    }

    fn of(text: &str) -> Self {
        let members = alternatives(text);
        match members.as_slice() {
            [single] => Self::of_single(single),
            several if several.iter().all(|member| unquoted(member).is_some()) => {
                Self::literals(several)
            }
            several => Self::one_of(several.iter().map(|member| Self::of_single(member))),
        }
    }

    fn of_single(text: &str) -> Self {
        let text = text.to_lowercase();
        let text = text.strip_prefix("json ").unwrap_or(&text);
        if let Some(item) = text.strip_suffix("[]") {
            return Self::List(Box::new(Self::of(item)));
        }
        if let Some(("array" | "list", items)) = text.split_once(" of ") {
            return Self::List(Box::new(Self::of(items)));
        }
        if let Some(row) = text.strip_prefix("2d ") {
            return Self::List(Box::new(Self::of(row)));
        }
        match generic(text) {
            Some(("", names)) => Self::of_quoted_names(names),
            Some((outer, inner)) => Self::of_generic(outer, inner),
            None => word(text).map_or(Self::Any, Self::Plain),
        }
    }

    /// `['integer', 'string']`: a JSON Schema type list, as Python prints it.
    fn of_quoted_names(names: &str) -> Self {
        let names = split_outside_brackets(names, &[',']);
        Self::one_of(names.iter().map(|name| unquoted(name).map_or(Self::Any, Self::of)))
    }

    /// `List[str]`, `Dict[str, Any]`, `Optional[int]`, `Array<string>`.
    fn of_generic(outer: &str, inner: &str) -> Self {
        match (outer, word(outer)) {
            ("optional", _) => Self::one_of([Self::of(inner), Self::Plain("null")]),
            ("union", _) => Self::one_of(
                split_outside_brackets(inner, &[',']).iter().map(|text| Self::of(text)),
            ),
            (_, Some("array")) => Self::List(Box::new(Self::of(inner))),
            (_, Some("object")) => Self::Plain("object"),
            _ => Self::Any,
        }
    }

    fn one_of(members: impl IntoIterator<Item = Self>) -> Self {
        let mut distinct = Vec::new();
        for member in members {
            if !distinct.contains(&member) {
                distinct.push(member);
            }
        }
        if distinct.len() == 1 { distinct.remove(0) } else { Self::OneOf(distinct) }
    }

    fn literals(names: &[&str]) -> Self {
        let names = names.iter().map(|name| unquoted(name).unwrap_or(name).to_owned());
        let names: Vec<_> = names.filter(|name| !name.is_empty()).collect();
        if names.len() < 2 { Self::Any } else { Self::Literals(names) }
    }

    fn is_fully_known(&self) -> bool {
        match self {
            Self::Any => false,
            Self::Plain(_) | Self::Literals(_) => true,
            Self::List(items) => items.is_fully_known(),
            Self::OneOf(members) => members.iter().all(Self::is_fully_known),
        }
    }

    /// Whether `null` is among the alternatives.
    pub(crate) fn admits_null(&self) -> bool {
        match self {
            Self::Plain(name) => *name == "null",
            Self::OneOf(members) => members.iter().any(Self::admits_null),
            Self::Any | Self::List(_) | Self::Literals(_) => false,
        }
    }

    /// The shape as JSON Schema; empty if it claims nothing.
    pub(crate) fn to_schema(&self) -> Map<String, Value> {
        let schema = match self {
            Self::Any => json!({}),
            Self::Plain(name) => json!({ "type": name }),
            Self::List(items) => match items.to_schema() {
                items if items.is_empty() => json!({ "type": "array" }),
                items => json!({ "type": "array", "items": items }),
            },
            Self::Literals(names) => json!({ "type": "string", "enum": names }),
            Self::OneOf(members) if members.contains(&Self::Any) => json!({}),
            Self::OneOf(members) => {
                match members.iter().map(Self::plain).collect::<Option<Vec<_>>>() {
                    Some(names) => json!({ "type": names }),
                    None => {
                        json!({ "anyOf": members.iter().map(Self::to_schema).collect::<Vec<_>>() })
                    }
                }
            }
        };
        match schema {
            Value::Object(schema) => schema,
            _ => Map::new(),
        }
    }

    fn plain(&self) -> Option<&'static str> {
        match self {
            Self::Plain(name) => Some(name),
            _ => None,
        }
    }

    /// A value as people write it, if it is of this shape.
    ///
    /// Where text and something else are possible, `5` is a number.
    pub(crate) fn value_of(&self, text: &str) -> Option<Value> {
        match self {
            Self::Any => literal(text).or_else(|| as_string(text)),
            Self::Plain("string") => as_string(text),
            Self::Plain(name) => literal(text).filter(|value| is_of_type(value, name)),
            Self::List(_) => literal(text).filter(Value::is_array),
            Self::Literals(names) => {
                as_string(text).filter(|value| names.iter().any(|name| value == name))
            }
            Self::OneOf(members) => {
                let (strings, others): (Vec<_>, Vec<_>) =
                    members.iter().partition(|member| **member == Self::Plain("string"));
                others.iter().chain(&strings).find_map(|member| member.value_of(text))
            }
        }
    }
}

fn word(text: &str) -> Option<&'static str> {
    Some(match text {
        "string" | "strings" | "str" | "bytes" => "string",
        "integer" | "integers" | "int" | "ints" => "integer",
        "number" | "numbers" | "float" | "floats" | "double" => "number",
        "boolean" | "booleans" | "bool" => "boolean",
        "array" | "arrays" | "list" | "lists" => "array",
        "object" | "objects" | "dict" | "dicts" | "dictionary" | "record" | "map" => "object",
        "none" | "null" => "null",
        _ => return None,
    })
}

fn literal(text: &str) -> Option<Value> {
    match text.to_ascii_lowercase().as_str() {
        "true" => Some(Value::Bool(true)),
        "false" => Some(Value::Bool(false)),
        "none" | "null" => Some(Value::Null),
        _ => serde_json::from_str(text).ok(),
    }
}

fn as_string(text: &str) -> Option<Value> {
    let text = unquoted(text).unwrap_or(text);
    let is_nothing = ["none", "null"].iter().any(|word| text.eq_ignore_ascii_case(word));
    (!is_nothing).then(|| Value::String(text.to_owned()))
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match name {
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => false,
    }
}

fn unquoted(text: &str) -> Option<&str> {
    ['"', '\'', '`'].iter().find_map(|quote| text.strip_prefix(*quote)?.strip_suffix(*quote))
}

/// Splits `outer[inner]` or `outer<inner>`.
fn generic(text: &str) -> Option<(&str, &str)> {
    let (outer, inner) = text.strip_suffix([']', '>'])?.split_once(['[', '<'])?;
    Some((outer.trim(), inner))
}

fn alternatives(text: &str) -> Vec<&str> {
    split_outside_brackets(text, &['|'])
        .into_iter()
        .flat_map(|part| part.split(" or "))
        .map(str::trim)
        .collect()
}

/// The trimmed parts between separators that no bracket encloses.
pub(crate) fn split_outside_brackets<'a>(text: &'a str, separators: &[char]) -> Vec<&'a str> {
    let mut depth = 0_usize;
    let at_separator = |c: char| {
        match c {
            '[' | '<' | '(' | '{' => depth += 1,
            ']' | '>' | ')' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && separators.contains(&c)
    };
    text.split(at_separator).map(str::trim).collect()
}

/// What follows an ASCII prefix, in whatever case it is written.
pub(crate) fn strip_prefix_ignoring_case<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let start = text.get(..prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then(|| &text[prefix.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, schema: &str, unread: Option<&str>) {
        let (shape, rest) = Shape::parse(text);
        assert_eq!(Value::Object(shape.to_schema()).to_string(), schema, "{text}");
        assert_eq!(rest, unread, "{text}");
    }

    #[test]
    fn the_type_words_of_several_languages_are_known() {
        for (words, name) in [
            (vec!["string", "String", "str", "bytes", "str | bytes"], "string"),
            (vec!["int", "integer", "INT"], "integer"),
            (vec!["number", "float"], "number"),
            (vec!["bool", "boolean"], "boolean"),
            (vec!["array", "list", "List"], "array"),
            (vec!["object", "dict", "dictionary", "Dict[str, Any]", "JSON object"], "object"),
        ] {
            for word in words {
                check(word, &format!(r#"{{"type":"{name}"}}"#), None);
            }
        }
    }

    #[test]
    fn lists_know_their_items() {
        let strings = r#"{"type":"array","items":{"type":"string"}}"#;
        for text in ["string[]", "array of strings", "list of str", "List[str]", "Array<string>"] {
            check(text, strings, None);
        }
        check("string[][]", &format!(r#"{{"type":"array","items":{strings}}}"#), None);
        check("2D array", r#"{"type":"array","items":{"type":"array"}}"#, None);
        check("list of dict", r#"{"type":"array","items":{"type":"object"}}"#, None);
        check("PublicKey[]", r#"{"type":"array"}"#, Some("PublicKey[]"));
    }

    #[test]
    fn alternatives_make_a_list_of_types_or_any_of() {
        check("str | None", r#"{"type":["string","null"]}"#, None);
        check("Optional[int]", r#"{"type":["integer","null"]}"#, None);
        check("list or string", r#"{"type":["array","string"]}"#, None);
        check("['integer', 'string']", r#"{"type":["integer","string"]}"#, None);
        check(
            "string | string[]",
            r#"{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]}"#,
            None,
        );
        check("PublicKey | None", "{}", Some("PublicKey | None"));
        assert!(Shape::parse("PublicKey | None").0.admits_null());
    }

    #[test]
    fn quoted_alternatives_are_the_values_themselves() {
        check(r#""a" | "b""#, r#"{"type":"string","enum":["a","b"]}"#, None);
        check("enum: person | brand", r#"{"type":"string","enum":["person","brand"]}"#, None);
        check("enum: 'x' | 'y'", r#"{"type":"string","enum":["x","y"]}"#, None);
        check("enum: a", "{}", Some("enum: a"));
    }

    #[test]
    fn unknown_words_claim_nothing() {
        for text in ["PublicKey", "address/ENS", "0-4", "DD/MM/YYYY", "datetime", "[x]", "of", ""] {
            check(text, "{}", Some(text));
        }
        check("string: a-z", r#"{"type":"string"}"#, Some("a-z"));
    }

    #[test]
    fn a_number_among_strings_stays_a_number() {
        let value = |text: &str, value: &str| Shape::parse(text).0.value_of(value);
        assert_eq!(value("string or number", "5"), Some(json!(5)));
        assert_eq!(value("string or number", "five"), Some(json!("five")));
        assert_eq!(value("string", "5"), Some(json!("5")));
        assert_eq!(value("int", "5.5"), None);
        assert_eq!(value("enum: a | b", "c"), None);
    }
}
