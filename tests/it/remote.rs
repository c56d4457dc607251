//! The remote embedder against an API on this machine: what is asked, what is
//! made of every kind of answer, and that the key stays a secret.

mod deadline;
pub(crate) mod stub;

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use toolscout::embed::{
    BadVector, EmbedError, Embedder, Limits, RemoteEmbedder, RemoteError, RemoteModel, UnitVector,
};
use toolscout::secret::Secret;

use crate::support::{sample, stderr_of, stdout_of, toolscout};
use stub::{Act, Stub};

const KEY: &str = "sk-very-secret-0123456789";

type Pauses = Arc<Mutex<Vec<Duration>>>;

/// An embedder of vectors of 2 that does not sleep, and the pauses it asks for.
fn embedder(stub: &Stub) -> (RemoteEmbedder, Pauses) {
    let pauses = Pauses::default();
    let noted = Arc::clone(&pauses);
    let limits = Limits {
        response_bytes: 1_000_000,
        pause: Box::new(move |pause| noted.lock().unwrap().push(pause)),
        ..Limits::default()
    };
    let remote = RemoteModel::new(&stub.url(), "a-model", None).unwrap();
    let remote = remote.with_key_env("A_KEY").unwrap();
    let key = Secret::new(KEY);
    (RemoteEmbedder::load(&remote, Some(2), key.as_ref(), limits).unwrap(), pauses)
}

type Vectors = Vec<Result<UnitVector, BadVector>>;

fn two_texts(script: impl IntoIterator<Item = Act>) -> (Result<Vectors, RemoteError>, Vec<f32>) {
    let stub = Stub::new(script);
    let (embedder, pauses) = embedder(&stub);
    let vectors = embedder.embed(&["one", "two"]).map_err(|error| match error {
        EmbedError::Remote(error) => error,
        other => unreachable!("{other}"),
    });
    let pauses = pauses.lock().unwrap().iter().map(Duration::as_secs_f32).collect();
    (vectors, pauses)
}

/// The error of a script, as a user reads it.
fn refusal(script: impl IntoIterator<Item = Act>) -> String {
    let message = two_texts(script).0.unwrap_err().to_string();
    assert!(message.contains("`127.0.0.1:"), "no host: {message}");
    assert!(!message.contains(KEY), "{message}");
    message
}

fn good() -> Act {
    Act::Numbers(vec![json!([3.0, 4.0]), json!([0, -1])])
}

fn say(status: u16, body: &str) -> Act {
    Act::Say(status, "", body.to_owned())
}

#[test]
fn vectors_come_in_the_order_of_the_texts_and_normalised() {
    let (vectors, pauses) = two_texts([good()]);
    let vectors = vectors.unwrap();
    assert_eq!(vectors[0].as_ref().unwrap().as_slice(), [0.6, 0.8]);
    assert_eq!(vectors[1].as_ref().unwrap().as_slice(), [0.0, -1.0]);
    assert!(pauses.is_empty());
}

#[test]
fn the_question_is_what_the_api_documents() {
    let stub = Stub::new([good()]);
    embedder(&stub).0.embed(&["one", "two"]).unwrap();
    let seen = stub.take_seen();
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].first_line, "POST /v1/embeddings HTTP/1.1");
    let expected = json!({"model": "a-model", "input": ["one", "two"], "encoding_format": "float"});
    assert_eq!(seen[0].body, expected);
    let headers = seen[0].headers.to_lowercase();
    assert!(headers.contains(&format!("authorization: bearer {KEY}\r\n")), "{headers}");
    assert!(headers.contains("content-type: application/json\r\n"), "{headers}");
}

#[test]
fn a_bad_vector_costs_its_neighbours_nothing() {
    for (row, expected) in [
        (json!([1, null]), BadVector::NotFinite),
        (json!([1, 1e39]), BadVector::NotFinite),
        (json!([0, 0]), BadVector::Zero),
        (json!([1, 2, 3]), BadVector::WrongLength { expected: 2, got: 3 }),
        (json!([]), BadVector::WrongLength { expected: 2, got: 0 }),
    ] {
        let vectors = two_texts([Act::Numbers(vec![row, json!([0, 1])])]).0.unwrap();
        assert_eq!(vectors[0], Err(expected));
        assert!(vectors[1].is_ok());
    }
}

#[test]
fn texts_are_sent_in_batches_and_without_empty_ones() {
    let stub = Stub::new([]);
    let remote = RemoteModel::new(&stub.url(), "a-model", None).unwrap();
    let embedder = RemoteEmbedder::load(&remote, Some(256), None, Limits::default()).unwrap();
    let mut texts: Vec<String> = (0..300).map(|n| format!("text {n}")).collect();
    texts[7] = " \n".to_owned();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let vectors = embedder.embed(&texts).unwrap();
    let seen = stub.take_seen();
    assert_eq!(seen.iter().map(|one| one.texts().len()).collect::<Vec<_>>(), [128, 128, 43]);
    assert_eq!(vectors[7], Err(BadVector::Zero));
    for n in [0, 6, 8, 128, 299] {
        let alone = embedder.embed(&[texts[n]]).unwrap();
        assert_eq!(alone[0], vectors[n], "{n}");
    }
    assert!(embedder.embed(&[]).unwrap().is_empty());
    assert!(embedder.embed(&[""]).unwrap()[0].is_err());
    assert_eq!(stub.take_seen().len(), 5, "nothing is asked where there is nothing to ask");
}

#[test]
fn long_texts_are_cut_and_large_batches_divided() {
    let stub = Stub::new([]);
    let remote = RemoteModel::new(&stub.url(), "a-model", None).unwrap();
    let embedder = RemoteEmbedder::load(&remote, Some(256), None, Limits::default()).unwrap();
    let (ascii, kanji) = ("word ".repeat(9_000), "検索".repeat(9_000));
    embedder.embed(&[&ascii, &kanji]).unwrap();
    let texts = stub.take_seen()[0].texts();
    assert_eq!(texts.iter().map(|text| text.chars().count()).collect::<Vec<_>>(), [24_000, 6_000]);
    embedder.embed(&[ascii.as_str(); 20]).unwrap();
    let seen = stub.take_seen();
    assert_eq!(seen.iter().map(|one| one.texts().len()).collect::<Vec<_>>(), [8, 8, 4]);
}

#[test]
fn a_busy_server_is_asked_again_when_it_said() {
    let later = |header| Act::Say(429, header, r#"{"error":{"message":"slow down"}}"#.to_owned());
    let (vectors, pauses) =
        two_texts([later("Retry-After: 7"), later("retry-after: 9999"), later("X: y"), good()]);
    assert!(vectors.unwrap()[0].is_ok());
    assert_eq!(pauses, [7.0, 60.0, 2.0], "as asked, at most a minute, else by our own schedule");
}

#[test]
fn trouble_that_passes_is_waited_for() {
    for trouble in [say(500, ""), say(503, "<html>"), say(408, ""), Act::HangUp] {
        let (vectors, pauses) = two_texts([trouble.clone(), trouble, good()]);
        assert!(vectors.unwrap()[0].is_ok());
        assert_eq!(pauses, [0.5, 1.0]);
    }
}

#[test]
fn trouble_that_stays_is_reported_after_five_tries() {
    let (error, pauses) = two_texts(vec![say(500, r#"{"error":"out of\nmemory"}"#); 9]);
    assert_eq!(pauses, [0.5, 1.0, 2.0, 4.0]);
    let message = error.unwrap_err().to_string();
    assert!(message.contains("HTTP 500 after 5 tries: out of memory"), "{message}");
    let message = refusal(vec![Act::HangUp; 9]);
    assert!(message.contains("ended the connection 5 times"), "{message}");
}

#[test]
fn a_refusal_is_final_and_names_the_cure() {
    for (status, cure) in [
        (400, "check `--model` and `--dimensions`"),
        (401, "check the key in `A_KEY`"),
        (403, "check the key in `A_KEY`"),
        (404, "check `--embed-url` and `--model`"),
    ] {
        let body = json!({"error": {"message": format!("no, not with {KEY}!")}}).to_string();
        let (error, pauses) = two_texts([say(status, &body)]);
        let message = error.unwrap_err().to_string();
        let words = format!("refuses with HTTP {status}: no, not with ***!; {cure}");
        assert!(message.contains(&words), "{message}");
        assert!(pauses.is_empty());
    }
}

#[test]
fn a_redirect_is_not_followed() {
    let stranger = Stub::new([]);
    let place: &'static str = format!("Location: {}/embeddings", stranger.url()).leak();
    for status in [301, 302, 307, 308] {
        let message = refusal([Act::Say(status, place, String::new())]);
        assert!(message.contains("redirects are not followed"), "{message}");
    }
    assert!(stranger.take_seen().is_empty());
}

#[test]
fn a_slow_server_is_given_up_on() {
    let stub = Stub::new([Act::Wait(Duration::from_secs(20))]);
    let remote = RemoteModel::new(&stub.url(), "a-model", None).unwrap();
    let limits = Limits { whole: Duration::from_millis(500), ..Limits::default() };
    let error = RemoteEmbedder::load(&remote, None, None, limits).err().unwrap();
    assert!(error.to_string().contains("no answer within 0.5 s"), "{error}");
    assert_eq!(stub.take_seen().len(), 1, "what was slow once is not asked again");
}

#[test]
fn answers_that_are_no_embeddings_are_named() {
    for (act, expected) in [
        (say(200, "<!doctype html><p>hi"), "it begins with \"<!doctype html><p>hi\""),
        (say(200, ""), "something other than embeddings"),
        (say(200, r#"{"error":"no"}"#), "missing field `data`"),
        (say(200, r#"{"data":[{"index":0,"embedding":"AACAPw=="}]}"#), "invalid type: string"),
        (say(200, r#"{"data":[{"index":0,"embedding":[NaN, 1]}]}"#), "expected value"),
        (say(200, &format!("{{\"data\":\"{KEY}\"}}")), "***"),
        (Act::Numbers(vec![json!([1, 2])]), "answers 2 texts with 1 vectors"),
        (Act::Numbers(vec![json!([1, 2]); 3]), "answers 2 texts with 3 vectors"),
        (
            say(200, r#"{"data":[{"index":1,"embedding":[1]},{"index":1,"embedding":[1]}]}"#),
            "vector 1 twice or out of range",
        ),
        (Act::Numbers(vec![json!([1, 2, 3]), json!([1, 2, 3])]), "gives 3 numbers a vector, 2 are"),
        (Act::Flood, "larger than 1000000 bytes"),
    ] {
        let message = refusal([act]);
        assert!(message.contains(expected), "{message}");
    }
}

/// A home with the binary's remote index in it.
struct World {
    home: TempDir,
    stub: Stub,
}

impl World {
    fn new() -> Self {
        Self { home: tempfile::tempdir().unwrap(), stub: Stub::new([]) }
    }

    fn toolscout(&self, arguments: &[&str]) -> Command {
        let mut command = toolscout(self.home.path());
        command.args(arguments).env("TOOLSCOUT_INDEX", self.dir());
        command.env_remove("TOOLSCOUT_EMBED_URL").env_remove("OPENAI_API_KEY");
        command.env("HTTP_PROXY", "http://127.0.0.1:9").env("ALL_PROXY", "http://127.0.0.1:9");
        command
    }

    fn dir(&self) -> PathBuf {
        self.home.path().join("remote-index")
    }

    fn build(&self, more: &[&str]) -> Command {
        let mut command = self.toolscout(&["index", "build", "--from"]);
        command.arg(sample()).args(["--embed-url", &self.stub.url(), "--model", "text-embedder"]);
        command.args(more);
        command
    }

    fn manifest(&self) -> Value {
        let current = std::fs::read_to_string(self.dir().join("CURRENT")).unwrap();
        let path = self.dir().join(current.trim()).join("manifest.json");
        serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
    }
}

const ROUTE: [&str; 6] =
    ["route", "--server", "issue tracker", "--tool", "create a bug report", "--json"];

fn first_match(stdout: &str) -> String {
    let reply: Value = serde_json::from_str(stdout).unwrap();
    reply["matches"][0]["name"].as_str().unwrap().to_owned()
}

#[test]
fn an_index_is_built_and_asked_through_the_api() {
    let world = World::new();
    stdout_of(&mut world.build(&["--paper"]), 0);
    let seen = world.stub.take_seen();
    assert_eq!(seen[0].texts().len(), 1, "the length of a vector is learnt first");
    assert!(seen.iter().all(|one| one.body.get("dimensions").is_none()));
    assert!(seen.iter().all(|one| !one.headers.to_lowercase().contains("authorization")));
    let manifest = world.manifest();
    assert_eq!(manifest["embedder"]["dim"], 256);
    assert_eq!(manifest["embedder"]["pooling"], "remote");
    assert_eq!(manifest["remote"]["base_url"], world.stub.url());
    assert_eq!(manifest["runtime"], "remote");

    let found = first_match(&stdout_of(&mut world.toolscout(&ROUTE), 0));
    assert_eq!(found, "trackboard__createIssue");
    let seen = world.stub.take_seen();
    assert_eq!(seen.len(), 1, "all texts of a request are one question");
    for text in ["issue tracker", "create a bug report"] {
        assert!(seen[0].texts().iter().any(|sent| sent == text), "{:?}", seen[0]);
    }
    let shown = stdout_of(&mut world.toolscout(&["index", "inspect"]), 0);
    assert!(shown.contains(&world.stub.url()), "{shown}");
}

#[test]
fn an_update_asks_for_nothing_that_is_known() {
    let world = World::new();
    stdout_of(&mut world.build(&[]), 0);
    world.stub.take_seen();
    let said = stdout_of(&mut world.toolscout(&["index", "update"]), 0);
    assert!(said.contains("nothing changed"), "{said}");
    assert!(world.stub.take_seen().is_empty());
}

#[test]
fn dimensions_are_asked_for_where_they_are_given() {
    let world = World::new();
    stdout_of(&mut world.build(&["--dimensions", "64"]), 0);
    let seen = world.stub.take_seen();
    assert!(seen.iter().all(|one| one.body["dimensions"] == 64 && one.texts().len() > 1));
    assert_eq!(world.manifest()["embedder"]["dim"], 64);
    stdout_of(&mut world.toolscout(&ROUTE), 0);
    assert_eq!(world.stub.take_seen()[0].body["dimensions"], 64);
    world.stub.plan(Act::EmbedIn(3));
    let mut route = world.toolscout(&["route", "--server", "chat", "--tool", "send a message"]);
    let said = stderr_of(&mut route, 1);
    assert!(said.contains("gives 3 numbers a vector, 64 are wanted"), "{said}");
}

#[test]
fn another_place_with_the_same_model_serves_the_index() {
    let world = World::new();
    stdout_of(&mut world.build(&[]), 0);
    world.stub.take_seen();
    let (other, third) = (Stub::new([]), Stub::new([]));
    let slashes = format!("{}//", other.url());
    stdout_of(world.toolscout(&ROUTE).args(["--embed-url", &slashes]), 0);
    assert_eq!(other.take_seen()[0].first_line, "POST /v1/embeddings HTTP/1.1");
    let ask = ["route", "--server", "chat", "--tool", "send a message"];
    stdout_of(world.toolscout(&ask).env("TOOLSCOUT_EMBED_URL", third.url()), 0);
    assert_eq!(third.take_seen().len(), 1);
    assert!(world.stub.take_seen().is_empty());
}

#[test]
fn a_server_that_is_down_is_named() {
    let world = World::new();
    stdout_of(&mut world.build(&[]), 0);
    let mut route = world.toolscout(&ROUTE);
    route.args(["--embed-url", "http://127.0.0.1:1/v1"]);
    let said = stderr_of(&mut route, 1);
    assert!(said.contains("cannot reach the embeddings API at `127.0.0.1:1`"), "{said}");
    assert!(said.to_lowercase().contains("refused"), "{said}");
}

#[test]
fn the_key_goes_to_the_server_and_nowhere_else() {
    let world = World::new();
    let with_key = ["--embed-key-env", "MY_KEY", "--log", "trace"];
    let mut said = Vec::new();
    let mut run = |mut command: Command, code: i32| {
        let output = command.env("MY_KEY", KEY).stdin(Stdio::null()).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", String::from_utf8_lossy(&output.stderr));
        said.extend(output.stdout);
        said.extend(output.stderr);
    };
    let echo = json!({"error": {"message": format!("bad key {KEY}")}}).to_string();
    world.stub.plan(say(401, &echo));
    run(world.build(&with_key), 1);
    world.stub.plan(say(429, &echo));
    run(world.build(&with_key), 0);
    run(world.toolscout(&["index", "inspect", "--json", "--log", "trace"]), 0);
    let mut route = world.toolscout(&ROUTE);
    route.args(["--explain", "--log", "trace"]);
    run(route, 0);
    assert!(String::from_utf8_lossy(&said).contains("bad key ***"));
    assert!(!String::from_utf8_lossy(&said).contains(KEY));
    let bearer = format!("authorization: bearer {KEY}");
    let seen = world.stub.take_seen();
    assert!(seen.iter().all(|one| one.headers.to_lowercase().contains(&bearer)));
    assert!(seen.len() > 3);
    for file in files(world.home.path()) {
        let bytes = std::fs::read(&file).unwrap();
        let holds_key = bytes.windows(KEY.len()).any(|window| window == KEY.as_bytes());
        assert!(!holds_key, "{}", file.display());
    }
    assert_eq!(world.manifest()["remote"]["key_env"], "MY_KEY");
}

#[test]
fn a_missing_key_is_asked_for_by_name() {
    let world = World::new();
    world.stub.plan(say(401, r#"{"error":{"message":"who are you?"}}"#));
    let said = stderr_of(&mut world.build(&["--embed-key-env", "MY_KEY"]), 1);
    assert!(said.contains("who are you?; set `MY_KEY`"), "{said}");
    world.stub.plan(say(401, ""));
    let said = stderr_of(&mut world.build(&[]), 1);
    assert!(said.contains("no reason given; name the variable"), "{said}");
    assert!(!world.dir().join("CURRENT").exists());
}

#[test]
fn flags_that_make_no_sense_are_bad_usage() {
    let world = World::new();
    for (flags, expected) in [
        (vec!["--embed-url", "ftp://host"], "does not begin with https:// or http://"),
        (vec!["--embed-url", "https://me:pw@host/v1"], "https://***@host/v1"),
        (vec!["--embed-key-env", KEY], "not the key itself"),
        (vec!["--dimensions", "0"], "0 is not in"),
    ] {
        let mut command = world.toolscout(&["index", "build", "--model", "m", "--from"]);
        command.arg(sample());
        if flags[0] != "--embed-url" {
            command.args(["--embed-url", &world.stub.url()]);
        }
        let said = stderr_of(command.args(&flags), 2);
        assert!(said.contains(expected) && !said.contains(KEY), "{said}");
    }
    for lonely in [["--embed-url", "http://127.0.0.1"], ["--dimensions", "3"]] {
        let mut command = world.toolscout(&["index", "build", "--from"]);
        stderr_of(command.arg(sample()).args(lonely), 2);
    }
    assert!(world.stub.take_seen().is_empty());
}

#[test]
fn an_index_with_a_local_model_has_no_use_for_a_url() {
    let world = World::new();
    let mut build = world.toolscout(&["index", "build", "--model", "stand-in", "--from"]);
    stdout_of(build.arg(sample()).env("TOOLSCOUT_EMBED_URL", world.stub.url()), 0);
    assert!(world.manifest().get("remote").is_none(), "as older versions wrote it");
    stdout_of(world.toolscout(&ROUTE).env("TOOLSCOUT_EMBED_URL", world.stub.url()), 0);
    assert!(world.stub.take_seen().is_empty());
}

#[test]
fn the_meta_server_asks_the_api_too() {
    let world = World::new();
    stdout_of(&mut world.build(&[]), 0);
    world.stub.take_seen();
    let result = served(&world);
    let found = &result["structuredContent"]["matches"][0]["name"];
    assert_eq!(found, "trackboard__createIssue", "{result}");
    assert_eq!(world.stub.take_seen().len(), 1);
}

/// The result of one call of the meta-server.
fn served(world: &World) -> Value {
    let mut serve = world.toolscout(&["serve"]);
    let mut serve = serve.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = serve.stdin.take().unwrap();
    for message in [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
            "name": "discover_tools",
            "arguments": {"server": "issue tracker", "tool": "create a bug report"}}}),
    ] {
        writeln!(stdin, "{message}").unwrap();
    }
    let lines = BufReader::new(serve.stdout.take().unwrap()).lines();
    let answers = lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    let mut answer = answers.into_iter().find(|answer| answer["id"] == 2).unwrap();
    drop(stdin);
    serve.wait().unwrap();
    answer["result"].take()
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

/// An index of a stranger could name any host and any variable.
#[test]
fn a_key_goes_to_no_host_that_nobody_here_named() {
    let world = World::new();
    stdout_of(world.build(&["--embed-key-env", "KEY_OF_MINE"]).env("KEY_OF_MINE", "s3cret"), 0);
    stdout_of(world.toolscout(&ROUTE).env("KEY_OF_MINE", "s3cret"), 0);
    world.stub.take_seen();
    let elsewhere = tempfile::tempdir().unwrap();
    let route = || {
        let mut command = world.toolscout(&ROUTE);
        command.env("TOOLSCOUT_HOME", elsewhere.path()).env("KEY_OF_MINE", "s3cret");
        command
    };
    let said = stderr_of(&mut route(), 1);
    assert!(said.contains("add `--embed-key-env KEY_OF_MINE`"), "{said}");
    assert!(!said.contains("s3cret"), "{said}");
    assert!(world.stub.take_seen().is_empty());
    stdout_of(route().args(["--embed-key-env", "KEY_OF_MINE"]), 0);
    assert!(world.stub.take_seen()[0].headers.contains("s3cret"));
}
