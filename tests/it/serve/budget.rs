//! Field case S06: `max_bytes` holds for the whole result as sent, at every
//! size, and paging loses nothing.

use serde_json::{Value, json};

use super::session::Session;
use super::{names, text};
use crate::support::World;
use crate::support::shared;
use crate::support::stand_in_index;

/// Twenty tools whose records differ as much as records can.
fn odd_catalog() -> String {
    let property =
        |n: usize, words: &str| format!(r#""p{n}":{{"type":"string","description":"{words}"}}"#);
    let object = |n: usize, words: &str| {
        let properties: Vec<String> = (0..n).map(|n| property(n, words)).collect();
        format!(r#"{{"type":"object","properties":{{{}}}}}"#, properties.join(","))
    };
    let mut schemas: Vec<String> = vec![
        "true".into(),
        "{}".into(),
        object(1, "x"),
        object(3, "plain words"),
        object(10, "説明😀"),
        object(10, r#"\\\"\n\t"#),
        object(40, "forty of these make a record of some size"),
        object(2_000, &"x".repeat(100)),
        r#"{"type":"object","properties":{"q":{"pattern":"PATTERN"}}}"#
            .replace("PATTERN", &r"\\d\u0041\/".repeat(150)),
        format!(r#"{{"type":"object","description":"{}"}}"#, r"\u0000\u001b".repeat(40)),
        format!("{}{{}}{}", r#"{"items":"#.repeat(100), "}".repeat(100)),
        format!("{}{{}}{}", r#"{"items":"#.repeat(5_000), "}".repeat(5_000)),
        r#"{"enum":[1.0,0.5,9007199254740993,-7]}"#.into(),
    ];
    schemas.extend((1..8).map(|n| object(n * 2, "of middling size")));
    let tools: Vec<String> = schemas
        .iter()
        .enumerate()
        .map(|(n, schema)| {
            let name = format!("odd_{n}_{}", "long".repeat(n % 5 * 4));
            let description = format!("Odd thing {n} é\\\"{}", " 説明".repeat(n * 7));
            format!(r#"{{"name":"{name}","description":"{description}","inputSchema":{schema},"annotations":{{"title":"T{n}"}}}}"#)
        })
        .collect();
    format!(
        r#"{{"servers":[{{"name":"odd","description":"Odd things","tools":[{}]}}]}}"#,
        tools.join(",")
    )
}

/// What is asked, at what budget.
fn with(arguments: &Value, key: &str, value: Value) -> Value {
    let mut arguments = arguments.clone();
    arguments[key] = value;
    arguments
}

/// Reads all pages at one budget; the names in the order they came, or `None`
/// where not even a name fits.
#[track_caller]
fn pages(session: &mut Session, arguments: &Value, max_bytes: usize) -> Option<Vec<String>> {
    let mut arguments = with(arguments, "max_bytes", json!(max_bytes));
    let mut seen: Vec<String> = Vec::new();
    loop {
        let (raw, result) = session.call_raw(&arguments);
        assert!(raw.len() <= max_bytes, "{} > {max_bytes}: {arguments}", raw.len());
        if result["isError"] == true {
            check_too_small(session, &arguments, text(&result), max_bytes);
            return None;
        }
        let reply = &result["structuredContent"];
        let found = names(&result);
        assert!(!found.is_empty(), "an empty page at {max_bytes}");
        for (one, name) in reply["matches"].as_array().unwrap().iter().zip(&found) {
            let line = format!("{}. {name}", one["rank"]);
            assert!(text(&result).contains(&line), "{line} at {max_bytes}");
        }
        seen.extend(found.iter().map(ToString::to_string));
        let omitted = reply["omitted"].as_u64().unwrap();
        match reply["next_cursor"].as_str() {
            Some(cursor) => {
                assert!(omitted > 0);
                let told =
                    format!("{omitted} more did not fit; same arguments with cursor {cursor}");
                assert!(text(&result).ends_with(&told), "{}", text(&result));
                arguments["cursor"] = json!(cursor);
            }
            None => {
                assert_eq!(omitted, 0);
                return Some(seen);
            }
        }
    }
}

/// The error says which budget would do, and that one does.
#[track_caller]
fn check_too_small(session: &mut Session, arguments: &Value, message: &str, max_bytes: usize) {
    let needed = message.rsplit("use at least ").next().unwrap();
    let needed: usize = needed.parse().unwrap();
    assert!(needed > max_bytes, "{message}");
    let (raw, result) = session.call_raw(&with(arguments, "max_bytes", json!(needed)));
    assert_eq!(result["isError"], false, "{message} {result}");
    assert!(raw.len() <= needed, "{} > {needed}", raw.len());
}

/// Every budget from 200 to 9,000: nothing over it, nothing lost, rank order.
#[track_caller]
fn check(session: &mut Session, arguments: &Value, step: usize) {
    let whole = session.call(&with(arguments, "max_bytes", json!(50_000_000)));
    let expected: Vec<String> = names(&whole).iter().map(ToString::to_string).collect();
    assert_eq!(whole["structuredContent"]["omitted"], 0);
    let mut n_answered = 0;
    for max_bytes in (200..=9_000).step_by(step) {
        if let Some(found) = pages(session, arguments, max_bytes) {
            assert_eq!(found, expected, "max_bytes {max_bytes}");
            n_answered += 1;
        }
    }
    assert!(n_answered * step > 7_000, "{n_answered}");
}

#[test]
fn budgets_hold_with_odd_records() {
    let world = World::of(&odd_catalog());
    let mut session = Session::open(&world);
    let arguments = json!({"server": "odd", "tool": "odd thing", "top_k": 20});
    check(&mut session, &arguments, 97);
    for detail in ["names", "summary"] {
        check(&mut session, &with(&arguments, "detail", json!(detail)), 419);
    }
    check(&mut Session::stateless(&world), &arguments, 419);
}

#[test]
fn budgets_hold_with_several_requests() {
    let world = World::of(&odd_catalog());
    let mut session = Session::open(&world);
    let request = "<tool_assistant>\nserver: odd\ntool: odd thing 3\n</tool_assistant>\n\
        <tool_assistant>\nnothing\n</tool_assistant>\n\
        <tool_assistant>\ntool: 説明😀 thing \"7\"\\n\n</tool_assistant>";
    check(&mut session, &json!({"request": request, "top_k": 6}), 211);
}

#[test]
fn budgets_hold_with_schemas_of_the_field() {
    let Some(path) = shared("field-cases/files/s06.tools.json") else {
        return;
    };
    let world = World::empty();
    stand_in_index(world.home(), &path);
    let mut session = Session::open(&world);
    check(&mut session, &json!({"tool": "文档翻译", "top_k": 20}), 97);
    check(&mut session, &json!({"request": "文档翻译工具", "top_k": 5}), 211);
}

/// `1E9` is three bytes in the source and twelve once reprinted.
#[test]
fn budgets_hold_with_numbers_that_grow() {
    let numbers = vec!["1E9"; 400].join(",");
    let world = World::of(&format!(
        r#"{{"servers":[{{"name":"s","tools":[{{"name":"grow","inputSchema":{{"enum":[{numbers}]}}}}]}}]}}"#
    ));
    let mut session = Session::open(&world);
    check(&mut session, &json!({"tool": "grow"}), 97);
}

/// The budget is not refused where the reply would fit; counted is what the
/// newest protocol sends.
#[test]
fn a_reply_of_exactly_the_budget_is_given() {
    let world = World::of(&odd_catalog());
    let mut session = Session::open(&world);
    let arguments = json!({"tool": "odd thing", "top_k": 1, "detail": "names"});
    let (raw, _) = session.call_raw(&arguments);
    let exact =
        with(&arguments, "max_bytes", json!(raw.len() + r#""resultType":"complete","#.len()));
    assert_eq!(session.call(&exact)["isError"], false, "{} bytes", raw.len());
}

#[test]
fn a_shortened_record_says_so_and_comes_whole_with_more_room() {
    let world = World::of(&odd_catalog());
    let mut session = Session::open(&world);
    let arguments = json!({"server": "odd", "tool": "odd thing", "top_k": 20, "max_bytes": 2_000});
    let mut cursor = json!("");
    let mut n_shortened = 0;
    while cursor.is_string() {
        let page = session.call(&with(&arguments, "cursor", cursor.clone()));
        for one in page["structuredContent"]["matches"].as_array().unwrap() {
            let has_schema = one.get("input_schema").is_some();
            let is_shortened = one["shortened"] == true;
            assert_ne!(has_schema, is_shortened, "{one}");
            n_shortened += usize::from(is_shortened);
            let line = format!("{}. {}", one["rank"], one["name"].as_str().unwrap());
            let line = text(&page).lines().find(|text| text.starts_with(&line)).unwrap();
            assert_eq!(line.ends_with("[shortened; raise max_bytes for its schema]"), is_shortened);
        }
        let wide = with(&with(&arguments, "cursor", cursor), "max_bytes", json!(5_000_000));
        let wide = session.call(&wide);
        let first = &wide["structuredContent"]["matches"][0];
        assert_eq!(first["name"], page["structuredContent"]["matches"][0]["name"]);
        assert!(first.get("input_schema").is_some());
        cursor = page["structuredContent"]["next_cursor"].clone();
    }
    assert!(n_shortened > 0);
}

#[test]
fn the_default_budget_is_sixteen_kilobytes() {
    let world = World::of(&odd_catalog());
    let mut session = Session::open(&world);
    let arguments = json!({"server": "odd", "tool": "odd thing", "top_k": 20});
    let (raw, default) = session.call_raw(&arguments);
    assert!(raw.len() <= 16_384, "{}", raw.len());
    assert_eq!(session.call(&with(&arguments, "max_bytes", json!(16_384))), default);
    assert!(default["structuredContent"]["omitted"].as_u64().unwrap() > 0);
}
