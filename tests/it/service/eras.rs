//! Both eras at one address, and sessions.

use serde_json::json;

use super::client::Client;
use super::client::body;
use super::client::call_of;
use super::client::status;
use super::process::Service;
use crate::calls::built;
use crate::live::entry;

const RESULT: &str = r#"{"content": [], "n":1.0, "big":123456789012345678901234567890}"#;

#[test]
fn results_come_byte_for_byte_in_both_eras() {
    let town = built(&json!({ "a": entry("raw", "") }));
    let service = Service::of(&town);
    let call = call_of("a__raw", &json!({ "result": RESULT }));
    let client = Client::with_session(&service.address, "");
    let expected = format!(r#"{{"jsonrpc":"2.0","id":7,"result":{RESULT}}}"#);
    assert_eq!(client.line("tools/call", &call), expected);
    let client = Client::stateless(&service.address, "");
    let rest = RESULT.strip_prefix('{').unwrap();
    let expected =
        format!(r#"{{"jsonrpc":"2.0","id":7,"result":{{"resultType":"complete",{rest}}}"#);
    assert_eq!(client.line("tools/call", &call), expected);
}

#[test]
fn the_stateless_era_is_told_what_there_is() {
    let town = built(&json!({ "a": entry("echo", "") }));
    let service = Service::with(&town, "--dynamic-tools", &[]);
    let client = Client::stateless(&service.address, "");
    let answer = client.rpc("server/discover", &json!({}));
    let versions = answer["result"]["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!("2026-07-28")), "{answer}");
    assert_eq!(answer["result"]["capabilities"]["tools"], json!({}));
    let names = |answer: &serde_json::Value| {
        let tools = answer["result"]["tools"].as_array().unwrap();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&client.rpc("tools/list", &json!({}))), ["discover_tools", "call_tool"]);
    let client = Client::with_session(&service.address, "");
    assert_eq!(names(&client.rpc("tools/list", &json!({}))), ["discover_tools", "call_tool"]);
    let long = "é".repeat(300);
    let answer = client.rpc("prompts/get", &json!({ "name": long }));
    let said = answer["error"]["message"].as_str().unwrap();
    assert!(said.contains(&format!("\"{}…\"", "é".repeat(128))), "{said}");
}

#[test]
fn a_session_that_is_deleted_or_unknown_is_not_found() {
    let town = built(&json!({ "a": entry("echo", "") }));
    let service = Service::of(&town);
    let mut client = Client::with_session(&service.address, "");
    assert!(!client.call("a__echo", &json!({})).0);
    let deletion = client.request("DELETE", "", "");
    let answer = super::client::exchange(&service.address, deletion.as_bytes());
    assert!((200..300).contains(&status(&answer)), "{answer}");
    for session in [client.session.clone().unwrap(), "nobody".to_owned()] {
        client.session = Some(session);
        let (message, more) = client.message("tools/list", &json!({}));
        let answer = client.post(&message, &more);
        assert_eq!(status(&answer), 404, "{}", body(&answer));
    }
}

#[test]
fn the_quietest_of_too_many_sessions_is_closed() {
    let town = built(&json!({ "a": entry("echo", "") }));
    let service = Service::of(&town);
    let open = || Client::with_session(&service.address, "");
    let (first, second) = (open(), open());
    for _ in 0..1_022 {
        open();
    }
    // Whoever says something stays.
    assert!(!first.call("a__echo", &json!({})).0);
    open();
    assert!(!first.call("a__echo", &json!({})).0);
    let (message, more) = second.message("tools/list", &json!({}));
    assert_eq!(status(&second.post(&message, &more)), 404);
    assert!(service.log().contains("more than 1024 sessions; the quietest one is closed"));
}
