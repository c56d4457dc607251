//! `models list | pull | verify`.

use serde_json::{Value, json};

use super::check_failure;
use crate::support::World;
use crate::support::home;
use crate::support::pull_model;
use crate::support::run;
use crate::support::stderr_of;
use crate::support::stdout_of;
use crate::support::toolscout;

#[test]
fn list_says_what_there_is_and_changes_nothing() {
    let world = World::empty();
    let listed = world.json("models list");
    let models = listed["models"].as_array().unwrap();
    assert!(models.len() >= 2);
    assert_eq!(models.iter().filter(|model| model["default"] == true).count(), 1);
    for model in models {
        assert!(model["name"].is_string() && model["licence"].is_string());
        assert!(model["dim"].is_u64() && model["bytes"].is_u64());
        assert_eq!(model["state"], "missing");
        assert_eq!(model["missing"], json!([]));
    }
    let table = stdout_of(&mut world.command("models list"), 0);
    assert!(table.contains("bge-small-en-v1.5") && table.contains("missing"), "{table}");
    assert_eq!(std::fs::read_dir(world.home()).unwrap().count(), 0);
}

#[test]
fn verify_finds_what_is_missing() {
    let world = World::empty();
    let output = run(&mut world.command("models verify --json"));
    assert_eq!(output.status.code(), Some(1));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["model"], "bge-small-en-v1.5");
    let files = found["files"].as_array().unwrap();
    assert_eq!(files.len(), 6);
    for file in files {
        assert_eq!((&file["ok"], &file["got"]), (&json!(false), &Value::Null));
        assert_eq!(file["expected"].as_str().unwrap().len(), 64);
    }
    let stderr = stderr_of(&mut world.command("models verify"), 1);
    assert!(stderr.contains("toolscout models pull bge-small-en-v1.5"), "{stderr}");
}

#[test]
fn an_unknown_model_is_named_beside_the_known_ones() {
    let world = World::empty();
    let source = world.write("source.json", r#"{"tools":[]}"#);
    let source = source.to_str().unwrap();
    for arguments in [
        &["models", "pull", "gpt"][..],
        &["models", "verify", "gpt"],
        &["index", "build", "--model", "gpt", "--from", source],
    ] {
        check_failure(&world, arguments, 1, &["`gpt`", "`bge-small-en-v1.5`"]);
    }
}

#[test]
fn a_missing_model_is_named_with_the_command_that_gets_it() {
    let world = World::empty();
    let source = world.write("source.json", r#"{"tools":[]}"#);
    check_failure(
        &world,
        &["index", "build", "--from", source.to_str().unwrap()],
        1,
        &["bge-small-en-v1.5", "toolscout models pull"],
    );
}

/// After a pull that failed: no folder but the store's own, no file but a lock.
#[track_caller]
fn check_nothing_installed(world: &World) {
    let models = world.home().join("models");
    let left: Vec<_> = std::fs::read_dir(models)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .filter(|name| name != ".lock")
        .collect();
    assert!(left.is_empty(), "{left:?}");
    let listed = world.json("models list");
    let models = listed["models"].as_array().unwrap();
    assert!(models.iter().all(|model| model["state"] == "missing"));
}

#[test]
fn a_pull_without_pip_says_how_to_go_on() {
    let world = World::empty();
    let nowhere = world.home().join("no-programs");
    let stderr = stderr_of(world.command("models pull").env("PATH", nowhere), 1);
    for text in ["found no pip", "install Python with pip", "toolscout models pull --from DIR"] {
        assert!(stderr.contains(text), "{text} is not in\n{stderr}");
    }
    check_nothing_installed(&world);
}

#[test]
fn a_pull_from_an_empty_folder_names_every_file_it_wants() {
    let world = World::empty();
    let folder = world.home().join("from");
    std::fs::create_dir(&folder).unwrap();
    let arguments = ["models", "pull", "--from", folder.to_str().unwrap()];
    let wanted = ["libonnxruntime", "model.onnx", "tokenizer.json", "sha256", "leave out `--from`"];
    check_failure(&world, &arguments, 1, &wanted);
    check_nothing_installed(&world);
    let absent = folder.join("absent");
    let arguments = ["models", "pull", "--from", absent.to_str().unwrap()];
    check_failure(&world, &arguments, 1, &[absent.to_str().unwrap()]);
    check_nothing_installed(&world);
}

#[test]
fn a_pull_refuses_files_that_are_not_the_pinned_ones() {
    let world = World::empty();
    let folder = world.home().join("from");
    std::fs::create_dir(&folder).unwrap();
    for name in ["model.onnx", "tokenizer.json", "libonnxruntime.so.1.24.4"] {
        std::fs::write(folder.join(name), "not the real thing").unwrap();
    }
    let arguments = ["models", "pull", "--from", folder.to_str().unwrap()];
    check_failure(&world, &arguments, 1, &["from/", "sha256", "leave out `--from`"]);
    check_nothing_installed(&world);
}

#[test]
fn an_installed_model_is_sound_and_pulled_only_once() {
    pull_model();
    let said = stdout_of(toolscout(&home()).args(["models", "verify"]), 0);
    assert_eq!(said.matches("ok  ").count(), 6, "{said}");
    let nowhere = World::empty();
    let mut again = toolscout(&home());
    again.args(["models", "pull"]).env("PATH", nowhere.home());
    assert_eq!(stdout_of(&mut again, 0), "");
    let listed = stdout_of(toolscout(&home()).args(["models", "list", "--json"]), 0);
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed["models"][0]["state"], "installed");
}

#[test]
fn a_damaged_model_file_is_found_and_never_loaded() {
    pull_model();
    let world = World::empty();
    let models = world.home().join("models");
    for folder in std::fs::read_dir(home().join("models")).unwrap() {
        let folder = folder.unwrap();
        if !folder.path().is_dir() || folder.file_name() == "side-files" {
            continue;
        }
        let copy = models.join(folder.file_name());
        std::fs::create_dir_all(&copy).unwrap();
        for file in std::fs::read_dir(folder.path()).unwrap() {
            let file = file.unwrap();
            std::os::unix::fs::symlink(file.path(), copy.join(file.file_name())).unwrap();
        }
    }
    stdout_of(&mut world.command("models verify"), 0);
    let damaged = models.join("bge-small-en-v1.5/model.onnx");
    let mut bytes = std::fs::read(&damaged).unwrap();
    bytes[1_000_000] ^= 1;
    std::fs::remove_file(&damaged).unwrap();
    std::fs::write(&damaged, bytes).unwrap();
    let output = run(&mut world.command("models verify"));
    assert_eq!(output.status.code(), Some(1));
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert_eq!(stdout.matches("WRONG").count(), 1, "{stdout}");
    let source = world.write("source.json", r#"{"tools":[{"name":"song"}]}"#);
    check_failure(
        &world,
        &["index", "build", "--from", source.to_str().unwrap()],
        1,
        &["model.onnx"],
    );
}
