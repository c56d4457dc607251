//! How a session begins and ends.

use std::time::Duration;

use serde_json::json;

use super::session::{Session, call_params, initialize_params, parse};
use super::{names, text, versioned};
use crate::support::World;
use crate::support::edit_manifest;
use crate::support::home;
use crate::support::pull_model;
use crate::support::stdout_of;

#[test]
fn every_version_with_a_handshake_is_agreed_on() {
    let world = World::of(&versioned("one"));
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut session = Session::start(world.command("serve"));
        let result = session.initialize(version);
        assert_eq!(result["protocolVersion"], version);
        assert_eq!(result["serverInfo"]["name"], "toolscout");
        assert_eq!(result["serverInfo"]["version"], env!("CARGO_PKG_VERSION"));
        assert!(result["capabilities"]["tools"].is_object());
        assert!(result["capabilities"]["prompts"].is_object());
        let instructions = result["instructions"].as_str().unwrap();
        assert!(instructions.contains("3 of 2 servers: "), "{instructions}");
        assert!(instructions.contains("discover_tools"), "{instructions}");
        let found = session.call(&json!({"tool": "read a file"}));
        assert_eq!(names(&found).len(), 3);
        assert_eq!(session.close().code, Some(0));
    }
}

#[test]
fn a_version_without_a_handshake_or_an_unknown_one_gets_the_newest_with_one() {
    let world = World::of(&versioned("one"));
    for version in ["2026-07-28", "1999-01-01", "soon"] {
        let mut session = Session::start(world.command("serve"));
        assert_eq!(session.initialize(version)["protocolVersion"], "2025-11-25");
    }
}

#[test]
fn a_client_that_leaves_before_it_says_hello_is_no_error() {
    let world = World::of(&versioned("one"));
    for lines in [&[][..], &[""], &["not JSON"], &[r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#]]
    {
        let mut session = Session::start(world.command("serve"));
        for line in lines {
            session.send(line);
        }
        let end = session.close();
        assert_eq!(end.code, Some(0), "{lines:?} {}", end.stderr);
        assert_eq!(end.stderr, "", "{lines:?}");
        assert!(end.took < Duration::from_secs(5));
    }
}

#[test]
fn a_client_that_leaves_ends_the_server() {
    let world = World::of(&versioned("one"));
    let session = Session::open(&world);
    let end = session.close();
    assert_eq!(end.code, Some(0), "{}", end.stderr);
    assert!(end.took < Duration::from_secs(5), "{:?}", end.took);
}

#[test]
fn calls_in_flight_are_answered_before_the_end() {
    let world = World::of(&versioned("one"));
    let mut session = Session::open(&world);
    let ids: Vec<u64> = (0..5)
        .map(|_| session.ask("tools/call", call_params(&json!({"tool": "read a file"}))))
        .collect();
    let end = session.close();
    assert_eq!(end.code, Some(0), "{}", end.stderr);
    assert!(end.took < Duration::from_secs(6), "{:?}", end.took);
    let mut answered: Vec<u64> =
        end.rest.iter().map(|line| parse(line)["id"].as_u64().unwrap()).collect();
    answered.sort_unstable();
    assert_eq!(answered, ids);
}

#[test]
fn a_client_that_speaks_no_mcp_is_refused_with_a_reason() {
    let world = World::of(&versioned("one"));
    let mut session = Session::start(world.command("serve"));
    session.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    let end = session.close();
    assert_eq!(end.code, Some(1));
    assert!(end.stderr.contains("did not open an MCP session"), "{}", end.stderr);
}

#[test]
fn logs_never_reach_stdout() {
    let world = World::of(&versioned("one"));
    let mut session = Session::start(world.command("serve --log trace"));
    session.initialize("2025-11-25");
    session.result("tools/list", json!({}));
    session.call(&json!({"tool": "read a file"}));
    session.failure(&json!({"tool": 7}));
    session.error("tools/call", json!({"name": "x"}));
    session.send("not JSON");
    let end = session.close();
    assert_eq!(end.rest.len(), 1, "{:?}", end.rest);
    assert!(end.rest[0].contains("-32700"), "{:?}", end.rest);
    assert!(end.stderr.contains("TRACE") || end.stderr.contains("DEBUG"), "{}", end.stderr);
}

/// The opening exchange is over before a model could have been loaded.
#[test]
fn a_missing_model_delays_no_greeting_and_is_named_by_the_call() {
    let world = World::of(&versioned("one"));
    edit_manifest(&world.live(), |manifest| {
        manifest["embedder"]["model"] = "bge-small-en-v1.5".into();
    });
    let mut session = Session::start(world.command("serve"));
    let instructions = session.initialize("2025-11-25")["instructions"].to_string();
    assert!(instructions.contains("3 of 2 servers: "), "{instructions}");
    let list = session.result("tools/list", json!({}));
    assert_eq!(list["tools"][0]["name"], "discover_tools");
    let message = session.failure(&json!({"tool": "read a file"}));
    assert!(message.contains("toolscout models pull bge-small-en-v1.5"), "{message}");
}

#[test]
fn a_model_that_arrives_later_is_used() {
    pull_model();
    let world = World::empty();
    let models = world.home().join("models");
    let link = || std::os::unix::fs::symlink(home().join("models"), &models).unwrap();
    link();
    let source = world.write("source.json", versioned("one"));
    stdout_of(world.command("index build --from").arg(source), 0);
    std::fs::remove_file(&models).unwrap();
    let mut session = Session::open(&world);
    let arguments = json!({"server": "hard disk", "tool": "load the content of a document"});
    let message = session.failure(&arguments);
    assert!(message.contains("toolscout models pull"), "{message}");
    link();
    let found = session.call(&arguments);
    assert_eq!(found["isError"], false);
    assert!(text(&found).contains("files__read_file: "), "{found}");
}

#[test]
fn a_second_initialize_does_not_confuse_the_session() {
    let world = World::of(&versioned("one"));
    let mut session = Session::open(&world);
    session.answer("initialize", initialize_params("2025-06-18"));
    assert_eq!(names(&session.call(&json!({"tool": "say it"}))).len(), 3);
}
