//! A registry of MCP servers as a source: pages, changes, and every way to fail.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::stub::{Reply, Seen, Stub};
use crate::remote::stub::Stub as Embeddings;
use crate::support::{World, run, snapshot, stderr_of, stdout_of};

/// Version, description, status, minutes from eight o'clock to the last change; by name.
type Servers = BTreeMap<String, (String, String, &'static str, u32)>;

#[derive(Clone, Default)]
struct Registry(Arc<Mutex<Servers>>);

impl Registry {
    fn of(n: usize) -> Self {
        let registry = Self::default();
        for n in 0..n {
            registry.set(&format!("com.example/s{n:04}"), "1.0.0", &format!("Server {n}."), 0);
        }
        registry
    }

    fn set(&self, name: &str, version: &str, description: &str, minute: u32) {
        let server = (version.to_owned(), description.to_owned(), "active", minute);
        self.0.lock().unwrap().insert(name.to_owned(), server);
    }

    fn delete(&self, name: &str, minute: u32) {
        let mut servers = self.0.lock().unwrap();
        let server = servers.get_mut(name).unwrap();
        (server.2, server.3) = ("deleted", minute);
    }

    /// A page as the official registry has them; cursors are awkward on purpose.
    fn page(&self, seen: &Seen) -> Value {
        let since = seen.parameter("updated_since").unwrap_or_default();
        let servers = self.0.lock().unwrap();
        let listed: Vec<Value> = servers
            .iter()
            .map(|(name, (version, description, status, minute))| {
                let (hour, minute) = (8 + minute / 60, minute % 60);
                let time = format!("2025-06-01T{hour:02}:{minute:02}:00.123456Z");
                json!({"server": {"name": name, "version": version, "description": description,
                        "packages": []},
                    "_meta": {"io.modelcontextprotocol.registry/official":
                        {"status": status, "isLatest": true, "updatedAt": time}}})
            })
            .filter(|entry| {
                let meta = &entry["_meta"]["io.modelcontextprotocol.registry/official"];
                meta["updatedAt"].as_str().unwrap() > since.as_str()
            })
            .collect();
        let start = seen.parameter("cursor").map_or(0, |cursor| {
            let number = cursor.strip_prefix("com.example/s:1 +ü&").unwrap();
            number.parse::<usize>().unwrap()
        });
        let end = (start + 100).min(listed.len());
        let next = (end < listed.len()).then(|| format!("com.example/s:1 +ü&{end}"));
        json!({"servers": listed[start..end],
            "metadata": {"count": end - start, "nextCursor": next}})
    }

    /// Serves at `/v0.1/servers`, unless `odd` has another answer for a page.
    fn serve(&self, odd: impl Fn(usize, &Seen) -> Option<Reply> + Send + Sync + 'static) -> Stub {
        let registry = self.clone();
        Stub::new(move |seen| {
            if seen.path() != "/v0.1/servers" {
                return Reply::status(404);
            }
            let cursor = seen.parameter("cursor").unwrap_or_default();
            let start = cursor.rsplit('&').next().unwrap().parse().unwrap_or(0);
            let page = start / 100 + 1;
            odd(page, seen).unwrap_or_else(|| Reply::json(&registry.page(seen)))
        })
    }
}

fn build(world: &World, url: &str) -> std::process::Command {
    let mut command = world.command("index build --model stand-in --from");
    command.arg(url).arg("--out").arg(world.index());
    command
}

#[test]
fn an_update_asks_for_changes_and_embeds_nothing_else() {
    let (world, registry, embeddings) = (World::empty(), Registry::of(2_000), Embeddings::new([]));
    let stub = registry.serve(|_, _| None);
    let mut command = world.command("index build --model m --dimensions 256 --from");
    command.arg(stub.url("")).arg("--embed-url").arg(embeddings.url());
    command.args(["--allow-private"]);
    registry.set("com.example/s1999", "1.0.0", "The last one.", 120);
    let stderr = stderr_of(command.arg("--out").arg(world.index()), 0);
    assert!(stderr.contains("20 pages: 2000 entries new or changed, 0 deleted"), "{stderr}");
    assert!(stderr.contains("2000 servers without known tools"), "{stderr}");
    let seen = stub.take_seen();
    assert_eq!(seen.len(), 20);
    assert!(seen.iter().all(|one| one.parameter("version").unwrap() == "latest"));
    assert!(seen.iter().all(|one| one.parameter("updated_since").is_none()));
    assert!(embeddings.take_seen().iter().map(|one| one.texts().len()).sum::<usize>() > 2_000);

    registry.set("com.example/s0007", "1.1.0", "A harbour pilot.", 150);
    registry.set("com.example/zeppelin", "1.0.0", "Moors zeppelins.", 150);
    registry.delete("com.example/s0008", 150);
    let stderr = stderr_of(&mut world.command("index update"), 0);
    let changes = "1 page of changes since 2025-06-01T09:55:00Z: 2 entries new or changed, 1 del";
    assert!(stderr.contains(changes), "{stderr}");
    let seen = stub.take_seen();
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].parameter("updated_since").unwrap(), "2025-06-01T09:55:00Z");
    let embedded = embeddings.take_seen();
    let texts: Vec<String> = embedded.iter().flat_map(|one| one.texts()).collect();
    assert!(!texts.is_empty() && texts.len() <= 4, "{texts:?}");
    assert!(texts.iter().all(|text| text.contains("harbour") || text.contains("eppelin")));
    let inspected = world.json("index inspect");
    assert_eq!(inspected["servers"], 2_000);
    assert_eq!(inspected["sources"][0]["path"], stub.url(""));
    assert_eq!(inspected["sources"][0]["allow_private"], true);

    let before = snapshot(&world.live());
    stdout_of(&mut world.command("index update"), 0);
    assert_eq!(snapshot(&world.live()), before);
    assert!(embeddings.take_seen().is_empty());
}

/// The index stays, and the message says what is wrong and where.
#[track_caller]
fn check_failure(odd: Reply, arguments: &[&str], expected: &[&str]) {
    let (world, registry) = (World::of_sample(), Registry::of(1_000));
    let stub = registry.serve(move |page, _| (page == 7).then(|| odd.clone()));
    let before = snapshot(&world.index());
    let url = stub.url("/v0.1/servers");
    let stderr = stderr_of(build(&world, &url).args(arguments), 1);
    for part in expected.iter().chain(&[url.as_str(), "page 7 of"]) {
        assert!(stderr.contains(part), "{part}: {stderr}");
    }
    assert_eq!(snapshot(&world.index()), before);
}

#[test]
fn a_registry_that_fails_on_a_page_leaves_the_index_alone() {
    check_failure(Reply::status(500), &[], &["answers with HTTP 500, try 4"]);
    check_failure(Reply::status(403), &[], &["refuses with HTTP 403"]);
    let html = Reply::Say(200, String::new(), "<!doctype html><p>Hi".to_owned());
    check_failure(html, &[], &["an HTML page"]);
    check_failure(Reply::json(&"{\"error\":1}"), &[], &["an object with keys error"]);
    let first = json!({"servers": [], "metadata": {"nextCursor": "com.example/s:1 +ü&100"}});
    check_failure(Reply::json(&first), &[], &["the same next page as page 1"]);
}

#[test]
fn a_registry_that_hangs_or_does_not_end_leaves_the_index_alone() {
    let start = Instant::now();
    let hang = Reply::Wait(Duration::from_secs(30));
    check_failure(hang, &["--http-timeout", "0.3"], &["within 0.3 s", "--http-timeout"]);
    check_failure(Reply::Flood, &[], &["larger than 67108864 bytes"]);
    assert!(start.elapsed() < Duration::from_secs(30));
}

#[test]
fn a_registry_without_changes_since_is_read_whole() {
    let (world, registry) = (World::empty(), Registry::of(150));
    let stub = registry
        .serve(|_, seen| seen.parameter("updated_since").is_some().then(|| Reply::status(422)));
    stdout_of(&mut build(&world, &stub.url("/")), 0);
    stub.take_seen();
    registry.0.lock().unwrap().remove("com.example/s0008");
    stdout_of(&mut world.command("index update"), 0);
    assert_eq!(stub.take_seen().len(), 3);
    assert_eq!(world.json("index inspect")["servers"], 149);
}

#[test]
fn without_its_mirror_an_update_reads_everything_and_ends_the_same() {
    let (world, registry) = (World::empty(), Registry::of(150));
    let stub = registry.serve(|_, _| None);
    stdout_of(&mut build(&world, &stub.url("/v0.1/servers")), 0);
    let before = snapshot(&world.index());
    for damage in ["remove", "cut"] {
        for entry in std::fs::read_dir(world.index().join("mirror")).unwrap() {
            let path = entry.unwrap().path();
            match damage {
                "remove" => std::fs::remove_file(path).unwrap(),
                _ => std::fs::write(path, "{").unwrap(),
            }
        }
        stub.take_seen();
        stdout_of(&mut world.command("index update"), 0);
        assert!(stub.take_seen().iter().all(|one| one.parameter("updated_since").is_none()));
        assert_eq!(snapshot(&world.index()), before);
    }
}

#[test]
fn a_document_is_read_once_and_then_only_if_it_has_changed() {
    let catalog = |version: &str| json!({"servers": [{"name": "s", "description": version, "tools": [{"name": "t"}]}]});
    let document = Arc::new(Mutex::new(catalog("one")));
    let served = Arc::clone(&document);
    let stub = Stub::new(move |seen| {
        let body = served.lock().unwrap().to_string();
        let tag = format!("\"{}\"", body.len());
        match seen.headers.contains(&format!("if-none-match: {tag}\r\n")) {
            true => Reply::Say(304, String::new(), String::new()),
            false => Reply::Say(200, format!("ETag: {tag}\r\n"), body),
        }
    });
    // A base that is no registry, a name that is a document's.
    for (path, n_asked) in [("/mcp", 3), ("/x.json?token=hunter2", 1)] {
        let world = World::empty();
        *document.lock().unwrap() = catalog("one");
        let output = run(&mut build(&world, &stub.url(path)));
        assert!(output.status.success(), "{output:?}");
        assert!(!String::from_utf8_lossy(&output.stderr).contains("hunter2"), "{output:?}");
        assert_eq!(stub.take_seen().len(), n_asked);
        let stderr = stderr_of(&mut world.command("index update"), 0);
        assert!(stderr.contains("unchanged there"), "{stderr}");
        *document.lock().unwrap() = catalog("three");
        let stderr = stderr_of(&mut world.command("index update"), 0);
        assert!(stderr.contains("read whole"), "{stderr}");
        assert_eq!(stub.take_seen().len(), 2);
    }
}

#[test]
fn a_url_that_is_nothing_says_all_that_was_tried() {
    let world = World::empty();
    let stub = Stub::new(|seen| match seen.path() {
        "/" => Reply::Say(200, String::new(), "<html>".to_owned()),
        _ => Reply::status(404),
    });
    let stderr = stderr_of(&mut build(&world, &stub.url("")), 1);
    for part in ["is neither an MCP registry nor", "/v0.1/servers", "/v0/servers", "HTML"] {
        assert!(stderr.contains(part), "{stderr}");
    }
    let stderr = stderr_of(&mut build(&world, "https://me:pass@example.com/x.json"), 2);
    assert!(stderr.contains("user or password") && !stderr.contains("pass@"), "{stderr}");
}
