//! `index build`, `update`, `inspect`, `verify`: what is kept, what changes.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use super::{TOWN, names};
use crate::support::World;
use crate::support::home;
use crate::support::pull_model;
use crate::support::run;
use crate::support::sample;
use crate::support::snapshot;
use crate::support::stdout_of;

/// Matrices by name: the bytes of each row.
type Rows = BTreeMap<String, Vec<Vec<u8>>>;

fn rows(generation: &Path) -> Rows {
    let bytes = std::fs::read(generation.join("vectors.safetensors")).unwrap();
    let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let matrices = tensors.iter().filter(|(_, view)| view.shape().len() == 2);
    matrices
        .map(|(name, view)| {
            let row_bytes = view.data().len() / view.shape()[0];
            let rows = view.data().chunks(row_bytes).map(<[u8]>::to_vec);
            (name.to_owned(), rows.collect())
        })
        .collect()
}

#[test]
fn a_second_build_changes_nothing() {
    let world = World::empty();
    let source = world.write("source.json", TOWN);
    let line = "index build --model stand-in --paper --from";
    let first = stdout_of(world.command(line).arg(&source), 0);
    let expected = "built generation 1: 3 servers, 5 tools, 0 rejected, 0 warnings";
    assert!(first.starts_with(expected), "{first}");
    let before = snapshot(&world.index());
    for line in [line, "index update"] {
        let mut command = world.command(line);
        if line.ends_with("--from") {
            command.arg(&source);
        }
        let again = stdout_of(&mut command, 0);
        let expected = "nothing changed, generation 1 stays: 3 servers, 5 tools";
        assert!(again.starts_with(expected), "{again}");
        assert_eq!(snapshot(&world.index()), before);
    }
}

#[test]
fn equal_sources_give_equal_files_in_any_home() {
    let [first, second] = [World::of(TOWN), World::of(TOWN)];
    let files = |world: &World| -> Vec<(String, Vec<u8>)> {
        let files = snapshot(&world.live()).into_iter();
        files
            .map(|(path, bytes)| (path.file_name().unwrap().to_string_lossy().into(), bytes))
            .filter(|(name, _): &(String, _)| !name.starts_with("manifest"))
            .collect()
    };
    assert_eq!(files(&first), files(&second));
}

#[test]
fn a_change_makes_a_new_generation_and_keeps_the_one_before() {
    let world = World::of(TOWN);
    let first = snapshot(&world.index().join("gen-1"));
    world.build(&TOWN.replace("Play a song", "Play a tune"));
    assert_eq!(snapshot(&world.index().join("gen-1")), first);
    world.build(&TOWN.replace("Play a song", "Play a melody"));
    assert!(world.live().ends_with("gen-3"));
    assert!(world.index().join("gen-2").exists());
    assert!(!world.index().join("gen-1").exists());
}

/// Changes one tool, updates, and compares with a full build in a fresh home.
#[track_caller]
fn check_update(world: &World, model: &str, old: &str, new: &str) {
    let build = format!("index build --paper --model {model} --from");
    let source = world.write("source.json", old);
    stdout_of(world.command(&build).arg(&source), 0);
    let before = rows(&world.live());
    world.write("source.json", new);
    let said = stdout_of(&mut world.command("index update"), 0);
    assert!(said.starts_with("built generation 2"), "{said}");
    let updated = rows(&world.live());

    let fresh = World::empty();
    link_models(&fresh);
    let source = fresh.write("source.json", new);
    stdout_of(fresh.command(&build).arg(source), 0);
    assert_eq!(updated, rows(&fresh.live()), "{model}");
    let changed = |name: &str| {
        let pairs = before[name].iter().zip(&updated[name]);
        pairs.filter(|(before, after)| before != after).count()
    };
    assert_eq!(changed("tool_text"), 1);
    assert_eq!(changed("tool_description"), 1);
    assert_eq!(changed("server_description"), 0);
}

fn link_models(world: &World) {
    std::os::unix::fs::symlink(home().join("models"), world.home().join("models")).unwrap();
}

#[test]
fn an_update_gives_the_vectors_of_a_full_build() {
    let new = TOWN.replace("Stop what is played", "Silence, please");
    check_update(&World::empty(), "stand-in", TOWN, &new);
}

/// The int8 model scales by what else is in a batch, so this is no matter of
/// course.
#[test]
fn an_update_gives_the_vectors_of_a_full_build_with_the_real_model() {
    pull_model();
    let world = World::empty();
    link_models(&world);
    let new = TOWN.replace("Stop what is played", "Silence, please");
    check_update(&world, "bge-small-en-v1.5", TOWN, &new);
}

#[test]
fn an_update_keeps_the_options_of_the_build() {
    let world = World::empty();
    let source = world.write("list.json", r#"{"name":"S","tools":[{"name":"song"}]}"#);
    let line = "index build --model stand-in --format tools-list --paper --from";
    stdout_of(world.command(line).arg(source), 0);
    world.write("list.json", r#"{"name":"S","tools":[{"name":"tune"}]}"#);
    let mut update = world.command("index update");
    stdout_of(update.arg(world.index()).env_remove("TOOLSCOUT_INDEX"), 0);
    let facts = world.json("index inspect");
    assert_eq!(facts["paper"], true);
    assert_eq!(facts["embedder"]["model"], "stand-in");
    assert_eq!(facts["sources"][0]["format"], "tools-list");
    assert_eq!(names(&world.json("route tune")), ["list__tune"]);
}

#[test]
fn sources_are_remembered_wherever_the_build_ran() {
    let world = World::empty();
    let folder = world.home().join("a folder é");
    std::fs::create_dir(&folder).unwrap();
    world.write("a folder é/source.json", TOWN);
    let mut command = world.command("index build --model stand-in --from source.json --out here");
    stdout_of(command.current_dir(&folder), 0);
    let index = folder.join("here");
    let mut command = world.command("index update");
    let said = stdout_of(command.arg(index).current_dir(world.home()), 0);
    assert!(said.starts_with("nothing changed"), "{said}");
}

#[test]
fn an_update_without_its_source_fails_and_the_index_stays() {
    let world = World::of(TOWN);
    std::fs::remove_file(world.home().join("source.json")).unwrap();
    let output = run(&mut world.command("index update"));
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("source.json"), "{stderr}");
    assert_eq!(names(&world.json("route song -k 1")).len(), 1);
}

#[test]
fn a_removed_server_disappears() {
    let world = World::of(TOWN);
    let mut catalog: Value = serde_json::from_str(TOWN).unwrap();
    catalog["servers"].as_array_mut().unwrap().remove(1);
    world.write("source.json", catalog.to_string());
    stdout_of(&mut world.command("index update"), 0);
    assert_eq!(world.json("index inspect")["servers"], 2);
    let reply = world.json("route --server atlas --tool distance -k 20");
    assert_eq!(names(&reply).len(), 4);
    assert!(!reply.to_string().contains("atlas__"), "{reply}");
}

const FLAWED: &str = r#"{"servers":[
{"name":"good","tools":[{"name":"song","description":42},{"description":"no name"},{"name":"song"},7]},
{"tools":[{"name":"a"},{"name":"b"}]},
{"name":"good","tools":[]},
{"name":"good","description":"A\u200b","tools":[{"name":"tune","inputSchema":"x"}]}]}"#;

#[test]
fn what_is_rejected_or_odd_is_counted_and_named() {
    let world = World::empty();
    let source = world.write("source.json", FLAWED);
    let line = "index build --model stand-in --from";
    let output = run(world.command(line).arg(&source));
    assert_eq!(output.status.code(), Some(0));
    let (stdout, stderr) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(stdout.contains("3 servers, 3 tools, 3 rejected, 6 warnings"), "{stdout}");
    for text in ["rejected good/position 2 of ", "it has no name", "warning: "] {
        assert!(stderr.contains(text), "{text} is not in\n{stderr}");
    }
    let facts = world.json("index inspect");
    let path = source.display().to_string();
    assert_eq!(
        facts["rejected"],
        json!([
            {"source": path, "server": "good", "tool": "position 2", "reason": "it has no name"},
            {"source": path, "server": "good", "tool": "position 4", "reason": "it is a number, not an object"},
            {"source": path, "server": "position 2", "tool": null,
                "reason": "it has no name; its 2 tools are lost with it"},
        ])
    );
    let warnings: Vec<&str> = facts["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|warning| warning.as_str().unwrap())
        .collect();
    assert_eq!(warnings.len(), 6, "{warnings:#?}");
    assert!(warnings.iter().all(|warning| warning.starts_with(&path)));
}

#[test]
fn inspect_has_the_documented_keys() {
    let world = World::of(FLAWED);
    let facts = world.json("index inspect");
    assert_eq!((&facts["servers"], &facts["tools"]), (&json!(3), &json!(3)));
    assert_eq!(facts["generation"], 1);
    for key in ["source", "server", "tool", "reason"] {
        let rejects = facts["rejected"].as_array().unwrap();
        assert!(rejects.iter().all(|reject| reject.get(key).is_some()));
    }
    assert_eq!(facts["embedder"]["model"], "stand-in");
    assert_eq!(facts["embedder"]["dim"], 256);
    let source = &facts["sources"][0];
    let path = world.home().join("source.json");
    assert_eq!(source["path"], path.display().to_string());
    assert_eq!(source["format"], "catalog");
    assert_eq!(source["bytes"], std::fs::metadata(path).unwrap().len());
    assert_eq!(source["sha256"].as_str().unwrap().len(), 64);
    let on_disk: usize =
        ["catalog.jsonl", "lexical.safetensors", "surface.json", "vectors.safetensors"]
            .map(|name| std::fs::read(world.live().join(name)).unwrap().len())
            .iter()
            .sum();
    assert_eq!(facts["bytes"], on_disk);
    let mut by_position = world.command("index inspect --json");
    by_position.arg(world.index()).env_remove("TOOLSCOUT_INDEX");
    let by_position: Value = serde_json::from_str(&stdout_of(&mut by_position, 0)).unwrap();
    assert_eq!(by_position, facts);
    let table = stdout_of(&mut world.command("index inspect"), 0);
    for text in ["stand-in", "generation", "source.json", "tokens"] {
        assert!(table.contains(text), "{text} is not in\n{table}");
    }
}

#[test]
fn build_prints_as_json_what_inspect_prints() {
    let world = World::empty();
    let source = world.write("source.json", TOWN);
    let out = world.home().join("deep/er/index");
    let mut command = world.command("index build --json --model stand-in --out");
    let stdout = stdout_of(command.arg(&out).arg("--from").arg(source), 0);
    let built: Value = serde_json::from_str(&stdout).unwrap();
    let inspected = stdout_of(world.command("index inspect --json").arg(&out), 0);
    let inspected: Value = serde_json::from_str(&inspected).unwrap();
    assert_eq!(built, inspected);
    assert!(!world.index().exists());
}

#[test]
fn verify_says_that_all_is_well() {
    let world = World::of_sample();
    let said = stdout_of(&mut world.command("index verify"), 0);
    assert!(said.starts_with("generation 1 is sound: 4 files"), "{said}");
    let facts = world.json("index verify");
    assert_eq!((&facts["ok"], &facts["generation"]), (&json!(true), &json!(1)));
    let files: Vec<&String> = facts["files"].as_object().unwrap().keys().collect();
    assert_eq!(
        files,
        ["catalog.jsonl", "lexical.safetensors", "surface.json", "vectors.safetensors"]
    );
    let positional = stdout_of(world.command("index verify").arg(world.index()), 0);
    assert_eq!(positional, said);
}

#[test]
fn the_sample_is_without_blemish() {
    let world = World::empty();
    let mut command = world.command("index build --json --model stand-in --from");
    let facts: Value = serde_json::from_str(&stdout_of(command.arg(sample()), 0)).unwrap();
    assert_eq!(facts["rejected"], json!([]));
    assert_eq!(facts["warnings"], json!([]));
    assert_eq!(facts["absent"], json!({}));
}

/// A build removes what builds left behind, and nothing else.
#[test]
fn files_of_somebody_else_stay() {
    let world = World::of(TOWN);
    let dir = world.index();
    for folder in ["gen-7", "gen-9.tmp", "notes.tmp"] {
        std::fs::create_dir_all(dir.join(folder)).unwrap();
    }
    std::fs::write(dir.join("gen-7/mine"), "x").unwrap();
    std::fs::write(dir.join("thesis.tmp"), "x").unwrap();
    let source = world.write("source.json", FLAWED);
    stdout_of(world.command("index build --model stand-in --from").arg(source), 0);
    assert!(dir.join("gen-7/mine").exists() && dir.join("thesis.tmp").exists());
    assert!(dir.join("notes.tmp").exists() && !dir.join("gen-9.tmp").exists());
    assert!(world.live().ends_with("gen-8"));
}
