//! Servers that fail in a call, and what that costs the others.

use serde_json::json;

use super::agent::Agent;
use super::built;
use super::n_starts;
use super::received;
use super::until;
use crate::live::entry;

#[test]
fn a_server_that_floods_its_stderr_is_called_twenty_times() {
    let town = built(&json!({ "a": entry("echo", "flood noise pieces") }));
    let mut agent = Agent::of(&town);
    for _ in 0..20 {
        agent.echo("a__echo");
    }
    assert_eq!((n_starts(&town), received(&town, "tools/call").len()), (1, 20));
}

#[test]
fn a_crash_in_a_call_fails_all_calls_under_way_and_none_is_repeated() {
    let town = built(&json!({ "a": entry("crash,slow,echo", "") }));
    let mut agent = Agent::of(&town);
    agent.echo("a__echo");
    let slow = agent.ask("a__slow", &json!({ "s": 600 }));
    until("the slow call", || received(&town, "tools/call").len() == 2);
    let crash = agent.ask("a__crash", &json!({}));
    let expected = "the server `a` gave no answer: it ended with exit status: 3; its last words: fatal: out of luck";
    for id in [crash, slow] {
        assert_eq!(agent.said(id), (true, expected.to_owned()));
    }
    // Neither is called again; the next call starts the server anew.
    assert_eq!((n_starts(&town), received(&town, "tools/call").len()), (1, 3));
    agent.echo("a__echo");
    assert_eq!((n_starts(&town), received(&town, "tools/call").len()), (2, 4));
}

#[test]
fn a_server_that_crashes_once_is_started_again_by_the_next_call() {
    let town = built(&json!({ "a": entry("crash_once", "") }));
    let mut agent = Agent::of(&town);
    let failure = agent.failure("a__crash_once", &json!({}));
    assert!(failure.contains("ended with exit status: 3"), "{failure}");
    assert_eq!((n_starts(&town), received(&town, "tools/call").len()), (1, 1));
    assert_eq!(agent.call("a__crash_once", &json!({})), "well again");
    assert_eq!((n_starts(&town), received(&town, "tools/call").len()), (2, 2));
}

#[track_caller]
fn check_rest(habits: &str, reason: &str) {
    let good = || entry("echo", "");
    let town = built(&json!({ "a": entry("echo", ""), "good": good() }));
    // Another entry is another server, and asked for its tools; what is indexed stays.
    town.configure(&json!({ "a": entry("echo", habits), "good": good() }));
    let mut agent = Agent::with(&town, "--start-timeout 2s");
    until("the look at it", || n_starts(&town) == 1 && town.left().is_empty());
    std::fs::write(&town.log, "").unwrap();
    let first = agent.failure("a__echo", &json!({}));
    assert_eq!(first, format!("the server `a` gave no answer: {reason}"));
    assert_eq!(n_starts(&town), 1, "{habits}");
    let second = agent.failure("a__echo", &json!({}));
    assert!(second.starts_with(&first), "{second}");
    assert!(second.contains("; it is tried again in "), "{second}");
    assert_eq!(n_starts(&town), 1, "{habits}");
    agent.echo("good__echo");
}

#[test]
fn a_server_that_cannot_start_is_left_alone_for_a_while() {
    let crash =
        "it ended with exit status: 1; its last words: Error: cannot find module 'left-out'";
    std::thread::scope(|scope| {
        scope.spawn(|| check_rest("crash", crash));
        scope.spawn(|| check_rest("crash-init", "it ended with exit status: 3"));
        scope.spawn(|| check_rest("mute", "no answer to `initialize` in 2 s"));
    });
}

#[test]
fn a_call_without_an_answer_ends_at_its_limit_and_delays_nobody() {
    let town = built(&json!({ "a": entry("hang,echo,late", ""), "b": entry("echo", "") }));
    let mut agent = Agent::with(&town, "--call-timeout 2s");
    agent.echo("a__echo");
    let hang = agent.ask("a__hang", &json!({}));
    let late = agent.ask("a__late", &json!({ "s": 3 }));
    agent.echo("a__echo");
    agent.echo("b__echo");
    assert!(!agent.order.contains(&hang));
    let (is_failure, text) = agent.said(hang);
    assert!(is_failure);
    assert_eq!(text, "the server `a` gave no answer: no answer to `tools/call` in 2 s");
    until("the cancellation", || !received(&town, "notifications/cancelled").is_empty());
    let calls = received(&town, "tools/call");
    let theirs = calls.iter().find(|call| call["params"]["name"] == "hang").unwrap();
    let notes = received(&town, "notifications/cancelled");
    assert!(notes.iter().any(|note| note["params"]["requestId"] == theirs["id"]), "{notes:?}");

    // An answer that comes too late is nobody's.
    assert!(agent.said(late).0);
    std::thread::sleep(std::time::Duration::from_millis(1_500));
    agent.echo("a__echo");
    assert_eq!(agent.notes.len(), 0);
    let end = agent.close();
    assert_eq!((end.code, end.rest), (Some(0), Vec::new()));
    // The server that works otherwise was not started again.
    assert_eq!(n_starts(&town), 2);
}

#[test]
fn a_server_that_answers_nothing_any_more_is_started_anew() {
    let town = built(&json!({ "a": entry("hang,pid", "") }));
    let mut agent = Agent::with(&town, "--call-timeout 1s");
    let before = agent.call("a__pid", &json!({}));
    let hung: Vec<u64> = (0..3).map(|_| agent.ask("a__hang", &json!({}))).collect();
    for id in hung {
        assert!(agent.said(id).0);
    }
    agent.until_works("a__pid");
    assert_ne!(agent.call("a__pid", &json!({})), before);
    assert_eq!(n_starts(&town), 2);
}

#[test]
fn one_sick_server_of_eight_delays_no_other() {
    let mut servers = json!({});
    for n in 0..8 {
        servers[format!("s{n}")] = entry("echo,hang", "");
    }
    let town = built(&servers);
    let mut agent = Agent::of(&town);
    // More than are let through at once.
    let sick: Vec<u64> = (0..20).map(|_| agent.ask("s0__hang", &json!({}))).collect();
    for _ in 0..3 {
        for n in 1..8 {
            agent.echo(&format!("s{n}__echo"));
        }
    }
    assert_eq!(agent.order.len(), 21);
    assert!(sick.iter().all(|id| !agent.order.contains(id)));
}
