//! Field case I01: many processes build and read one index at once.

use std::collections::BTreeMap;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use super::{build, catalog, entries};
use crate::support::World;
use crate::support::run;
use crate::support::snapshot;
use crate::support::stdout_of;

const BUILDERS: usize = 8;
const READERS: usize = 4;

/// Starts `builds`, routes in a loop from four threads until they are done;
/// every process must end well.
fn build_and_read(world: &World, builds: Vec<Child>) {
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..READERS)
            .map(|_| {
                scope.spawn(|| {
                    let mut n_reads = 0;
                    while !is_done.load(Ordering::Relaxed) {
                        let output = run(&mut world.command("route echo-a-text --json -k 1"));
                        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
                        assert_eq!((output.status.code(), stderr.as_str()), (Some(0), ""));
                        let reply: serde_json::Value =
                            serde_json::from_slice(&output.stdout).unwrap();
                        assert_eq!(reply["matches"][0]["name"], "plain__echo");
                        n_reads += 1;
                    }
                    n_reads
                })
            })
            .collect();
        let ended: Vec<_> = builds.into_iter().map(Child::wait_with_output).collect();
        is_done.store(true, Ordering::Relaxed);
        for output in ended {
            let output = output.unwrap();
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(0), "{stderr}");
        }
        for reader in readers {
            assert!(reader.join().unwrap() > 0);
        }
    });
}

fn start(world: &World, source: &std::path::Path) -> Child {
    build(world, source)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// File name → bytes of the live generation, without what names generation
/// and source.
fn live_files(world: &World) -> BTreeMap<String, Vec<u8>> {
    let files = snapshot(&world.live()).into_iter();
    let named = files.map(|(path, bytes)| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        (name, bytes)
    });
    named.filter(|(name, _)| !name.starts_with("manifest")).collect()
}

#[test]
fn many_builds_of_one_source_make_one_generation() {
    let world = World::of(&catalog(300, 1));
    let source = world.write("new.json", catalog(300, 2));
    let builds = (0..BUILDERS).map(|_| start(&world, &source)).collect();
    build_and_read(&world, builds);
    assert_eq!(entries(&world), ["CURRENT", "gen-1", "gen-2", "lock"]);
    let single = World::of(&catalog(300, 2));
    assert_eq!(live_files(&world), live_files(&single));
    stdout_of(&mut world.command("index verify"), 0);
}

#[test]
fn builds_of_different_sources_swap_under_readers() {
    let world = World::of(&catalog(20, 1));
    let sources: Vec<_> = (0..BUILDERS)
        .map(|n| world.write(&format!("source-{n}.json"), catalog(20, 2 + n)))
        .collect();
    let builds = sources.iter().map(|source| start(&world, source)).collect();
    build_and_read(&world, builds);
    let last = format!("gen-{}", BUILDERS + 1);
    let before = format!("gen-{BUILDERS}");
    assert_eq!(entries(&world), ["CURRENT", &before, &last, "lock"]);
    assert!(world.live().ends_with(last));
    // Whichever came last, it is the index of one build alone.
    let facts = world.json("index inspect");
    let source = facts["sources"][0]["path"].as_str().unwrap();
    let single = World::of(&std::fs::read_to_string(source).unwrap());
    assert_eq!(live_files(&world), live_files(&single));
}

#[test]
fn first_builds_race_for_an_empty_directory() {
    let world = World::empty();
    let source = world.write("source.json", catalog(50, 1));
    let builds: Vec<Child> = (0..BUILDERS).map(|_| start(&world, &source)).collect();
    for child in builds {
        assert_eq!(child.wait_with_output().unwrap().status.code(), Some(0));
    }
    assert_eq!(entries(&world), ["CURRENT", "gen-1", "lock"]);
    stdout_of(&mut world.command("index verify"), 0);
}

#[test]
fn a_build_that_waits_says_so() {
    let world = World::of(&catalog(10, 1));
    let held = std::fs::File::options().write(true).open(world.index().join("lock")).unwrap();
    held.lock().unwrap();
    let source = world.write("new.json", catalog(10, 2));
    let mut command = world.command("index build --model stand-in --from");
    let mut child =
        command.arg(source).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut said = [0; 16];
    std::io::Read::read_exact(child.stderr.as_mut().unwrap(), &mut said).unwrap();
    assert_eq!(&said, b"another build of");
    stdout_of(&mut world.command("route echo"), 0);
    held.unlock().unwrap();
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(0));
    assert!(world.live().ends_with("gen-2"));
}
