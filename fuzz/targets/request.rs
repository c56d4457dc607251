//! Any text is a request or a refusal, and a request keeps what it promises.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toolscout::catalog::is_invisible;
use toolscout::request::{MAX_FIELD_CHARS, MAX_REQUESTS, ToolRequest, from_fields, parse};

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(parsed) = parse(&text) {
        assert!((1..=MAX_REQUESTS).contains(&parsed.requests.len()));
        assert!(parsed.problems.len() <= MAX_REQUESTS + 1);
        parsed.requests.iter().for_each(check);
    }
    let (server, tool) = text.split_once('\n').unwrap_or((&text, ""));
    if let Ok(request) = from_fields(Some(server), Some(tool)) {
        check(&request);
    }
});

fn check(request: &ToolRequest) {
    assert!(request.server.is_some() || request.tool.is_some());
    for field in [&request.server, &request.tool].into_iter().flatten() {
        assert!(!field.is_empty() && field.trim() == field, "{field:?}");
        assert!(field.chars().count() <= MAX_FIELD_CHARS, "{field:?}");
        assert!(!field.contains(['\n', '\t']) && !field.chars().any(hides), "{field:?}");
    }
}

/// Joiners stay where they join.
fn hides(c: char) -> bool {
    is_invisible(c) && !('\u{200C}'..='\u{200D}').contains(&c)
}
