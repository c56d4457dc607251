//! `install` and `uninstall`: the one entry in the configurations of clients.

mod again;
mod samples;
mod takeover;

use std::path::Path;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::support::World;
use crate::support::run;
use crate::support::stderr_of;
use crate::support::stdout_of;

/// A machine: `user` is its home folder, `scout` that of toolscout.
struct Machine {
    world: World,
}

/// Client, file below the home folder, folder that must be there, key.
const CLIENTS: &[(&str, &str, &str, &str)] = &[
    ("claude-code", ".claude.json", ".claude", "mcpServers"),
    ("cursor", ".cursor/mcp.json", ".cursor", "mcpServers"),
    ("windsurf", ".codeium/windsurf/mcp_config.json", ".codeium/windsurf", "mcpServers"),
    ("gemini", ".gemini/settings.json", ".gemini", "mcpServers"),
    ("kiro", ".kiro/settings/mcp.json", ".kiro/settings", "mcpServers"),
    ("codex", ".codex/config.toml", ".codex", "mcp_servers"),
    ("zed", ".config/zed/settings.json", ".config/zed", "context_servers"),
    ("opencode", ".config/opencode/opencode.json", ".config/opencode", "mcp"),
    #[cfg(target_os = "linux")]
    ("claude-desktop", ".config/Claude/claude_desktop_config.json", ".config/Claude", "mcpServers"),
    #[cfg(target_os = "linux")]
    ("vscode", ".config/Code/User/mcp.json", ".config/Code/User", "servers"),
];

impl Machine {
    fn new() -> Self {
        let world = World::empty();
        std::fs::create_dir_all(world.home().join("user")).unwrap();
        Self { world }
    }

    fn user(&self) -> PathBuf {
        self.world.home().join("user")
    }

    /// What toolscout keeps about clients.
    fn kept(&self, name: &str) -> PathBuf {
        self.world.home().join("clients").join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.user().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    fn command(&self, line: &str) -> Command {
        let mut command = self.world.command(line);
        command.env_remove("TOOLSCOUT_INDEX").env_remove("XDG_CONFIG_HOME");
        command.env("HOME", self.user()).env("USERPROFILE", self.user());
        command.current_dir(self.user());
        command
    }

    /// Runs; stdout.
    #[track_caller]
    fn run(&self, line: &str) -> String {
        stdout_of(&mut self.command(line), 0)
    }

    #[track_caller]
    fn json(&self, line: &str) -> Value {
        serde_json::from_str(&stdout_of(self.command(line).arg("--json"), 0)).unwrap()
    }

    /// Must fail with all of this on stderr and leave the file alone.
    #[track_caller]
    fn check_refused(&self, line: &str, path: &Path, expected: &[&str]) {
        let before = std::fs::read(path).ok();
        let said = stderr_of(&mut self.command(line), 1);
        for text in expected {
            assert!(said.contains(text), "{text:?} is not in\n{said}");
        }
        assert_eq!(std::fs::read(path).ok(), before, "{line}");
        assert!(!said.contains("hidden"), "{said}");
    }

    /// The servers that `sources list` finds in a file, one line each.
    fn servers(&self, path: &Path) -> Vec<String> {
        let mut command = self.command("sources list --json --from");
        let found: Value = serde_json::from_str(&stdout_of(command.arg(path), 0)).unwrap();
        let servers = found["sources"][0]["servers"].as_array().unwrap().clone();
        let off = |one: &Value| if one["disabled"] == true { " (off)" } else { "" };
        let line = |one: &Value| format!("{}{}", one["name"].as_str().unwrap(), off(one));
        servers.iter().map(line).collect()
    }
}

fn text(path: &Path) -> String {
    String::from_utf8(std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn every_client_gets_its_entry_and_loses_it_again() {
    for (client, file, folder, key) in CLIENTS {
        let machine = Machine::new();
        let path = machine.user().join(file);
        let install = format!("install --client {client}");
        machine.check_refused(&install, &path, &["does not seem to be installed", "--file"]);
        std::fs::create_dir_all(machine.user().join(folder)).unwrap();
        let said = machine.run(&install);
        assert!(said.contains("wrote `toolscout`") && said.contains(file), "{said}");
        let written = text(&path);
        assert!(written.contains(key) && written.contains("TOOLSCOUT_HOME"), "{written}");
        assert!(written.contains(env!("CARGO_BIN_EXE_toolscout")), "{written}");
        assert_eq!(machine.servers(&path), ["toolscout"], "{client}");
        assert!(machine.run(&install).contains("already installed"));
        assert_eq!(text(&path), written, "{client}");
        let said = machine.run(&format!("uninstall --client {client}"));
        assert!(said.contains("was not there before"), "{said}");
        assert!(!path.exists());
        let said = machine.run(&format!("uninstall --client {client}"));
        assert!(said.contains("not installed"), "{said}");
        let kept = std::fs::read_dir(machine.kept("")).unwrap().count();
        assert_eq!(kept, 1, "only the lock is left");
    }
}

/// Byte order mark, line ends of Windows, comments, commas, tabs.
const ODD: &str = "\u{FEFF}// mine\r\n{\r\n\t\"theme\": 1.50, /* x */\r\n\r\n\t\"mcpServers\": {\r\n\t\t// clock\r\n\t\t\"clock\": {\"command\": \"clock\", \"args\": [ ]}, // last\r\n\t},\r\n}";

#[test]
fn a_file_is_what_it_was_byte_for_byte() {
    let machine = Machine::new();
    let path = machine.write(".cursor/mcp.json", ODD);
    let said = machine.json("install --client cursor");
    assert_eq!(said["changed"], true);
    assert_eq!(said["backup"], machine.kept("cursor.backup").to_str().unwrap());
    let written = text(&path);
    assert!(written.starts_with("\u{FEFF}// mine\r\n"), "{written}");
    assert_eq!(written.matches('\n').count(), written.matches("\r\n").count());
    for kept in ["1.50, /* x */", "// clock", "// last", "[ ]"] {
        assert!(written.contains(kept), "{kept} is not in\n{written}");
    }
    assert_eq!(machine.servers(&path), ["clock", "toolscout"]);
    let said = machine.json("uninstall --client cursor");
    assert_eq!((&said["result"], &said["changed"]), (&"restored".into(), &true.into()));
    assert_eq!(text(&path), ODD);
}

#[test]
fn flags_make_the_entry_and_a_change_keeps_the_first_backup() {
    let machine = Machine::new();
    let path = machine.write(".cursor/mcp.json", ODD);
    machine.run("install --client cursor");
    machine.run("install --client cursor --index some/where");
    let index = std::fs::canonicalize(machine.user()).unwrap().join("some/where");
    assert!(text(&path).contains(index.to_str().unwrap()), "{}", text(&path));
    assert_eq!(text(&machine.kept("cursor.backup")), ODD);
    let mut bare = machine.command("install --client cursor --name second");
    bare.env_remove("TOOLSCOUT_HOME").env("XDG_DATA_HOME", machine.user().join("data"));
    stdout_of(&mut bare, 0);
    let second: Value = serde_json::from_str(
        &text(&path)[text(&path).find("\"second\": ").unwrap() + 10..]
            .lines()
            .take(4)
            .collect::<String>()
            .replace("},", "}"),
    )
    .unwrap();
    assert_eq!(second["args"], serde_json::json!(["serve"]));
    assert_eq!(second.get("env"), None);
}

#[test]
fn a_binary_that_has_moved_is_written_anew_and_the_owners_words_stay() {
    let machine = Machine::new();
    let old = r#"{"mcpServers": {"toolscout": {"command": "/old/toolscout", "args": ["serve", "--floor", "0.2"], "disabled": true}}}"#;
    let path = machine.write(".kiro/settings/mcp.json", old);
    machine.run("install --client kiro");
    let written = text(&path);
    assert!(!written.contains("/old/") && written.contains("\"disabled\": true"), "{written}");
    assert!(written.contains("\"--floor\""), "{written}");
    machine.run("uninstall --client kiro");
    assert_eq!(text(&path), old);
}

#[test]
fn changes_of_others_stay_when_the_entry_goes() {
    let machine = Machine::new();
    let path = machine.write(".cursor/mcp.json", ODD);
    machine.run("install --client cursor");
    let edited = text(&path).replace("\"theme\": 1.50", "\"theme\": 2");
    std::fs::write(&path, &edited).unwrap();
    machine.run("install --client cursor --index /elsewhere");
    let said = machine.run("uninstall --client cursor");
    assert!(said.contains("changed since; the changes stay"), "{said}");
    let left = text(&path);
    assert_eq!(left, ODD.replace("\"theme\": 1.50", "\"theme\": 2"));
    assert_eq!(machine.servers(&path), ["clock"]);
}

#[test]
fn a_dry_run_writes_nothing() {
    let machine = Machine::new();
    let path = machine.write(".cursor/mcp.json", ODD);
    let before = crate::support::snapshot(machine.world.home());
    let said = machine.run("install --client cursor --take-over --dry-run");
    assert!(said.contains("would write") && said.contains("would move clock"), "{said}");
    let said = machine.json("install --client cursor --take-over --dry-run");
    assert_eq!((&said["dry_run"], &said["moved"]), (&true.into(), &serde_json::json!(["clock"])));
    assert_eq!(crate::support::snapshot(machine.world.home()), before);
    machine.run("install --client cursor");
    let before = crate::support::snapshot(machine.world.home());
    let said = machine.run("uninstall --client cursor --dry-run");
    assert!(said.contains("would be: restored"), "{said}");
    assert_eq!(crate::support::snapshot(machine.world.home()), before);
    assert!(path.exists());
}

#[test]
fn what_cannot_be_edited_is_refused_and_untouched() {
    let machine = Machine::new();
    let cursor = ".cursor/mcp.json";
    for (content, expected) in [
        ("{\n\"mcpServers\": hidden}", "line 2, column 15"),
        (r#"{"mcpServers": {"toolscout": {"command": "npx", "args": ["hidden"]}}}"#, "--name"),
        (r#"{"mcpServers": ["hidden"]}"#, "is not an object"),
        (r#"{"mcpServers": {}, "mcpServers": {}}"#, "stands twice"),
    ] {
        let path = machine.write(cursor, content);
        let place = path.to_str().unwrap();
        machine.check_refused("install --client cursor", &path, &[place, expected]);
    }
    let path = machine.write(cursor, [0xFF, 0xFE, b'{', 0, b'}', 0]);
    machine.check_refused("install --client cursor", &path, &["is not UTF-8"]);
    let path = machine.write(".codex/config.toml", "a = 1\nb = hidden\n");
    machine.check_refused("install --client codex", &path, &["line 2"]);
    let path = machine.write(".codex/config.toml", "a.b = 1\nc = 1\na.d = 1\n");
    let expected = ["by hand", "[mcp_servers.toolscout]"];
    machine.check_refused("install --client codex", &path, &expected);
    let path = machine.write(".continue/config.yaml", "name: x\n");
    let expected = ["YAML", "- name: \"toolscout\"", "args: [\"serve\"]"];
    machine.check_refused("install --client continue", &path, &expected);
    machine.check_refused("uninstall --client continue", &path, &["YAML", "by hand"]);
    for line in
        ["install --client who", "install --client other", "install --client cursor --name="]
    {
        assert_eq!(run(&mut machine.command(line)).status.code(), Some(2), "{line}");
    }
}

#[test]
fn help_names_every_client() {
    let machine = Machine::new();
    let help = machine.run("install --help");
    for (client, ..) in CLIENTS {
        assert!(help.contains(client), "{client} is not in\n{help}");
    }
}

#[test]
fn a_file_that_is_named_may_be_new_and_several_are_kept_apart() {
    let machine = Machine::new();
    let first = machine.write("one/mcp.json", ODD);
    let second = machine.user().join("two/new/mcp.json");
    let install = |path: &Path, verb: &str| {
        let mut command = machine.command(&format!("{verb} --client cursor --file"));
        stdout_of(command.arg(path), 0)
    };
    install(&first, "install");
    install(&second, "install");
    assert_eq!(machine.servers(&second), ["toolscout"]);
    install(&first, "uninstall");
    assert_eq!(text(&first), ODD);
    install(&second, "uninstall");
    assert!(!second.exists());
}

#[cfg(unix)]
#[test]
fn links_and_rights_stay() {
    use std::os::unix::fs::PermissionsExt;
    let machine = Machine::new();
    let real = machine.write("dotfiles/cursor.json", ODD);
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o640)).unwrap();
    std::fs::create_dir_all(machine.user().join(".cursor")).unwrap();
    let link = machine.user().join(".cursor/mcp.json");
    std::os::unix::fs::symlink("../dotfiles/cursor.json", &link).unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    machine.run("install --client cursor");
    assert!(link.is_symlink() && text(&real).contains("toolscout"));
    assert_eq!(mode(&real), 0o640);
    for name in ["cursor.backup", "cursor.record"] {
        assert_eq!(mode(&machine.kept(name)), 0o600, "{name}");
    }
    machine.run("uninstall --client cursor");
    assert!(link.is_symlink());
    assert_eq!((text(&real).as_str(), mode(&real)), (ODD, 0o640));
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o440)).unwrap();
    machine.check_refused("install --client cursor", &real, &["cursor.json", "read-only"]);
    std::fs::remove_file(&real).unwrap();
    machine.check_refused("install --client cursor", &real, &["link to nothing"]);
}

#[test]
fn two_at_once_do_not_mix() {
    let machine = Machine::new();
    let path = machine.write(".cursor/mcp.json", ODD);
    let start = |name: &str| {
        let mut command = machine.command(&format!("install --client cursor --name {name}"));
        command.stdout(std::process::Stdio::null()).spawn().unwrap()
    };
    let names: Vec<String> = (0..8).map(|n| format!("scout-{n}")).collect();
    let all: Vec<_> = names.iter().map(|name| start(name)).collect();
    for mut child in all {
        assert!(child.wait().unwrap().success());
    }
    let mut found = machine.servers(&path);
    found.sort();
    assert_eq!(found[1..], names);
    machine.run("uninstall --client cursor");
    assert_eq!(text(&path), ODD);
}

/// Whatever moment an install ends at, the next command understands what is there.
#[test]
fn a_killed_install_leaves_the_old_file_or_the_new_one_with_its_backup() {
    let machine = Machine::new();
    let path = machine.write(".cursor/mcp.json", ODD);
    for delay_us in (0..40).map(|n| n * 250) {
        let mut child = machine
            .command("install --client cursor --take-over")
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(std::time::Duration::from_micros(delay_us));
        child.kill().unwrap();
        child.wait().unwrap();
        if text(&path) != ODD {
            assert_eq!(machine.servers(&path), ["toolscout"]);
            assert_eq!(text(&machine.kept("cursor.backup")), ODD);
        }
        machine.run("uninstall --client cursor");
        assert_eq!(text(&path), ODD, "after {delay_us} µs");
    }
}
