//! `index watch`: again and again, whatever happens, until it is told to end.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::catalog;
use crate::support::{World, stderr_of};

#[test]
#[cfg(unix)]
fn a_failed_run_is_reported_and_tried_again_and_the_end_is_prompt() {
    let world = World::of(&catalog(5, 1));
    world.write("source.json", "{");
    let mut child = world
        .command("index watch --every 10s")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let failed = lines.find(|line| line.contains("source.json")).unwrap();
    assert!(failed.contains("ERROR") && failed.contains("next try in 10s"), "{failed}");
    assert!(world.live().ends_with("gen-1"));
    world.write("source.json", catalog(5, 2));
    let start = Instant::now();
    while !world.live().ends_with("gen-2") {
        assert!(start.elapsed() < Duration::from_secs(60), "no second run");
        std::thread::sleep(Duration::from_millis(100));
    }
    let start = Instant::now();
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(start.elapsed() < Duration::from_secs(5));
}

#[test]
fn a_time_that_is_too_short_is_bad_usage() {
    let stderr = stderr_of(&mut World::empty().command("index watch --every 1s"), 2);
    assert!(stderr.contains("use 10s or more"), "{stderr}");
}
