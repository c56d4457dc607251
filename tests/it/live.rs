//! Servers that are asked for their tools: `tests/upstream/server.py` in all
//! its moods, over stdio and HTTP, and what becomes of them.

mod ends;
pub(crate) mod http;
mod memory;
mod pins;
mod stdio;

use std::collections::BTreeMap;
use std::path::Path;
use std::path::PathBuf;

use serde_json::Value;
use serde_json::json;

use crate::support::World;
use crate::support::root;
use crate::support::stdout_of;

pub(crate) const PYTHON: &str = if cfg!(windows) { "python" } else { "python3" };

/// A configuration as most clients have it, built with the stand-in embedder.
pub(crate) struct Town {
    pub(crate) world: World,
    pub(crate) log: PathBuf,
}

/// The entry of a server with these tools and habits.
pub(crate) fn entry(tools: &str, habits: &str) -> Value {
    let script = root().join("tests/upstream/server.py");
    let mut args = vec!["-S".to_owned(), script.display().to_string(), tools.to_owned()];
    args.extend(habits.split_whitespace().map(ToOwned::to_owned));
    json!({ "command": PYTHON, "args": args })
}

impl Town {
    pub(crate) fn of(servers: &Value) -> Self {
        let world = World::empty();
        let log = world.home().join("log");
        let town = Self { world, log };
        town.configure(servers);
        town
    }

    /// Replaces the configuration; every server writes to the one log.
    pub(crate) fn configure(&self, servers: &Value) {
        let mut servers = servers.clone();
        for entry in servers.as_object_mut().unwrap().values_mut() {
            entry["env"]["LOG"] = json!(self.log.display().to_string());
        }
        let config = json!({ "mcpServers": servers });
        self.world.write("mcp.json", serde_json::to_string(&config).unwrap());
    }

    fn build_command(&self, flags: &str) -> std::process::Command {
        let line = format!("index build --model stand-in {flags} --from");
        let mut command = self.world.command(&line);
        command.arg(self.world.home().join("mcp.json"));
        command
    }

    /// Builds; what `--json` says of the index.
    pub(crate) fn build(&self, flags: &str) -> Value {
        serde_json::from_str(&stdout_of(self.build_command(flags).arg("--json"), 0)).unwrap()
    }

    /// Servers with the names of their tools, from the catalogue on disk.
    fn tools(&self) -> BTreeMap<String, Vec<String>> {
        let catalog = std::fs::read_to_string(self.world.live().join("catalog.jsonl")).unwrap();
        let mut servers: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for line in catalog.lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            let text = |key: &str| line[key].as_str().unwrap().to_owned();
            match line.get("exposed") {
                Some(_) => servers.entry(text("server")).or_default().push(text("name")),
                None => drop(servers.entry(text("name")).or_default()),
            }
        }
        servers
    }

    /// Lines of the log that start with these words, without them.
    pub(crate) fn logged(&self, start: &str) -> Vec<String> {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        log.lines().filter_map(|line| line.strip_prefix(start)).map(ToOwned::to_owned).collect()
    }

    /// Processes that were started and are still there.
    pub(crate) fn left(&self) -> Vec<String> {
        let mut pids = self.logged("start ");
        pids.extend(self.logged("child "));
        pids.retain(|pid| is_running(pid));
        pids
    }
}

/// Whether a process is there and no zombie.
pub(crate) fn is_running(pid: &str) -> bool {
    let status = std::fs::read_to_string(Path::new("/proc").join(pid).join("stat"));
    status.is_ok_and(|status| !status.rsplit(')').next().unwrap().trim_start().starts_with('Z'))
}

/// Why each server was left out.
fn rejected(index: &Value) -> BTreeMap<&str, &str> {
    let rejected = index["rejected"].as_array().unwrap().iter();
    let rejected = rejected.filter(|one| one["tool"].is_null());
    rejected.map(|one| (one["server"].as_str().unwrap(), one["reason"].as_str().unwrap())).collect()
}
