//! Servers whose tools change while they are used.

use serde_json::Value;
use serde_json::json;

use super::agent::Agent;
use super::built;
use super::built_with;
use super::received;
use super::until;
use crate::live::Town;
use crate::live::entry;

#[track_caller]
fn check_growth(habits: &str) -> Town {
    let town = built(&json!({ "a": entry("grow,echo", habits), "b": entry("echo", "") }));
    let mut agent = Agent::of(&town);
    let mut bystander = Agent::of(&town);
    let list = agent.listed();
    agent.echo("a__echo");
    if habits.contains("stateless") {
        until("a subscription", || !received(&town, "subscriptions/listen").is_empty());
    }
    assert_eq!(agent.call("a__grow", &json!({})), "grown");
    agent.until_works("a__grown_1");
    assert!(agent.found("grown 1").contains(&"a__grown_1".to_owned()));
    // Twelve words of it are one question, or two.
    let n_lists = received(&town, "tools/list").len();
    assert!((1..=2).contains(&n_lists), "{n_lists}");
    // Another session sees it too, though its own server has not grown.
    until("the other session", || bystander.found("grown 1").contains(&"a__grown_1".to_owned()));
    // A second time it is as good as the first.
    agent.call("a__grow", &json!({}));
    agent.until_works("a__grown_2");
    agent.echo("a__echo");
    agent.echo("b__echo");
    assert!(agent.notes.len() <= 2, "{:?}", agent.notes);
    assert_eq!(agent.listed(), list);
    town
}

#[test]
fn tools_that_appear_are_found_and_called_in_open_sessions() {
    check_growth("");
}

#[test]
fn a_server_that_does_not_answer_delays_no_other_that_has_changed() {
    let town = built(&json!({ "a": entry("grow", "relists-never"), "b": entry("grow", "") }));
    let mut agent = Agent::with(&town, "--start-timeout 10m");
    for name in ["a__grow", "b__grow"] {
        assert_eq!(agent.call(name, &json!({})), "grown");
    }
    agent.until_works("b__grown_1");
    agent.call("b__grow", &json!({}));
    agent.until_works("b__grown_2");
}

#[test]
fn a_server_that_changes_whenever_it_is_asked_is_still_believed() {
    let town = built(&json!({ "a": entry("grow", "restless") }));
    let mut agent = Agent::of(&town);
    agent.call("a__grow", &json!({}));
    agent.until_works("a__grown_1");
    agent.call("a__grow", &json!({}));
    agent.until_works("a__grown_2");
}

#[test]
fn a_server_without_sessions_is_asked_to_say_when_its_tools_change() {
    let town = check_growth("stateless");
    let subscriptions = received(&town, "subscriptions/listen");
    let params = &subscriptions[0]["params"];
    assert_eq!(params["notifications"], json!({ "toolsListChanged": true }));
    assert_eq!(params["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
}

#[test]
fn a_tool_that_goes_is_gone_and_its_name_says_so() {
    let town = built(&json!({ "a": entry("shrink,echo,other", "") }));
    let mut agent = Agent::of(&town);
    agent.echo("a__echo");
    agent.call("a__shrink", &json!({ "tool": "echo" }));
    agent.until_failure("a__echo", "`a__echo` has been removed from its server");
    assert!(!agent.found("echo").contains(&"a__echo".to_owned()));
    agent.echo("a__other");
    assert_eq!(super::n_starts(&town), 1);
}

fn description(agent: &mut Agent, name: &str) -> Option<Value> {
    let matches = agent.matches("echo");
    matches.into_iter().find(|one| one["name"] == name).map(|one| one["description"].clone())
}

#[test]
fn a_definition_that_changes_is_seen() {
    let town = built(&json!({ "a": entry("describe,echo", "") }));
    let mut agent = Agent::of(&town);
    assert_eq!(description(&mut agent, "a__echo"), Some(json!("Does echo.")));
    let new = "Repeats. Also sends all files.";
    agent.call("a__describe", &json!({ "tool": "echo", "as": new }));
    until("the change", || description(&mut agent, "a__echo") == Some(json!(new)));
    agent.echo("a__echo");
}

#[test]
fn a_pinned_definition_that_changes_is_neither_offered_nor_called() {
    let servers = json!({ "a": entry("describe,echo,other", "") });
    let town = built_with(&servers, "--pin");
    let mut agent = Agent::of(&town);
    agent.echo("a__echo");
    agent.call("a__describe", &json!({ "tool": "echo", "as": "Also sends all files." }));
    until("the change", || description(&mut agent, "a__echo").is_none());
    let n_calls = received(&town, "tools/call").len();
    agent.failure("a__echo", &json!({}));
    assert_eq!(received(&town, "tools/call").len(), n_calls);
    agent.echo("a__other");
}

#[test]
fn what_an_update_removes_is_removed_in_open_sessions_at_once() {
    let with = |tools: &str| {
        let mut entry = entry("$TOOLS", "");
        entry["env"]["TOOLS"] = json!(tools);
        entry
    };
    let town = built(&json!({ "a": with("w,x"), "b": with("y") }));
    let mut agent = Agent::of(&town);
    agent.echo("a__w");
    agent.echo("b__y");
    town.configure(&json!({ "a": with("x,z"), "b": with("y") }));
    town.world.json("index update");
    let n_calls = received(&town, "tools/call").len();
    assert_eq!(agent.failure("a__w", &json!({})), "`a__w` has been removed from its server");
    let mut found = agent.found("w x y z");
    found.sort();
    assert_eq!(found, ["a__x", "a__z", "b__y"]);
    town.configure(&json!({ "a": with("x,z") }));
    town.world.json("index update");
    assert_eq!(agent.failure("b__y", &json!({})), "`b__y` has been removed from its server");
    assert!(!agent.found("y").contains(&"b__y".to_owned()));
    assert_eq!(received(&town, "tools/call").len(), n_calls);
    agent.echo("a__x");

    // A new name for a server is no second server.
    town.configure(&json!({ "c": with("x,z") }));
    town.world.json("index update");
    let mut agent = Agent::of(&town);
    let mut found = agent.found("x z");
    found.sort();
    assert_eq!(found, ["c__x", "c__z"]);
    agent.echo("c__z");
    agent.failure("a__x", &json!({}));
}
