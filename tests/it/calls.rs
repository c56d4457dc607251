//! `call_tool`: servers behind a running `serve`, well and badly behaved, and
//! what a client sees of them.

mod agent;
mod answers;
mod changes;
mod crowd;
mod ends;
mod faults;
mod progress;
mod refusals;
mod starts;
mod visitors;
mod web;

use std::time::Duration;
use std::time::Instant;

use serde_json::Value;

use crate::live::Town;

/// Longer than anything that is waited for takes, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// A town whose index is built; what the servers wrote into the log so far is gone.
pub(crate) fn built(servers: &Value) -> Town {
    built_with(servers, "")
}

pub(crate) fn built_with(servers: &Value, flags: &str) -> Town {
    let town = Town::of(servers);
    let index = town.build(flags);
    assert_eq!(index["rejected"], Value::Array(Vec::new()));
    std::fs::write(&town.log, "").unwrap();
    town
}

/// Waits until it is so.
#[track_caller]
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let patience = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < patience, "never came: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Messages of this method in the log of the servers, in order.
pub(crate) fn received(town: &Town, method: &str) -> Vec<Value> {
    let lines = town.logged("{");
    let messages = lines.iter().filter_map(|rest| serde_json::from_str(&format!("{{{rest}")).ok());
    messages.filter(|message: &Value| message["method"] == method).collect()
}

/// How often servers were started since the index was built.
fn n_starts(town: &Town) -> usize {
    town.logged("start ").len()
}

/// A number of `/proc/PID/status`, in kB where it is a size.
#[cfg(target_os = "linux")]
fn status(pid: u32, key: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap();
    line.trim_start_matches(':').split_whitespace().next().unwrap().parse().unwrap()
}
