//! Published configurations, taken through an install and back.

use super::Machine;
use super::text;
use crate::support::shared;
use crate::support::stderr_of;
use crate::support::stdout_of;

/// The client that a published file is for, by its name.
fn client_of(name: &str) -> &'static str {
    let known = [
        "claude-desktop",
        "claude-code",
        "cursor",
        "vscode",
        "zed",
        "opencode",
        "kiro",
        "continue",
    ];
    known.into_iter().find(|client| name.contains(client)).unwrap_or("other")
}

#[test]
fn every_published_configuration_comes_back_byte_for_byte() {
    let Some(folder) = shared("data/raw/client-configs") else { return };
    let (mut n_files, mut refused) = (0, Vec::new());
    for entry in std::fs::read_dir(folder).unwrap() {
        let sample = entry.unwrap().path();
        let name = sample.file_name().unwrap().to_str().unwrap().to_owned();
        let machine = Machine::new();
        let before = std::fs::read(&sample).unwrap();
        let path = machine.write(&name, &before);
        let client = client_of(&name);
        let command = |verb: &str| {
            let mut command = machine.command(&format!("{verb} --client {client} --file"));
            command.arg(&path);
            command
        };
        n_files += 1;
        let is_whole = String::from_utf8_lossy(&before).trim_start().starts_with(['{', '/']);
        if client == "continue" || !is_whole {
            stderr_of(&mut command("install"), 1);
            refused.push(name);
        } else {
            let servers = machine.servers(&path);
            stdout_of(&mut command("install"), 0);
            let mut now = machine.servers(&path);
            now.retain(|server| server != "toolscout");
            assert_eq!(now, servers, "{name}");
            stdout_of(command("install").arg("--take-over"), 0);
            assert_eq!(machine.servers(&path), ["toolscout"], "{name}: {}", text(&path));
            stdout_of(&mut command("uninstall"), 0);
        }
        assert_eq!(std::fs::read(&path).unwrap(), before, "{}", path.display());
    }
    assert!(n_files >= 50 && refused.len() == 6, "{n_files} files, of which {refused:?}");
}
