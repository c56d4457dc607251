//! Filling a byte budget record by record.

use serde_json::value::RawValue;

use super::{Cursor, Detail, Match, Reply, ReplyError, RequestReport, structured, text};
use crate::catalog::RawJson;

/// A tool result around text and structured content, as the newest protocol
/// has it; older ones lack `resultType`.
const FRAME: &str = r#"{"resultType":"complete","content":[{"type":"text","text":}],"structuredContent":,"isError":false}"#;

/// Characters of a description at detail `summary`.
const SUMMARY_CHARS: usize = 200;

/// The part of `all` that starts at `cursor` and fits `max_bytes`.
///
/// `all` holds full records in rank order. The budget covers the whole tool
/// result as sent: text, structured content and frame. A record too large for
/// a page of its own is shortened, first to its summary, then to its name.
///
/// # Errors
/// [`ReplyError::Budget`] when not even the first name fits.
pub fn page(
    requests: Vec<RequestReport>,
    all: Vec<Match>,
    detail: Detail,
    max_bytes: Option<usize>,
    cursor: Cursor,
) -> Result<Reply, ReplyError> {
    let mut reply = Reply { requests, ..Reply::default() };
    let offset = cursor.offset as usize;
    let n_all = all.len();
    let rest = all.into_iter().skip(offset);
    let Some(max_bytes) = max_bytes else {
        reply.matches = rest.map(|one| at(one, detail)).collect();
        return Ok(reply);
    };
    let rest: Vec<Match> = rest.collect();
    let whole = Reply {
        matches: rest.iter().map(|one| at(one.clone(), detail)).collect(),
        ..reply.clone()
    };
    if result_bytes(&whole) <= max_bytes {
        return Ok(whole);
    }
    // Names of servers are a hint; tools come first.
    reply.requests.iter_mut().for_each(|request| request.nearest.clear());
    let base = base_bytes(&reply);
    let mut used = base;
    for one in rest {
        let room = max_bytes.saturating_sub(used);
        match fit(&one, detail, room, max_bytes.saturating_sub(base)) {
            Fit::Whole(one, bytes) => {
                used += bytes;
                reply.matches.push(one);
            }
            Fit::Not { name_bytes } if reply.matches.is_empty() => {
                return Err(ReplyError::Budget { max_bytes, needed: base + name_bytes });
            }
            Fit::Not { .. } => break,
        }
    }
    let done = offset + reply.matches.len();
    reply.omitted = n_all.saturating_sub(done);
    if reply.omitted > 0 {
        let offset = u32::try_from(done).unwrap_or(u32::MAX);
        reply.next_cursor = Some(Cursor { offset, ..cursor }.encode());
    }
    Ok(reply)
}

enum Fit {
    Whole(Match, usize),
    Not { name_bytes: usize },
}

/// The fullest form of `one` for `room`; a form that would fit an empty page
/// waits for the next one.
fn fit(one: &Match, detail: Detail, room: usize, empty_room: usize) -> Fit {
    let full = at(one.clone(), detail);
    let bytes = record_bytes(&full);
    if bytes <= room {
        return Fit::Whole(full, bytes);
    }
    let mut name_bytes = bytes;
    for lower in [Detail::Summary, Detail::Names].into_iter().filter(|lower| *lower < detail) {
        let short = Match { shortened: true, ..at(one.clone(), lower) };
        name_bytes = record_bytes(&short);
        if name_bytes <= room && bytes > empty_room {
            return Fit::Whole(short, name_bytes);
        }
    }
    Fit::Not { name_bytes }
}

/// A full record at a lower detail.
fn at(mut one: Match, detail: Detail) -> Match {
    match detail {
        Detail::Schema => {
            if one.input_schema.is_none() {
                one.input_schema = open_object();
            }
        }
        Detail::Summary => {
            one.description = one.description.map(|text| summary(&text));
            (one.input_schema, one.annotations) = (None, None);
        }
        Detail::Names => {
            (one.description, one.input_schema, one.annotations) = (None, None, None);
        }
    }
    one
}

/// What a tool without a schema is offered with.
fn open_object() -> Option<RawJson> {
    RawValue::from_string(r#"{"type":"object"}"#.to_owned()).ok()
}

fn summary(text: &str) -> String {
    if text.chars().count() <= SUMMARY_CHARS {
        return text.to_owned();
    }
    text.chars().take(SUMMARY_CHARS - 1).chain(['…']).collect()
}

/// Size of the result without matches, counters at their longest.
fn base_bytes(reply: &Reply) -> usize {
    let cursor = Cursor { generation: 0, request: [0; 8], offset: 0 }.encode();
    let mut prose = text::tail(usize::MAX, Some(&cursor));
    for n in 0..reply.requests.len() {
        prose.push_str(&text::head(reply, n));
    }
    let structured = Reply {
        requests: reply.requests.clone(),
        omitted: usize::MAX,
        next_cursor: Some(cursor),
        ..Reply::default()
    };
    FRAME.len() + json_bytes(&prose) + json_bytes(&structured)
}

/// Size of the whole tool result as sent.
fn result_bytes(reply: &Reply) -> usize {
    FRAME.len() + json_bytes(&text::render(reply)) + json_bytes(&structured::reply(reply))
}

fn record_bytes(one: &Match) -> usize {
    json_bytes(&text::record(one)) + json_bytes(&structured::record(one))
}

/// Length as JSON; for a record this counts two quotes too many for its text
/// and one comma too few.
fn json_bytes<T: serde::Serialize>(value: &T) -> usize {
    struct Count(usize);
    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // A value that cannot be serialised would not fit anything.
    serde_json::to_writer(&mut count, value).map_or(usize::MAX / 4, |()| count.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const START: Cursor = Cursor { generation: 1, request: [0; 8], offset: 0 };

    fn matches(schema_sizes: &[usize]) -> Vec<Match> {
        let one = |(n, size): (usize, &usize)| Match {
            request: 0,
            rank: n + 1,
            name: format!("srv__tool_{n}"),
            server: "srv".to_owned(),
            tool: format!("tool_{n}"),
            score: 0.1,
            dense_score: 0.1,
            server_score: Some(0.5),
            tool_score: 0.5,
            description: Some("Does \"something\" — ä漢".to_owned()),
            input_schema: RawValue::from_string(format!(
                r#"{{"type":"object","title":"{}"}}"#,
                "x".repeat(*size)
            ))
            .ok(),
            annotations: None,
            shortened: false,
        };
        schema_sizes.iter().enumerate().map(one).collect()
    }

    fn sent_bytes(reply: &Reply) -> usize {
        serde_json::json!({
            "resultType": "complete",
            "content": [{"type": "text", "text": reply.to_text()}],
            "structuredContent": reply.to_value(),
            "isError": false,
        })
        .to_string()
        .len()
    }

    fn request() -> Vec<RequestReport> {
        vec![RequestReport { tool: Some("do \"it\"".to_owned()), ..RequestReport::default() }]
    }

    #[test]
    fn a_record_over_any_page_is_named_in_its_place() {
        let all = matches(&[10, 30_000, 10]);
        let reply = page(request(), all, Detail::Schema, Some(4_000), START).unwrap();
        let shown: Vec<_> = reply.matches.iter().map(|m| (m.rank, m.shortened)).collect();
        assert_eq!(shown, [(1, false), (2, true), (3, false)]);
        assert_eq!(reply.omitted, 0);
    }

    #[test]
    fn a_record_that_fits_a_page_of_its_own_waits_for_it() {
        let all = matches(&[500, 500]);
        let first = page(request(), all.clone(), Detail::Schema, Some(2_200), START).unwrap();
        assert_eq!((first.matches.len(), first.omitted), (1, 1));
        let next = START.resume(first.next_cursor.as_deref()).unwrap();
        let second = page(request(), all, Detail::Schema, Some(2_200), next).unwrap();
        assert_eq!((second.matches[0].rank, second.matches[0].shortened), (2, false));
        assert_eq!(second.next_cursor, None);
    }

    #[test]
    fn too_small_for_a_name_says_what_is_needed() {
        let all = matches(&[10]);
        let error = page(request(), all.clone(), Detail::Schema, Some(200), START).unwrap_err();
        let ReplyError::Budget { needed, .. } = error else { panic!("{error}") };
        let reply = page(request(), all, Detail::Schema, Some(needed), START).unwrap();
        assert_eq!(reply.matches.len(), 1);
    }

    #[test]
    fn without_a_budget_all_is_shown() {
        let reply = page(request(), matches(&[9, 99_999]), Detail::Schema, None, START).unwrap();
        assert_eq!((reply.matches.len(), reply.omitted), (2, 0));
    }

    proptest! {
        #[test]
        fn pages_fit_keep_order_and_end(
            sizes in prop::collection::vec(0usize..6_000, 1..12),
            max_bytes in 200usize..9_000,
            detail in prop::sample::select(vec![Detail::Names, Detail::Summary, Detail::Schema]),
        ) {
            let all = matches(&sizes);
            let (mut cursor, mut ranks) = (START, Vec::new());
            loop {
                let reply = match page(request(), all.clone(), detail, Some(max_bytes), cursor) {
                    Ok(reply) => reply,
                    Err(ReplyError::Budget { needed, .. }) => {
                        prop_assert!(needed > max_bytes);
                        return Ok(());
                    }
                    Err(other) => panic!("{other}"),
                };
                prop_assert!(sent_bytes(&reply) <= max_bytes);
                prop_assert!(!reply.matches.is_empty());
                ranks.extend(reply.matches.iter().map(|one| one.rank));
                prop_assert_eq!(reply.omitted, sizes.len() - ranks.len());
                let Some(next) = reply.next_cursor else { break };
                cursor = START.resume(Some(&next)).unwrap();
            }
            prop_assert_eq!(ranks, (1..=sizes.len()).collect::<Vec<_>>());
        }
    }
}
