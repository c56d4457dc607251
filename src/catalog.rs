//! The nouns: catalogue, server, tool, and the ids that name them.
//!
//! Owns what every importer produces and every index is built from. Imports
//! no other room, does no IO, and keeps foreign JSON as raw text.

mod words;

pub use words::words;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use unicode_normalization::UnicodeNormalization;

/// JSON as its author wrote it: token for token, never parsed and reprinted.
pub type RawJson = Box<RawValue>;

/// Position of a server in an index, in build order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ServerId(pub u32);

/// Position of a tool in an index; tools of one server are neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ToolId(pub u32);

impl ServerId {
    /// The row of this server in any matrix whose rows are servers.
    #[must_use]
    pub fn row(self) -> usize {
        self.0 as usize
    }
}

impl ToolId {
    /// The row of this tool in any matrix whose rows are tools.
    #[must_use]
    pub fn row(self) -> usize {
        self.0 as usize
    }
}

/// One MCP server and the tools it is known to have.
#[derive(Clone, Debug, Default)]
pub struct Server {
    /// Name as the source gives it; unique within a catalogue once merged.
    pub name: String,
    /// What its publisher says of it; may be empty.
    pub description: String,
    /// A longer text about its abilities; may be empty.
    pub summary: String,
    /// Homepage or repository.
    pub url: Option<String>,
    /// In the order of the source; may be empty (registries list servers only).
    pub tools: Vec<Tool>,
    /// Where it can be called, if it can.
    pub entry: Option<Entry>,
}

/// An entry of a client's configuration: a server that can be called.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Entry {
    /// The file, as recorded.
    pub configuration: String,
    /// What the server is called there.
    pub name: String,
}

/// One tool definition.
#[derive(Clone, Debug, Default)]
pub struct Tool {
    /// Name as the source gives it, never empty.
    pub name: String,
    /// Display name, where the source has one beside `name`.
    pub title: Option<String>,
    /// Cleaned of control and invisible characters; may be empty.
    pub description: String,
    /// JSON Schema of the arguments, untouched; absent where the source has none.
    pub input_schema: Option<RawJson>,
    /// JSON Schema of the result, untouched.
    pub output_schema: Option<RawJson>,
    /// `readOnlyHint`, `destructiveHint` and their kin, untouched.
    pub annotations: Option<RawJson>,
}

impl Tool {
    /// Names of the top-level parameters, in schema order.
    ///
    /// A schema that is absent, boolean, or not of the usual form has none.
    #[must_use]
    pub fn parameter_names(&self) -> Vec<String> {
        #[derive(Deserialize)]
        struct Shallow<'a> {
            #[serde(borrow)]
            properties: Option<&'a RawValue>,
        }
        let Some(schema) = &self.input_schema else {
            return Vec::new();
        };
        let properties = serde_json::from_str::<Shallow<'_>>(schema.get())
            .ok()
            .and_then(|shallow| shallow.properties);
        properties.map(|raw| object_keys(raw.get())).unwrap_or_default()
    }
}

/// A record that could not be taken over, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reject {
    /// The source it came from.
    pub source: String,
    /// Name or position of the server.
    pub server: String,
    /// Name or position of the tool; absent when the whole server is meant.
    pub tool: Option<String>,
    /// Full sentence without a full stop.
    pub reason: String,
}

/// A server whose tools are those of an earlier time, because it gave no list since.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stale {
    /// Its name.
    pub server: String,
    /// Why it gave no list, the first time.
    pub reason: String,
    /// When that was: RFC 3339, UTC, whole seconds.
    pub since: String,
}

/// Keys of a JSON object in order; empty for anything else.
#[must_use]
pub fn object_keys(json: &str) -> Vec<String> {
    let members = members(json).unwrap_or_default();
    members.into_iter().map(|(key, _)| key.into_owned()).collect()
}

/// Keys and values of a JSON object in order; `None` for anything else.
#[must_use]
pub fn members(json: &str) -> Option<Vec<(Cow<'_, str>, &RawValue)>> {
    struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);
    impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct Visitor<'a>(std::marker::PhantomData<&'a ()>);
            impl<'de: 'a, 'a> serde::de::Visitor<'de> for Visitor<'a> {
                type Value = Members<'a>;
                fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    f.write_str("an object")
                }
                fn visit_map<A: serde::de::MapAccess<'de>>(
                    self,
                    mut map: A,
                ) -> Result<Members<'a>, A::Error> {
                    let mut members = Vec::new();
                    // `&RawValue` skips without recursion, however deep the value is.
                    while let Some((Key(key), value)) = map.next_entry::<Key<'a>, &RawValue>()? {
                        members.push((key, value));
                    }
                    Ok(Members(members))
                }
            }
            deserializer.deserialize_map(Visitor(std::marker::PhantomData))
        }
    }
    #[derive(Deserialize)]
    #[serde(transparent)]
    struct Key<'a>(#[serde(borrow)] Cow<'a, str>);
    serde_json::from_str::<Members<'_>>(json).ok().map(|members| members.0)
}

/// JSON without white space between tokens; token for token the same.
#[must_use]
pub fn compact_json(json: &str) -> String {
    let (mut compact, mut in_string, mut escaped) =
        (String::with_capacity(json.len()), false, false);
    for c in json.chars() {
        if !in_string && matches!(c, ' ' | '\t' | '\n' | '\r') {
            continue;
        }
        if c == '"' && !escaped {
            in_string = !in_string;
        }
        escaped = in_string && c == '\\' && !escaped;
        compact.push(c);
    }
    compact
}

/// [`clean_text`] on one line: white space of any kind is one blank.
#[must_use]
pub fn one_line(text: &str) -> String {
    clean_text(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Text fit for a model's context and a terminal.
///
/// Drops C0/C1 controls (newline and tab stay), zero-width and bidirectional
/// controls and Unicode tag characters; joiners stay where they join (emoji,
/// Indic and Arabic script). White space at both ends goes.
#[must_use]
pub fn clean_text(text: &str) -> String {
    let text = text.nfc().collect::<Vec<char>>();
    let mut clean = String::with_capacity(text.len());
    for (position, &c) in text.iter().enumerate() {
        let joins = || {
            let before = position.checked_sub(1).and_then(|p| text.get(p));
            let after = text.get(position + 1);
            before.is_some_and(|c| !c.is_ascii() && !c.is_whitespace())
                && after.is_some_and(|c| !c.is_ascii() && !c.is_whitespace())
        };
        match c {
            '\u{200C}' | '\u{200D}' if joins() => clean.push(c),
            _ if is_invisible(c) => {}
            _ => clean.push(c),
        }
    }
    clean.trim().to_owned()
}

/// A text whose `<tool_assistant>` tags have lost their angle brackets: a
/// description must not open or close a request in the reply it stands in.
#[must_use]
pub fn without_tags(text: &str) -> String {
    const TAG: &str = "tool_assistant";
    let lower = text.to_ascii_lowercase();
    let (mut safe, mut done) = (String::with_capacity(text.len()), 0);
    for (start, _) in lower.match_indices(TAG) {
        let before = &text[done..start];
        let open = before
            .rfind('<')
            .filter(|open| before[open + 1..].chars().all(|c| c == '/' || c.is_whitespace()));
        match open {
            Some(open) => {
                safe.push_str(&before[..open]);
                safe.push('‹');
                safe.push_str(&before[open + 1..]);
            }
            None => safe.push_str(before),
        }
        done = start + TAG.len();
        safe.push_str(&text[start..done]);
        if text[done..].starts_with('>') {
            safe.push('›');
            done += 1;
        }
    }
    safe.push_str(&text[done..]);
    safe
}

/// Whether a character shows nothing and only steers or hides.
#[must_use]
pub fn is_invisible(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || matches!(c,
            '\u{00AD}' | '\u{061C}' | '\u{180E}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}' | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E0FFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(schema: &str) -> Tool {
        Tool {
            input_schema: Some(RawValue::from_string(schema.to_owned()).unwrap()),
            ..Tool::default()
        }
    }

    #[test]
    fn parameter_names_keep_schema_order() {
        let names = tool(r#"{"type":"object","properties":{"z":{},"a":{"type":"string"}}}"#);
        assert_eq!(names.parameter_names(), ["z", "a"]);
    }

    #[test]
    fn odd_schemas_have_no_parameters() {
        for schema in ["true", "null", "[]", "\"x\"", "{}", r#"{"properties":true}"#, "7"] {
            assert_eq!(tool(schema).parameter_names(), Vec::<String>::new(), "{schema}");
        }
    }

    #[test]
    fn a_deep_schema_does_not_overflow_the_stack() {
        let depth = 100_000;
        let deep = format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth));
        let schema = format!(r#"{{"properties":{{"x":{deep}}}}}"#);
        assert_eq!(tool(&schema).parameter_names(), ["x"]);
    }

    #[test]
    fn compact_json_drops_only_white_space_between_tokens() {
        let json = "{\n  \"a b\" : \"q\\\" \\\\\",\r\n\t\"n\": [1.50, 1e2]\n}";
        assert_eq!(compact_json(json), r#"{"a b":"q\" \\","n":[1.50,1e2]}"#);
    }

    #[test]
    fn invisible_characters_go_and_joiners_stay() {
        assert_eq!(clean_text("tra\u{200B}nslate\u{202E} \u{E0041}text\u{0007}"), "translate text");
        assert_eq!(clean_text("a\u{200D}b"), "ab");
        assert_eq!(clean_text("👩\u{200D}💻 क्\u{200D}ष"), "👩\u{200D}💻 क्\u{200D}ष");
        assert_eq!(
            without_tags("Flights. </tool_assistant> < Tool_Assistant x> tool_assistant>"),
            "Flights. ‹/tool_assistant› ‹ Tool_Assistant x> tool_assistant›"
        );
        assert_eq!(clean_text(" two\n\tlines \r\n"), "two\n\tlines");
    }
}
