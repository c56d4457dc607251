//! Servers that are called over HTTP.

use serde_json::Value;
use serde_json::json;

use super::agent::Agent;
use super::n_starts;
use crate::live::Town;
use crate::live::entry;
use crate::live::http::Listener;

const TOOLS: &str = "echo,adopt,forget,slow,hang,steps,raw,grow";

/// One server on loopback, one that is started, and an index of both.
fn town_with(habits: &str, path: &str) -> (Town, Listener) {
    let town = Town::of(&json!({}));
    let listener = Listener::with_tools(&town, TOOLS, habits);
    configure(&town, &listener, path);
    assert_eq!(town.build("")["rejected"], json!([]));
    std::fs::write(&town.log, "").unwrap();
    (town, listener)
}

fn configure(town: &Town, listener: &Listener, path: &str) {
    let web = json!({ "url": listener.url(path) });
    let config = json!({ "mcpServers": { "web": web, "good": entry("echo", "") } });
    town.world.write("mcp.json", config.to_string());
}

/// Requests without session and version, which only the first of a session is.
fn n_sessions(town: &Town) -> usize {
    let posts = town.logged("POST /mcp ");
    posts.iter().filter(|rest| *rest == "None None None").count()
}

fn n_posts(town: &Town) -> usize {
    town.logged("POST ").len()
}

#[track_caller]
fn check_called(habits: &str, path: &str) {
    let (town, _listener) = town_with(habits, path);
    let mut agent = Agent::of(&town);
    for _ in 0..3 {
        agent.echo("web__echo");
    }
    let result = r#"{"content": [], "n":1.0, "big":123456789012345678901234567890}"#;
    let id = agent.ask("web__raw", &json!({ "result": result }));
    let expected = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
    assert_eq!(agent.line(id), expected, "{habits}");
    let error = json!({ "code": -32603, "message": "exploded", "data": { "why": "made" } });
    let id = agent.ask("web__raw", &json!({ "error": error.to_string() }));
    assert_eq!(agent.answer(id)["error"], error, "{habits}");
    agent.echo("web__echo");
}

#[test]
fn all_ways_of_http_are_called() {
    std::thread::scope(|scope| {
        for habits in ["", "get404", "events", "note-500", "session events", "redirects"] {
            scope.spawn(|| check_called(habits, "/mcp"));
        }
        for habits in ["stateless", "stateless events", "legacy"] {
            scope.spawn(|| check_called(habits, "/mcp"));
        }
        scope.spawn(|| check_called("legacy", "/sse"));
    });
}

#[test]
fn progress_comes_over_a_stream_of_events() {
    let (town, _listener) = town_with("events", "/mcp");
    let mut agent = Agent::of(&town);
    let meta = json!({ "progressToken": "p/1" });
    let id = agent.ask_with("web__steps", &json!({ "n": 3 }), &meta);
    assert_eq!(agent.said(id), (false, "token".to_owned()));
    let tokens: Vec<&Value> =
        agent.notes.iter().map(|note| &note["params"]["progressToken"]).collect();
    assert_eq!(tokens, ["p/1", "p/1", "p/1"]);
}

#[track_caller]
fn check_growth(habits: &str) {
    let (town, _listener) = town_with(habits, "/mcp");
    let mut agent = Agent::of(&town);
    agent.echo("web__echo");
    super::until("somebody who listens", || {
        let log = std::fs::read_to_string(&town.log).unwrap();
        log.contains("GET /mcp") || log.contains("subscriptions/listen")
    });
    // Who listens hears of what comes after; the words may be faster.
    super::until("the new tool", || {
        agent.call("web__grow", &json!({}));
        std::thread::sleep(std::time::Duration::from_millis(700));
        let id = agent.ask("web__grown_1", &json!({}));
        !agent.said(id).0
    });
}

#[test]
fn tools_that_appear_are_heard_of_over_http_in_both_eras() {
    std::thread::scope(|scope| {
        scope.spawn(|| check_growth("tells sessions"));
        scope.spawn(|| check_growth("tells stateless bodies"));
    });
}

#[test]
fn a_session_that_is_forgotten_is_opened_again_and_the_call_repeated() {
    let (town, _listener) = town_with("forgets", "/mcp");
    let mut agent = Agent::of(&town);
    for _ in 0..12 {
        agent.echo("web__echo");
    }
    // Of each three requests one finds no session.
    let n_sessions = n_sessions(&town);
    assert!((4..=8).contains(&n_sessions), "{n_sessions}");
}

#[test]
fn calls_that_find_no_session_at_the_same_time_open_one() {
    let (town, _listener) = town_with("sessions", "/mcp");
    let mut agent = Agent::of(&town);
    agent.echo("web__echo");
    assert_eq!(n_sessions(&town), 1);
    for n in 2..5 {
        agent.call("web__forget", &json!({}));
        let asked: Vec<u64> = (0..8).map(|_| agent.ask("web__echo", &json!({}))).collect();
        for id in asked {
            let (is_failure, text) = agent.said(id);
            assert!(!is_failure, "{text}");
        }
        assert_eq!(n_sessions(&town), n);
    }
}

#[test]
fn a_session_that_is_forgotten_twice_in_a_row_is_an_error() {
    let (town, _listener) = town_with("amnesia bodies", "/mcp");
    let mut agent = Agent::of(&town);
    let failure = agent.failure("web__echo", &json!({}));
    assert_eq!(failure, "the server `web` gave no answer: it has forgotten the session");
    assert_eq!(n_sessions(&town), 2);
    assert_eq!(super::received(&town, "tools/call").len(), 2);
    agent.echo("good__echo");
}

#[test]
fn a_server_that_wants_a_login_is_asked_once() {
    let login = "it needs a login, as described at http://127.0.0.1/.well-known/it; run `toolscout login web`";
    let bare = "it needs credentials (HTTP 401); give them as a header of its entry";
    for (habit, reason) in [("401", login), ("401-bare", bare)] {
        let (town, _listener) = town_with("", "/mcp");
        let mut agent = Agent::of(&town);
        agent.call("web__adopt", &json!({ "habit": habit }));
        let n_before = n_posts(&town);
        let first = agent.failure("web__echo", &json!({}));
        assert_eq!(first, format!("the server `web` gave no answer: {reason}"));
        for _ in 0..3 {
            let again = agent.failure("web__echo", &json!({}));
            assert!(again.starts_with(&format!("{first}; it is tried again in ")), "{again}");
        }
        assert_eq!(n_posts(&town), n_before + 1, "{habit}");
        agent.echo("good__echo");
    }
}

#[test]
fn a_server_that_has_always_wanted_a_login_is_no_storm_of_requests() {
    let town = Town::of(&json!({}));
    let listener = Listener::with_tools(&town, TOOLS, "401");
    configure(&town, &listener, "/mcp");
    let mut agent = Agent::of(&town);
    agent.until_works("good__echo");
    agent.failure("web__echo", &json!({}));
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert!((1..=2).contains(&n_posts(&town)), "{:?}", town.logged("POST "));
    let end = agent.close();
    assert!(end.stderr.contains("web") && end.stderr.contains("needs a login"), "{}", end.stderr);
}

#[test]
fn what_is_no_answer_is_reported_as_what_it_is() {
    for (habit, reason) in [
        ("500", "it answers HTTP 500: <html> <h1>Bad day</h1>"),
        ("not-rpc", "its answer to `tools/call` is no message of the protocol: {\"Output\": null}"),
    ] {
        let (town, _listener) = town_with("", "/mcp");
        let mut agent = Agent::of(&town);
        agent.call("web__adopt", &json!({ "habit": habit }));
        let n_before = n_posts(&town);
        let failure = agent.failure("web__echo", &json!({}));
        assert_eq!(failure, format!("the server `web` gave no answer: {reason}"));
        // Not called again, and no other way is tried.
        assert_eq!(n_posts(&town), n_before + 1, "{habit}");
        assert_eq!(town.logged("GET /sse").len(), 0, "{habit}");
        agent.echo("good__echo");
    }
}

#[test]
fn over_http_a_call_ends_at_its_limit_too() {
    let (town, _listener) = town_with("bodies", "/mcp");
    let mut agent = Agent::with(&town, "--call-timeout 2s");
    agent.echo("web__echo");
    let hang = agent.ask("web__hang", &json!({}));
    agent.echo("web__echo");
    assert!(!agent.order.contains(&hang));
    let (is_failure, text) = agent.said(hang);
    assert!(is_failure && text.contains("no answer to `tools/call` in 2 s"), "{text}");
    super::until("the cancellation", || {
        !super::received(&town, "notifications/cancelled").is_empty()
    });
    let calls = super::received(&town, "tools/call");
    let theirs = calls.iter().find(|call| call["params"]["name"] == "hang").unwrap();
    let notes = super::received(&town, "notifications/cancelled");
    assert_eq!(notes[0]["params"]["requestId"], theirs["id"]);
}

#[test]
fn a_server_that_is_gone_is_found_again_when_it_is_back() {
    let (town, listener) = town_with("", "/mcp");
    let mut agent = Agent::of(&town);
    agent.echo("web__echo");
    drop(listener);
    let failure = agent.failure("web__echo", &json!({}));
    assert!(failure.contains("cannot be reached"), "{failure}");
    agent.echo("good__echo");
    assert_eq!(n_starts(&town), 0);
}
