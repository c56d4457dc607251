//! Found tools as tools of their own (`--dynamic-tools`).

use std::io::Read;
use std::io::Write;

use serde_json::Value;
use serde_json::json;

use super::client::Client;
use super::client::connect;
use super::client::said;
use super::process::Service;
use crate::calls::built;
use crate::live::entry;

fn names(client: &Client) -> Vec<String> {
    let answer = client.rpc("tools/list", &json!({}));
    let tools = answer["result"]["tools"].as_array().unwrap().iter();
    tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

/// Messages of the stream for news, up to one that has this in it.
fn news(service: &Service, client: &Client) -> std::net::TcpStream {
    let mut stream = connect(&service.address);
    let request = client.request("GET", "", "");
    stream.write_all(request.replace("Content-Length: 0\r\n", "").as_bytes()).unwrap();
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        head.extend(byte);
    }
    assert!(head.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&head));
    stream
}

#[test]
fn only_the_session_that_found_a_tool_has_it() {
    let town = built(&json!({ "a": entry("echo", "") }));
    let service = Service::with(&town, "--dynamic-tools", &[]);
    let [asks, other] = [(); 2].map(|()| Client::with_session(&service.address, ""));
    let mut other_news = news(&service, &other);
    assert_eq!(names(&asks), ["discover_tools", "call_tool"]);
    let params = json!({ "name": "discover_tools", "arguments": { "tool": "Does echo." } });
    let (message, more) = asks.message("tools/call", &params);
    let mut own_news = news(&service, &asks);
    let answer = asks.post(&message, &more);
    assert!(answer.contains("a__echo"), "{answer}");
    assert_eq!(names(&asks), ["discover_tools", "call_tool", "a__echo"]);
    assert_eq!(names(&other), ["discover_tools", "call_tool"]);
    let called = asks.rpc("tools/call", &json!({ "name": "a__echo", "arguments": { "x": 1 } }));
    assert!(said(&called).1.contains(r#""arguments": {"x": 1}"#), "{called}");

    let changed = "notifications/tools/list_changed";
    let mut heard = answer;
    if !heard.contains(changed) {
        let mut part = [0; 4096];
        while !heard.contains(changed) {
            let n = own_news.read(&mut part).unwrap();
            assert_ne!(n, 0, "{heard}");
            heard.push_str(&String::from_utf8_lossy(&part[..n]));
        }
    }
    // Nothing but signs of life for the other.
    other_news.set_read_timeout(Some(std::time::Duration::from_millis(300))).unwrap();
    let mut rest = Vec::new();
    drop(other_news.read_to_end(&mut rest));
    assert!(!String::from_utf8_lossy(&rest).contains(changed));
}

#[test]
fn only_eras_with_sessions_are_promised_changes() {
    let town = built(&json!({ "a": entry("echo", "") }));
    for (flags, expected) in [("--dynamic-tools", json!({ "listChanged": true })), ("", json!({}))]
    {
        let service = Service::with(&town, flags, &[]);
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        });
        let message =
            json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let client = Client::stateless(&service.address, "");
        let answer = client.post(&message.to_string(), "");
        let answer: Value = serde_json::from_str(&super::client::line_of(&answer)).unwrap();
        assert_eq!(answer["result"]["capabilities"]["tools"], expected);
    }
}
