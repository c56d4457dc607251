//! `install --take-over`: the other servers behind toolscout, and back.

use std::process::Command;

use serde_json::Value;
use serde_json::json;

use super::Machine;
use super::text;
use crate::support::run_with;
use crate::support::stderr_of;

const CODE: &str = r#"{
  // asked for
  "inputs": [{"id": "key", "type": "promptString"}],
  "servers": {
    // about one
    "one": {"type": "stdio", "command": "./one", "args": ["--dir", "."], "env": {"K": "hidden"}, "odd": 1e05}, // end
    "two": {"url": "https://two.example/mcp", "headers": {"A": "${input:key}"}, "disabled": true},
    "ext": {"args": ["hidden"]}
  }
}
"#;

#[test]
fn servers_move_as_they_are_and_come_back() {
    let machine = Machine::new();
    let path = machine.write("code/mcp.json", CODE);
    let line = format!("install --client vscode --take-over --file {}", path.display());
    let said = machine.json(&line);
    let moved_to = machine.kept("vscode.json");
    assert_eq!(said["moved"], json!(["one", "two"]));
    assert_eq!(said["moved_to"], moved_to.to_str().unwrap());
    let notes = said["notes"].as_array().unwrap();
    for expected in [
        "`ext` stays in the client's file: server `ext`, field `command`: is missing",
        "server `one`, field `command`: is a relative path",
        "server `one`, field `args[1]`: is a relative path",
        "server `two` needs `input:key`",
    ] {
        let is_said = notes.iter().any(|note| note.as_str().unwrap().starts_with(expected));
        assert!(is_said, "{expected} is not in {notes:#?}");
    }
    assert!(!said.to_string().contains("hidden"), "{said}");
    let moved = text(&moved_to);
    assert!(moved.contains(r#"{"type": "stdio", "command": "./one", "args": ["--dir", "."], "env": {"K": "hidden"}, "odd": 1e05}"#), "{moved}");
    assert!(moved.contains(r#"[{"id": "key", "type": "promptString"}]"#), "{moved}");
    assert_eq!(machine.servers(&moved_to), ["one", "two (off)"]);
    let written = text(&path);
    assert!(written.contains("// asked for") && written.contains("\"ext\""), "{written}");
    assert!(written.contains("\"--config\"") && !written.contains("\"one\""), "{written}");
    assert!(written.contains(moved_to.to_str().unwrap()), "{written}");

    let again = machine.json(&line);
    assert_eq!((&again["changed"], &again["moved"]), (&false.into(), &json!([])));
    let plain = machine.json(&line.replace(" --take-over", ""));
    assert_eq!(plain["changed"], false, "what has moved stays moved");

    let undo = format!("uninstall --client vscode --file {}", path.display());
    let said = machine.json(&undo);
    assert_eq!((&said["result"], &said["returned"]), (&"restored".into(), &json!(["one", "two"])));
    assert_eq!(text(&path), CODE);
    assert!(!moved_to.exists());
}

#[test]
fn servers_come_back_into_a_file_that_was_changed() {
    let machine = Machine::new();
    let path = machine.write(".cursor/mcp.json", CODE.replace("servers", "mcpServers"));
    machine.run("install --client cursor --take-over");
    // The client adds a server, one of them under a name that has moved.
    let added = "\"new\": {\"command\": \"new\"}, \"one\": {\"command\": \"newer\"}, \"ext\"";
    std::fs::write(&path, text(&path).replace("\"ext\"", added)).unwrap();
    let said = machine.json("install --client cursor --take-over");
    assert_eq!(said["moved"], json!(["new", "one"]));
    assert!(said["notes"].to_string().contains("`one` had been moved before"), "{said}");
    let again = text(&path).replace("\"ext\"", "\"two\": {\"command\": \"own\"}, \"ext\"");
    std::fs::write(&path, again).unwrap();
    let said = machine.json("uninstall --client cursor");
    assert_eq!((&said["result"], &said["returned"]), (&"edited".into(), &json!(["one", "new"])));
    assert!(said["notes"].to_string().contains("`two` is in the file again"), "{said}");
    let left = text(&path);
    for kept in ["// asked for", "newer", "\"own\"", "\"ext\""] {
        assert!(left.contains(kept), "{kept} is not in\n{left}");
    }
    assert!(!left.contains("toolscout") && !machine.kept("cursor.json").exists(), "{left}");
}

/// Starts the entry as the client would, and asks for its tools.
#[test]
fn the_entry_starts_a_server_that_calls_the_moved_ones() {
    let machine = Machine::new();
    let index = crate::support::stand_in_index(machine.world.home(), &crate::support::sample());
    let before = r#"{"mcpServers": {"a": {"command": "a"}}}"#;
    let path = machine.write(".cursor/mcp.json", before);
    let line = format!("install --client cursor --take-over --index {}", index.display());
    let said = stderr_of(&mut machine.command(&line), 0);
    assert!(said.contains("index build --from") && said.contains("restart Cursor"), "{said}");
    let config: Value = serde_json::from_str(&text(&path)).unwrap();
    let entry = &config["mcpServers"]["toolscout"];
    let words = |value: &Value| value.as_array().unwrap().clone();
    let mut client = Command::new(entry["command"].as_str().unwrap());
    client.env_remove("TOOLSCOUT_INDEX").env_remove("TOOLSCOUT_HOME");
    client.args(words(&entry["args"]).iter().map(|word| word.as_str().unwrap().to_owned()));
    for (name, value) in entry["env"].as_object().unwrap() {
        client.env(name, value.as_str().unwrap());
    }
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    let output = run_with(&mut client, &format!("{hello}\n{ready}\n{list}\n"));
    let replies = String::from_utf8(output.stdout).unwrap();
    assert!(replies.contains("discover_tools") && replies.contains("call_tool"), "{replies}");
}

#[test]
fn switches_of_gemini_go_along() {
    let machine = Machine::new();
    let before = r#"{"mcp": {"allowed": ["a", "b"], "excluded": ["b"]},
        "mcpServers": {"a": {"command": "a"}, "b": {"command": "b"}, "c": {"command": "c"}}}"#;
    let path = machine.write(".gemini/settings.json", before);
    let said = machine.json("install --client gemini --take-over");
    assert!(said["notes"].to_string().contains("add `toolscout` to it"), "{said}");
    assert_eq!(machine.servers(&machine.kept("gemini.json")), ["a", "b (off)", "c (off)"]);
    machine.run("uninstall --client gemini");
    assert_eq!(text(&path), before);
}

#[test]
fn tables_of_codex_move_and_come_back() {
    let machine = Machine::new();
    let before = "# mine\r\nmodel = \"m\"\r\n\r\n# about a\r\n[mcp_servers.a]\r\ncommand = 'a' # x\r\nenabled = false\r\n\r\n[mcp_servers.a.env]\r\nK = \"v\"\r\n\r\n[tui]\r\nx = 1\r\n";
    let path = machine.write(".codex/config.toml", before);
    machine.run("install --client codex --take-over");
    assert_eq!(machine.servers(&machine.kept("codex.toml")), ["a (off)"]);
    let written = text(&path);
    assert!(written.contains("# about a") && !written.contains("[mcp_servers.a"), "{written}");
    let edited = written.replace("x = 1", "x = 2");
    std::fs::write(&path, edited).unwrap();
    machine.run("uninstall --client codex");
    let left = text(&path);
    assert!(left.contains("x = 2") && left.contains("# about a"), "{left}");
    assert_eq!(left.matches('\n').count(), left.matches("\r\n").count(), "{left:?}");
    assert_eq!(machine.servers(&path), ["a (off)"]);
}
