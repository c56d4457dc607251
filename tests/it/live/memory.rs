//! What is known of servers from one run to the next.

use serde_json::json;

use super::{Town, entry, rejected};
use crate::support::run;
use crate::support::stdout_of;

#[test]
fn a_second_update_starts_nothing_that_needs_no_start() {
    let town = Town::of(&json!({ "a": entry("x", ""), "b": entry("y", "noise") }));
    let first = town.build("");
    assert_eq!(town.logged("start ").len(), 2);
    let again = run(&mut town.world.command("index update"));
    let said = String::from_utf8(again.stdout).unwrap();
    assert!(said.starts_with("nothing changed, generation 1 stays: 2 servers, 2 tools"), "{said}");
    let said = String::from_utf8(again.stderr).unwrap();
    assert!(said.contains("2 servers answered not long ago and stay"), "{said}");
    assert_eq!(town.logged("start ").len(), 2);

    // A changed entry is another server, and so is a new one.
    town.configure(
        &json!({ "a": entry("x,z", ""), "b": entry("y", "noise"), "c": entry("w", "") }),
    );
    assert_eq!(town.world.json("index update")["generation"], 2);
    assert_eq!(town.logged("start ").len(), 4);
    assert_eq!(town.tools()["a"], ["x", "z"]);
    assert_eq!(first["generation"], 1);

    // And somebody may want to hear it again from everybody.
    stdout_of(&mut town.world.command("index update --refresh-after 0s"), 0);
    assert_eq!(town.logged("start ").len(), 7);
}

#[test]
fn a_server_that_fails_keeps_its_tools_and_is_stale() {
    let town = Town::of(&json!({ "a": entry("x", ""), "b": entry("y,z", "") }));
    town.build("");
    town.configure(&json!({ "a": entry("x", ""), "b": entry("y,z", "crash") }));
    let index = town.world.json("index update");
    assert_eq!(index["rejected"], json!([]));
    let stale = index["stale"].as_array().unwrap();
    assert_eq!((stale.len(), &stale[0]["server"]), (1, &json!("b")));
    let reason = stale[0]["reason"].as_str().unwrap();
    assert!(reason.starts_with("it ended with exit status: 1"), "{reason}");
    let since = stale[0]["since"].as_str().unwrap();
    assert_eq!((since.len(), &since[10..11], &since[19..]), (20, "T", "Z"), "{since}");
    assert_eq!(town.tools()["b"], ["y", "z"]);

    // It is asked each time, and nothing new is found while it fails.
    let again = town.world.json("index update");
    assert_eq!((&again["generation"], &again["stale"]), (&index["generation"], &index["stale"]));
    assert_eq!(town.logged("start ").len(), 4);

    // Another cause is said at once.
    town.configure(&json!({ "a": entry("x", ""), "b": entry("y,z", "crash-init") }));
    let index = town.world.json("index update");
    assert_eq!(index["stale"][0]["reason"], "it ended with exit status: 3");

    town.configure(&json!({ "a": entry("x", ""), "b": entry("v", "") }));
    let healed = town.world.json("index update");
    assert_eq!((&healed["stale"], &town.tools()["b"]), (&json!([]), &vec!["v".to_owned()]));
}

#[test]
fn a_server_that_leaves_the_configuration_leaves_the_index() {
    let town = Town::of(&json!({ "a": entry("x", ""), "b": entry("y", ""), "c": entry("z", "") }));
    town.build("");
    let mut off = entry("z", "");
    off["disabled"] = json!(true);
    town.configure(&json!({ "renamed": entry("x", ""), "c": off }));
    let index = town.world.json("index update");
    assert_eq!(town.tools().into_keys().collect::<Vec<_>>(), ["renamed"]);
    assert_eq!(index["stale"], json!([]));

    // What has been forgotten does not come back with a failure.
    town.configure(&json!({ "renamed": entry("x", ""), "b": entry("y", "crash") }));
    let index = town.world.json("index update");
    assert_eq!(rejected(&index).into_keys().collect::<Vec<_>>(), ["b"]);
}

#[test]
fn a_damaged_memory_costs_no_more_than_asking_again() {
    let town = Town::of(&json!({ "a": entry("x", "") }));
    town.build("");
    let memory = town.world.index().join("live");
    let file = std::fs::read_dir(memory).unwrap().next().unwrap().unwrap().path();
    for damage in ["", "[{}]", "{", "\u{0}\u{0}"] {
        std::fs::write(&file, damage).unwrap();
        let index = town.world.json("index update");
        assert_eq!((&index["tools"], &index["generation"]), (&json!(1), &json!(1)), "{damage:?}");
    }
    assert_eq!(town.logged("start ").len(), 5);
}

#[cfg(unix)]
#[test]
fn the_memory_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;

    let town = Town::of(&json!({ "a": entry("x", "") }));
    town.build("");
    for file in std::fs::read_dir(town.world.index().join("live")).unwrap() {
        assert_eq!(file.unwrap().metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
}
