//! Values: from raw field text to clean text that a model can read.
//!
//! Owns entities, Unicode form, white space, wrapping, length, and the words
//! that mean "no server". Must not know where the text came from.

use html_escape::decode_html_entities;
use unicode_normalization::UnicodeNormalization;

use crate::catalog::clean_text;
use crate::request::MAX_FIELD_CHARS;

/// Layers of quotes and the like that are taken off a value at most.
const MAX_LAYERS: usize = 4;

/// Pairs that may wrap a whole value.
const WRAPPINGS: [(&str, &str); 8] = [
    ("\"", "\""),
    ("'", "'"),
    ("`", "`"),
    ("**", "**"),
    ("“", "”"),
    ("‘", "’"),
    ("«", "»"),
    ("「", "」"),
];

/// Halves of a pair that may be left over at one end of a value.
const LEFTOVERS: [&str; 2] = ["**", "`"];

/// Brackets that may be left over where a value ends a JSON-like line.
const BRACKETS: [(char, char); 3] = [('{', '}'), ('[', ']'), ('(', ')')];

/// What a model writes where it knows no server, in lower case.
const NO_SERVER: [&str; 13] = [
    "none",
    "n/a",
    "null",
    "nil",
    "any",
    "unknown",
    "undefined",
    "unspecified",
    "not specified",
    "-",
    "–",
    "—",
    "?",
];

/// A clean value, cut to [`MAX_FIELD_CHARS`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) text: String,
    /// That it was cut, if it was.
    pub(crate) note: Option<String>,
}

impl Field {
    /// Cuts a clean text; the note calls it `what`.
    pub(crate) fn cut(what: &str, text: String) -> Self {
        let Some((end, _)) = text.char_indices().nth(MAX_FIELD_CHARS) else {
            return Self { text, note: None };
        };
        let n_chars = text.chars().count();
        let note = format!("{what} was cut from {n_chars} to {MAX_FIELD_CHARS} characters");
        Self { text: text[..end].trim_end().to_owned(), note: Some(note) }
    }

    /// Cuts a clean `server:` value.
    pub(crate) fn server(text: String) -> Self {
        Self::cut("`server:`", text)
    }

    /// Cuts a clean `tool:` value.
    pub(crate) fn tool(text: String) -> Self {
        Self::cut("`tool:`", text)
    }
}

/// [`cleaned`], for a server: `none`, `any`, `n/a` and their kin are no value.
pub(crate) fn cleaned_server(raw: &str) -> Option<String> {
    cleaned(raw).filter(|text| !NO_SERVER.contains(&text.to_lowercase().as_str()))
}

/// The visible text in NFKC on one line, unwrapped; `None` if nothing is left.
pub(crate) fn cleaned(raw: &str) -> Option<String> {
    let decoded = decode_html_entities(raw);
    let visible = clean_text(&on_one_line(&decoded));
    let folded: String = visible.nfkc().collect();
    let text = on_one_line(unwrapped(&folded));
    (!text.is_empty()).then_some(text)
}

/// Collapses white space, line breaks among it, into single spaces.
fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<&str>>().join(" ")
}

/// Takes off quotes, backticks, bold marks and what JSON leaves at the end.
fn unwrapped(text: &str) -> &str {
    let mut text = text;
    for _ in 0..MAX_LAYERS {
        text = without_leftovers(text.trim_end_matches([',', '|']).trim());
        text = without_pair(text).trim();
    }
    text
}

fn without_pair(text: &str) -> &str {
    let inside = |&(open, close): &(&str, &str)| {
        let inside = text.strip_prefix(open)?.strip_suffix(close)?;
        (!inside.contains(open) && !inside.contains(close)).then_some(inside)
    };
    WRAPPINGS.iter().find_map(inside).unwrap_or(text)
}

/// Drops one half of a pair at an end of the text when the other is missing.
fn without_leftovers(text: &str) -> &str {
    let mut text = text;
    for (open, close) in BRACKETS {
        if !text.contains(open) {
            text = text.trim_end_matches(|c: char| c == close || c.is_whitespace());
        }
    }
    for mark in LEFTOVERS {
        let rest = text.strip_prefix(mark).or(text.strip_suffix(mark));
        text = rest.filter(|rest| !rest.contains(mark)).unwrap_or(text);
    }
    text
}
