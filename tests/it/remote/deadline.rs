//! A request that somebody waits for is given up on in time.

use std::time::{Duration, Instant};

use toolscout::embed::{Embedder, Limits, RemoteEmbedder, RemoteModel};

use super::stub::{Act, Stub};
use super::{World, say, served};
use crate::support::stdout_of;

fn error_within(in_all: Duration, script: Vec<Act>) -> (String, usize) {
    let stub = Stub::new(script);
    let remote = RemoteModel::new(&stub.url(), "a-model", None).unwrap();
    let limits = Limits { in_all: Some(in_all), ..Limits::default() };
    let embedder = RemoteEmbedder::load(&remote, Some(2), None, limits).unwrap();
    let start = Instant::now();
    let error = embedder.embed(&["one", "two"]).unwrap_err().to_string();
    assert!(start.elapsed() < in_all + Duration::from_secs(5), "{error}");
    (error, stub.take_seen().len())
}

#[test]
fn a_server_that_is_busy_for_long_is_not_waited_for() {
    let later = Act::Say(429, "Retry-After: 30", r#"{"error":"slow down"}"#.to_owned());
    let (error, n_asked) = error_within(Duration::from_secs(10), vec![later; 9]);
    assert!(error.contains("HTTP 429 after one try: slow down"), "{error}");
    assert_eq!(n_asked, 1);
    let (error, n_asked) = error_within(Duration::from_secs(1), vec![say(503, ""); 9]);
    assert!(error.contains("HTTP 503 after 2 tries"), "{error}");
    assert_eq!(n_asked, 2, "the second pause would end too late");
    let (error, _) = error_within(Duration::from_millis(100), vec![Act::HangUp; 9]);
    assert!(error.contains("ended the connection once"), "{error}");
}

#[test]
fn a_server_that_says_nothing_is_given_up_on_in_time() {
    let wait = Act::Wait(Duration::from_secs(20));
    let (error, _) = error_within(Duration::from_millis(300), vec![wait.clone()]);
    assert!(error.contains("no answer within 0.3 s"), "{error}");
    let (error, _) = error_within(Duration::from_secs(1), vec![say(500, ""), wait]);
    assert!(error.contains("no answer within 1 s"), "{error}");
}

#[test]
fn a_call_says_that_the_api_is_busy() {
    let world = World::new();
    stdout_of(&mut world.build(&[]), 0);
    for _ in 0..5 {
        world.stub.plan(Act::Say(429, "Retry-After: 60", r#"{"error":"slow down"}"#.to_owned()));
    }
    let start = Instant::now();
    let result = served(&world);
    assert!(start.elapsed() < Duration::from_secs(12), "{result}");
    assert_eq!(result["isError"], true, "{result}");
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("HTTP 429") && text.contains("try again later"), "{text}");
}
