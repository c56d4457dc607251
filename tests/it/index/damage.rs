//! Field case I02: a damaged file is found, named, and never answered from.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use toolscout::index::{FORMAT_VERSION, Index};

use super::{build, catalog};
use crate::support::World;
use crate::support::edit_manifest;
use crate::support::home;
use crate::support::pull_model;
use crate::support::run;
use crate::support::sha256;
use crate::support::snapshot;
use crate::support::stderr_of;
use crate::support::stdout_of;

/// The files of a generation.
const FILES: [&str; 6] = [
    "vectors.safetensors",
    "lexical.safetensors",
    "catalog.jsonl",
    "surface.json",
    "manifest.json",
    "manifest.sha256",
];

type Change = fn(&mut Vec<u8>);

/// What happens to the bytes of a file.
const DAMAGES: [(&str, Change); 7] = [
    ("emptied", Vec::clear),
    ("cut at 10 %", |bytes| bytes.truncate(bytes.len() / 10)),
    ("cut at 50 %", |bytes| bytes.truncate(bytes.len() / 2)),
    ("cut at 99 %", |bytes| bytes.truncate(bytes.len() * 99 / 100 - 1)),
    ("one bit flipped", |bytes| {
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
    }),
    ("zeroed", |bytes| bytes.fill(0)),
    ("noise", |bytes| {
        let mut state = 0x9E37_79B9_u32;
        for byte in bytes {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            *byte = state.to_le_bytes()[3];
        }
    }),
];

fn damage(path: &Path, change: Change) {
    let mut bytes = std::fs::read(path).unwrap();
    change(&mut bytes);
    std::fs::write(path, bytes).unwrap();
}

/// Two generations of a world, which differ in the descriptions, and a way
/// back to them.
struct Pair {
    world: World,
    files: BTreeMap<PathBuf, Vec<u8>>,
}

impl Pair {
    fn new() -> Self {
        let world = World::of(&catalog(20, 1));
        world.build(&catalog(20, 2));
        let files = snapshot(&world.index());
        Self { world, files }
    }

    /// The world as it was, with `file` of the live generation damaged.
    fn damaged(&self, file: &str, change: Change) -> &World {
        std::fs::remove_dir_all(self.world.index()).unwrap();
        for (path, bytes) in &self.files {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
        let folder = if file == "CURRENT" { self.world.index() } else { self.world.live() };
        damage(&folder.join(file), change);
        &self.world
    }

    /// A build makes the index sound again.
    fn check_rebuild(&self) {
        let source = self.world.home().join("source.json");
        let output = run(&mut build(&self.world, &source));
        assert_eq!(output.status.code(), Some(0));
        stdout_of(&mut self.world.command("index verify"), 0);
        let answer = stdout_of(&mut self.world.command("route thing-1"), 0);
        assert!(answer.contains("of version 2"), "{answer}");
    }
}

/// `route` must answer from that version, and warn of `file`.
#[track_caller]
fn check_fallback(world: &World, file: &str, version: &str) {
    let output = run(&mut world.command("route thing-1 --json"));
    let warning = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{warning}");
    assert!(warning.contains(file), "{warning}");
    assert!(warning.contains("answering from generation "), "{warning}");
    let answer = String::from_utf8(output.stdout).unwrap();
    assert!(answer.contains(&format!("of version {version}")), "{answer}");
}

/// Damages `file` of the live generation in every way; with the generation
/// before, that one answers, without it none.
#[track_caller]
fn check(file: &str) {
    let pair = Pair::new();
    for (how, change) in DAMAGES {
        let world = pair.damaged(file, change);
        let stderr = stderr_of(&mut world.command("index verify"), 1);
        assert!(stderr.contains(file), "{how}: {stderr}");
        check_fallback(world, file, "1");
        std::fs::remove_dir_all(world.index().join("gen-1")).unwrap();
        let stderr = stderr_of(&mut world.command("route thing-1"), 1);
        assert!(stderr.contains(file), "{how}: {stderr}");
        assert!(stderr.contains("toolscout index build"), "{how}: {stderr}");
        assert!(!stderr.contains("panicked"), "{how}: {stderr}");
    }
    pair.check_rebuild();
}

#[test]
fn damaged_vectors_are_found() {
    check("vectors.safetensors");
}

#[test]
fn damaged_words_are_found() {
    check("lexical.safetensors");
}

#[test]
fn a_damaged_catalogue_is_found() {
    check("catalog.jsonl");
}

#[test]
fn a_damaged_surface_is_found() {
    check("surface.json");
}

#[test]
fn a_damaged_manifest_is_found() {
    check("manifest.json");
}

#[test]
fn a_missing_file_is_found() {
    let pair = Pair::new();
    for file in FILES {
        let world = pair.damaged(file, Vec::clear);
        std::fs::remove_file(world.live().join(file)).unwrap();
        let stderr = stderr_of(&mut world.command("index verify"), 1);
        assert!(stderr.contains(file), "{stderr}");
        check_fallback(world, file, "1");
    }
    pair.check_rebuild();
}

/// `CURRENT` only points; the generations themselves are sound.
#[test]
fn a_damaged_pointer_is_found_and_the_newest_generation_answers() {
    let pair = Pair::new();
    let lost: Change = |bytes| *bytes = b"gen-7\n".to_vec();
    for (how, change) in DAMAGES.into_iter().chain([("gen-7", lost)]) {
        let world = pair.damaged("CURRENT", change);
        let expected = if how == "gen-7" { how } else { "CURRENT" };
        let stderr = stderr_of(&mut world.command("index verify"), 1);
        assert!(stderr.contains(expected), "{how}: {stderr}");
        check_fallback(world, expected, "2");
    }
    pair.check_rebuild();
}

/// Every error of a damaged file offers `index update` as a cure.
#[test]
fn an_update_cures_damage() {
    let pair = Pair::new();
    for file in &FILES[..4] {
        for (how, change) in DAMAGES.into_iter().step_by(3) {
            let world = pair.damaged(file, change);
            std::fs::remove_dir_all(world.index().join("gen-1")).unwrap();
            let stderr = stderr_of(&mut world.command("route thing-1"), 1);
            assert!(stderr.contains("toolscout index update"), "{stderr}");
            let output = run(&mut world.command("index update"));
            let stderr = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(0), "{file} {how}: {stderr}");
            stdout_of(&mut world.command("index verify"), 0);
        }
    }
}

/// An error must name the cure, also where a file is not there at all.
#[test]
fn a_missing_file_names_the_cure() {
    let pair = Pair::new();
    for file in FILES {
        let world = pair.damaged(file, Vec::clear);
        std::fs::remove_file(world.live().join(file)).unwrap();
        std::fs::remove_dir_all(world.index().join("gen-1")).unwrap();
        let stderr = stderr_of(&mut world.command("route thing-1"), 1);
        assert!(stderr.contains("toolscout index build"), "{stderr}");
    }
}

/// A world whose only generation has an edited manifest: `route` must refuse
/// it and say all of `expected`.
#[track_caller]
fn check_refused(edit: impl FnOnce(&mut Value), expected: &[&str]) -> World {
    let world = World::of(&catalog(20, 1));
    edit_manifest(&world.live(), edit);
    let stderr = stderr_of(&mut world.command("route thing-1"), 1);
    for text in expected.iter().chain(&["toolscout index build"]) {
        assert!(stderr.contains(text), "{text} is not in\n{stderr}");
    }
    world
}

#[test]
fn another_format_version_is_refused_and_replaced_by_a_build() {
    let version =
        |number: u64| move |manifest: &mut Value| manifest["format_version"] = number.into();
    let reads = format!("reads {FORMAT_VERSION}");
    let world = check_refused(version(99), &["format version 99", &reads]);
    stderr_of(&mut world.command("index verify"), 1);
    stderr_of(&mut world.command("index inspect"), 1);
    let source = world.home().join("source.json");
    assert!(run(&mut build(&world, &source)).status.success());
    stdout_of(&mut world.command("index verify"), 0);
    assert!(world.live().ends_with("gen-2"));
    check_refused(version(0), &["format version 0", &reads]);
    let pair = Pair::new();
    edit_manifest(&pair.world.live(), version(99));
    check_fallback(&pair.world, "format version 99", "1");
}

#[test]
fn another_model_is_refused() {
    check_refused(
        |manifest| manifest["embedder"]["pooling"] = "mean".into(),
        &["index was built with `stand-in` (256, ", "but `stand-in` (256, "],
    );
    check_refused(
        |manifest| manifest["embedder"]["max_length"] = 12.into(),
        &["index was built with `stand-in` (256, ", "but `stand-in` (256, "],
    );
    check_refused(
        |manifest| manifest["embedder"]["query_prefix"] = "query: ".into(),
        &["index was built with `stand-in` (256, ", "but `stand-in` (256, "],
    );
}

#[test]
fn a_model_of_that_name_but_other_files_is_refused() {
    pull_model();
    let world = World::of(&catalog(20, 1));
    std::os::unix::fs::symlink(home().join("models"), world.home().join("models")).unwrap();
    edit_manifest(&world.live(), |manifest| {
        manifest["embedder"]["model"] = "bge-small-en-v1.5".into();
    });
    let stderr = stderr_of(&mut world.command("route thing-1"), 1);
    for text in
        ["index was built with `bge-small-en-v1.5` (256, ", "but `bge-small-en-v1.5` (384, "]
    {
        assert!(stderr.contains(text), "{text} is not in\n{stderr}");
    }
}

#[test]
fn wrong_dimensions_and_counts_are_refused_with_both_sides() {
    check_refused(
        |manifest| manifest["embedder"]["dim"] = 384.into(),
        &["vectors.safetensors", "384]", "256]"],
    );
    check_refused(
        |manifest| manifest["counts"]["tools"] = 22.into(),
        &["lexical.safetensors", "21 tools", "expected 22"],
    );
}

#[test]
fn another_runtime_only_warns() {
    let world = World::of(&catalog(20, 1));
    edit_manifest(&world.live(), |manifest| manifest["runtime"] = "old one".into());
    let output = run(&mut world.command("route thing-1"));
    assert_eq!(output.status.code(), Some(0));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("another runtime"), "{stderr}");
}

/// Where the numbers of a matrix begin in `vectors.safetensors`.
fn start_of(bytes: &[u8], matrix: &str) -> usize {
    let tensors = safetensors::SafeTensors::deserialize(bytes).unwrap();
    let data = tensors.tensor(matrix).unwrap().data().as_ptr().addr();
    data - bytes.as_ptr().addr()
}

fn checksummed_again(world: &World, file: &str) {
    let bytes = std::fs::read(world.live().join(file)).unwrap();
    edit_manifest(&world.live(), |manifest| {
        manifest["files"][file]["sha256"] = sha256(&bytes).into();
        manifest["files"][file]["bytes"] = bytes.len().into();
    });
}

/// Right checksums do not make numbers right.
#[test]
fn rows_that_are_no_unit_vectors_are_refused() {
    let nan = f32::NAN.to_le_bytes();
    let infinite = f32::INFINITY.to_le_bytes();
    let two = 2.0_f32.to_le_bytes();
    for (value, n_numbers, expected) in [
        (nan, 1, "norm NaN"),
        (infinite, 1, "norm inf"),
        (two, 256, "norm 32"),
        ([0; 4], 256, "zero rows"),
    ] {
        let world = World::of(&catalog(20, 1));
        let path: PathBuf = world.live().join("vectors.safetensors");
        let mut bytes = std::fs::read(&path).unwrap();
        let start = start_of(&bytes, "tool_text");
        for number in bytes[start..].chunks_mut(4).take(n_numbers) {
            number.copy_from_slice(&value);
        }
        std::fs::write(&path, bytes).unwrap();
        checksummed_again(&world, "vectors.safetensors");
        for line in ["index verify", "route thing-1"] {
            let stderr = stderr_of(&mut world.command(line), 1);
            for text in ["vectors.safetensors", "`tool_text`", expected] {
                assert!(stderr.contains(text), "{text} is not in\n{stderr}");
            }
        }
    }
}

/// Found by fuzzing: tantivy panics at files that lie, wherever they lie.
#[test]
fn a_forged_file_of_words_is_damage_and_no_panic() {
    let world = World::of(&catalog(40, 1));
    let path = world.live().join("lexical.safetensors");
    let sound = std::fs::read(&path).unwrap();
    let mut n_damaged = 0;
    for start in (0..sound.len() - 8).step_by(41) {
        let mut forged = sound.clone();
        forged[start..start + 8].fill(0xFF);
        std::fs::write(&path, forged).unwrap();
        checksummed_again(&world, "lexical.safetensors");
        let found = Index::open_sound(&world.index())
            .and_then(|(index, _)| index.lexical().scores("echo a thing of version"));
        n_damaged += usize::from(found.is_err());
    }
    assert!(n_damaged > 10, "{n_damaged}");
}

/// Found by fuzzing: a store of documents that claims to be of any length made
/// tantivy ask for as much memory, which ends a process. It is not looked at.
#[test]
fn the_store_of_documents_is_not_believed() {
    let world = World::of(&catalog(40, 1));
    let path = world.live().join("lexical.safetensors");
    let sound = std::fs::read(&path).unwrap();
    let scores = || Index::open(&world.index()).unwrap().lexical().scores("echo a thing").unwrap();
    let expected = scores();
    assert!(expected.iter().any(|score| *score > 0.0));
    let files = safetensors::SafeTensors::deserialize(&sound).unwrap();
    let store = files.names().into_iter().find(|name| name.ends_with(".store")).unwrap();
    let start = start_of(&sound, store);
    // All but the version of the library, of which the end says how long it is.
    let store = files.tensor(store).unwrap().data();
    let (store, _magic) = store.split_at(store.len() - 4);
    let (store, version) = store.split_at(store.len() - 4);
    let version = u32::from_le_bytes(version.try_into().unwrap());
    for length in 1..=store.len() - version as usize {
        let mut forged = sound.clone();
        forged[start..start + length].fill(0x7F);
        std::fs::write(&path, forged).unwrap();
        checksummed_again(&world, "lexical.safetensors");
        assert_eq!(scores(), expected, "{length} bytes");
    }
}
