//! Schemas as servers in the field have them: absent, huge, deep, odd.

use serde_json::{Value, json};

use super::session::Session;
use super::text;
use crate::support::World;

fn catalog(tools: &[(&str, String)]) -> String {
    let tools: Vec<String> = tools
        .iter()
        .map(|(name, schema)| match schema.as_str() {
            "" => format!(r#"{{"name":"{name}"}}"#),
            schema => format!(r#"{{"name":"{name}","inputSchema":{schema}}}"#),
        })
        .collect();
    format!(r#"{{"servers":[{{"name":"s","tools":[{}]}}]}}"#, tools.join(","))
}

fn nested(depth: usize) -> String {
    format!("{}{{}}{}", r#"{"items":"#.repeat(depth), "}".repeat(depth))
}

/// All tools of an index, and the text of the same result.
fn all(world: &World) -> (Vec<Value>, String) {
    let mut session = Session::open(world);
    let arguments = json!({"tool": "anything", "top_k": 20, "max_bytes": 5_000_000});
    let result = session.call(&arguments);
    assert_eq!(result["isError"], false, "{result}");
    let matches = result["structuredContent"]["matches"].as_array().unwrap();
    (matches.clone(), text(&result).to_owned())
}

/// Both parts of the result must have this schema, and the text to the letter.
#[track_caller]
fn check(tools: &[(&str, String)]) {
    let (matches, text) = all(&World::of(&catalog(tools)));
    assert_eq!(matches.len(), tools.len());
    for (name, schema) in tools {
        let found = matches.iter().find(|one| one["tool"] == *name).unwrap();
        let schema = if schema.is_empty() { r#"{"type":"object"}"# } else { schema };
        assert_eq!(found["input_schema"], super::session::parse(schema), "{name}");
        assert!(found.get("shortened").is_none(), "{name}");
        assert!(text.lines().any(|line| line == schema), "{name} is not in\n{text}");
    }
}

/// Field cases S03 and S04: one odd schema never costs its neighbours.
#[test]
fn odd_schemas_are_handed_on() {
    let odd = [
        ("absent", ""),
        ("empty", "{}"),
        ("yes", "true"),
        ("no", "false"),
        ("string_root", r#"{"type":"string"}"#),
        ("no_type", r#"{"properties":{"q":{"type":"string"}},"required":["q"]}"#),
        (
            "anyof_root",
            r#"{"anyOf":[{"type":"object","properties":{"id":{"type":"integer"}}},{"type":"null"}]}"#,
        ),
        (
            "bool_props",
            r#"{"type":"object","properties":{"any":true,"never":false},"additionalProperties":false}"#,
        ),
        (
            "addl_schema",
            r#"{"type":"object","additionalProperties":{"type":"array","items":{"type":"string"}}}"#,
        ),
        (
            "tuple07",
            r#"{"type":"object","properties":{"pt":{"type":"array","items":[{"type":"number"}],"additionalItems":false}}}"#,
        ),
        (
            "types_array",
            r#"{"type":["object","null"],"properties":{"x":{"type":["string","null"]}}}"#,
        ),
        (
            "recursive",
            r##"{"$ref":"#/$defs/N","$defs":{"N":{"properties":{"n":{"$ref":"#/$defs/N"}}}}}"##,
        ),
        ("numbers", r#"{"enum":[1.0,0.1,-0.5,9007199254740993,18446744073709551615]}"#),
        ("utf8", r#"{"properties":{"字段":{"description":"説明😀\n\"é\""}}}"#),
        ("fine", r#"{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}"#),
    ];
    let tools: Vec<(&str, String)> = odd.map(|(name, schema)| (name, schema.to_owned())).to_vec();
    check(&tools);
}

#[test]
fn null_and_other_non_schemas_become_an_open_object() {
    let world = World::of(&catalog(&[
        ("nothing", "null".to_owned()),
        ("words", r#""{\"type\":\"object\"}""#.to_owned()),
        ("list", "[1]".to_owned()),
        ("fine", r#"{"type":"object","title":"x"}"#.to_owned()),
    ]));
    let (matches, _) = all(&world);
    assert_eq!(matches.len(), 4);
    for one in matches {
        assert_eq!(one["input_schema"]["type"], "object", "{one}");
    }
}

#[test]
fn a_schema_of_300_kilobytes_is_handed_on_where_there_is_room() {
    let properties: Vec<String> = (0..1_000)
        .map(|n| {
            format!(r#""field_{n:04}":{{"type":"string","description":"{}"}}"#, "x".repeat(250))
        })
        .collect();
    let huge = format!(r#"{{"type":"object","properties":{{{}}}}}"#, properties.join(","));
    assert!(huge.len() > 300_000 - 20_000);
    let fine = r#"{"type":"object","properties":{"q":{"type":"string"}}}"#.to_owned();
    check(&[("huge", huge.clone()), ("fine", fine.clone())]);

    let world = World::of(&catalog(&[("huge", huge), ("fine", fine)]));
    let mut session = Session::open(&world);
    let result = session.call(&json!({"tool": "anything", "top_k": 2}));
    let matches = result["structuredContent"]["matches"].as_array().unwrap();
    assert_eq!(matches.len(), 2);
    let huge = matches.iter().find(|one| one["tool"] == "huge").unwrap();
    assert_eq!(huge["shortened"], true);
    assert!(huge.get("input_schema").is_none());
    assert!(text(&result).contains("[shortened; raise max_bytes for its schema]"));
    let fine = matches.iter().find(|one| one["tool"] == "fine").unwrap();
    assert!(fine["input_schema"].is_object() && fine.get("shortened").is_none());
}

#[test]
fn deep_schemas_are_handed_on() {
    let fine = ("fine", "{}".to_owned());
    for depth in [40, 128, 200] {
        check(&[("deep", nested(depth)), fine.clone()]);
    }
}

/// Too deep for many a parser: the text has it whole, the structure marks it.
#[test]
fn bottomless_schemas_cost_nobody_else() {
    let deep = nested(5_000);
    let world =
        World::of(&catalog(&[("deep", deep.clone()), ("fine", r#"{"title":"x"}"#.to_owned())]));
    let (matches, text) = all(&world);
    assert!(text.lines().any(|line| line == deep));
    let deep = matches.iter().find(|one| one["tool"] == "deep").unwrap();
    assert_eq!(deep["input_schema"], json!({"type": "object"}));
    assert_eq!(deep["shortened"], true);
    let fine = matches.iter().find(|one| one["tool"] == "fine").unwrap();
    assert_eq!(fine["input_schema"], json!({"title": "x"}));
}

#[test]
fn long_integers_keep_their_digits_in_the_text() {
    let max = "115792089237316195423570985008687907853269984665640564039457584007913129639935";
    let schema = format!(r#"{{"type":"object","properties":{{"wei":{{"maximum":{max}}}}}}}"#);
    let world = World::of(&catalog(&[("pay", schema)]));
    let mut session = Session::open(&world);
    let (raw, _) = session.call_raw(&json!({"tool": "pay"}));
    // Structured content has numbers as JSON parsers read them.
    assert!(raw.contains(max), "{raw}");
}
