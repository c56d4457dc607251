//! Calls that no server hears of.

use serde_json::Value;
use serde_json::json;

use super::agent::Agent;
use super::built;
use super::n_starts;
use super::received;
use crate::live::Town;
use crate::live::entry;

/// A town with two servers that have these tools.
fn town_of(tools: &Value) -> Town {
    let town = Town::of(&json!({}));
    let file = town.world.write("tools.json", tools.to_string());
    let tools = format!("@{}", file.display());
    town.configure(&json!({ "a": entry(&tools, ""), "b": entry(&tools, "") }));
    assert_eq!(town.build("")["rejected"], json!([]));
    std::fs::write(&town.log, "").unwrap();
    town
}

#[test]
fn arguments_that_do_not_fit_come_back_with_all_that_is_wrong() {
    let schema = json!({
        "type": "object",
        "properties": {
            "path": { "type": "string", "minLength": 3 },
            "mode": { "enum": ["r", "w"] },
            "owner": true,
            "lines": { "type": "array", "items": { "type": "integer" } },
        },
        "required": ["path", "owner"],
        "additionalProperties": false,
    });
    let absent =
        json!({ "type": "object", "properties": { "x": { "$ref": "http://127.0.0.1:9/s" } } });
    let town = town_of(&json!([
        { "name": "open", "description": "Opens.", "inputSchema": schema },
        { "name": "odd", "description": "Is odd.", "inputSchema": absent },
    ]));
    let mut agent = Agent::of(&town);
    let wrong = json!({ "path": "x", "mode": "a", "lines": [1, "two", 3.5], "extra": true });
    let said = agent.failure("a__open", &wrong);
    assert!(said.starts_with("the arguments do not fit the schema of `a__open`:\n- "), "{said}");
    for part in ["/path: ", "/mode: ", "/lines/1: ", "/lines/2: ", "extra", "owner"] {
        assert!(said.contains(part), "`{part}` is not in\n{said}");
    }
    assert_eq!(said.lines().count(), 7, "{said}");
    agent.failure("a__open", &json!({}));
    // Not even started.
    assert_eq!(n_starts(&town), 0);

    let right = json!({ "path": "/tmp", "mode": "r", "lines": [1, 2.0], "owner": null });
    agent.call("a__open", &right);
    // A schema that would have to be fetched checks nothing.
    agent.call("a__odd", &json!({ "x": 1 }));
    assert_eq!(received(&town, "tools/call").len(), 2);
}

#[test]
fn names_that_nobody_has_and_calls_that_are_none_are_explained() {
    let town = built(&json!({ "a": entry("x", "") }));
    let mut agent = Agent::of(&town);
    for name in ["a__y", "x", "A__X", "a__x ", "b__x", "../a__x", "discover_tools", "call_tool"] {
        let id = agent.ask(name, &json!({}));
        let (is_failure, said) = agent.said(id);
        // Blanks around a name are forgiven.
        if name.trim() == "a__x" {
            assert!(!is_failure, "{said}");
            continue;
        }
        let expected = format!(
            "`{name}` is no tool that can be called here; find one with `discover_tools` and give its `name`"
        );
        assert_eq!((is_failure, said), (true, expected));
    }
    for (arguments, expected) in [
        (json!({}), "give the `name` of the tool"),
        (json!({ "name": "a__x", "arguments": [1] }), "`arguments` must be an object"),
        (json!({ "name": "a__x", "args": {} }), "argument `args` is unknown"),
    ] {
        let id =
            agent.session.ask("tools/call", json!({ "name": "call_tool", "arguments": arguments }));
        let (is_failure, said) = agent.said(id);
        assert!(is_failure && said.contains(expected), "{said}");
    }
    assert_eq!(received(&town, "tools/call").len(), 1);
}

/// With these flags of `serve` these calls are refused, each for its reason, and no others.
#[track_caller]
fn check_policy(flags: &str, refused: &[(&str, &str)]) {
    let town = town_of(&json!([
        { "name": "read", "description": "R.", "annotations": { "readOnlyHint": true } },
        { "name": "write", "description": "W.", "annotations": { "readOnlyHint": false } },
        { "name": "unsaid", "description": "U." },
    ]));
    let mut agent = Agent::with(&town, flags);
    let mut n_called = 0;
    for server in ["a", "b"] {
        for tool in ["read", "write", "unsaid"] {
            let name = format!("{server}__{tool}");
            match refused.iter().find(|(refused, _)| *refused == name) {
                Some((_, why)) => {
                    let said = agent.failure(&name, &json!({}));
                    assert!(said.contains(why), "{flags}: {said}");
                }
                None => {
                    agent.echo(&name);
                    n_called += 1;
                }
            }
        }
    }
    assert_eq!(received(&town, "tools/call").len(), n_called, "{flags}");
}

const READ_ONLY: &str = "only tools that are annotated as read-only may be called here";
const DENIED: &str = "it is denied here";
const UNKNOWN: &str = "is no tool that can be called here";

#[test]
fn what_may_write_is_not_called_where_all_must_only_read() {
    check_policy(
        "--read-only",
        &[
            ("a__write", READ_ONLY),
            ("a__unsaid", READ_ONLY),
            ("b__write", READ_ONLY),
            ("b__unsaid", READ_ONLY),
        ],
    );
}

#[test]
fn what_is_not_allowed_is_not_called_and_not_known() {
    check_policy(
        "--allow a",
        &[("b__read", UNKNOWN), ("b__write", UNKNOWN), ("b__unsaid", UNKNOWN)],
    );
    check_policy(
        "--allow */read b/write",
        &[("a__write", UNKNOWN), ("a__unsaid", UNKNOWN), ("b__unsaid", UNKNOWN)],
    );
}

#[test]
fn what_is_denied_is_not_called_whatever_else_is_allowed() {
    check_policy(
        "--deny b */write",
        &[("a__write", DENIED), ("b__read", DENIED), ("b__write", DENIED), ("b__unsaid", DENIED)],
    );
    check_policy(
        "--allow a --deny a/read --read-only",
        &[
            ("a__read", DENIED),
            ("a__write", READ_ONLY),
            ("a__unsaid", READ_ONLY),
            ("b__read", UNKNOWN),
            ("b__write", UNKNOWN),
            ("b__unsaid", UNKNOWN),
        ],
    );
}
