//! The index comes, changes, breaks while the server runs.

use serde_json::{Value, json};

use super::session::Session;
use super::{names, text, versioned};
use crate::support::World;
use crate::support::edit_manifest;

fn arguments() -> Value {
    json!({"tool": "Say it again", "top_k": 3})
}

/// The next call must be answered from that version.
#[track_caller]
fn check_answers(session: &mut Session, version: &str) {
    let result = session.call(&arguments());
    assert_eq!(result["isError"], false, "{result}");
    assert_eq!(names(&result).len(), 3);
    assert!(text(&result).contains(&format!("Say it again, {version}\n")), "{result}");
}

fn description(session: &mut Session) -> String {
    let list = session.result("tools/list", json!({}));
    list["tools"][0]["description"].as_str().unwrap().to_owned()
}

fn damage(world: &World, file: &str) {
    let path = world.live().join(file);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.truncate(bytes.len() / 2);
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn an_index_that_is_not_there_yet_is_named_and_found_once_built() {
    let world = World::empty();
    let mut session = Session::start(world.command("serve"));
    let greeting = session.initialize("2025-11-25");
    assert!(greeting["instructions"].as_str().unwrap().contains("discover_tools"));
    assert!(description(&mut session).contains("<tool_assistant>"));
    session.result("prompts/get", json!({"name": "tool_assistant"}));
    let message = session.failure(&arguments());
    let dir = world.index().display().to_string();
    assert!(message.contains(&dir), "{message}");
    assert!(message.contains("toolscout index build --from"), "{message}");
    world.build(&versioned("one"));
    check_answers(&mut session, "one");
    assert!(description(&mut session).contains("3 of 2 servers: "));
}

#[test]
fn a_rebuilt_index_is_picked_up() {
    let world = World::of(&versioned("one"));
    let mut session = Session::open(&world);
    check_answers(&mut session, "one");
    for version in ["two", "three", "four"] {
        world.build(&versioned(version));
        let listed = description(&mut session);
        check_answers(&mut session, version);
        assert_eq!(description(&mut session), listed);
    }
    world.build(&versioned("five").replace("\"echo\"", "\"parrot\""));
    check_answers(&mut session, "five");
    assert!(description(&mut session).contains("parrot"));
}

#[test]
fn a_damaged_new_generation_leaves_the_one_before_in_use() {
    for file in [
        "vectors.safetensors",
        "lexical.safetensors",
        "catalog.jsonl",
        "surface.json",
        "manifest.json",
    ] {
        let world = World::of(&versioned("one"));
        let mut session = Session::open(&world);
        check_answers(&mut session, "one");
        world.build(&versioned("two"));
        damage(&world, file);
        check_answers(&mut session, "one");
        check_answers(&mut session, "one");
        // A server that starts now does the same.
        let mut late = Session::open(&world);
        check_answers(&mut late, "one");
        let end = late.close();
        assert!(end.stderr.contains(file), "{}", end.stderr);
        assert!(end.stderr.contains("answering from generation 1"), "{}", end.stderr);
        world.build(&versioned("three"));
        check_answers(&mut session, "three");
    }
}

#[test]
fn another_format_leaves_the_generation_before_in_use() {
    let world = World::of(&versioned("one"));
    let mut session = Session::open(&world);
    check_answers(&mut session, "one");
    world.build(&versioned("two"));
    edit_manifest(&world.live(), |manifest| manifest["format_version"] = 99.into());
    check_answers(&mut session, "one");
}

#[test]
fn another_model_leaves_the_generation_before_in_use() {
    let world = World::of(&versioned("one"));
    let mut session = Session::open(&world);
    check_answers(&mut session, "one");
    world.build(&versioned("two"));
    edit_manifest(&world.live(), |manifest| manifest["embedder"]["pooling"] = "mean".into());
    check_answers(&mut session, "one");
}

#[test]
fn a_damaged_pointer_leaves_the_generation_in_use() {
    let world = World::of(&versioned("one"));
    let mut session = Session::open(&world);
    check_answers(&mut session, "one");
    std::fs::write(world.index().join("CURRENT"), "").unwrap();
    check_answers(&mut session, "one");
    let mut late = Session::open(&world);
    check_answers(&mut late, "one");
}

/// What the server says of itself must be of the index it answers from.
#[test]
fn a_fallback_generation_describes_itself() {
    for file in ["surface.json", "manifest.json"] {
        let world = World::of(&versioned("one"));
        world.build(&versioned("two"));
        damage(&world, file);
        let mut session = Session::start(world.command("serve"));
        let greeting = session.initialize("2025-11-25")["instructions"].to_string();
        assert!(greeting.contains("3 of 2 servers: "), "{file}: {greeting}");
        assert!(description(&mut session).contains("3 of 2 servers: "), "{file}");
    }
}

#[test]
fn a_damaged_only_generation_is_named_by_the_call() {
    let world = World::of(&versioned("one"));
    damage(&world, "catalog.jsonl");
    let mut session = Session::open(&world);
    description(&mut session);
    let message = session.failure(&arguments());
    assert!(message.contains("catalog.jsonl"), "{message}");
    assert!(message.contains("toolscout index build"), "{message}");
    world.build(&versioned("two"));
    check_answers(&mut session, "two");
}

/// Rebuilds in a row while calls are in flight: each is answered from one
/// generation, whole.
#[test]
fn rebuilds_under_load_never_show() {
    let world = World::of(&versioned("0"));
    let mut session = Session::open(&world);
    for version in 1..6 {
        std::thread::scope(|scope| {
            let building = scope.spawn(|| world.build(&versioned(&version.to_string())));
            while !building.is_finished() {
                let result = session.call(&arguments());
                let shown = text(&result);
                let [old, new] =
                    [version - 1, version].map(|n| shown.matches(&format!(", {n}\n")).count());
                assert_eq!(old.max(new), 3, "{shown}");
            }
        });
    }
}

/// Another index may be put in place under the same generation number.
#[test]
fn another_index_of_the_same_number_is_picked_up() {
    let (world, other) = (World::of(&versioned("one")), World::of(&versioned("two")));
    let mut session = Session::open(&world);
    check_answers(&mut session, "one");
    std::fs::remove_dir_all(world.index()).unwrap();
    std::fs::rename(other.index(), world.index()).unwrap();
    check_answers(&mut session, "two");
}

/// The folder may be moved or deleted; what is loaded still answers.
#[test]
fn a_deleted_index_leaves_the_loaded_one_in_use() {
    let world = World::of(&versioned("one"));
    let mut session = Session::open(&world);
    check_answers(&mut session, "one");
    std::fs::remove_dir_all(world.index()).unwrap();
    check_answers(&mut session, "one");
}
