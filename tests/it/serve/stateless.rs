//! Protocol 2026-07-28: no session, everything in each request.

use serde_json::{Value, json};

use super::session::{Session, call_params};
use super::{names, versioned};
use crate::support::World;

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

#[track_caller]
fn check_cache_hints(result: &Value) {
    assert_eq!(result["resultType"], "complete", "{result}");
    assert!(result["ttlMs"].is_u64(), "{result}");
    let scope = result["cacheScope"].as_str().unwrap();
    assert!(["public", "private"].contains(&scope), "{scope}");
}

#[test]
fn discover_says_what_there_is_and_a_handshake_may_follow() {
    let world = World::of(&versioned("one"));
    let mut session = Session::stateless(&world);
    let found = session.result("server/discover", json!({}));
    check_cache_hints(&found);
    assert_eq!(
        found["supportedVersions"],
        json!(["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"])
    );
    assert!(found["capabilities"]["tools"].is_object());
    assert!(found["instructions"].as_str().unwrap().contains("3 of 2 servers: "));
    assert_eq!(found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "toolscout");
    assert_eq!(session.result("server/discover", json!({})), found);
    assert_eq!(names(&session.call(&json!({"tool": "read a file"}))).len(), 3);
}

#[test]
fn a_probe_may_be_followed_by_a_handshake() {
    let world = World::of(&versioned("one"));
    let mut session = Session::stateless(&world);
    session.result("server/discover", json!({}));
    let agreed = session.initialize("2025-11-25");
    assert_eq!(agreed["protocolVersion"], "2025-11-25");
    assert_eq!(names(&session.call(&json!({"tool": "read a file"}))).len(), 3);
}

#[test]
fn lists_say_how_long_they_keep() {
    let world = World::of(&versioned("one"));
    let mut session = Session::stateless(&world);
    let list = session.result("tools/list", json!({}));
    check_cache_hints(&list);
    assert!(list["ttlMs"].as_u64().unwrap() > 0);
    assert_eq!(list["cacheScope"], "public");
    assert_eq!(list["tools"].as_array().unwrap().len(), 1);
    check_cache_hints(&session.result("prompts/list", json!({})));
    let prompt = session.result("prompts/get", json!({"name": "tool_assistant"}));
    assert_eq!(prompt["resultType"], "complete");
}

#[test]
fn a_call_needs_nothing_before_it() {
    let world = World::of(&versioned("one"));
    let mut session = Session::stateless(&world);
    let found = session.call(&json!({"tool": "read a file", "top_k": 1}));
    assert_eq!(found["resultType"], "complete");
    assert_eq!(names(&found), ["files__read_file"]);
    let mut with_handshake = Session::open(&world);
    let other = with_handshake.call(&json!({"tool": "read a file", "top_k": 1}));
    assert_eq!(found["structuredContent"], other["structuredContent"]);
    assert_eq!(found["content"], other["content"]);
    assert!(other.get("resultType").is_none());
    session.failure(&json!({"tool": 7}));
    assert_eq!(session.error("tools/call", json!({"name": "other"})).0, -32602);
    let stale = call_params(&json!({"tool": "x", "cursor": "zzz"}));
    assert_eq!(session.error("tools/call", stale).0, -32602);
    assert_eq!(session.error("no/such", json!({})).0, -32601);
    assert_eq!(session.close().code, Some(0));
}

#[test]
fn what_a_request_must_carry_is_named() {
    let world = World::of(&versioned("one"));
    for (meta, expected) in [
        (json!({}), VERSION),
        (json!({VERSION: "2026-07-28"}), CAPABILITIES),
        (json!({CAPABILITIES: {}}), VERSION),
        (json!({VERSION: 7, CAPABILITIES: {}}), VERSION),
    ] {
        let mut session = Session::start(world.command("serve"));
        for method in ["server/discover", "tools/list"] {
            let (code, message) = session.error(method, json!({"_meta": meta}));
            assert_eq!(code, -32602, "{message}");
            assert!(message.contains(expected), "{message}");
        }
    }
}

#[test]
fn a_version_of_the_future_is_refused_with_those_there_are() {
    let world = World::of(&versioned("one"));
    let mut session = Session::start(world.command("serve"));
    let meta = json!({VERSION: "2099-01-01", CAPABILITIES: {}});
    let answer = session.answer("tools/list", json!({"_meta": meta}));
    assert_eq!(answer["error"]["code"], -32022);
    let supported = answer["error"]["data"]["supported"].as_array().unwrap();
    assert!(supported.contains(&json!("2026-07-28")), "{answer}");
}
