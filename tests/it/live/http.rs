//! Servers that are called.

use std::io::BufRead;
use std::io::BufReader;
use std::process::Child;
use std::process::Command;
use std::process::Stdio;

use serde_json::json;

use super::{PYTHON, Town, rejected};
use crate::support::root;

/// A server on loopback; it ends with its input.
pub(crate) struct Listener {
    child: Child,
    port: String,
}

impl Listener {
    pub(crate) fn start(town: &Town, habits: &str) -> Self {
        Self::with_tools(town, "x,y", habits)
    }

    pub(crate) fn with_tools(town: &Town, tools: &str, habits: &str) -> Self {
        let mut child = Command::new(PYTHON)
            .arg(root().join("tests/upstream/server.py"))
            .args([tools, "--http"])
            .args(habits.split_whitespace())
            .env("LOG", &town.log)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut port = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut port).unwrap();
        Self { child, port: port.trim().to_owned() }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[track_caller]
fn check_listed(habits: &str, path: &str, kind: Option<&str>, expected_log: &[&str]) {
    let town = Town::of(&json!({}));
    let listener = Listener::start(&town, habits);
    let mut entry = json!({ "url": listener.url(path), "headers": {"Authorization": "Bearer t"} });
    if let Some(kind) = kind {
        entry["type"] = json!(kind);
    }
    // Entries with an address have no process and so no environment.
    town.world.write("mcp.json", json!({ "mcpServers": { "web": entry } }).to_string());
    let index = town.build("");
    assert_eq!(index["rejected"], json!([]), "{habits}");
    assert_eq!(town.tools()["web"], ["x", "y"], "{habits}");
    let log = std::fs::read_to_string(&town.log).unwrap();
    assert_eq!(log.lines().collect::<Vec<_>>(), expected_log, "{habits}");
}

#[test]
fn streamable_http_in_its_ways() {
    let plain = [
        "POST /mcp Bearer t None None",
        "POST /mcp Bearer t None 2025-11-25",
        "POST /mcp Bearer t None 2025-11-25",
    ];
    check_listed("", "/mcp", None, &plain);
    check_listed("get404", "/mcp", Some("http"), &plain);
    check_listed("note-hangs", "/mcp", Some("http"), &plain);
    check_listed("note-500", "/mcp", Some("http"), &plain);
    check_listed("events", "/mcp", None, &plain);
    check_listed(
        "session events",
        "/mcp",
        None,
        &[
            plain[0],
            "POST /mcp Bearer t s-1 2025-11-25",
            "POST /mcp Bearer t s-1 2025-11-25",
            "DELETE",
        ],
    );
    check_listed(
        "stateless",
        "/mcp",
        None,
        &[plain[0], "POST /mcp Bearer t None 2026-07-28", "POST /mcp Bearer t None 2026-07-28"],
    );
    check_listed(
        "redirects",
        "/mcp",
        None,
        &[
            plain[0],
            "POST /mcp/ Bearer t None None",
            plain[1],
            "POST /mcp/ Bearer t None 2025-11-25",
            plain[1],
            "POST /mcp/ Bearer t None 2025-11-25",
        ],
    );
}

#[test]
fn server_sent_events_where_nothing_else_is_spoken() {
    let posts = ["POST /post?0 Bearer t None None", "POST /post?0 Bearer t None 2025-11-25"];
    let [first, then] = posts;
    check_listed("legacy", "/sse", Some("sse"), &["GET /sse", first, then, then]);
    check_listed(
        "legacy",
        "/sse",
        None,
        &["POST /sse Bearer t None None", "GET /sse", first, then, then],
    );
    // Only the address of the newer way is known: the older one is beside it.
    check_listed(
        "legacy",
        "/mcp",
        None,
        &["POST /mcp Bearer t None None", "GET /mcp", "GET /sse", first, then, then],
    );
}

#[track_caller]
fn check_refused(habits: &str, path: &str, kind: &str, expected: &str, n_requests: usize) {
    let town = Town::of(&json!({}));
    let listener = Listener::start(&town, habits);
    let good = super::entry("a", "");
    let mut web = json!({ "url": listener.url(path) });
    if kind != "auto" {
        web["type"] = json!(kind);
    }
    town.world.write("mcp.json", json!({ "mcpServers": { "web": web, "good": good } }).to_string());
    let index = town.build("");
    assert_eq!(rejected(&index)["web"].replace(&listener.port, "PORT"), expected, "{habits}");
    let log = std::fs::read_to_string(&town.log).unwrap_or_default();
    assert_eq!(log.lines().count(), n_requests, "{habits}: {log}");
}

#[test]
fn a_refusal_is_reported_as_what_it_is() {
    let login = "it needs a login, as described at http://127.0.0.1/.well-known/it; run `toolscout login web`";
    check_refused("401", "/mcp", "auto", login, 1);
    check_refused(
        "401-bare",
        "/mcp",
        "auto",
        "it needs credentials (HTTP 401); give them as a header of its entry",
        1,
    );
    check_refused("500", "/mcp", "auto", "it answers HTTP 500: <html> <h1>Bad day</h1>", 1);
    check_refused(
        "not-rpc",
        "/mcp",
        "http",
        "its answer to `initialize` is no message of the protocol: {\"Output\": null}",
        1,
    );
    check_refused("redirects-away", "/mcp", "http", "it answers HTTP 307", 1);
    check_refused(
        "legacy elsewhere",
        "/sse",
        "sse",
        "its answer to `GET` names no address of its own to post to",
        1,
    );
    let bomb = "`http://127.0.0.1:PORT/sse` cannot be reached: body error: it sends more than 64 MB at once";
    check_refused("legacy bomb", "/sse", "sse", bomb, 2);
    // Neither way works: the first refusal counts.
    check_refused("get404 legacy", "/x/mcp", "auto", "it answers HTTP 405", 3);
}

#[test]
fn an_address_at_which_nobody_answers_is_named_without_its_secrets() {
    let town = Town::of(&json!({}));
    town.world.write(
        "mcp.json",
        json!({ "mcpServers": {
            "gone": {"url": "http://me:pass@127.0.0.1:9/mcp?key=k"},
            "good": super::entry("a", ""),
            "header": {"url": "http://127.0.0.1:9/mcp", "headers": {"X-Odd": "a\nb"}},
        }})
        .to_string(),
    );
    let index = town.build("");
    let reasons = rejected(&index);
    assert!(
        reasons["gone"].starts_with("`http://127.0.0.1:9/mcp` cannot be reached: "),
        "{reasons:?}"
    );
    assert_eq!(reasons["header"], "header `X-Odd` holds what no header may hold");
}
