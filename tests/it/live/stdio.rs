//! Servers that are started.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::json;

use super::{Town, entry, rejected};
use crate::support::run;

/// Each gives its two tools, whatever else it does.
const GOOD: &[&str] = &[
    "",
    "noise",
    "strangers",
    "asks",
    "crlf",
    "pieces",
    "flood",
    "sleep",
    "old",
    "stateless",
    "silent",
    "strict",
    "noise strangers crlf pieces asks flood",
    "deaf",
    "child",
    "child deaf",
    "nan",
];

#[test]
fn a_server_with_odd_habits_still_gives_its_tools() {
    let mut servers = json!({});
    for (index, habits) in GOOD.iter().enumerate() {
        servers[format!("s{index}")] = entry(&format!("a{index},b{index}"), habits);
    }
    let town = Town::of(&servers);
    let index = town.build("--parallel 4");
    assert_eq!(index["rejected"], json!([]));
    let expected: BTreeMap<String, Vec<String>> = (0..GOOD.len())
        .map(|index| (format!("s{index}"), vec![format!("a{index}"), format!("b{index}")]))
        .collect();
    assert_eq!(town.tools(), expected);
    assert_eq!(town.logged("start ").len(), GOOD.len());
    assert_eq!(town.left(), Vec::<String>::new());
}

#[test]
fn a_server_that_fails_costs_nobody_else_and_says_why() {
    let town = Town::of(&json!({
        "good": entry("a", ""),
        "crash": entry("a", "crash"),
        "crash-init": entry("a", "crash-init"),
        "mute": entry("a", "mute"),
        "mute-list": entry("a", "mute-list"),
        "pings": entry("a", "pings"),
        "ancient": entry("a", "ancient"),
        "fail-page": entry("a,b,c", "pages fail-page"),
        "absent": {"command": "no-such-program"},
        "nowhere": {"command": "python3", "cwd": "no/such/folder"},
        "no-value": {"command": "x", "args": ["${NO_SUCH_VARIABLE}"]},
    }));
    let index = town.build("--start-timeout 5s --page-timeout 5s");
    let reasons = rejected(&index);
    let mut expected = BTreeMap::from([
        (
            "crash",
            "it ended with exit status: 1; its last words: Error: cannot find module 'left-out'",
        ),
        ("crash-init", "it ended with exit status: 3"),
        ("mute", "no answer to `initialize` in 5 s"),
        ("mute-list", "no answer to `tools/list` in 5 s"),
        ("pings", "no answer to `tools/list` in 5 s"),
        (
            "ancient",
            "it speaks MCP `1999-01-01`; this program speaks `2024-11-05`, `2025-03-26`, `2025-06-18`, `2025-11-25`, `2026-07-28`",
        ),
        ("fail-page", "it refuses `tools/list`: the disk is full (-32603)"),
        ("nowhere", "its folder `no/such/folder` does not exist"),
        (
            "no-value",
            "has no value for `NO_SUCH_VARIABLE` (for `args[0]`); set it in the environment",
        ),
    ]);
    let absent = reasons["absent"];
    assert!(absent.starts_with("`no-such-program` is not found in PATH `"), "{absent}");
    expected.insert("absent", absent);
    assert_eq!(reasons, expected);
    assert_eq!(town.tools().into_keys().collect::<Vec<_>>(), ["good"]);
    assert_eq!(town.left(), Vec::<String>::new());
}

#[test]
fn where_no_server_answers_the_build_fails_and_says_why() {
    let town = Town::of(&json!({ "crash": entry("a", "crash"), "mute": entry("a", "crash") }));
    let output = run(&mut town.build_command(""));
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("none of the 2 servers of `"), "{said}");
    assert!(said.contains("gave a list of tools; the first, `crash`: it ended with"), "{said}");
    assert!(!town.world.index().join("CURRENT").exists());
}

#[test]
fn all_pages_are_read_and_cursors_come_back_byte_for_byte() {
    let town = Town::of(&json!({
        "paged": entry("a,b,c,d,e,f,g,h", "pages"),
        "loop": entry("x,y", "loop"),
    }));
    let index = town.build("");
    let tools = town.tools();
    assert_eq!(tools["paged"], ["a", "d", "g", "b", "e", "h", "c", "f"]);
    assert_eq!(tools["loop"], ["x", "y"]);
    let warnings = index["warnings"].to_string();
    assert!(
        warnings.contains("names a cursor that was there before; the list ends here"),
        "{warnings}"
    );
    let lists = town.logged("{").into_iter().filter(|line| line.contains("tools/list"));
    assert_eq!(lists.count(), 3 + 2);
}

#[test]
fn one_odd_tool_never_costs_its_neighbours() {
    let tools = json!([
        {"name": "absent"},
        {"name": "null", "inputSchema": null, "description": null},
        {"name": "true", "inputSchema": true, "description": 42},
        {"name": "text", "inputSchema": {"type": "string"}},
        {"name": "ring", "inputSchema": {"type": "object", "properties": {"a": {"$ref": "#"}}}},
        {"name": ""},
        17,
        {"name": "twice", "description": "The first."},
        {"name": "Twice", "description": "Another."},
        {"name": "twice", "description": "The second."},
        {"name": "tab\tname <b>", "description": "An odd name.\u{200b}\u{202e}"},
        {"name": "fine", "description": "An ordinary neighbour.", "inputSchema": {"type": "object", "properties": {"q": {"type": "string"}}}},
    ]);
    let town = Town::of(&json!({}));
    let file = town.world.write("tools.json", tools.to_string());
    town.configure(&json!({ "odd": entry(&format!("@{}", file.display()), "") }));
    let index = town.build("");
    assert_eq!(
        town.tools()["odd"],
        ["absent", "null", "true", "text", "ring", "twice", "Twice", "tab\tname <b>", "fine"]
    );
    assert_eq!(index["rejected"].as_array().unwrap().len(), 2, "{index}");
    let warnings = index["warnings"].to_string();
    assert!(
        warnings
            .contains("server `odd`, tool `twice`: is listed 2 times; the first definition counts"),
        "{warnings}"
    );
    let reply = town.world.json("route --tool twice -k 9 --ranking scout");
    let twice = reply["matches"].as_array().unwrap().iter().find(|one| one["tool"] == "twice");
    assert_eq!(twice.unwrap()["description"], "The first.");
    // The same once more: nothing of it depends on the run.
    let again = town.build("--refresh-after 0s");
    assert_eq!(
        (&again["generation"], &again["warnings"]),
        (&index["generation"], &index["warnings"])
    );
}

#[test]
fn a_server_gets_what_its_entry_says_and_no_more() {
    let town = Town::of(&json!({}));
    let mut server = entry("$LIST", "");
    server["env"] = json!({ "LIST": "${TOKENS:-none},fixed" });
    town.configure(&json!({ "env": server }));
    let mut command = town.build_command("");
    command.env("TOKENS", "one,two").env("LIST", "not,this").env("SECRET_KEY", "hunter2hunter2");
    assert_eq!(run(&mut command).status.code(), Some(0));
    assert_eq!(town.tools()["env"], ["one", "two", "fixed"]);

    let script = "import json, os; print(json.dumps(sorted(os.environ)))";
    let town = Town::of(&json!({ "shows": {"command": super::PYTHON, "args": ["-c", script]} }));
    let mut command = town.build_command("--log debug");
    let output = run(command.env("SECRET_KEY", "hunter2hunter2"));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("not a message to us, dropped"), "{said}");
    assert!(said.contains("PATH") && !said.contains("SECRET_KEY"), "{said}");
}

#[test]
fn no_secret_of_a_configuration_is_kept_or_said() {
    let secret = "s3cr3t-of-the-town";
    let town = Town::of(&json!({}));
    let mut good = entry("a", "noise");
    good["env"] = json!({ "KEY": secret });
    good["args"].as_array_mut().unwrap().extend([json!("--key"), json!(secret)]);
    let mut crash = entry("a", "crash");
    crash["env"] = json!({ "KEY": "${KEY}" });
    let mut leaks = entry("a", "leaks");
    leaks["env"] = json!({ "KEY": "${KEY}" });
    leaks["args"].as_array_mut().unwrap().extend([json!("--token"), json!(secret)]);
    let url = format!("http://user:{secret}@127.0.0.1:9/mcp?key={secret}");
    town.configure(&json!({
        "good": good, "crash": crash, "leaks": leaks,
        "http": {"url": url, "headers": {"Authorization": format!("Bearer {secret}")}},
        "sse": {"type": "sse", "url": url},
    }));
    let output = run(town.build_command("--log debug").env("KEY", secret));
    assert_eq!(output.status.code(), Some(0));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("it refuses `initialize`: bad key *** of ["), "{said}");
    let mut all: Vec<(String, Vec<u8>)> =
        vec![("stdout".to_owned(), output.stdout), ("stderr".to_owned(), output.stderr)];
    let files = crate::support::snapshot(&town.world.index()).into_iter();
    all.extend(files.map(|(path, bytes)| (path.display().to_string(), bytes)));
    assert!(all.len() > 5);
    for (name, bytes) in all {
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(secret), "{name}: {text}");
    }
}

#[test]
fn what_a_server_prints_never_reaches_our_output() {
    let town = Town::of(&json!({ "noisy": entry("a", "noise flood") }));
    let stdout = run(town.build_command("").arg("--json")).stdout;
    let index: Value = serde_json::from_slice(&stdout).unwrap();
    assert_eq!(index["tools"], 1);
}
