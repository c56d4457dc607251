//! Schemas come back as the source wrote them, whatever they are.

use serde_json::Value;
use serde_json::value::RawValue;

use crate::support::World;
use crate::support::shared;
use crate::support::snapshot;
use crate::support::stdout_of;

/// Single-line schemas that a reader which parses and prints would change.
const EXACT: [(&str, &str); 12] = [
    ("floats", r#"{"enum":[1.0, 1e2, 1E-7, -0.0, 0.1000]}"#),
    ("integers", r#"{"enum":[9007199254740993, 18446744073709551615]}"#),
    (
        "digits",
        r#"{"maximum":115792089237316195423570985008687907853269984665640564039457584007913129639935}"#,
    ),
    ("beyond", r#"{"maximum":1e999}"#),
    ("order", r#"{"type":"object","properties":{"z":{},"a":{},"m":{}},"required":["z"]}"#),
    ("twice", r#"{"type":"object","title":"first","title":"second"}"#),
    ("escapes", r#"{"description":"\u00e9\/\ud83d\ude00\t\"\\\u001b"}"#),
    ("spaces", r#"{ "type" :  "object" , "properties":{ } }"#),
    ("utf8", r#"{"properties":{"字段":{"description":"説明😀 é"}}}"#),
    ("yes", "true"),
    ("no", "false"),
    ("array_root", r#"{"type":"array","items":true}"#),
];

fn catalog<'a>(schemas: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let tools: Vec<String> = schemas
        .into_iter()
        .map(|(name, schema)| {
            format!(r#"{{"name":"{name}","description":"Tool {name}","inputSchema":{schema},"annotations":{{ "x": 1.0 }}}}"#)
        })
        .collect();
    format!(r#"{{"servers":[{{"name":"s","tools":[{}]}}]}}"#, tools.join(","))
}

/// The schema of a tool, as the text of `route --json` has it.
fn schema_of(stdout: &str, tool: &str) -> String {
    #[derive(serde::Deserialize)]
    struct Reply {
        matches: Vec<Record>,
    }
    #[derive(serde::Deserialize)]
    struct Record {
        tool: String,
        input_schema: Box<RawValue>,
    }
    let reply: Reply = serde_json::from_str(stdout).unwrap();
    let record = reply.matches.iter().find(|one| one.tool == tool).unwrap();
    record.input_schema.get().to_owned()
}

#[test]
fn a_schema_on_one_line_comes_back_byte_for_byte() {
    let world = World::of(&catalog(EXACT));
    let stdout = stdout_of(&mut world.command("route tool -k 20 --json"), 0);
    for (tool, schema) in EXACT {
        assert_eq!(schema_of(&stdout, tool), schema, "{tool}");
    }
    assert!(stdout.contains(r#"{ "x": 1.0 }"#), "{stdout}");
}

#[test]
fn the_terminal_shows_a_schema_byte_for_byte() {
    let world = World::of(&catalog(EXACT));
    let stdout = stdout_of(&mut world.command("route tool -k 20 --detail schema"), 0);
    for (tool, schema) in EXACT {
        let shown = format!("\ns__{tool}\n{schema}\n");
        assert!(stdout.contains(&shown), "{shown} is not in\n{stdout}");
    }
}

#[test]
fn the_index_keeps_schemas_byte_for_byte() {
    let world = World::of(&catalog(EXACT));
    let files = snapshot(&world.live());
    let kept = String::from_utf8(files[&world.live().join("catalog.jsonl")].clone()).unwrap();
    for (tool, schema) in EXACT {
        let line = kept.lines().find(|line| line.contains(&format!(r#""name":"{tool}""#)));
        assert!(line.unwrap().contains(&format!(r#""input_schema":{schema},"#)), "{line:?}");
    }
}

/// Builds from a document that spans lines; each schema must be equal JSON.
#[track_caller]
fn check_equal(source: &str, world: &World) {
    let parsed: Value = serde_json::from_str(source).unwrap();
    let lists = match parsed.get("servers") {
        Some(servers) => servers.as_array().unwrap().clone(),
        None => vec![parsed],
    };
    let tools: Vec<Value> =
        lists.iter().flat_map(|list| list["tools"].as_array().unwrap().clone()).collect();
    assert!(!tools.is_empty());
    let stdout = stdout_of(&mut world.command("route tool -k 20 --json"), 0);
    for tool in tools {
        let found: Value =
            serde_json::from_str(&schema_of(&stdout, tool["name"].as_str().unwrap())).unwrap();
        assert_eq!(found, tool["inputSchema"]);
        // Equal also in the order of keys.
        assert_eq!(found.to_string(), tool["inputSchema"].to_string());
    }
}

#[test]
fn a_schema_over_several_lines_comes_back_as_equal_json() {
    let plain = EXACT.into_iter().filter(|(name, _)| !["digits", "beyond"].contains(name));
    let parsed: Value = serde_json::from_str(&catalog(plain)).unwrap();
    let pretty = serde_json::to_string_pretty(&parsed).unwrap();
    check_equal(&pretty, &World::of(&pretty));
    let windows = pretty.replace('\n', "\r\n");
    check_equal(&windows, &World::of(&windows));
}

/// Field cases S03 and S05.
#[test]
fn schemas_of_the_field_come_back_as_equal_json() {
    for name in ["s03", "s05"] {
        let Some(path) = shared(&format!("field-cases/files/{name}.tools.json")) else {
            return;
        };
        let world = World::empty();
        let source = std::fs::read_to_string(&path).unwrap();
        stdout_of(world.command("index build --model stand-in --from").arg(path), 0);
        check_equal(&source, &world);
    }
}

/// Field case S01: references are handed on, never followed.
#[test]
fn recursive_and_dangling_references_are_handed_on() {
    let schemas = [
        (
            "tree",
            r##"{"$ref":"#/$defs/N","$defs":{"N":{"type":"object","properties":{"left":{"$ref":"#/$defs/N"}}}}}"##,
        ),
        ("dangling", r##"{"type":"object","properties":{"x":{"$ref":"#/$defs/Gone"}}}"##),
        ("remote", r#"{"$ref":"https://schemas.example/never-fetched.json"}"#),
        ("knot", r##"{"$ref":"#"}"##),
    ];
    let source = catalog(schemas);
    check_equal(&source, &World::of(&source));
}

fn nested(depth: usize) -> String {
    format!("{}{{}}{}", r#"{"items":"#.repeat(depth), "}".repeat(depth))
}

#[test]
fn deep_schemas_are_kept_and_shown_whole() {
    let deep: Vec<String> = [100, 128, 129, 300, 5_000].map(nested).to_vec();
    let schemas =
        ["d100", "d128", "d129", "d300", "d5000"].into_iter().zip(deep.iter().map(String::as_str));
    let world = World::of(&catalog(schemas));
    let stdout = stdout_of(&mut world.command("route tool -k 20 --detail schema"), 0);
    for schema in &deep {
        assert!(stdout.lines().any(|line| line == schema));
    }
}

#[test]
fn deep_schemas_come_back_as_json() {
    for depth in [100, 128, 5_000] {
        let schema = nested(depth);
        let world = World::of(&catalog([("deep", schema.as_str())]));
        let stdout = stdout_of(&mut world.command("route tool --json"), 0);
        let compact: String = stdout.split_whitespace().collect();
        assert!(compact.contains(&schema), "{depth}");
    }
}
