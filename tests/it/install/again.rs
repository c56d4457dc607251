//! Files that others change between installs, move or remove.

use serde_json::json;

use super::Machine;
use super::text;
use crate::support::snapshot;
use crate::support::stderr_of;

#[test]
fn a_server_that_moved_later_comes_back_too() {
    let machine = Machine::new();
    let path = machine.write(".codex/config.toml", "[mcp_servers.a]\ncommand = \"a\"\n");
    machine.run("install --client codex --take-over");
    let later = "\n[mcp_servers.b]\ncommand = \"b\"\nenv = { K = \"of b\" }\n";
    std::fs::write(&path, text(&path) + later).unwrap();
    machine.run("install --client codex --take-over");
    assert!(!text(&path).contains("of b"), "it has moved");
    let said = machine.json("uninstall --client codex");
    assert_eq!((&said["result"], &said["returned"]), (&"edited".into(), &json!(["a", "b"])));
    let left: toml::Table = text(&path).parse().unwrap();
    let servers = left["mcp_servers"].as_table().unwrap();
    assert_eq!(servers.keys().collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(servers["b"]["env"]["K"].as_str(), Some("of b"));
    assert!(!machine.kept("codex.toml").exists());
}

#[test]
fn a_newer_definition_that_moved_is_the_one_that_comes_back() {
    let machine = Machine::new();
    let old = r#"{"mcpServers":{"a":{"command":"old"}}}"#;
    let path = machine.write(".cursor/mcp.json", old);
    machine.run("install --client cursor --take-over");
    let newer = r#""mcpServers":{"a":{"command":"newer"},"#;
    std::fs::write(&path, text(&path).replacen(r#""mcpServers":{"#, newer, 1)).unwrap();
    assert!(text(&path).contains("newer"));
    machine.run("install --client cursor --take-over");
    machine.run("uninstall --client cursor");
    assert_eq!(json_of(&text(&path)), json!({"mcpServers": {"a": {"command": "newer"}}}));
}

/// As a checkout does that brings back the file of before the first install.
#[test]
fn a_server_that_moved_later_is_not_lost_with_the_original_in_place() {
    for between in ["", "install --client cursor --take-over", "install --client cursor"] {
        let machine = Machine::new();
        let original = r#"{"mcpServers": {"a": {"command": "a"}}}"#;
        let path = machine.write(".cursor/mcp.json", original);
        machine.run("install --client cursor --take-over");
        let added = text(&path).replacen('{', r#"{"other": 1, "#, 1);
        let added =
            added.replacen(r#""mcpServers": {"#, r#""mcpServers": {"b": {"command": "b"}, "#, 1);
        assert!(added.contains(r#""b""#), "{added}");
        std::fs::write(&path, added).unwrap();
        machine.run("install --client cursor --take-over");
        std::fs::write(&path, original).unwrap();
        if !between.is_empty() {
            machine.run(between);
        }
        machine.run("uninstall --client cursor");
        let expected = json!({"mcpServers": {"a": {"command": "a"}, "b": {"command": "b"}}});
        assert_eq!(json_of(&text(&path)), expected, "{between:?}");
    }
}

#[test]
fn a_second_name_takes_nothing_from_the_first() {
    let machine = Machine::new();
    let path = machine.write(".cursor/mcp.json", "{\"mcpServers\":{}}");
    machine.run("install --client cursor");
    std::fs::write(&path, text(&path) + "\n").unwrap();
    machine.run("install --client cursor --name two");
    assert!(text(&path).contains("\"two\"") && text(&path).contains("\"toolscout\""));
    machine.run("uninstall --client cursor");
    assert_eq!(json_of(&text(&path)), json!({"mcpServers": {}}));
}

#[cfg(unix)]
#[test]
fn secrets_that_come_back_are_their_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let machine = Machine::new();
    let path = machine.write(
        ".cursor/mcp.json",
        r#"{"mcpServers": {"a": {"command": "a", "env": {"K": "hidden"}}}}"#,
    );
    machine.run("install --client cursor --take-over");
    std::fs::remove_file(&path).unwrap();
    machine.run("uninstall --client cursor");
    assert!(text(&path).contains("hidden"));
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[cfg(target_os = "linux")]
#[test]
fn a_path_that_is_no_text_is_refused_before_secrets_are_copied() {
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::PermissionsExt;
    let machine = Machine::new();
    let path = machine.user().join(std::ffi::OsStr::from_bytes(b"odd-\xff.json"));
    let before = r#"{"mcpServers": {"a": {"command": "a", "env": {"K": "hidden"}}}}"#;
    std::fs::write(&path, before).unwrap();
    let mut command = machine.command("install --client cursor --take-over --file");
    let said = stderr_of(command.arg(&path), 1);
    assert!(said.contains("is not text"), "{said}");
    assert_eq!(text(&path), before);
    let clients = machine.world.home().join("clients");
    assert!(snapshot(&clients).values().all(Vec::is_empty));
    assert_eq!(std::fs::metadata(&clients).unwrap().permissions().mode() & 0o777, 0o700);
}

#[cfg(unix)]
#[test]
fn a_new_file_below_a_link_is_known_again() {
    let machine = Machine::new();
    std::fs::create_dir(machine.user().join("real")).unwrap();
    std::os::unix::fs::symlink("real", machine.user().join("link")).unwrap();
    for file in ["link/new/mcp.json", "real/../newer/mcp.json"] {
        machine.run(&format!("install --client cursor --file {file}"));
        let said = machine.json(&format!("uninstall --client cursor --file {file}"));
        assert_eq!(said["result"], "removed", "{file}");
        assert!(!machine.user().join(file).exists(), "{file}");
        assert!(!machine.kept("cursor.record").exists(), "{file}");
    }
}

#[test]
fn only_what_a_killed_install_has_left_is_swept() {
    let machine = Machine::new();
    machine.write(".cursor/mcp.json", "{}");
    let theirs = machine.write(".cursor/.toolscout-mine.md", "mine");
    machine.run("install --client cursor");
    assert_eq!(text(&theirs), "mine");
}

#[cfg(unix)]
#[test]
fn a_program_of_another_name_knows_its_entry() {
    let machine = Machine::new();
    let path = machine.write(".cursor/mcp.json", "{}");
    machine.run("install --client cursor");
    let renamed = text(&path).replace("/toolscout\"", "/toolscout-nightly\"");
    assert_ne!(renamed, text(&path));
    std::fs::write(&path, renamed).unwrap();
    machine.run("install --client cursor");
    machine.run("uninstall --client cursor");
    assert!(!text(&path).contains("toolscout"), "{}", text(&path));
}

fn json_of(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}
