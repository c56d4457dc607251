//! What a server answers reaches the client whole.

use serde_json::Value;
use serde_json::json;

use super::agent::Agent;
use super::built;
use crate::live::entry;
use crate::support::sha256;

/// One of each kind, one that nobody knows, and numbers that a float cannot hold.
const ALL_KINDS: &str = r#"{"content": [{"type":"text","text":"one of each é \u00e9"}, {"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png","annotations":{"audience":["user"],"priority":1.0}}, {"type":"audio","data":"UklGRiQ=","mimeType":"audio/wav"}, {"type":"resource","resource":{"uri":"made://a.txt","mimeType":"text/plain","text":"inside"}}, {"type":"resource","resource":{"uri":"made://b.bin","mimeType":"application/octet-stream","blob":"AAEC/w=="}}, {"type":"resource_link","uri":"made://c","name":"c","title":"C file","size":3}, {"type":"hologram","beams":[null]}], "structuredContent":{"big":9007199254740993,"one":1.0,"long":123456789012345678901234567890,"tiny":1e-400,"list":[1,null,"x"]}, "_meta":{"example.test/trace":"t-1"}, "later":{"kept":true}}"#;

#[test]
fn a_result_comes_through_byte_for_byte() {
    let town = built(&json!({ "a": entry("raw", ""), "new": entry("raw", "stateless") }));
    let mut agent = Agent::of(&town);
    let failed = r#"{"content":[{"type":"text","text":"the disk is full"}],"isError":true}"#;
    for (tool, result) in [
        ("a__raw", ALL_KINDS),
        ("a__raw", failed),
        ("a__raw", r#"{"content":[]}"#),
        ("new__raw", ALL_KINDS),
    ] {
        let id = agent.ask(tool, &json!({ "result": result }));
        let expected = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
        assert_eq!(agent.line(id), expected, "{tool}");
    }
    // A newer server says one thing more than an older client understands.
    let id = agent.ask("new__raw", &json!({ "result": r#"{"resultType":"complete","n":1.0}"# }));
    let expected = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"n":1.0}}}}"#);
    assert_eq!(agent.line(id), expected);

    // And an older server one thing less than a newer client wants.
    let mut agent = Agent::stateless(&town);
    let id = agent.ask("a__raw", &json!({ "result": ALL_KINDS }));
    let rest = &ALL_KINDS[1..];
    let complete = format!(r#"{{"resultType":"complete",{rest}"#);
    let expected = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{complete}}}"#);
    assert_eq!(agent.line(id), expected);
}

#[test]
fn arguments_and_meta_reach_the_server() {
    let town = built(&json!({ "a": entry("echo", "") }));
    let mut agent = Agent::of(&town);
    let arguments = json!({ "text": "é 漢 \u{1F680}\n", "list": [1, null], "n": 1.0, "big": 9_007_199_254_740_993_u64 });
    let meta = json!({ "example.test/trace": "t-1", "io.modelcontextprotocol/x": 1 });
    let id = agent.ask_with("a__echo", &arguments, &meta);
    let (is_failure, text) = agent.said(id);
    assert!(!is_failure, "{text}");
    let expected = json!({
        "name": "echo", "arguments": arguments, "meta": { "example.test/trace": "t-1" },
    });
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), expected);
}

#[test]
fn an_error_of_the_protocol_stays_one_with_code_words_and_data() {
    let town = built(&json!({ "a": entry("raw,echo", "") }));
    let mut agent = Agent::of(&town);
    let data = json!({ "why": "made", "again": false, "n": 1.0, "big": 9_007_199_254_740_993_u64 });
    for expected in [
        json!({ "code": -32603, "message": "backend exploded", "data": data }),
        json!({ "code": 42, "message": "" }),
    ] {
        let id = agent.ask("a__raw", &json!({ "error": expected.to_string() }));
        let answer = agent.answer(id);
        assert_eq!(answer["error"], expected, "{answer}");
        // It is the caller's affair and no fault of the server.
        agent.echo("a__echo");
    }
    // Also what no type of ours holds.
    let error = r#"{"code":-32000,"message":"x","data":{"long":123456789012345678901234567890,"one":1.0,"_meta":{"toolscout/raw":"x"}}}"#;
    let id = agent.ask("a__raw", &json!({ "error": error }));
    assert_eq!(agent.line(id), format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#));
    assert_eq!(super::n_starts(&town), 1);
}

#[test]
fn numbers_reach_the_server_as_they_were_written() {
    let town = built(&json!({ "a": entry("echo", "") }));
    let mut agent = Agent::of(&town);
    agent.echo("a__echo");
    let written = r#"{"long": 123456789012345678901234567890, "price": 1.10, "text": "a \"b\""}"#;
    let line = format!(
        r#"{{"jsonrpc":"2.0","id":90,"method":"tools/call","params":{{"name":"call_tool","arguments":{{"name":"a__echo","arguments":{written}}}}}}}"#
    );
    agent.session.send(&line);
    assert!(!agent.said(90).0);
    let log = std::fs::read_to_string(&town.log).unwrap();
    assert!(log.contains(&format!(r#""arguments":{written}"#)), "{log}");
}

#[cfg(target_os = "linux")]
#[test]
fn five_megabytes_arrive_whole_and_nobody_waits_for_them() {
    let town = built(&json!({ "a": entry("huge", ""), "b": entry("echo", "") }));
    let mut agent = Agent::of(&town);
    agent.echo("b__echo");
    agent.call("a__huge", &json!({ "of": "x", "n": 1 }));
    let pid = agent.session.pid();
    let idle_kb = super::status(pid, "VmRSS");
    for (of, n) in [("A", 5 << 20), ("漢", (5 << 20) / 3)] {
        let large = agent.ask("a__huge", &json!({ "of": of, "n": n }));
        agent.echo("b__echo");
        let (is_failure, text) = agent.said(large);
        assert!(!is_failure, "{of}");
        let expected = of.repeat(n);
        assert_eq!(text.len(), expected.len());
        assert_eq!(sha256(text.as_bytes()), sha256(expected.as_bytes()), "{of}");
        // The small answer did not wait behind the large one.
        assert_eq!(agent.order.last(), Some(&large));
    }
    let peak_kb = super::status(pid, "VmHWM");
    assert!(peak_kb < idle_kb + 60_000, "{idle_kb} kB, then {peak_kb} kB");
}

#[test]
fn a_server_may_ask_and_gets_an_answer() {
    let town = built(&json!({ "a": entry("ask", "") }));
    let mut agent = Agent::of(&town);
    let text = agent.call("a__ask", &json!({}));
    let expected =
        json!({ "ping": "result", "roots/list": -32601, "sampling/createMessage": -32601 });
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), expected);
    assert_eq!(agent.notes, Vec::<Value>::new());
}
