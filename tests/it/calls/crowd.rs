//! Many calls at once.

use serde_json::Value;
use serde_json::json;

use super::agent::Agent;
use super::built;
use super::n_starts;
use super::until;
use crate::live::entry;

#[test]
fn calls_over_the_limit_wait_for_their_turn() {
    let town = built(&json!({ "a": entry("slow,peak", ""), "b": entry("echo", "") }));
    let mut agent = Agent::with(&town, "--calls-at-once 2");
    let asked: Vec<u64> = (0..8).map(|_| agent.ask("a__slow", &json!({ "s": 0.3 }))).collect();
    // The limit is that of one server.
    agent.echo("b__echo");
    for id in asked {
        assert_eq!(agent.said(id), (false, "slept".to_owned()));
    }
    assert_eq!(agent.call("a__peak", &json!({})), "2");
}

#[test]
fn calls_that_never_get_their_turn_are_told_so() {
    let town = built(&json!({ "a": entry("hang", "") }));
    let mut agent = Agent::with(&town, "--calls-at-once 1 --call-timeout 2s");
    let asked: Vec<u64> = (0..3).map(|_| agent.ask("a__hang", &json!({}))).collect();
    let said: Vec<String> = asked.into_iter().map(|id| agent.said(id).1).collect();
    let n_busy = said.iter().filter(|text| text.contains("it is busy: 1 calls of it")).count();
    let n_mute = said.iter().filter(|text| text.contains("no answer to `tools/call`")).count();
    assert!(n_busy >= 1 && n_busy + n_mute == 3, "{said:?}");
}

/// What the process has open.
#[cfg(target_os = "linux")]
fn n_files(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count()
}

/// Servers that are killed and restarted under load, 100 times in all.
#[cfg(target_os = "linux")]
#[test]
fn a_hundred_kills_under_fifty_callers_lose_no_answer_and_leak_nothing() {
    const SERVERS: [&str; 10] = ["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9"];
    const ROUNDS: usize = 10;
    let entries = SERVERS.map(|name| (name.to_owned(), entry("slow,die,pid", "")));
    let town = built(&Value::Object(entries.into_iter().collect()));
    let mut agent = Agent::of(&town);
    let pid = agent.session.pid();
    let all_up = |agent: &mut Agent| {
        for server in SERVERS {
            agent.call(&format!("{server}__pid"), &json!({}));
        }
    };
    all_up(&mut agent);
    let (n_files_before, kb_before) = (n_files(pid), super::status(pid, "VmRSS"));
    let mut n_killed = 0;
    for _ in 0..ROUNDS {
        let mut asked = Vec::new();
        for n in 0..60 {
            let (server, is_last) = (SERVERS[n % 10], n >= 50);
            let name = format!("{server}__{}", if is_last { "die" } else { "slow" });
            asked.push((is_last, agent.ask(&name, &json!({ "s": 0.1 }))));
        }
        for (must_fail, id) in asked {
            let (is_failure, text) = agent.said(id);
            match is_failure {
                true => assert!(text.contains("signal: 9 (SIGKILL)"), "{text}"),
                false => assert!(!must_fail && text == "slept", "{text}"),
            }
            n_killed += usize::from(must_fail);
        }
        all_up(&mut agent);
    }
    assert_eq!((n_killed, n_starts(&town)), (100, 110));
    until("the end of those that were killed", || town.left().len() == 10);
    until("no more open files than before", || n_files(pid) == n_files_before);
    let kb_after = super::status(pid, "VmRSS");
    assert!(kb_after < kb_before + 40_000, "{kb_before} kB, then {kb_after} kB");
    let end = agent.close();
    assert_eq!((end.code, end.rest), (Some(0), Vec::new()));
    assert_eq!(town.left(), Vec::<String>::new());
}

#[cfg(target_os = "linux")]
#[test]
fn several_sessions_each_have_servers_that_only_they_can_kill() {
    let town = built(&json!({ "a": entry("die,pid,slow", "") }));
    let mut agents = [Agent::of(&town), Agent::of(&town), Agent::of(&town)];
    let pids: Vec<String> =
        agents.iter_mut().map(|agent| agent.call("a__pid", &json!({}))).collect();
    let [first, others @ ..] = &mut agents;
    let asked: Vec<u64> =
        others.iter_mut().map(|agent| agent.ask("a__slow", &json!({ "s": 1 }))).collect();
    let failure = first.failure("a__die", &json!({}));
    assert!(failure.contains("signal: 9 (SIGKILL)"), "{failure}");
    for ((agent, id), pid) in others.iter_mut().zip(asked).zip(&pids[1..]) {
        assert_eq!(agent.said(id), (false, "slept".to_owned()));
        assert_eq!(agent.call("a__pid", &json!({})), *pid);
    }
    assert!(!pids.contains(&first.call("a__pid", &json!({}))));
}
