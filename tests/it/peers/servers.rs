//! Reference servers of the two official SDKs, asked for their tools: the same
//! as a client of another make has captured.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{run_script, script};
use crate::support::{World, run, shared, stdout_of};

/// Our name for a server, and that of its capture.
const SERVERS: &[(&str, &str)] = &[
    ("everything", "live-server-everything.jsonl"),
    ("filesystem", "live-server-filesystem.jsonl"),
    ("memory", "live-server-memory.jsonl"),
    ("thinking", "live-server-sequential-thinking.jsonl"),
    ("time", "live-mcp-server-time.jsonl"),
    ("git", "live-mcp-server-git.jsonl"),
    ("fetch", "live-mcp-server-fetch.jsonl"),
];

type Tools = BTreeMap<String, Value>;

#[test]
#[ignore = "needs servers of npm and PyPI; run by .ci/run"]
fn the_reference_servers_are_listed_as_they_were_captured() {
    let world = World::empty();
    let config = world.write("mcp.json", config(world.home()).to_string());
    let build = stdout_of(world.command("index build --model stand-in --from").arg(config), 0);
    assert!(build.starts_with("built generation 1: 7 servers, "), "{build}");
    let catalog = std::fs::read_to_string(world.live().join("catalog.jsonl")).unwrap();
    let mut listed: BTreeMap<String, Tools> = BTreeMap::new();
    for line in catalog.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        if line.get("exposed").is_some() {
            let text = |key: &str| line[key].as_str().unwrap().to_owned();
            let tools = listed.entry(text("server")).or_default();
            tools.insert(text("name"), line["input_schema"].clone());
        }
    }
    for (name, capture) in SERVERS {
        let Some(capture) = shared(&format!("data/raw/jsonrpc/{capture}")) else { return };
        assert_eq!(listed[*name], captured(&capture), "{name}");
    }

    // A second run starts nothing that needs no start.
    let update = run(&mut world.command("index update"));
    let said = String::from_utf8(update.stderr).unwrap();
    assert!(said.contains("7 servers answered not long ago and stay"), "{said}");
}

#[test]
#[ignore = "needs servers of npm and PyPI; run by .ci/run"]
fn an_agent_finds_and_calls_them_as_if_directly() {
    let world = World::empty();
    let folder = world.home().join("files");
    std::fs::create_dir(&folder).unwrap();
    // The servers compare with what the system calls the folder.
    let folder = folder.canonicalize().unwrap();
    let config = world.write("mcp.json", config(&folder).to_string());
    let mut agent = script("agent_loop.py");
    agent.arg("--binary").arg(env!("CARGO_BIN_EXE_toolscout"));
    agent.arg("--home").arg(world.home()).arg("--config").arg(config);
    run_script(agent.arg("--folder").arg(folder));
}

fn config(folder: &Path) -> Value {
    // Set by .ci/run.
    let path = |variable: &str| PathBuf::from(std::env::var_os(variable).unwrap());
    let inspector = path("TOOLSCOUT_PEERS_INSPECTOR");
    let npm = inspector.ancestors().nth(3).unwrap().join("servers/node_modules/.bin");
    let python = path("TOOLSCOUT_PEERS_PYTHON").parent().unwrap().to_owned();
    json!({ "mcpServers": {
        "everything": {"command": npm.join("mcp-server-everything")},
        "filesystem": {"command": npm.join("mcp-server-filesystem"), "args": [folder]},
        "memory": {"command": npm.join("mcp-server-memory"),
            "env": {"MEMORY_FILE_PATH": folder.join("memory.json")}},
        "thinking": {"command": npm.join("mcp-server-sequential-thinking")},
        "time": {"command": python.join("mcp-server-time")},
        "git": {"command": python.join("mcp-server-git")},
        "fetch": {"command": python.join("mcp-server-fetch")},
    }})
}

/// The tools of a recorded session with their schemas.
fn captured(path: &Path) -> Tools {
    let text = std::fs::read_to_string(path).unwrap();
    let messages = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    messages
        .flat_map(|message| message["result"]["tools"].as_array().cloned().unwrap_or_default())
        .map(|tool| (tool["name"].as_str().unwrap().to_owned(), tool["inputSchema"].clone()))
        .collect()
}
