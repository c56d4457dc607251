//! Reads fields that stand in JSON: `{"server": "GitHub", "tool": "…"}`.
//!
//! Owns where JSON is looked for and what its keys and values mean. JSON that
//! breaks off is read as far as it goes. No JSON type leaves this file.

use serde_json::Deserializer;
use serde_json::Value;

use crate::request::block::BLOCK_NAME;
use crate::request::draft::Draft;
use crate::request::draft::Drafts;
use crate::request::draft::Key;

/// The requests in the JSON that a text starts with.
///
/// Several values may follow one another; what follows them is ignored.
pub(crate) fn drafts(text: &str) -> Vec<Draft> {
    let mut drafts = Drafts::default();
    if text.starts_with(['{', '[']) {
        // `Value` refuses JSON nested deeper than 128, so recursion is bounded.
        let values = Deserializer::from_str(text).into_iter::<Value>();
        for value in values.map_while(Result::ok) {
            read(&mut drafts, &value);
        }
    }
    drafts.into_list()
}

/// The requests of a text without tags: it is JSON, or has JSON code fences.
///
/// Only objects that clearly mean a request count, as plain words may well
/// come with some other JSON.
pub(crate) fn drafts_in_text(text: &str) -> Vec<Draft> {
    let mut found = drafts(text);
    if found.is_empty() {
        let fences = text.split("```").skip(1).step_by(2);
        found = fences.map(without_language).flat_map(drafts).collect();
    }
    found.retain(Draft::is_explicit);
    found
}

/// The content of a code fence without the language it starts with.
fn without_language(fence: &str) -> &str {
    fence.trim_start_matches(char::is_alphanumeric).trim_start()
}

fn read(drafts: &mut Drafts, value: &Value) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| read(drafts, item)),
        Value::Object(members) => {
            let fields: Vec<(Key, &Value)> = members
                .iter()
                .filter_map(|(name, value)| Some((Key::named(name.trim())?, value)))
                .collect();
            if !fields.is_empty() {
                drafts.start();
            }
            for (key, value) in fields {
                drafts.open(key);
                drafts.append(&text(value));
            }
            members
                .iter()
                .filter(|(name, _)| name.trim().eq_ignore_ascii_case(BLOCK_NAME))
                .for_each(|(_, inner)| read(drafts, inner));
        }
        _ => {}
    }
}

/// A value in words; empty where it has none.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::Array(items) => items.iter().map(text).collect::<Vec<_>>().join(" "),
        Value::Null | Value::Object(_) => String::new(),
    }
}
