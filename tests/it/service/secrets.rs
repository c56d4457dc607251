//! What must not be read anywhere: tokens, and the values of configurations.

use serde_json::Value;
use serde_json::json;

use super::client::Client;
use super::client::get;
use super::process::Service;
use crate::live::Town;
use crate::live::entry;
use crate::live::http::Listener;
use crate::support::snapshot;
use crate::support::stdout_of;

const DOOR: &str = "canary-door-8d1f";
const WRONG: &str = "canary-wrong-77ab";
const VALUE: &str = "canary-value-51c0";
const HEADER: &str = "canary-header-e02e";
const ARGUMENT: &str = "canary-argument-93d4";
const WANTED: &str = "canary-wanted-20f6";

#[test]
fn no_log_metric_or_index_has_a_secret() {
    let town = Town::of(&json!({}));
    let listener = Listener::with_tools(&town, "echo,raw", "");
    let mut local = entry("echo,die", "");
    local["env"] = json!({ "LOG": town.log.display().to_string(), "KEY": VALUE });
    let web = json!({
        "url": listener.url("/mcp"),
        "headers": { "Authorization": format!("Bearer {HEADER}"), "X-Key": "${FROM_ENV}" },
    });
    let config = json!({ "mcpServers": { "local": local, "web": web } });
    town.world.write("mcp.json", config.to_string());
    let mut build = town.world.command("index build --model stand-in --json --from");
    build.arg(town.world.home().join("mcp.json")).env("FROM_ENV", VALUE);
    let built: Value = serde_json::from_str(&stdout_of(&mut build, 0)).unwrap();
    assert_eq!(built["rejected"], json!([]));
    let before = town.world.index();

    let variables = [("DOOR", DOOR), ("FROM_ENV", VALUE)];
    let service = Service::with(&town, "--token-env DOOR --log trace", &variables);
    let headers = format!("Authorization: Bearer {DOOR}\r\n");
    let mut said = String::new();
    for client in [
        Client::stateless(&service.address, &headers),
        Client::with_session(&service.address, &headers),
    ] {
        assert!(!client.call("local__echo", &json!({ "x": ARGUMENT })).0);
        assert!(!client.call("web__echo", &json!({ "x": ARGUMENT })).0);
        let failed = client.call("local__die", &json!({}));
        assert!(failed.0);
        said.push_str(&failed.1);
        client.found(WANTED);
    }
    let wrong = Client::stateless(&service.address, &format!("Authorization: Bearer {WRONG}\r\n"));
    let (message, more) = wrong.message("tools/list", &json!({}));
    said.push_str(&wrong.post(&message, &more));
    said.push_str(&get(&service.address, "/metrics", &headers));
    said.push_str(&get(&service.address, "/readyz", &headers));
    let log = service.log();
    assert!(log.contains("tool_selected") && log.contains("routing_complete"), "{log}");
    drop(service);

    let files = snapshot(&before);
    for secret in [DOOR, WRONG, VALUE, HEADER] {
        assert!(!log.contains(secret), "{secret} is in the log:\n{}", around(&log, secret));
        assert!(!said.contains(secret), "{secret} is in an answer");
        for (path, bytes) in &files {
            let is_in = bytes.windows(secret.len()).any(|part| part == secret.as_bytes());
            assert!(!is_in, "{secret} is in {}", path.display());
        }
    }
}

/// The line that has it.
fn around<'log>(log: &'log str, secret: &str) -> &'log str {
    log.lines().find(|line| line.contains(secret)).unwrap_or_default()
}
