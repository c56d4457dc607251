//! Text to records: one JSON document, the items of an array, or JSON Lines.
//!
//! Owns where one record ends and the next begins, and keeps each as raw
//! JSON. Knows nothing of what a record means.

use std::fmt;

use serde_json::value::RawValue;

use crate::sources::fields::Kind;
use crate::sources::fields::elements;

/// One JSON value of a source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record<'a> {
    /// Where it stands.
    pub(crate) place: Place,
    /// What it says, as written.
    pub(crate) json: &'a RawValue,
}

/// Where a record stands in its source; people count from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// It is the whole document.
    Document,
    /// It is the n-th item of a list.
    Position(usize),
    /// It is on the n-th line.
    Line(usize),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Document => f.write_str("the document"),
            Self::Position(position) => write!(f, "position {position}"),
            Self::Line(line) => write!(f, "line {line}"),
        }
    }
}

/// A source taken apart.
#[derive(Debug)]
pub(crate) struct Records<'a> {
    /// In the order of the source.
    pub(crate) good: Vec<Record<'a>>,
    /// Lines that are no JSON, and why.
    pub(crate) bad: Vec<(Place, BadLine)>,
}

/// Why a line is no JSON.
#[derive(Debug, thiserror::Error)]
#[error("it is not JSON: {problem}, column {column}")]
pub(crate) struct BadLine {
    problem: String,
    column: usize,
}

impl From<serde_json::Error> for BadLine {
    /// Leaves out the line number, which is one: the error saw only the line.
    fn from(error: serde_json::Error) -> Self {
        let mut problem = error.to_string();
        if let Some(end) = problem.rfind(" at line ") {
            problem.truncate(end);
        }
        Self { problem, column: error.column() }
    }
}

/// Splits a text into its records; an array counts as the list of its items.
///
/// Text that is not one JSON document is taken as JSON Lines if at least half
/// of its lines are objects or arrays: fewer, and it is a broken document.
///
/// # Errors
/// When it is neither; the error is that of the text as one document.
pub(crate) fn split(text: &str) -> Result<Records<'_>, serde_json::Error> {
    let text = text.trim_start_matches('\u{FEFF}');
    match serde_json::from_str::<&RawValue>(text) {
        Ok(json) => Ok(Records { good: spread(Place::Document, json).collect(), bad: Vec::new() }),
        Err(error) => lines(text).ok_or(error),
    }
}

fn lines(text: &str) -> Option<Records<'_>> {
    let mut records = Records { good: Vec::new(), bad: Vec::new() };
    let mut n_good = 0;
    for (index, line) in text.lines().enumerate() {
        // A mark may stand in the middle where files were joined.
        let line = line.trim_start_matches('\u{FEFF}');
        if line.trim().is_empty() {
            continue;
        }
        let place = Place::Line(index + 1);
        match serde_json::from_str::<&RawValue>(line) {
            Ok(json) => {
                n_good += usize::from(json.get().starts_with(['{', '[']));
                records.good.extend(spread(place, json));
            }
            Err(error) => records.bad.push((place, error.into())),
        }
    }
    (n_good > 0 && n_good >= records.bad.len()).then_some(records)
}

/// The items of a top-level array or of a batch of objects on one line.
fn spread(place: Place, json: &RawValue) -> impl Iterator<Item = Record<'_>> {
    let in_document = place == Place::Document;
    let is_object = |json: &&RawValue| Kind::of(json) == Kind::Object;
    let items = elements(json).filter(|items| in_document || items.iter().any(is_object));
    let whole = items.is_none().then_some(Record { place, json });
    let items = items.into_iter().flatten().enumerate().map(move |(index, json)| Record {
        place: if in_document { Place::Position(index + 1) } else { place },
        json,
    });
    whole.into_iter().chain(items)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(Place, &str)]) {
        let records = split(text).unwrap();
        let found: Vec<_> = records.good.iter().map(|r| (r.place, r.json.get())).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn a_document_is_one_record_and_an_array_as_many_as_it_holds() {
        check(" {\"a\" : 1}\r\n", &[(Place::Document, "{\"a\" : 1}")]);
        check("[{}, 7]", &[(Place::Position(1), "{}"), (Place::Position(2), "7")]);
        check("[]", &[]);
    }

    #[test]
    fn lines_are_counted_as_an_editor_counts_them() {
        let text = "\u{FEFF}{\"a\":1}\r\n\r\n  [{},2]\n\u{FEFF}[1]\n";
        let expected = [
            (Place::Line(1), "{\"a\":1}"),
            (Place::Line(3), "{}"),
            (Place::Line(3), "2"),
            (Place::Line(4), "[1]"),
        ];
        check(text, &expected);
    }

    #[test]
    fn a_bad_line_costs_only_itself() {
        let records = split("{\"a\":1}\n{\"a\":\n{\"a\":3}").unwrap();
        assert_eq!(records.good.len(), 2);
        let (place, problem) = &records.bad[0];
        assert_eq!(*place, Place::Line(2));
        assert_eq!(problem.to_string(), "it is not JSON: EOF while parsing a value, column 5");
    }

    #[test]
    fn a_broken_document_is_not_taken_for_lines() {
        for text in ["{\n\"a\": [\n{},\n{}\n]\n", "hello", "{", "1\n2\n", "[\n{}\nx\n]"] {
            assert!(split(text).is_err(), "{text}");
        }
    }
}
