//! How the servers behind a running `serve` end: idle, asked to, and after a kill.

use std::time::Duration;
use std::time::Instant;

use serde_json::Value;
use serde_json::json;

use super::agent::Agent;
use super::built;
use super::n_starts;
use super::received;
use super::until;
use crate::live::PYTHON;
use crate::live::Town;
use crate::live::entry;
use crate::support::root;

/// Longer must nobody wait for the end.
const AT_MOST: Duration = Duration::from_secs(5);

#[test]
fn a_server_that_nobody_calls_ends_and_comes_back() {
    let town = built(&json!({ "a": entry("pid,slow", "") }));
    let mut agent = Agent::with(&town, "--idle-timeout 1s");
    let first = agent.call("a__pid", &json!({}));
    // One call that takes longer is not idle.
    assert_eq!(agent.call("a__slow", &json!({ "s": 2 })), "slept");
    assert_eq!(agent.call("a__pid", &json!({})), first);
    until("the end", || town.left().is_empty());
    let second = agent.call("a__pid", &json!({}));
    assert_ne!(first, second);
    assert_eq!(n_starts(&town), 2);
}

/// Servers that do not want to end.
fn stubborn() -> Value {
    let script = root().join("tests/upstream/server.py");
    let line = format!(
        "trap '' TERM; echo \"start $$\" >>\"$LOG\"; {PYTHON} -S '{}' echo,hang deaf child; sleep 600; true",
        script.display()
    );
    json!({
        "shell": { "command": "sh", "args": ["-c", line] },
        "deaf": entry("echo,hang", "deaf child"),
        "plain": entry("echo,hang", ""),
    })
}

/// A session in which all of them run, and one call of each is under way.
fn busy(town: &Town) -> (Agent, Vec<u64>) {
    let mut agent = Agent::of(town);
    let servers = ["shell", "deaf", "plain"];
    for server in servers {
        agent.echo(&format!("{server}__echo"));
    }
    let asked = servers.map(|server| agent.ask(&format!("{server}__hang"), &json!({})));
    until("the calls", || received(town, "tools/call").len() == 6);
    // The shell, what it starts, the two others, and two that are theirs.
    assert_eq!(town.left().len(), 6);
    (agent, asked.to_vec())
}

fn kill(signal: &str, pid: u32) {
    let killed = std::process::Command::new("kill").args([signal, &pid.to_string()]).status();
    assert!(killed.unwrap().success());
}

/// Nothing is left, and the time is not over. What has been killed with its
/// parent may still be on its way out when we are.
#[track_caller]
fn check_all_ended(town: &Town, start: Instant) {
    until("the end of all", || town.left().is_empty());
    assert!(start.elapsed() < AT_MOST, "{:?}", start.elapsed());
}

#[cfg(unix)]
#[track_caller]
fn check_end(signal: Option<&str>) {
    let town = built(&stubborn());
    let (agent, asked) = busy(&town);
    let start = Instant::now();
    let end = match signal {
        Some(signal) => {
            kill(signal, agent.session.pid());
            agent.session.end()
        }
        None => agent.close(),
    };
    check_all_ended(&town, start);
    assert_eq!(end.code, Some(0), "{signal:?}: {}", end.stderr);
    // Who still listens is told.
    if signal.is_some() {
        let answers = end.rest.iter().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let mut answered: Vec<u64> = answers.map(|one| one["id"].as_u64().unwrap()).collect();
        answered.sort_unstable();
        assert_eq!(answered, asked, "{signal:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_signal_or_a_client_that_leaves_ends_all_servers_in_time() {
    std::thread::scope(|scope| {
        for signal in [Some("-TERM"), Some("-INT"), None] {
            scope.spawn(move || check_end(signal));
        }
    });
}

#[cfg(unix)]
#[test]
fn killed_it_leaves_no_server_behind() {
    let town = built(&stubborn());
    let (agent, _) = busy(&town);
    kill("-KILL", agent.session.pid());
    check_all_ended(&town, Instant::now());
    assert_eq!(agent.session.end().code, None);
}

#[cfg(unix)]
#[track_caller]
fn check_early_end(town: &Town) {
    let mut agent = Agent::of(town);
    agent.ask("a__echo", &json!({}));
    agent.ask("b__echo", &json!({}));
    until("the start", || town.logged("child ").len() == 1 && n_starts(town) == 2);
    let start = Instant::now();
    let end = agent.close();
    assert_eq!(end.code, Some(0), "{}", end.stderr);
    check_all_ended(town, start);
}

#[cfg(unix)]
#[test]
fn a_client_that_leaves_while_servers_start_leaves_none() {
    let servers = json!({ "a": entry("echo", ""), "b": entry("echo", "sleepy deaf child") });
    std::thread::scope(|scope| {
        // They start to be called, or to be asked for their tools.
        scope.spawn(|| check_early_end(&built(&servers)));
        scope.spawn(|| check_early_end(&Town::of(&servers)));
    });
}
