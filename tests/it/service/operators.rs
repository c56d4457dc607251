//! What operators ask: health, readiness, counts, events.

use std::collections::BTreeMap;
use std::io::Write;

use serde_json::json;

use super::client::Client;
use super::client::body;
use super::client::connect;
use super::client::get;
use super::client::rest;
use super::client::status;
use super::process::Service;
use crate::calls::built;
use crate::calls::until;
use crate::live::entry;

/// Names with their labels, and numbers.
fn metrics(service: &Service) -> BTreeMap<String, f64> {
    let answer = get(&service.address, "/metrics", "");
    let kind = "content-type: application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert!(status(&answer) == 200 && answer.contains(kind), "{answer}");
    assert!(body(&answer).ends_with("# EOF\n"));
    let lines = body(&answer).lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let (name, number) = line.rsplit_once(' ').unwrap();
            (name.to_owned(), number.parse().unwrap())
        })
        .collect()
}

#[test]
fn what_happened_is_counted_and_told() {
    let town = built(&json!({ "a": entry("echo,pid", ""), "b": entry("exit", "") }));
    let service = Service::with(&town, "--log info", &[]);
    assert_eq!(body(&get(&service.address, "/healthz", "")), "ok");
    until("the model", || body(&get(&service.address, "/readyz", "")) == "ready");
    let client = Client::stateless(&service.address, "");
    let found = client.found("Does pid.");
    let rank = found.iter().position(|name| name == "a__pid").unwrap() + 1;
    client.rpc("tools/list", &json!({}));
    for _ in 0..2 {
        assert!(!client.call("a__pid", &json!({})).0);
    }
    // Never offered under this name to anybody: no rank.
    client.call("nobody__nothing", &json!({}));
    let counts = metrics(&service);
    for (name, expected) in [
        (r#"toolscout_requests_total{tool="discover_tools",outcome="ok"}"#.to_owned(), 1.0),
        (r#"toolscout_requests_total{tool="call_tool",outcome="ok"}"#.to_owned(), 2.0),
        (format!(r#"toolscout_selected_rank_total{{rank="{rank}"}}"#), 2.0),
        (r#"toolscout_phase_seconds_count{phase="discover"}"#.to_owned(), 1.0),
        (r#"toolscout_phase_seconds_count{phase="call"}"#.to_owned(), 2.0),
        (r#"toolscout_upstream_up{server="a"}"#.to_owned(), 1.0),
        (r#"toolscout_upstream_starts{server="a"}"#.to_owned(), 1.0),
        (r#"toolscout_upstream_calls{server="a"}"#.to_owned(), 2.0),
        (r#"toolscout_upstream_failures{server="a"}"#.to_owned(), 0.0),
        ("toolscout_abstentions_total".to_owned(), 0.0),
    ] {
        assert_eq!(counts.get(&name), Some(&expected), "{name} in\n{counts:#?}");
    }
    assert!(counts.contains_key("toolscout_tokens_saved_total"));
    let log = service.log();
    let events = |name: &str| log.lines().filter(|line| line.contains(name)).count();
    assert_eq!((events("routing_complete"), events("tool_selected")), (1, 2), "{log}");
    let selected = log.lines().find(|line| line.contains("tool_selected")).unwrap();
    assert!(selected.contains(&format!("rank={rank}")), "{selected}");
}

#[test]
fn without_an_index_it_is_healthy_and_not_ready() {
    let town = crate::live::Town::of(&json!({ "a": entry("echo", "") }));
    let service = Service::of(&town);
    assert_eq!(status(&get(&service.address, "/healthz", "")), 200);
    let answer = get(&service.address, "/readyz", "");
    assert_eq!(status(&answer), 503);
    assert!(body(&answer).contains("index"), "{}", body(&answer));
}

#[test]
fn while_the_index_is_built_it_says_so_however_many_wait() {
    let town = crate::live::Town::of(&json!({ "a": entry("echo", "sleepy") }));
    let config = town.world.home().join("mcp.json");
    let service = Service::with(&town, &format!("--config {}", config.display()), &[]);
    let client = Client::stateless(&service.address, "");
    let (message, more) = client.message(
        "tools/call",
        &json!({ "name": "discover_tools", "arguments": { "tool": "echo" } }),
    );
    let request = client.request("POST", &message, &more);
    // More than there are threads that may block.
    let mut waiting: Vec<_> = (0..700)
        .map(|_| {
            let mut stream = connect(&service.address);
            stream.write_all(request.as_bytes()).unwrap();
            stream
        })
        .collect();
    let answer = get(&service.address, "/readyz", "");
    assert_eq!((status(&answer), body(&answer)), (503, "the index is being built"));
    assert_eq!(status(&get(&service.address, "/healthz", "")), 200);
    for stream in &mut waiting {
        assert_eq!(status(&rest(stream)), 200);
    }
}
