//! MCP-Zero's parameter strings, `(optional string) What it is`, taken apart.
//!
//! Owns the head in parentheses: whether it makes the parameter optional, what
//! default it names, and what of it is no type and so stays with the text.

use serde_json::Map;
use serde_json::Value;
use serde_json::value::to_raw_value;

use crate::catalog::RawJson;
use crate::sources::shape::Shape;
use crate::sources::shape::split_outside_brackets;
use crate::sources::shape::strip_prefix_ignoring_case;

/// Longer parentheses are prose; the longest head of the real file has 65.
const MAX_HEAD_BYTES: usize = 256;

/// One parameter of an MCP-Zero tool.
#[derive(Debug, PartialEq)]
pub(crate) struct Parameter {
    /// Its JSON Schema; empty if nothing is known of it.
    schema: Map<String, Value>,
    /// Whether a call must give it: yes, unless the string says otherwise.
    pub(crate) required: bool,
}

impl Parameter {
    /// Reads a parameter string; there is none that it cannot read.
    pub(crate) fn parse(text: &str) -> Self {
        let (head, text) = split_head(text.trim());
        let head = Head::parse(head);
        let mut schema = head.shape.as_ref().map(Shape::to_schema).unwrap_or_default();
        if let Some(default) = head.default {
            schema.insert("default".to_owned(), default);
        }
        let description = describe(&head.unread.join(", "), text);
        if !description.is_empty() {
            schema.insert("description".to_owned(), Value::String(description));
        }
        let required = head.required.unwrap_or_else(|| !starts_with_optional(text));
        Self { schema, required }
    }

    /// A parameter of which only the name is known.
    pub(crate) fn untyped() -> Self {
        Self { schema: Map::new(), required: true }
    }

    /// Its JSON Schema as text.
    #[expect(clippy::expect_used, reason = "a map of JSON values is JSON")]
    pub(crate) fn to_json(&self) -> RawJson {
        to_raw_value(&self.schema).expect("JSON values can always be written")
    }
}

/// What the parentheses at the start hold, and the text after them.
fn split_head(text: &str) -> (&str, &str) {
    let mut depth = 0;
    for (index, c) in text.char_indices().take_while(|(index, _)| *index < MAX_HEAD_BYTES) {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            let (head, rest) = text.split_at(index);
            return match head.strip_prefix('(') {
                Some(head) => (head, rest[1..].trim_start_matches(':').trim()),
                None => ("", text),
            };
        }
    }
    ("", text)
}

/// `(array) Optional keywords`: some say it behind the parentheses.
fn starts_with_optional(text: &str) -> bool {
    let word = text.split(|c: char| !c.is_alphanumeric()).next();
    word.is_some_and(|word| word.eq_ignore_ascii_case("optional"))
}

fn describe(unread: &str, text: &str) -> String {
    match (unread, text) {
        ("", text) => text.to_owned(),
        (unread, "") => unread.to_owned(),
        (unread, text) => format!("({unread}) {text}"),
    }
}

#[derive(Debug, Default)]
struct Head<'a> {
    /// What it says of it, if anything; `optional` wins over `required`.
    required: Option<bool>,
    shape: Option<Shape>,
    default: Option<Value>,
    /// Clauses that say something else; they stay in the description.
    unread: Vec<&'a str>,
}

impl<'a> Head<'a> {
    fn parse(head: &'a str) -> Self {
        let mut parsed = Self::default();
        let mut defaults = Vec::new();
        for clause in split_outside_brackets(head, &[',', ';']) {
            match default_text(clause) {
                Some(value) => defaults.push((clause, value)),
                None => parsed.read(clause),
            }
        }
        for (clause, value) in defaults {
            parsed.default = parsed.shape.as_ref().unwrap_or(&Shape::Any).value_of(value);
            if parsed.default.is_none() {
                parsed.unread.push(clause);
            }
        }
        parsed
    }

    fn read(&mut self, clause: &'a str) {
        let rest = self.read_obligation(clause);
        if rest.is_empty() {
            return;
        }
        let (shape, unread) = Shape::parse(rest);
        if shape.admits_null() {
            self.required = Some(false);
        }
        if self.shape.is_none() && shape != Shape::Any {
            self.shape = Some(shape);
            self.unread.extend(unread);
        } else {
            self.unread.push(rest);
        }
    }

    /// Takes `optional` or `required` off either end of a clause.
    fn read_obligation(&mut self, clause: &'a str) -> &'a str {
        if clause.eq_ignore_ascii_case("not required") {
            self.required = Some(false);
            return "";
        }
        let (first, after) = clause.split_once(' ').unwrap_or((clause, ""));
        let (before, last) = clause.rsplit_once(' ').unwrap_or(("", clause));
        for (word, rest) in [(first, after), (last, before)] {
            let optional = word.eq_ignore_ascii_case("optional");
            if optional || word.eq_ignore_ascii_case("required") {
                self.required = Some(!optional && self.required.unwrap_or(true));
                return rest.trim();
            }
        }
        clause
    }
}

fn default_text(clause: &str) -> Option<&str> {
    ["default:", "default=", "defaults to ", "default is ", "default "]
        .iter()
        .find_map(|prefix| strip_prefix_ignoring_case(clause, prefix))
        .map(str::trim)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(parameter: &Parameter, schema: &str) {
        assert_eq!(parameter.to_json().get(), schema);
    }

    fn check_required(text: &str, schema: &str) {
        let parameter = Parameter::parse(text);
        assert!(parameter.required, "{text}");
        check(&parameter, schema);
    }

    fn check_optional(text: &str, schema: &str) {
        let parameter = Parameter::parse(text);
        assert!(!parameter.required, "{text}");
        check(&parameter, schema);
    }

    #[test]
    fn required_unless_it_says_optional() {
        check_required("(string) City", r#"{"type":"string","description":"City"}"#);
        check_required("(Required, number) n", r#"{"type":"number","description":"n"}"#);
        check_required("(string, required) n", r#"{"type":"string","description":"n"}"#);
        check_required("(required) n", r#"{"description":"n"}"#);
        for head in [
            "Optional, string",
            "optional string",
            "string, optional",
            "STRING OPTIONAL",
            "string, not required",
        ] {
            check_optional(&format!("({head}) n"), r#"{"type":"string","description":"n"}"#);
        }
        check_optional("(optional)", "{}");
        check_optional("(int) Optional. N", r#"{"type":"integer","description":"Optional. N"}"#);
        check_required("(required) Optional n", r#"{"description":"Optional n"}"#);
        check_optional("(Optional, required) n", r#"{"description":"n"}"#);
        check_optional(
            "(str | None, optional) n",
            r#"{"type":["string","null"],"description":"n"}"#,
        );
        check_optional("(object or null) n", r#"{"type":["object","null"],"description":"n"}"#);
    }

    #[test]
    fn a_default_is_kept_where_it_fits_the_type() {
        check_optional("(optional, default: 300) s", r#"{"default":300,"description":"s"}"#);
        check_optional("(optional, default: true)", r#"{"default":true}"#);
        check_required("(number, default: 0.5)", r#"{"type":"number","default":0.5}"#);
        check_optional("(Optional, integer, default 5)", r#"{"type":"integer","default":5}"#);
        check_optional("(Optional, boolean, default True)", r#"{"type":"boolean","default":true}"#);
        check_required("(default: 'a', string)", r#"{"type":"string","default":"a"}"#);
        check_required(
            "(string[], default: [\"a\", \"b\"])",
            r#"{"type":"array","items":{"type":"string"},"default":["a","b"]}"#,
        );
        check_required(
            "(int, default: many) n",
            r#"{"type":"integer","description":"(default: many) n"}"#,
        );
        check_required(
            "(int, default: None) n",
            r#"{"type":"integer","description":"(default: None) n"}"#,
        );
        check_optional(
            "(int | None, default: None) n",
            r#"{"type":["integer","null"],"default":null,"description":"n"}"#,
        );
    }

    #[test]
    fn what_is_no_type_stays_with_the_text() {
        check_required("(address/ENS) Who", r#"{"description":"(address/ENS) Who"}"#);
        check_optional("(Optional, DD/MM/YYYY) Day", r#"{"description":"(DD/MM/YYYY) Day"}"#);
        check_optional("(Optional, number, 0-4) P", r#"{"type":"number","description":"(0-4) P"}"#);
        check_required("(Creator[]) Who", r#"{"type":"array","description":"(Creator[]) Who"}"#);
        check_required(
            "(string: a-z or \") Mark",
            r#"{"type":"string","description":"(a-z or \") Mark"}"#,
        );
        check_required(
            "(string: \"a\", \"b/c\") W",
            r#"{"type":"string","description":"(\"a\", \"b/c\") W"}"#,
        );
        check_optional(
            "(optional, default: relevance; allowed values: relevance, recent)",
            r#"{"default":"relevance","description":"allowed values: relevance, recent"}"#,
        );
        check_required("(string, number) n", r#"{"type":"string","description":"(number) n"}"#);
    }

    #[test]
    fn without_a_head_all_of_it_is_text() {
        for text in ["string -- the key", "Priority (0-4)", "(unclosed", ") odd"] {
            check_required(text, &format!(r#"{{"description":"{text}"}}"#));
        }
        check_required("()", "{}");
        check_required("", "{}");
        check_optional(
            "(number, optional, default: 800): Width",
            r#"{"type":"number","default":800,"description":"Width"}"#,
        );
        let prose = format!("(see {}) Where", "x".repeat(MAX_HEAD_BYTES));
        check_required(&prose, &format!(r#"{{"description":"{prose}"}}"#));
        check_required("(string (a URL)) Where", r#"{"description":"(string (a URL)) Where"}"#);
    }

    proptest! {
        #[test]
        fn any_text_can_be_read(text: String, head in "[(),;:| a-z\\[\\]<>'\"?=/0-9]{0,40}") {
            let _any = Parameter::parse(&text);
            let _any = Parameter::parse(&format!("({head}) {text}"));
        }
    }
}
