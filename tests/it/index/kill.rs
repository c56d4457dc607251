//! Field case I02: a build that is killed at any moment harms nothing.

use std::process::Stdio;
use std::time::{Duration, Instant};

use super::{build, catalog, entries};
use crate::support::World;
use crate::support::run;
use crate::support::stdout_of;

const KILLS: u32 = 20;

#[test]
fn a_killed_build_leaves_a_valid_index_and_no_obstacle() {
    let world = World::of(&catalog(200, 0));
    let source = world.write("source.json", catalog(200, 1));
    let start = Instant::now();
    assert!(run(&mut build(&world, &source)).status.success());
    let whole = start.elapsed();
    for n in 0..KILLS {
        // A source that was never seen, so that there is all to do.
        let source = world.write("source.json", catalog(200, 2 + n as usize));
        let mut child =
            build(&world, &source).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // From at once to about the usual end.
        std::thread::sleep(whole * n / KILLS);
        child.kill().unwrap();
        child.wait().unwrap();
        check_valid(&world);
    }
    let source = world.write("source.json", catalog(200, 99));
    assert!(run(&mut build(&world, &source)).status.success());
    check_valid(&world);
    let left = entries(&world);
    assert_eq!(left.len(), 4, "{left:?}");
    assert!(!left.iter().any(|name| name.ends_with(".tmp")), "{left:?}");
    let cache = std::fs::read_dir(world.home().join("index/cache")).unwrap();
    let odd = cache
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| !name.starts_with("vectors.sqlite"))
        .count();
    assert_eq!(odd, 0);
}

fn check_valid(world: &World) {
    let verified = run(&mut world.command("index verify"));
    let stderr = String::from_utf8_lossy(&verified.stderr);
    assert_eq!(verified.status.code(), Some(0), "{stderr}");
    let reply = world.json("route echo-a-text -k 1");
    assert_eq!(reply["matches"][0]["name"], "plain__echo");
}

#[test]
fn leftovers_of_a_killed_build_are_removed() {
    let world = World::of(&catalog(10, 1));
    let folder = world.index().join("gen-2.tmp");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("vectors.safetensors"), "half").unwrap();
    std::fs::write(world.index().join("CURRENT.tmp"), "gen-2").unwrap();
    // Killed while it was removed: the manifest went first.
    let half_gone = world.index().join("gen-0.tmp");
    std::fs::create_dir(&half_gone).unwrap();
    std::fs::write(half_gone.join("rows.zst"), "old").unwrap();
    // Renamed, but the swap never came.
    let orphan = world.index().join("gen-2");
    std::fs::create_dir(&orphan).unwrap();
    std::fs::write(orphan.join("manifest.json"), "{}").unwrap();
    stdout_of(&mut world.command("index verify"), 0);
    let source = world.write("new.json", catalog(10, 2));
    assert!(run(&mut build(&world, &source)).status.success());
    assert_eq!(entries(&world), ["CURRENT", "gen-1", "gen-3", "lock"]);
    assert!(world.live().ends_with("gen-3"));
}

/// The lock is the operating system's, so a dead holder holds nothing.
#[test]
fn a_killed_lock_holder_does_not_block_the_next_build() {
    let world = World::of(&catalog(10, 1));
    let held = std::fs::File::options().write(true).open(world.index().join("lock")).unwrap();
    held.lock().unwrap();
    let source = world.write("new.json", catalog(10, 2));
    let mut waiting = build(&world, &source).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(50));
    waiting.kill().unwrap();
    waiting.wait().unwrap();
    drop(held);
    assert!(run(&mut build(&world, &source)).status.success());
    assert!(world.live().ends_with("gen-2"));
}
