//! Word of progress on its way up, and of a change of mind on its way down.

use serde_json::Value;
use serde_json::json;

use super::agent::Agent;
use super::built;
use super::received;
use super::until;
use crate::live::entry;

fn word(token: &Value, n: u64) -> Value {
    let params = json!({ "progressToken": token, "progress": n, "total": 3, "message": format!("step {n}") });
    json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params })
}

/// As the library writes numbers: a float.
fn with_floats(mut note: Value) -> Value {
    for key in ["progress", "total"] {
        note["params"][key] = json!(note["params"][key].as_f64().unwrap());
    }
    note
}

#[test]
fn progress_comes_under_the_token_of_the_client_and_only_if_there_is_one() {
    let town = built(&json!({ "a": entry("steps,echo,late", "") }));
    let mut agents = [Agent::of(&town), Agent::of(&town)];
    // Both use the same tokens, and hear of their own calls alone.
    for token in [json!("p/1"), json!(7), json!("7")] {
        let meta = json!({ "progressToken": token });
        let asked: Vec<u64> = agents
            .iter_mut()
            .map(|agent| agent.ask_with("a__steps", &json!({ "n": 3 }), &meta))
            .collect();
        for (agent, id) in agents.iter_mut().zip(asked) {
            assert_eq!(agent.said(id), (false, "token".to_owned()));
            let notes: Vec<Value> = agent.notes.drain(..).map(with_floats).collect();
            let expected: Vec<Value> = (1..=3).map(|n| with_floats(word(&token, n))).collect();
            assert_eq!(notes, expected);
        }
    }
    let [agent, _] = &mut agents;
    assert_eq!(agent.call("a__steps", &json!({ "n": 3 })), "no token");
    // The words after the answers have come by now.
    agent.call("a__late", &json!({ "s": 0.5 }));
    assert_eq!(agent.notes, Vec::<Value>::new());
}

#[test]
fn of_a_burst_of_progress_the_last_word_arrives() {
    let town = built(&json!({ "a": entry("steps", "") }));
    let mut agent = Agent::of(&town);
    let asked = agent.ask_with("a__steps", &json!({ "n": 1_000 }), &json!({ "progressToken": 1 }));
    assert_eq!(agent.said(asked), (false, "token".to_owned()));
    let words = agent.notes.iter().map(|note| note["params"]["progress"].as_f64().unwrap());
    let words: Vec<f64> = words.collect();
    assert!(words.is_sorted(), "{words:?}");
    assert_eq!(words.last(), Some(&1_000.0));
}

#[test]
fn calls_at_the_same_time_each_get_their_own_progress() {
    let town = built(&json!({ "a": entry("steps", "") }));
    let mut agent = Agent::of(&town);
    let tokens = [json!("one"), json!(2), json!("three")];
    let asked: Vec<u64> = tokens
        .iter()
        .map(|token| {
            let meta = json!({ "progressToken": token });
            agent.ask_with("a__steps", &json!({ "n": 3, "s": 0.1 }), &meta)
        })
        .collect();
    for id in asked {
        assert_eq!(agent.said(id), (false, "token".to_owned()));
    }
    for token in &tokens {
        let of_it = agent.notes.iter().filter(|note| note["params"]["progressToken"] == *token);
        let words: Vec<f64> =
            of_it.map(|note| note["params"]["progress"].as_f64().unwrap()).collect();
        assert_eq!(words, [1.0, 2.0, 3.0], "{token}");
    }
    assert_eq!(agent.notes.len(), 9);
}

#[test]
fn a_call_that_is_cancelled_is_cancelled_at_the_server_and_never_answered() {
    let town = built(&json!({ "a": entry("slow,echo", "") }));
    let mut agent = Agent::of(&town);
    // Our numbers and those of the server are not the same.
    for _ in 0..3 {
        agent.found("slow");
    }
    agent.echo("a__echo");
    let other = agent.ask("a__slow", &json!({ "s": 1 }));
    let id = agent.ask("a__slow", &json!({ "s": 600 }));
    until("the calls", || received(&town, "tools/call").len() == 3);
    agent.cancel(id);
    until("the cancellation", || !received(&town, "notifications/cancelled").is_empty());
    let calls = received(&town, "tools/call");
    let theirs = calls.iter().find(|call| call["params"]["arguments"]["s"] == 600).unwrap();
    let notes = received(&town, "notifications/cancelled");
    assert_eq!(notes.len(), 1);
    assert_eq!(notes[0]["params"]["requestId"], theirs["id"]);
    assert_ne!(theirs["id"], id);
    // Nobody else was meant.
    assert_eq!(agent.said(other), (false, "slept".to_owned()));
    agent.echo("a__echo");
    assert!(!agent.order.contains(&id));
    let end = agent.close();
    assert_eq!((end.code, end.rest), (Some(0), Vec::new()), "{}", end.stderr);
}

#[test]
fn progress_gives_a_call_more_time() {
    let town = built(&json!({ "a": entry("steps", "") }));
    let mut agent = Agent::with(&town, "--call-timeout 2s");
    let meta = json!({ "progressToken": "t" });
    let lively = agent.ask_with("a__steps", &json!({ "n": 6, "s": 0.5 }), &meta);
    let mute = agent.ask("a__steps", &json!({ "n": 6, "s": 0.5 }));
    let (is_failure, text) = agent.said(mute);
    assert!(is_failure && text.contains("no answer to `tools/call` in 2 s"), "{text}");
    assert_eq!(agent.said(lively), (false, "token".to_owned()));
}
