//! Real ranking: the demo, and requests in words that no tool uses.

use std::path::Path;

use serde_json::Value;

use super::names;
use super::reply::check_shape;
use crate::support::World;
use crate::support::home;
use crate::support::pull_model;
use crate::support::sample;
use crate::support::shared;
use crate::support::stdout_of;
use crate::support::toolscout;

/// An index of that source, built with the real model.
pub(super) fn real_index(source: &Path) -> World {
    pull_model();
    let world = World::empty();
    std::os::unix::fs::symlink(home().join("models"), world.home().join("models")).unwrap();
    stdout_of(world.command("index build --paper --from").arg(source), 0);
    world
}

/// Routes in both rankings.
fn route(world: &World, arguments: &[&str]) -> [Value; 2] {
    ["scout", "mcp-zero"].map(|ranking| {
        let mut command = world.command("route --json -k 5 --ranking");
        let stdout = stdout_of(command.arg(ranking).args(arguments), 0);
        serde_json::from_str(&stdout).unwrap()
    })
}

#[test]
fn the_demo_finds_the_obvious_tools_with_the_real_model() {
    pull_model();
    let before = home().join("index/default").exists();
    let shown = stdout_of(toolscout(&home()).arg("demo"), 0);
    for text in [
        "trackboard__createIssue",
        "team-chat__search_messages",
        "densha-annai__search_route",
        "% saved",
    ] {
        assert!(shown.contains(text), "{text} is not in\n{shown}");
    }
    let stdout = stdout_of(toolscout(&home()).args(["demo", "--json"]), 0);
    let replies: Vec<Value> = serde_json::from_str(&stdout).unwrap();
    let bests: Vec<&str> = replies.iter().map(|reply| names(reply)[0]).collect();
    assert_eq!(bests[..2], ["trackboard__createIssue", "team-chat__search_messages"]);
    assert!(bests[2].starts_with("densha-annai"), "{bests:?}");
    assert_eq!(home().join("index/default").exists(), before);
}

#[test]
fn tools_are_found_by_meaning() {
    let world = real_index(&sample());
    for (server, tool, expected) in [
        ("Email", "write to somebody", "mail__send_email"),
        ("meteorology", "will it rain next week", "weather__get_forecast"),
        ("relational database", "run SQL that reads", "postgres__query"),
    ] {
        for reply in route(&world, &["--server", server, "--tool", tool]) {
            check_shape(&reply);
            let found = names(&reply);
            assert!(found[..3].contains(&expected), "{tool}: {found:?}");
        }
    }
}

/// Field case D03: neither praise nor word lists nor orders help a tool.
#[test]
fn a_plain_description_beats_those_that_plead() {
    let Some(path) = shared("field-cases/files/d03.tools.json") else {
        return;
    };
    let world = real_index(&path);
    for arguments in [&["add two calendar dates"][..], &["--tool", "add two calendar dates"]] {
        for reply in route(&world, arguments) {
            assert_eq!(names(&reply)[0], "d03_tools__plain_dates", "{reply}");
        }
    }
}
