//! The MCP Inspector on its command line: a client of another SDK, which
//! speaks the protocol up to 2025-11-25.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::support::{self, World};

#[test]
#[ignore = "needs the MCP Inspector of npm; run by .ci/run"]
fn the_inspector_lists_and_calls() {
    let world = World::of_sample();
    let list = answer(&world, &["--method", "tools/list"]);
    let tools: Vec<&Value> = list["tools"].as_array().unwrap().iter().collect();
    assert_eq!(tools.len(), 1, "{list}");
    assert_eq!(tools[0]["name"], "discover_tools");

    let call = ["--method", "tools/call", "--tool-name", "discover_tools", "--tool-arg"];
    let asked = ["server=issue tracker", "tool=create a bug report", "top_k=2"];
    let found = answer(&world, &[&call[..], &asked].concat());
    let matches = found["structuredContent"]["matches"].as_array().unwrap();
    assert_eq!(matches.len(), 2, "{found}");
    assert_eq!(matches[0]["name"], "trackboard__createIssue");
    assert!(matches[0]["input_schema"]["properties"]["projectKey"].is_object(), "{found}");
    let text = found["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("1. trackboard__createIssue: "), "{text}");

    let refused = answer(&world, &[&call[..], &["tool=create", "top_k=99"]].concat());
    assert_eq!(refused["isError"], true, "{refused}");
    let prompts = answer(&world, &["--method", "prompts/list"]);
    assert_eq!(prompts["prompts"][0]["name"], "tool_assistant", "{prompts}");
    let prompt = ["--method", "prompts/get", "--prompt-name", "tool_assistant"];
    let text = answer(&world, &prompt)["messages"][0]["content"]["text"].to_string();
    assert!(text.contains("<tool_assistant>"), "{text}");

    let unknown = run(&world, &["--method", "tools/call", "--tool-name", "nope"]);
    let said = String::from_utf8_lossy(&unknown.stderr);
    assert!(!unknown.status.success() && said.contains("-32602"), "{said}");
}

/// The result that the inspector prints.
fn answer(world: &World, arguments: &[&str]) -> Value {
    let output = run(world, arguments);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}\n{stderr}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn run(world: &World, arguments: &[&str]) -> Output {
    let inspector = std::env::var_os("TOOLSCOUT_PEERS_INSPECTOR");
    let how = "set TOOLSCOUT_PEERS_INSPECTOR to what \
        `tests/peers/inspector/setup.sh target/peers-inspector` prints";
    assert!(inspector.is_some(), "{how}");
    let variable = |name: &str, path: &Path| format!("{name}={}", path.display());
    let mut command = Command::new("node");
    command.arg(inspector.unwrap()).arg("--cli");
    command.args(["-e", &variable("TOOLSCOUT_HOME", world.home())]);
    command.args(["-e", &variable("TOOLSCOUT_INDEX", &world.index())]);
    command.args([env!("CARGO_BIN_EXE_toolscout"), "serve"]).args(arguments);
    support::run(&mut command)
}
