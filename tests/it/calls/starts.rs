//! Servers that are started by a call, or while the index is still to be made.

use serde_json::json;

use super::agent::Agent;
use super::built;
use super::n_starts;
use super::until;
use crate::live::Town;
use crate::live::entry;

/// Ways to speak, and to begin to.
const ERAS: &[&str] =
    &["", "old", "stateless", "silent", "strict", "noise strangers crlf pieces asks", "child deaf"];

#[test]
fn servers_of_every_era_are_called_by_clients_of_every_era() {
    let mut servers = json!({});
    for (n, habits) in ERAS.iter().enumerate() {
        servers[format!("s{n}")] = entry("echo", habits);
    }
    let town = built(&servers);
    let mut agents = [Agent::of(&town), Agent::stateless(&town)];
    for agent in &mut agents {
        for n in 0..ERAS.len() {
            agent.echo(&format!("s{n}__echo"));
            agent.echo(&format!("s{n}__echo"));
        }
    }
    // Each session has servers of its own, each started once.
    assert_eq!(n_starts(&town), 2 * ERAS.len());
}

#[test]
fn nothing_is_started_before_it_is_called() {
    let town = built(&json!({ "a": entry("echo", ""), "b": entry("echo", "") }));
    let mut agent = Agent::of(&town);
    assert_eq!(agent.found("echo").len(), 2);
    assert_eq!(n_starts(&town), 0);
    // Several at once start it once.
    let asked: Vec<u64> = (0..8).map(|_| agent.ask("a__echo", &json!({}))).collect();
    for id in asked {
        assert!(!agent.said(id).0);
    }
    assert_eq!(n_starts(&town), 1);
}

#[test]
fn without_an_index_a_slow_server_delays_no_other_and_comes_later() {
    let town = Town::of(&json!({
        "plain": entry("echo", ""),
        "late": entry("tardy", "sleepy"),
        "never": entry("lost", "crash"),
    }));
    let mut agent = Agent::of(&town);
    assert_eq!(agent.listed(), ["discover_tools", "call_tool"]);
    // The first question waits for an index, but not for the one that sleeps.
    agent.until_works("plain__echo");
    assert_eq!(agent.found("tardy"), ["plain__echo"]);
    let note = agent.noted("tardy").unwrap();
    assert!(note.starts_with("not listed yet: \"late\", \"never\"; "), "{note}");
    until("the one that sleeps", || agent.found("tardy").contains(&"late__tardy".to_owned()));
    until("the end of the second look", || agent.noted("tardy").is_none());
    agent.echo("late__tardy");
    agent.echo("plain__echo");
    let failure = agent.failure("never__lost", &json!({}));
    assert!(failure.contains("is no tool that can be called here"), "{failure}");
    assert_eq!(agent.listed(), ["discover_tools", "call_tool"]);
}

#[test]
fn a_server_that_is_not_configured_any_more_is_not_called() {
    let town = built(&json!({ "a": entry("echo", ""), "b": entry("echo", "") }));
    let mut other = json!({ "mcpServers": { "b": entry("echo", "") } });
    other["mcpServers"]["b"]["env"]["LOG"] = json!(town.log.display().to_string());
    let other = town.world.write("other.json", other.to_string());
    let mut command = town.world.command("serve --config");
    command.arg(&other);
    let mut session = crate::serve::session::Session::start(command);
    session.initialize("2025-11-25");
    let mut call = |name: &str| {
        let arguments = json!({ "name": name, "arguments": {} });
        session.result("tools/call", json!({ "name": "call_tool", "arguments": arguments }))
    };
    assert_eq!(call("a__echo")["isError"], true);
    // It has moved to another file, but there is only one of that name.
    let moved = call("b__echo");
    assert_ne!(moved["isError"], true, "{moved}");
    assert_eq!(n_starts(&town), 1);
}
