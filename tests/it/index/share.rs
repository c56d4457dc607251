//! An index as one file: exported here, imported there, never trusted.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::json;

use super::catalog;
use crate::support::World;
use crate::support::{edit_manifest, run, sha256, snapshot, stderr_of, stdout_of};

fn export(world: &World, name: &str) -> PathBuf {
    let out = world.home().join(name);
    stdout_of(world.command("index export --out").arg(&out), 0);
    out
}

fn import(world: &World, file: &Path) -> std::process::Command {
    let mut command = world.command("index import");
    command.arg(file);
    command
}

#[test]
fn an_imported_index_answers_as_the_exported_one() {
    let here = World::of(&catalog(50, 1));
    let file = export(&here, "one.tar.zst");
    let again = export(&here, "two.tar.zst");
    assert_eq!(std::fs::read(&file).unwrap(), std::fs::read(again).unwrap());

    let there = World::empty();
    let summary = stdout_of(import(&there, &file).arg("--json"), 0);
    assert!(summary.contains("\"generation\": 1"), "{summary}");
    stdout_of(&mut there.command("index verify"), 0);
    let [expected, found] = [&here, &there].map(|world| world.json("route echo-a-text -k 3"));
    assert_eq!(found, expected);
    let stdout = stdout_of(&mut import(&there, &file), 0);
    assert!(stdout.contains("nothing changed, generation 1 stays"), "{stdout}");

    // Over another index, it is the next generation.
    let other = World::of_sample();
    let stdout = stdout_of(&mut import(&other, &file), 0);
    assert!(stdout.contains("generation 2"), "{stdout}");
    stdout_of(&mut other.command("index verify"), 0);
}

#[test]
fn an_update_of_an_imported_index_reads_no_path_of_its_maker() {
    let here = World::of(&catalog(5, 1));
    let file = export(&here, "x.tar.zst");
    let there = World::empty();
    stdout_of(&mut import(&there, &file), 0);
    let stderr = stderr_of(&mut there.command("index update"), 1);
    for part in ["source.json", "the machine it was built on", "index import", "--from"] {
        assert!(stderr.contains(part), "{part}: {stderr}");
    }
    stdout_of(&mut there.command("index verify"), 0);
}

#[test]
fn a_calibration_goes_with_its_index() {
    let here = World::of_sample();
    let manifest = std::fs::read(here.live().join("manifest.json")).unwrap();
    let file = export(&here, "plain.tar.zst");
    let numbers = "model = \"x\"\n[confidence]\nintercept = 0.0\nsimilarity = 1.0\nmargin = 1.0\n\
                   coverage = 1.0\ncontradiction = -1.0\nfloor = 0.5\n";
    std::fs::write(here.index().join("confidence.toml"), numbers).unwrap();
    let there = World::empty();
    stdout_of(&mut import(&there, &export(&here, "calibrated.tar.zst")), 0);
    assert_eq!(std::fs::read_to_string(there.index().join("confidence.toml")).unwrap(), numbers);

    let numbers = "model = \"x\"\n[confidence]\n";
    std::fs::write(here.index().join("confidence.toml"), numbers).unwrap();
    // What is damaged is not handed on.
    let stderr = stderr_of(here.command("index export --out").arg(&file), 1);
    assert!(stderr.contains("confidence.toml"), "{stderr}");
    assert_eq!(std::fs::read(here.live().join("manifest.json")).unwrap(), manifest);
}

#[test]
fn a_damaged_index_is_not_exported() {
    let world = World::of_sample();
    let out = world.write("old.tar.zst", "old");
    let path = world.live().join("vectors.safetensors");
    let mut bytes = std::fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let stderr = stderr_of(world.command("index export --out").arg(&out), 1);
    assert!(stderr.contains("damaged") && stderr.contains("index update"), "{stderr}");
    assert_eq!(std::fs::read(out).unwrap(), b"old");
}

/// The file is refused with these words, and nothing is touched.
#[track_caller]
fn check_refused(world: &World, bytes: &[u8], expected: &[&str]) {
    let file = world.write("evil.tar.zst", bytes);
    let before = snapshot(&world.index());
    let stderr = stderr_of(&mut import(world, &file), 1);
    for part in expected.iter().chain(&["evil.tar.zst"]) {
        assert!(stderr.contains(part), "{part}: {stderr}");
    }
    assert_eq!(snapshot(&world.index()), before);
    let elsewhere = world.home().join("elsewhere");
    stderr_of(import(world, &file).arg("--out").arg(&elsewhere), 1);
    assert!(!elsewhere.exists());
}

type Entries = Vec<(String, Vec<u8>)>;

/// The entries of an export of this world.
fn entries(world: &World) -> Entries {
    let bytes = std::fs::read(export(world, "good.tar.zst")).unwrap();
    let mut archive = tar::Archive::new(zstd::Decoder::new(&bytes[..]).unwrap());
    let mut entries = Entries::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let name = entry.path().unwrap().display().to_string();
        let mut content = Vec::new();
        std::io::Read::read_to_end(&mut entry, &mut content).unwrap();
        entries.push((name, content));
    }
    entries
}

fn header(name: &str, kind: tar::EntryType, size: u64) -> tar::Header {
    let mut header = tar::Header::new_ustar();
    // Not `set_path`, which knows what is evil.
    header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
    header.set_entry_type(kind);
    header.set_size(size);
    header.set_mode(0o644);
    header.set_cksum();
    header
}

fn packed(entries: &Entries, more: Option<(tar::Header, &[u8])>) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, content) in entries {
        let header = header(name, tar::EntryType::Regular, content.len() as u64);
        builder.append(&header, &content[..]).unwrap();
    }
    if let Some((header, content)) = more {
        builder.append(&header, content).unwrap();
    }
    zstd::encode_all(&builder.into_inner().unwrap()[..], 1).unwrap()
}

#[test]
fn entries_that_no_export_writes_are_refused() {
    let world = World::of_sample();
    let good = entries(&world);
    assert_eq!(good[0].0, "manifest.json");
    for name in ["../evil", "/tmp/evil", "gen-1/catalog.jsonl", "evil.sh", "CURRENT", "."] {
        let more = header(name, tar::EntryType::Regular, 1);
        check_refused(&world, &packed(&good, Some((more, b"x"))), &[name, "no file of an index"]);
    }
    for kind in [
        tar::EntryType::Symlink,
        tar::EntryType::Link,
        tar::EntryType::Directory,
        tar::EntryType::GNULongName,
        tar::EntryType::XHeader,
        tar::EntryType::GNUSparse,
    ] {
        let more = header("confidence.toml", kind, 0);
        check_refused(&world, &packed(&good, Some((more, b""))), &["which is no file"]);
    }
    let more = header("surface.json", tar::EntryType::Regular, 1);
    check_refused(&world, &packed(&good, Some((more, b"x"))), &["which it holds twice"]);
    let more = header("neighbors.safetensors", tar::EntryType::Regular, 1);
    check_refused(&world, &packed(&good, Some((more, b"x"))), &["does not know its `neighbors"]);
    let huge = header("confidence.toml", tar::EntryType::Regular, 1 << 40);
    check_refused(&world, &packed(&good, Some((huge, b""))), &["which makes more than"]);
    let more = header("confidence.toml", tar::EntryType::Regular, 1);
    check_refused(&world, &packed(&good, Some((more, b"="))), &["no sound index"]);
}

#[test]
fn files_that_do_not_fit_together_are_refused() {
    let world = World::of_sample();
    let good = entries(&world);
    let without = |name: &str| -> Entries {
        good.iter().filter(|(other, _)| other != name).cloned().collect()
    };
    check_refused(&world, &packed(&without("surface.json"), None), &["lacks `surface.json`"]);
    check_refused(&world, &packed(&without("manifest.json"), None), &["where `manifest.json`"]);
    check_refused(&world, &packed(&Vec::new(), None), &["no manifest"]);
    for n in 0..good.len() {
        let mut bad = good.clone();
        bad[n].1[0] ^= 1;
        check_refused(&world, &packed(&bad, None), &["no sound index", "export it again"]);
    }
    let with = |edit: &dyn Fn(&mut serde_json::Value)| {
        let mut bad = good.clone();
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("manifest.json"), &good[0].1).unwrap();
        edit_manifest(dir.path(), edit);
        bad[0].1 = std::fs::read(dir.path().join("manifest.json")).unwrap();
        bad[1].1 = std::fs::read(dir.path().join("manifest.sha256")).unwrap();
        packed(&bad, None)
    };
    let outside = with(&|manifest| {
        manifest["files"]["../../evil"] = json!({"bytes": 1, "sha256": sha256(b"x")})
    });
    check_refused(&world, &outside, &["lacks `../../evil`"]);
    let newer = with(&|manifest| manifest["format_version"] = json!(999));
    check_refused(&world, &newer, &["format version 999", "same version of toolscout"]);
    let fewer = with(&|manifest| manifest["counts"]["tools"] = json!(1));
    check_refused(&world, &fewer, &["no sound index"]);
}

#[test]
fn what_is_cut_flipped_or_foreign_is_refused() {
    let world = World::of_sample();
    let good = std::fs::read(export(&world, "good.tar.zst")).unwrap();
    for n in [0, 3, 4, 100, good.len() / 2, good.len() - 5, good.len() - 1] {
        check_refused(&world, &good[..n], &["archive", "export"]);
    }
    let content = zstd::decode_all(&good[..]).unwrap();
    let mut n_refused = 0;
    for n in (4..good.len()).step_by(good.len() / 20) {
        let mut bad = good.clone();
        bad[n] ^= 0x10;
        // Some bits do not matter: a repetition may be copied from another
        // place where the same bytes stand, or through a larger window.
        if zstd::decode_all(&bad[..]).is_ok_and(|unpacked| unpacked == content) {
            continue;
        }
        n_refused += 1;
        check_refused(&world, &bad, &["export"]);
    }
    assert!(n_refused > 15, "{n_refused}");
    for bytes in [&b"PK\x03\x04"[..], b"{}", b""] {
        check_refused(&world, bytes, &["no archive of an index", "index export"]);
    }
    let text = zstd::encode_all(&b"hello"[..], 1).unwrap();
    check_refused(&world, &text, &["export"]);
    let mut twice = good;
    twice.write_all(&text).unwrap();
    check_refused(&world, &twice, &["cut short or damaged"]);
    let bomb = zstd::encode_all(&vec![0; 80 << 20][..], 1).unwrap();
    check_refused(&world, &bomb, &["export"]);
}

#[test]
fn a_killed_import_leaves_the_index_as_it_was_or_as_it_will_be() {
    const KILLS: u32 = 8;
    let here = World::of(&catalog(300, 1));
    let file = export(&here, "x.tar.zst");
    let there = World::of(&catalog(10, 2));
    let start = std::time::Instant::now();
    assert!(run(&mut import(&World::empty(), &file)).status.success());
    let whole = start.elapsed().max(Duration::from_millis(8));
    for n in 0..KILLS {
        let mut child =
            import(&there, &file).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(whole * n / KILLS);
        child.kill().unwrap();
        child.wait().unwrap();
        stdout_of(&mut there.command("index verify"), 0);
    }
    stdout_of(&mut import(&there, &file), 0);
    let left = std::fs::read_dir(there.index()).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().ends_with(".tmp")), "{left:?}");
}
