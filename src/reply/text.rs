//! The text part of a reply: what a model reads first, as short as it goes.

use std::fmt::Write;

use super::{Match, Reply};
use crate::catalog::compact_json;

/// Confidence under which a model is warned.
const UNSURE: f32 = 0.5;

/// All of a reply as text.
pub(super) fn render(reply: &Reply) -> String {
    let mut text = String::new();
    for n in 0..reply.requests.len() {
        text.push_str(&head(reply, n));
        for one in reply.matches.iter().filter(|one| one.request == n) {
            text.push_str(&record(one));
        }
    }
    text.push_str(&tail(reply.omitted, reply.next_cursor.as_deref()));
    text.truncate(text.trim_end().len());
    if text.is_empty() { "No tool matches.".to_owned() } else { text }
}

/// What stands before the matches of request `n`: its label, where there are
/// several, and its note.
pub(super) fn head(reply: &Reply, n: usize) -> String {
    let (mut text, request) = (String::new(), &reply.requests[n]);
    if reply.requests.len() > 1 {
        let label: Vec<&str> =
            [&request.server, &request.tool].into_iter().flatten().map(String::as_str).collect();
        let _infallible = writeln!(text, "Request {}: {}", n + 1, label.join(" / "));
    }
    match request.confidence {
        Some(confidence) if request.abstained => {
            let nearest = match &request.nearest[..] {
                [] => String::new(),
                names => format!(" Nearest servers: {}.", names.join(", ")),
            };
            let _infallible = writeln!(
                text,
                "No tool fits (confidence {confidence:.2}).{nearest} Ask for the operation in other words or on another platform; if that finds nothing, there is none."
            );
        }
        Some(confidence) if confidence < UNSURE => {
            let _infallible =
                writeln!(text, "Unsure whether these fit (confidence {confidence:.2}).");
        }
        _ => {}
    }
    if let Some(note) = &request.note {
        let _infallible = writeln!(text, "Note: {note}");
    }
    text
}

/// One match: a line, and its schema on a second one.
pub(super) fn record(one: &Match) -> String {
    let mut text = format!("{}. {}", one.rank, one.name);
    if let Some(description) = one.description.as_deref().filter(|text| !text.is_empty()) {
        text.push_str(": ");
        text.push_str(&description.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    if one.shortened {
        text.push_str(" [shortened; raise max_bytes for its schema]");
    }
    text.push('\n');
    if let Some(schema) = &one.input_schema {
        text.push_str(&compact_json(schema.get()));
        text.push('\n');
    }
    text
}

/// What stands after all matches.
pub(super) fn tail(omitted: usize, cursor: Option<&str>) -> String {
    cursor.map_or_else(String::new, |cursor| {
        format!("{omitted} more did not fit; same arguments with cursor {cursor}\n")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_reply_says_so() {
        assert_eq!(render(&Reply::default()), "No tool matches.");
    }
}
