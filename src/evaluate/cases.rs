//! JSONL → cases: what is asked, and which tools are right.
//!
//! Reads request files (`request`, `gold`, `gold_slots`, `judged`) and case
//! files (`query`, `gold`, `extra.candidates_domain`); a row may have both.

use std::collections::HashMap;
use std::path::Path;

use serde::Deserialize;

use super::EvalError;

/// One thing that is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Case {
    /// Unique in its file.
    pub id: String,
    /// Platform, if the request names one.
    pub server: Option<String>,
    /// Operation and target.
    pub tool: Option<String>,
    /// What the user said, where it is known.
    pub query: Option<String>,
    /// Tools that the set calls right; any of them is a hit.
    pub gold: Vec<Name>,
    /// Tools with a grade by judges: 2 fulfils the request, 1 in part, 0 not.
    pub judged: Option<Vec<(Name, u8)>>,
    /// Tools that alone are looked at in the pool `domain`.
    pub candidates: Vec<String>,
    /// Level of difficulty, in the sets that have one.
    pub level: Option<u8>,
}

/// A tool as a file names it; `servers` are alternatives, none means any.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Name {
    /// Servers of which any may own it.
    pub servers: Vec<String>,
    /// Name on its server.
    pub tool: String,
}

/// Which labels decide what is right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Labels {
    /// Grade 2 of the judges where a row was judged, the set's own elsewhere.
    #[default]
    Judged,
    /// The set's own.
    Original,
}

impl Labels {
    /// As the command line and reports name it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Judged => "judged",
            Self::Original => "original",
        }
    }
}

impl Case {
    /// Graded tools: a hit is a grade of 2. None at all means that no tool of
    /// the catalogue fulfils the request.
    #[must_use]
    pub fn grades(&self, labels: Labels) -> Vec<(Name, u8)> {
        match &self.judged {
            Some(judged) if labels == Labels::Judged => judged.clone(),
            _ => self.gold.iter().map(|name| (name.clone(), 2)).collect(),
        }
    }
}

#[derive(Deserialize)]
struct Row {
    id: String,
    request: Option<RequestRow>,
    query: Option<String>,
    #[serde(default)]
    gold: Vec<NameRow>,
    #[serde(default)]
    gold_slots: Vec<Vec<NameRow>>,
    judged: Option<Vec<NameRow>>,
    level: Option<u8>,
    extra: Option<Extra>,
}

#[derive(Deserialize)]
struct RequestRow {
    server: Option<String>,
    tool: Option<String>,
}

#[derive(Deserialize)]
struct NameRow {
    server: Option<String>,
    tool: Option<String>,
    #[serde(default)]
    any_of: Vec<String>,
    #[serde(default)]
    unresolved: bool,
    grade: Option<u8>,
}

#[derive(Deserialize)]
struct Extra {
    #[serde(default)]
    candidates_domain: Vec<String>,
}

/// Reads cases, one JSON object a line; empty lines are passed over.
///
/// # Errors
/// Names the first line that is no case, or repeats an id.
pub(super) fn read(path: &Path, text: &str) -> Result<Vec<Case>, EvalError> {
    let mut cases: Vec<Case> = Vec::new();
    let mut seen = HashMap::new();
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    for (n, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let bad =
            |reason: String| EvalError::BadCase { path: path.to_owned(), line: n + 1, reason };
        let row: Row = serde_json::from_str(line).map_err(|error| bad(error.to_string()))?;
        if let Some(first) = seen.insert(row.id.clone(), n + 1) {
            return Err(bad(format!("id `{}` stands on line {first} already", row.id)));
        }
        if row.request.is_none() && row.query.is_none() {
            return Err(bad("it has neither `request` nor `query`".to_owned()));
        }
        cases.push(case(row));
    }
    if cases.is_empty() {
        return Err(EvalError::NoCases { path: path.to_owned() });
    }
    Ok(cases)
}

fn case(row: Row) -> Case {
    let (server, tool) = row.request.map_or((None, None), |one| (one.server, one.tool));
    let judged = row.judged.map(|names| {
        let graded = |row: NameRow| {
            let grade = row.grade.unwrap_or(0);
            Some((name(row)?, grade))
        };
        names.into_iter().filter_map(graded).collect()
    });
    Case {
        id: row.id,
        server,
        tool,
        query: row.query,
        gold: row
            .gold
            .into_iter()
            .chain(row.gold_slots.into_iter().flatten())
            .filter_map(name)
            .collect(),
        judged,
        candidates: row.extra.map(|extra| extra.candidates_domain).unwrap_or_default(),
        level: row.level,
    }
}

/// A tool that the annotation could not place is kept, so that its case is
/// skipped and counted rather than taken for one that no tool can fulfil.
fn name(row: NameRow) -> Option<Name> {
    let servers = if row.unresolved {
        vec![String::new()]
    } else {
        row.server.into_iter().chain(row.any_of).collect()
    };
    Some(Name { servers, tool: row.tool? })
}

/// Puts what the users said beside the requests written for it, by id.
pub(super) fn join_queries(cases: &mut [Case], rows: Vec<Case>) {
    let mut by_id: HashMap<String, Case> =
        rows.into_iter().map(|row| (row.id.clone(), row)).collect();
    for case in cases {
        if let Some(row) = by_id.remove(&case.id) {
            case.query = case.query.take().or(row.query);
            if case.candidates.is_empty() {
                case.candidates = row.candidates;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Result<Vec<Case>, EvalError> {
        read(Path::new("cases.jsonl"), line)
    }

    #[test]
    fn a_byte_order_mark_is_passed_over() {
        assert_eq!(of("\u{FEFF}{\"id\":\"a\",\"query\":\"q\"}").unwrap().len(), 1);
    }

    #[test]
    fn a_request_row_is_read() {
        let line = r#"{"id":"a","request":{"server":"S","tool":"T"},"level":2,
            "gold_slots":[[{"server":"x","tool":"t"}],[{"server":null,"tool":"u","any_of":["y","z"]}]],
            "judged":[{"server":"x","tool":"t","grade":1}]}"#
            .replace('\n', " ");
        let case = of(&line).unwrap().remove(0);
        assert_eq!((case.server.as_deref(), case.tool.as_deref()), (Some("S"), Some("T")));
        let name = |servers: &[&str], tool: &str| Name {
            servers: servers.iter().map(|server| (*server).to_owned()).collect(),
            tool: tool.to_owned(),
        };
        let (t, u) = (name(&["x"], "t"), name(&["y", "z"], "u"));
        assert_eq!(case.gold, [t.clone(), u.clone()]);
        assert_eq!(case.grades(Labels::Judged), [(t.clone(), 1)]);
        assert_eq!(case.grades(Labels::Original), [(t, 2), (u, 2)]);
    }

    #[test]
    fn a_bad_line_is_named() {
        for (text, part) in [
            ("{\"id\":\"a\",\"query\":\"q\"}\n\nnonsense", "line 3"),
            ("{\"id\":\"a\",\"query\":\"q\"}\n{\"id\":\"a\",\"query\":\"q\"}", "on line 1 already"),
            ("{\"id\":\"a\"}", "neither `request` nor `query`"),
            ("\n", "no case"),
        ] {
            let error = of(text).unwrap_err().to_string();
            assert!(error.contains(part) && error.contains("cases.jsonl"), "{error}");
        }
    }

    #[test]
    fn queries_join_their_requests() {
        let mut cases = of(r#"{"id":"a","request":{"tool":"T"}}"#).unwrap();
        let rows = of(r#"{"id":"a","query":"q","extra":{"candidates_domain":["t"]}}"#).unwrap();
        join_queries(&mut cases, rows);
        assert_eq!((cases[0].query.as_deref(), cases[0].candidates.len()), (Some("q"), 1));
        assert_eq!(cases[0].tool.as_deref(), Some("T"));
    }
}
