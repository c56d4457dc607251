//! The index directory under stress: many processes, kills, damage, no room.

mod concurrency;
mod damage;
mod kill;
mod room;
mod share;
mod vectors;
mod watch;

use std::path::Path;
use std::process::Command;

use crate::support::World;

/// `n_tools` tools on two servers; `version` makes each catalogue another one.
fn catalog(n_tools: usize, version: usize) -> String {
    let tools: Vec<String> = (0..n_tools)
        .map(|n| {
            format!(r#"{{"name":"tool_{n}","description":"Does thing {n} of version {version}"}}"#)
        })
        .collect();
    format!(
        r#"{{"servers":[{{"name":"many","description":"Many things","tools":[{}]}},
{{"name":"plain","tools":[{{"name":"echo","description":"Echo a text"}}]}}]}}"#,
        tools.join(",")
    )
}

/// A build of that source into the index of `world`.
fn build(world: &World, source: &Path) -> Command {
    let mut command = world.command("index build --quiet --paper --model stand-in --from");
    command.arg(source).arg("--out").arg(world.index());
    command
}

/// Names in the index directory, sorted.
fn entries(world: &World) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(world.index())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}
