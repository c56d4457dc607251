//! Bad usage: exit code 2, a message on stderr, nothing done.

use super::{TOWN, check_failure};
use crate::support::World;
use crate::support::run;
use crate::support::stdout_of;

#[test]
fn bad_flags_are_bad_usage() {
    let world = World::of(TOWN);
    for (arguments, expected) in [
        (&[][..], "Usage"),
        (&["dance"], "dance"),
        (&["route", "--dance", "x"], "--dance"),
        (&["route", "a", "b"], "unexpected argument"),
        (&["route", "a", "--tool", "b"], "cannot be used with"),
        (&["route", "a", "-k", "0"], "1..=20"),
        (&["route", "a", "-k", "21"], "1..=20"),
        (&["route", "a", "-k", "three"], "three"),
        (&["route", "a", "--detail", "all"], "names, summary, schema"),
        (&["route", "a", "--ranking", "best"], "scout, mcp-zero"),
        (&["index"], "Usage"),
        (&["index", "build"], "--from"),
        (&["index", "build", "--from"], "--from"),
        (&["index", "inspect", "a", "b"], "unexpected argument"),
        (&["models"], "Usage"),
        (&["models", "pull", "--from"], "--from"),
        (&["serve", "now"], "unexpected argument"),
    ] {
        check_failure(&world, arguments, 2, &[expected]);
    }
}

#[test]
fn an_unknown_format_is_bad_usage() {
    let world = World::empty();
    let source = world.write("source.json", TOWN);
    let source = source.to_str().unwrap();
    check_failure(
        &world,
        &["index", "build", "--format", "xml", "--from", source],
        2,
        &["'xml'", "catalog", "tools-list", "mcp-zero"],
    );
}

#[test]
fn an_unknown_log_level_is_bad_usage() {
    let world = World::of(TOWN);
    check_failure(&world, &["route", "song", "--log", "a=b=c"], 2, &["a=b=c", "debug"]);
}

#[test]
fn help_and_version_are_data() {
    let world = World::empty();
    for line in ["--help", "help", "route --help", "index build --help", "serve -h"] {
        let output = run(&mut world.command(line));
        assert_eq!(output.status.code(), Some(0), "{line}");
        assert!(output.stderr.is_empty(), "{line}");
        assert!(String::from_utf8(output.stdout).unwrap().contains("Usage"));
    }
    let version = stdout_of(&mut world.command("--version"), 0);
    assert_eq!(version, format!("toolscout {}\n", env!("CARGO_PKG_VERSION")));
}
