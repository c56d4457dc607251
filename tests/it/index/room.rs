//! Field case I03: no right to write, no room to write.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use super::{build, catalog};
use crate::support::World;
use crate::support::run;
use crate::support::snapshot;
use crate::support::stdout_of;

/// Runs a build that must fail: exit 1, says the path and how many bytes, and
/// leaves the index byte for byte what it was.
#[track_caller]
fn check_refused(world: &World, command: &mut Command, expected: &[&str]) {
    let before = snapshot(&world.index());
    let output = run(command);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{:?} {stderr}", output.status);
    let index = world.index().display().to_string();
    for text in [index.as_str(), " bytes)", "stays in use"].iter().chain(expected) {
        assert!(stderr.contains(text), "{text} is not in\n{stderr}");
    }
    assert_eq!(snapshot(&world.index()), before);
    stdout_of(&mut world.command("index verify"), 0);
    stdout_of(&mut world.command("route echo"), 0);
}

/// The command, run by a shell that first does `prelude`.
fn under_shell(command: &Command, prelude: &str) -> Command {
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("{prelude}; exec \"$0\" \"$@\""));
    shell.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell
}

#[test]
fn a_file_that_may_not_grow_is_named_with_its_size() {
    let world = World::of(&catalog(10, 1));
    let source = world.write("new.json", catalog(300, 2));
    let command = build(&world, &source);
    let mut limited = under_shell(&command, "trap '' XFSZ; ulimit -f 64");
    check_refused(&world, &mut limited, &["vectors.safetensors", "too large"]);
}

#[test]
fn a_file_size_limit_is_an_error_not_a_signal() {
    let world = World::of(&catalog(10, 1));
    let source = world.write("new.json", catalog(300, 2));
    let command = build(&world, &source);
    let mut limited = under_shell(&command, "ulimit -f 64");
    check_refused(&world, &mut limited, &["vectors.safetensors", "too large"]);
}

const READ: u32 = 0o444;
const READ_AND_WRITE: u32 = 0o666;

/// Lets anyone do this to `path` and what is below it.
fn open_to_all(path: &Path, rights: u32) {
    let run = path.metadata().unwrap().mode() & 0o100;
    let mode = rights | run | run >> 3 | run >> 6;
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    if path.is_dir() {
        for entry in std::fs::read_dir(path).unwrap() {
            open_to_all(&entry.unwrap().path(), rights);
        }
    }
}

/// The command for a user whom permissions bind: root becomes nobody.
fn as_mortal(world: &World, mut command: Command) -> Command {
    if std::fs::metadata(world.home()).unwrap().uid() != 0 {
        return command;
    }
    let program = world.home().join("toolscout");
    std::fs::copy(command.get_program(), &program).unwrap();
    let mut mortal = Command::new(program);
    mortal.args(command.get_args());
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            mortal.env(name, value);
        }
    }
    command = mortal;
    command.uid(65_534).gid(65_534);
    command
}

#[test]
fn a_directory_that_may_not_be_written_keeps_its_index() {
    let world = World::of(&catalog(10, 1));
    let source = world.write("new.json", catalog(20, 2));
    let mut command = as_mortal(&world, build(&world, &source));
    open_to_all(world.home(), READ_AND_WRITE);
    open_to_all(&world.index(), READ);
    check_refused(&world, &mut command, &["lock", "denied"]);
    // With the right to lock, it fails at the first file instead.
    let lock = world.index().join("lock");
    std::fs::set_permissions(lock, PermissionsExt::from_mode(0o666)).unwrap();
    check_refused(&world, &mut command, &["gen-2", "denied"]);
    open_to_all(&world.index(), READ_AND_WRITE);
    assert!(run(&mut command).status.success());
}

#[test]
fn a_directory_that_cannot_be_made_is_named() {
    let world = World::empty();
    let source = world.write("source.json", catalog(1, 1));
    let file = world.write("file", "");
    let mut command = world.command("index build --quiet --model stand-in --from");
    command.arg(source).arg("--out").arg(file.join("index"));
    let output = run(&mut command);
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains(&file.display().to_string()), "{stderr}");
}

/// The cache only saves time: without it the build succeeds.
#[test]
fn a_cache_that_cannot_be_used_costs_time_only() {
    let world = World::empty();
    std::fs::create_dir_all(world.home().join("index/cache")).unwrap();
    world.write("index/cache/vectors.sqlite", "not a database, for sure");
    let source = world.write("source.json", catalog(10, 1));
    let output = run(&mut build(&world, &source));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert!(stderr.contains("vectors.sqlite"), "{stderr}");
    stdout_of(&mut world.command("index verify"), 0);
    assert!(!run(&mut world.command("route echo --json")).stdout.is_empty());
}
