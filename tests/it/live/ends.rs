//! How servers end: in numbers, with us, and after us.

use std::collections::BTreeSet;
use std::time::Duration;
use std::time::Instant;

use serde_json::json;

use super::{Town, entry, rejected};
use crate::support::snapshot;

#[test]
fn of_200_servers_20_fail_and_none_is_left() {
    let mut servers = json!({});
    for index in 0..200 {
        let habits = match index % 10 {
            0 if index % 20 == 0 => "mute deaf",
            0 => "crash child",
            _ => "",
        };
        servers[format!("s{index:03}")] = entry(&format!("tool_{index}"), habits);
    }
    let town = Town::of(&servers);
    let started = Instant::now();
    let index = town.build("--parallel 16 --start-timeout 4s");
    let took = started.elapsed();
    // Ten of them keep quiet for 4 s and then will not go; all else is work.
    assert!(took < Duration::from_secs(120), "{took:?}");
    let failed: BTreeSet<String> = rejected(&index).into_keys().map(ToOwned::to_owned).collect();
    let expected: BTreeSet<String> = (0..200).step_by(10).map(|n| format!("s{n:03}")).collect();
    // On a machine that is very busy an honest server may be late too; it must say so.
    for late in failed.difference(&expected) {
        assert!(rejected(&index)[late.as_str()].starts_with("no answer to"), "{late}");
    }
    assert!(expected.is_subset(&failed));
    assert_eq!(town.tools().len() + failed.len(), 200);
    assert_eq!(town.logged("start ").len(), 200);
    assert_eq!(town.left(), Vec::<String>::new());
}

/// The same command, ended by an interrupt even if these tests run in the
/// background of a shell, whose children ignore it and pass that on.
#[cfg(unix)]
fn interruptible(command: &std::process::Command) -> std::process::Command {
    let restore = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); \
                   os.execvp(sys.argv[1], sys.argv[1:])";
    let mut wrapped = std::process::Command::new(super::PYTHON);
    wrapped.args(["-S", "-c", restore]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => wrapped.env(name, value),
            None => wrapped.env_remove(name),
        };
    }
    wrapped
}

#[cfg(unix)]
#[test]
fn killed_in_the_middle_it_leaves_the_index_and_no_process() {
    let town = Town::of(&json!({ "a": entry("x", "") }));
    town.build("");
    let before = snapshot(&town.world.index());
    town.configure(&json!({
        "a": entry("x,y", ""),
        "b": entry("z", "mute deaf child"),
        "c": entry("z", "mute"),
    }));
    for signal in ["-KILL", "-TERM", "-INT"] {
        let n_before = town.logged("start ").len();
        let mut build = interruptible(&town.build_command("")).spawn().unwrap();
        while town.logged("start ").len() < n_before + 3
            || town.logged("child ").len() <= n_before / 3
        {
            assert_eq!(build.try_wait().unwrap(), None);
            std::thread::sleep(Duration::from_millis(20));
        }
        let pid = build.id().to_string();
        assert!(
            std::process::Command::new("kill").args([signal, &pid]).status().unwrap().success()
        );
        assert!(!build.wait().unwrap().success());
        let patience = Instant::now() + Duration::from_secs(5);
        while !town.left().is_empty() && Instant::now() < patience {
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(town.left(), Vec::<String>::new(), "{signal}");
        assert_eq!(snapshot(&town.world.index()), before, "{signal}");
    }
}
