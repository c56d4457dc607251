//! Many clients of one service, and what the embedding alone would take.

use std::io::BufRead;
use std::io::BufReader;
use std::path::Path;
use std::process::Child;
use std::process::Stdio;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use std::time::Instant;

use serde_json::json;
use toolscout::embed::Embedder;
use toolscout::embed::OnnxEmbedder;
use toolscout::index::Index;
use toolscout::models;
use toolscout::models::ModelStore;

use crate::spread;
use crate::toolscout;

const N_CLIENTS: usize = 64;
/// Of all clients together.
const N_REQUESTS: usize = 4_096;

/// Texts that nobody has embedded before, and the same again.
pub(crate) fn discoveries(home: &Path, index: &Path) {
    let own = tempfile::tempdir().unwrap();
    // The models of DIR and an empty cache.
    let link = own.path().join("models");
    std::os::unix::fs::symlink(std::path::absolute(home.join("models")).unwrap(), link).unwrap();
    let service = Service::start(own.path(), index);
    service.ask(usize::MAX);
    println!("\n{N_CLIENTS} clients, {N_REQUESTS} discoveries");
    for name in ["new texts", "the same again"] {
        let start = Instant::now();
        let times = service.ask_by_all();
        let rate = times.len() as f64 / start.elapsed().as_secs_f64();
        println!("{name:<15} {rate:>7.0} a second; {}", spread(times));
    }
    drop(service);
    bare_embedding(home, index);
}

/// The three texts of a request, and nothing else, by as many threads as
/// there are sessions of the model.
fn bare_embedding(home: &Path, index: &Path) {
    let name = Index::open(index).unwrap().manifest().embedder.model.clone();
    let store = ModelStore::new(home.join("models"));
    let embedder = OnnxEmbedder::load(&store, models::find(&name).unwrap()).unwrap();
    let (next, start) = (AtomicUsize::new(0), Instant::now());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().unwrap().get() {
            scope.spawn(|| {
                while let n @ 0..N_REQUESTS = next.fetch_add(1, Relaxed) {
                    let (server, tool) = texts(n);
                    let joint = format!("{server}: {tool}");
                    for text in [&server, &tool, &joint] {
                        embedder.embed(&[text]).unwrap();
                    }
                }
            });
        }
    });
    let rate = N_REQUESTS as f64 / start.elapsed().as_secs_f64();
    println!("the embedding of their texts alone: {rate:.0} requests a second");
}

/// Every number has texts of its own.
fn texts(n: usize) -> (String, String) {
    const PLATFORMS: [&str; 6] =
        ["GitHub", "a calendar", "e-mail", "a SQL database", "cloud storage", "maps"];
    const OPERATIONS: [&str; 5] = ["create", "list", "update", "delete", "search for"];
    const TARGETS: [&str; 7] =
        ["issues", "events", "messages", "tables", "files", "places", "users"];
    let platform = PLATFORMS[n % PLATFORMS.len()];
    let (operation, target) = (OPERATIONS[n % OPERATIONS.len()], TARGETS[n % TARGETS.len()]);
    (format!("{platform}, account {n}"), format!("{operation} {target} of project {n}"))
}

/// A running `serve --http`.
struct Service {
    child: Child,
    url: String,
}

impl Service {
    fn start(home: &Path, index: &Path) -> Self {
        let mut command = toolscout();
        command.env("TOOLSCOUT_HOME", home).arg("--index").arg(index);
        command.args(["serve", "--http", "127.0.0.1:0"]);
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let url = lines.find_map(|line| {
            let line = line.unwrap();
            let at = line.find("http://")?;
            line[at..].split_whitespace().next().map(str::to_owned)
        });
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, url: url.unwrap() }
    }

    /// How long each took.
    fn ask_by_all(&self) -> Vec<Duration> {
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            let clients: Vec<_> = (0..N_CLIENTS)
                .map(|_| {
                    scope.spawn(|| {
                        let agent = agent();
                        let mut times = Vec::new();
                        while let n @ 0..N_REQUESTS = next.fetch_add(1, Relaxed) {
                            times.push(self.ask_with(&agent, n));
                        }
                        times
                    })
                })
                .collect();
            clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
        })
    }

    fn ask(&self, n: usize) -> Duration {
        self.ask_with(&agent(), n)
    }

    /// A discovery in the era without sessions.
    fn ask_with(&self, agent: &ureq::Agent, n: usize) -> Duration {
        let (server, tool) = texts(n);
        let message = json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {
                "name": "discover_tools",
                "arguments": { "server": server, "tool": tool },
                "_meta": {
                    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    "io.modelcontextprotocol/clientCapabilities": {},
                },
            },
        });
        let start = Instant::now();
        let request = agent
            .post(&self.url)
            .header("Content-Type", "application/json")
            .header("Accept", "application/json, text/event-stream")
            .header("MCP-Protocol-Version", "2026-07-28")
            .header("Mcp-Method", "tools/call")
            .header("Mcp-Name", "discover_tools");
        let answer =
            request.send(message.to_string()).unwrap().body_mut().read_to_string().unwrap();
        assert!(answer.contains("\"matches\""), "{answer}");
        start.elapsed()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn agent() -> ureq::Agent {
    let config = ureq::Agent::config_builder().proxy(None);
    config.timeout_global(Some(Duration::from_secs(60))).build().into()
}
