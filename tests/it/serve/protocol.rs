//! What is listed, and what is answered to requests that are wrong.

use serde_json::{Value, json};

use super::session::{Session, call_params};
use super::versioned;
use crate::support::World;

#[test]
fn exactly_one_tool_is_listed_and_it_stays_the_same() {
    let world = World::of(&versioned("one"));
    let mut session = Session::open(&world);
    let first = session.result("tools/list", json!({}));
    let tools = first["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 1);
    let tool = &tools[0];
    assert_eq!(tool["name"], "discover_tools");
    assert_eq!(tool["inputSchema"]["type"], "object");
    assert_eq!(tool["outputSchema"]["type"], "object");
    assert_eq!(tool["annotations"]["readOnlyHint"], true);
    let arguments: Vec<&String> =
        tool["inputSchema"]["properties"].as_object().unwrap().keys().collect();
    assert_eq!(
        arguments,
        ["request", "server", "tool", "top_k", "detail", "max_bytes", "exclude", "cursor"]
    );
    assert!(first.get("nextCursor").is_none());
    session.call(&json!({"tool": "read a file"}));
    session.failure(&json!({}));
    assert_eq!(session.result("tools/list", json!({})), first);
    assert_eq!(session.result("tools/list", Value::Null), first);
    assert_eq!(session.result("tools/list", json!({"cursor": ""})), first);
    let mut other = Session::open(&world);
    assert_eq!(other.result("tools/list", json!({})), first);
    let mut stateless = Session::stateless(&world);
    let list = stateless.result("tools/list", json!({}));
    assert_eq!(list["tools"], first["tools"]);
}

#[test]
fn the_prompt_teaches_the_request() {
    let world = World::of(&versioned("one"));
    let mut session = Session::open(&world);
    let list = session.result("prompts/list", json!({}));
    assert_eq!(list["prompts"].as_array().unwrap().len(), 1);
    assert_eq!(list["prompts"][0]["name"], "tool_assistant");
    let prompt = session.result("prompts/get", json!({"name": "tool_assistant"}));
    let text = prompt["messages"][0]["content"]["text"].as_str().unwrap();
    for part in ["<tool_assistant>\nserver: ", "\ntool: ", "discover_tools", "3 tools of 2 servers"]
    {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    let (code, message) = session.error("prompts/get", json!({"name": "other"}));
    assert_eq!(code, -32602);
    assert!(message.contains("tool_assistant"), "{message}");
    assert_eq!(session.error("prompts/get", json!({})).0, -32602);
    assert_eq!(session.error("prompts/list", json!({"cursor": "x"})).0, -32602);
}

#[track_caller]
fn check_error(session: &mut Session, method: &str, params: Value, code: i64, expected: &str) {
    let said = params.to_string();
    let (got, message) = session.error(method, params);
    assert_eq!(got, code, "{method} {said}: {message}");
    assert!(message.contains(expected), "{method} {said}: {message}");
}

#[test]
fn wrong_parameters_are_a_protocol_error() {
    let world = World::of(&versioned("one"));
    let mut session = Session::open(&world);
    for (method, params, expected) in [
        ("tools/call", json!({"name": "other", "arguments": {}}), "discover_tools"),
        ("tools/call", json!({"name": "Discover_Tools"}), "discover_tools"),
        ("tools/call", json!({}), "tools/call"),
        ("tools/call", Value::Null, "tools/call"),
        ("tools/call", json!({"arguments": {"tool": "x"}}), "tools/call"),
        ("tools/call", json!({"name": 7, "arguments": {}}), "tools/call"),
        ("tools/call", json!({"name": "discover_tools", "arguments": "tool: x"}), "tools/call"),
        ("tools/call", json!({"name": "discover_tools", "arguments": ["x"]}), "tools/call"),
        ("tools/call", json!({"name": "discover_tools", "arguments": 7}), "tools/call"),
        ("tools/list", json!({"cursor": "next"}), "cursor"),
    ] {
        check_error(&mut session, method, params, -32602, expected);
    }
    // The session goes on.
    session.call(&json!({"tool": "read a file"}));
}

#[test]
fn parameters_that_are_no_object_are_a_protocol_error() {
    let world = World::of(&versioned("one"));
    let mut session = Session::open(&world);
    for params in [json!(3), json!("x"), json!([1])] {
        check_error(&mut session, "tools/call", params.clone(), -32602, "tools/call");
        check_error(&mut session, "tools/list", params, -32602, "tools/list");
    }
}

#[test]
fn a_cursor_that_is_no_text_is_a_protocol_error() {
    let world = World::of(&versioned("one"));
    let mut session = Session::open(&world);
    check_error(&mut session, "tools/list", json!({"cursor": 3}), -32602, "tools/list");
    check_error(&mut session, "prompts/list", json!({"cursor": 3}), -32602, "prompts/list");
}

#[test]
fn unknown_methods_are_not_found() {
    let world = World::of(&versioned("one"));
    let mut session = Session::open(&world);
    for method in ["tools/dance", "resources/list", "completion/complete", "", "TOOLS/LIST"] {
        assert_eq!(session.error(method, json!({})).0, -32601, "{method}");
    }
    assert_eq!(session.result("ping", Value::Null), json!({}));
}

#[test]
fn ids_come_back_as_they_were() {
    let world = World::of(&versioned("one"));
    let mut session = Session::open(&world);
    for id in [json!("text"), json!(0), json!(9_007_199_254_740_993_u64), json!("")] {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call_params(&json!({"tool": "x"}))});
        session.send(&request.to_string());
        assert_eq!(session.receive()["id"], id);
    }
}

#[test]
fn lines_that_are_no_messages_cost_nothing_but_themselves() {
    let world = World::of(&versioned("one"));
    let mut session = Session::open(&world);
    for line in ["", "  "] {
        session.send(line);
    }
    for line in ["not JSON", "{", "\u{FEFF}", "\0\0"] {
        session.send(line);
        let answer = session.receive();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&Value::Null, &json!(-32700)));
    }
    session.send(r#"{"jsonrpc":"2.0","method":"notifications/unheard_of","params":{"x":1}}"#);
    session
        .send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}"#);
    session.send(r#"{"jsonrpc":"2.0","id":"nobody","result":{}}"#);
    session.call(&json!({"tool": "read a file"}));
}
