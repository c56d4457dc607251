//! `sources list`: configurations of MCP clients.

use serde_json::{Value, json};

use super::check_failure;
use crate::support::World;
use crate::support::shared;
use crate::support::stderr_of;
use crate::support::stdout_of;

const VSCODE: &str = r#"{
  // ours
  "inputs": [{"id": "key", "type": "promptString", "password": true}],
  "servers": {
    "clock": {"command": "clock", "args": ["--zone", "utc", "--token", "hidden-1"], "env": {"K": "${input:key}", "L": "hidden-2", "N": "${NO_SUCH_VARIABLE}"}},
    "web": {"url": "https://me:hidden-3@w.example/mcp?key=hidden-4", "headers": {"Authorization": "Bearer hidden-5"}},
    "off": {"command": "x", "disabled": true},
    "odd": {"args": ["hidden-6"]},
  },
}"#;

#[test]
fn a_named_file_is_listed_without_its_secrets() {
    let world = World::empty();
    let path = world.write("mcp.json", VSCODE);
    let path = path.to_str().unwrap();
    let json = stdout_of(world.command("sources list --json --from").arg(path), 0);
    let facts: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        facts,
        json!({"sources": [{
            "path": path,
            "client": "vscode",
            "servers": [
                {"name": "clock", "transport": "stdio", "disabled": false, "command": "clock",
                 "args": ["--zone", "utc", "--token", "***"], "env": ["K", "L", "N"],
                 "variables": ["input:key", "NO_SUCH_VARIABLE"],
                 "missing": ["input:key", "NO_SUCH_VARIABLE"]},
                {"name": "web", "transport": "auto", "disabled": false,
                 "url": "https://***@w.example/mcp?***", "headers": ["Authorization"],
                 "variables": [], "missing": []},
                {"name": "off", "transport": "stdio", "disabled": true, "command": "x", "args": [],
                 "env": [], "variables": [], "missing": []},
            ],
            "variables": ["input:key", "NO_SUCH_VARIABLE"],
            "missing": ["input:key", "NO_SUCH_VARIABLE"],
            "skipped": [{"server": "odd", "field": "command", "reason": "is missing, and so is `url`"}],
            "warnings": ["server `odd`, field `command`: is missing, and so is `url`; skipped"],
        }]})
    );
    let mut command = world.command("sources list --log trace --from");
    let output = crate::support::run(command.arg(path).env("NO_SUCH_VARIABLE", "hidden-7"));
    let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    for text in ["VS Code", "clock --zone utc --token ***", "off (off)", "input:key, NO_SUCH"] {
        assert!(said.contains(text), "{text:?} is not in\n{said}");
    }
    assert!(!said.contains("NO_SUCH_VARIABLE (not set)"), "{said}");
    let unset = stdout_of(world.command("sources list --from").arg(path), 0);
    assert!(unset.contains("NO_SUCH_VARIABLE (not set)"), "{unset}");
    assert!(!said.contains("hidden") && !json.contains("hidden"), "{said}");
    assert_eq!(std::fs::read_to_string(path).unwrap(), VSCODE);
}

#[test]
fn the_configurations_of_this_machine_are_found() {
    let world = World::empty();
    let home = world.home().join("user");
    let project = world.home().join("project");
    for (path, text) in [
        (home.join(".cursor/mcp.json"), r#"{"mcpServers":{"a":{"command":"a"}}}"#),
        (home.join(".codex/config.toml"), "[mcp_servers.b]\ncommand = \"b\"\n"),
        (home.join(".config/Code/User/settings.json"), "{ // none\n}"),
        (home.join(".gemini/settings.json"), "{ broken hidden"),
        (home.join(".continue/mcpServers/c.yaml"), "mcpServers:\n- name: c\n  command: c\n"),
        (project.join(".mcp.json"), r#"{"mcpServers":{"d":{"command":"d"}}}"#),
    ] {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let list = |flags: &str| {
        let mut command = world.command(&format!("sources list {flags}"));
        command.env("HOME", &home).env("USERPROFILE", &home).env_remove("XDG_CONFIG_HOME");
        stdout_of(command.current_dir(&project), 0)
    };
    let facts: Value = serde_json::from_str(&list("--json")).unwrap();
    let found: Vec<(&str, Vec<&str>)> = facts["sources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            let servers = one["servers"].as_array().unwrap().iter();
            let names = servers.map(|server| server["name"].as_str().unwrap()).collect();
            (one["client"].as_str().unwrap(), names)
        })
        .collect();
    if cfg!(target_os = "linux") {
        assert_eq!(
            found,
            [
                ("claude-code", vec!["d"]),
                ("codex", vec!["b"]),
                ("continue", vec!["c"]),
                ("cursor", vec!["a"]),
                ("gemini", vec![]),
                ("vscode", vec![]),
            ]
        );
    }
    let text = list("");
    assert!(text.contains("line 1, column 3 is at fault") && !text.contains("hidden"), "{text}");
    assert!(text.contains("no MCP servers in it") || !cfg!(target_os = "linux"), "{text}");
}

#[test]
fn a_machine_without_any_is_no_error() {
    let world = World::empty();
    let mut command = world.command("sources list");
    command.env("HOME", world.home()).env("USERPROFILE", world.home());
    command.env_remove("XDG_CONFIG_HOME").current_dir(world.home());
    let said = stderr_of(&mut command, 0);
    assert!(said.contains("no client configuration found"), "{said}");
}

#[test]
fn a_named_file_must_be_there_and_be_read() {
    let world = World::empty();
    let absent = world.home().join("absent.json");
    let absent = absent.to_str().unwrap();
    check_failure(&world, &["sources", "list", "--from", absent], 1, &[absent, "check the path"]);
    let broken = world.write("broken.json", "{\"mcpServers\": {\n]");
    let broken = broken.to_str().unwrap();
    check_failure(&world, &["sources", "list", "--from", broken], 1, &[broken, "line 2"]);
}

const ATLAS: &[&str] = &[
    "AIRTABLE_API_KEY",
    "ALCHEMY_API_KEY",
    "BRAVE_API_KEY",
    "E2B_API_KEY",
    "EXA_API_KEY",
    "GITHUB_TOKEN",
    "GOOGLE_MAPS_API_KEY",
    "GOOGLE_CLIENT_ID",
    "GOOGLE_CLIENT_SECRET",
    "GOOGLE_REFRESH_TOKEN",
    "LARA_ACCESS_KEY_ID",
    "LARA_ACCESS_KEY_SECRET",
    "MONGODB_CONNECTION_STRING",
    "NPS_API_KEY",
    "NOTION_TOKEN",
    "OXYLABS_USERNAME",
    "OXYLABS_PASSWORD",
    "SLACK_MCP_XOXC_TOKEN",
    "SLACK_MCP_XOXD_TOKEN",
    "TWELVE_DATA_API_KEY",
    "WEATHER_API_KEY",
];

/// Published files that hold another thing than one server without variables:
/// servers, variables, and what the one warning says, if there is one.
const PUBLISHED: &[(&str, usize, &[&str], &str)] = &[
    ("continue-dev.yml", 1, &[], "server `my-server`, field `command`: is empty; skipped"),
    ("livemcpbench.clean_config.json", 70, &[], ""),
    ("mcp-atlas.36servers.json", 36, ATLAS, ""),
    ("readme-everything-2-claude-desktop.jsonc", 1, &[], CMD),
    ("readme-everything-4-vscode.jsonc", 1, &[], CMD),
    ("readme-filesystem-3-claude-desktop.jsonc", 1, &[], CMD),
    ("readme-filesystem-4-vscode.jsonc", 1, &["workspaceFolder"], ""),
    ("readme-filesystem-5-vscode.jsonc", 1, &["workspaceFolder"], ""),
    ("readme-filesystem-6-vscode.jsonc", 1, &["workspaceFolder"], CMD),
    ("readme-git-1-claude-desktop.jsonc", 1, &[], NO_BRACES),
    ("readme-git-2-claude-desktop.jsonc", 1, &[], NO_BRACES),
    ("readme-git-3-claude-desktop.jsonc", 1, &[], NO_BRACES),
    ("readme-git-5-vscode.jsonc", 1, &["workspaceFolder"], ""),
    ("readme-git-7-zed.jsonc", 1, &[], NO_BRACES),
    ("readme-memory-3-claude-desktop.jsonc", 1, &[], CMD),
    ("readme-memory-5-claude-desktop.jsonc", 1, &[], CMD),
    ("readme-memory-7-vscode.jsonc", 1, &[], CMD),
    ("readme-sequentialthinking-2-claude-desktop.jsonc", 1, &[], CMD),
    ("readme-sequentialthinking-5-vscode.jsonc", 1, &[], CMD),
    ("readme-time-5-zed.jsonc", 1, &[], NO_BRACES),
    ("vscode.json", 3, &["input:perplexity-key"], ""),
    ("zed.jsonc", 2, &[], ""),
];

/// On Windows there is nothing to say of it.
const CMD: &str = if cfg!(windows) { "" } else { "is `cmd /c`, which only Windows has" };
const NO_BRACES: &str = "it has no braces around it: read as if it had";

#[test]
fn every_published_configuration_is_read() {
    let Some(folder) = shared("data/raw/client-configs") else { return };
    let mut files: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let world = World::empty();
    let json = stdout_of(world.command("sources list --json --from").args(&files), 0);
    let facts: Value = serde_json::from_str(&json).unwrap();
    let sources = facts["sources"].as_array().unwrap();
    assert_eq!(sources.len(), files.len());
    for (path, one) in files.iter().zip(sources) {
        let name = path.file_name().unwrap().to_str().unwrap();
        let row = PUBLISHED.iter().find(|(file, ..)| *file == name);
        let (_, n_servers, variables, said) = row.copied().unwrap_or((name, 1, &[], ""));
        assert_eq!(one["servers"].as_array().unwrap().len(), n_servers, "{name}");
        assert_eq!(one["variables"], json!(variables), "{name}");
        let warnings = one["warnings"].as_array().unwrap();
        assert_eq!(warnings.len(), usize::from(!said.is_empty()), "{name}: {warnings:?}");
        assert!(warnings.iter().all(|one| one.as_str().unwrap().ends_with(said)), "{warnings:?}");
    }
}
