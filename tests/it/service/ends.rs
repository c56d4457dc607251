//! SIGTERM: what is under way is answered, and nothing is left.

use std::io::Write;
use std::time::Duration;
use std::time::Instant;

use serde_json::json;

use super::client::Client;
use super::client::body;
use super::client::call_of;
use super::client::connect;
use super::client::line_of;
use super::client::rest;
use super::client::said;
use super::client::status;
use super::process::Service;
use crate::calls::built;
use crate::calls::received;
use crate::calls::until;
use crate::live::PYTHON;
use crate::live::Town;
use crate::live::entry;
use crate::support::root;

/// Longer must nobody wait for the end.
const AT_MOST: Duration = Duration::from_secs(5);

/// Starts a call; its answer when the connection has been closed.
fn calling<'scope>(
    scope: &'scope std::thread::Scope<'scope, '_>,
    client: &'scope Client,
    tool: &str,
    arguments: &serde_json::Value,
) -> std::thread::ScopedJoinHandle<'scope, String> {
    let (message, more) = client.message("tools/call", &call_of(tool, arguments));
    scope.spawn(move || client.post(&message, &more))
}

#[track_caller]
fn check_ended(service: Service, town: &Town, start: Instant) {
    assert!(service.ended().success());
    assert!(start.elapsed() < AT_MOST, "{:?}", start.elapsed());
    until("the end of all", || town.left().is_empty());
}

#[test]
fn calls_that_end_in_time_are_answered_in_both_eras() {
    let town = built(&json!({ "a": entry("echo,slow", "") }));
    let service = Service::of(&town);
    let clients =
        [Client::stateless(&service.address, ""), Client::with_session(&service.address, "")];
    assert!(!clients[0].call("a__echo", &json!({})).0);
    let start = std::thread::scope(|scope| {
        let calls =
            clients.each_ref().map(|it| calling(scope, it, "a__slow", &json!({ "s": 1.2 })));
        until("the calls", || received(&town, "tools/call").len() == 3);
        let start = Instant::now();
        service.terminate();
        for call in calls {
            let answer = call.join().unwrap();
            let answer = serde_json::from_str(&line_of(&answer)).unwrap();
            assert_eq!(said(&answer), (false, "slept".to_owned()));
        }
        start
    });
    check_ended(service, &town, start);
}

#[test]
fn calls_that_hang_and_servers_that_do_not_want_to_end_are_ended() {
    let script = root().join("tests/upstream/server.py");
    let line = format!(
        "trap '' TERM; echo \"start $$\" >>\"$LOG\"; {PYTHON} -S '{}' echo,hang deaf child; sleep 600; true",
        script.display()
    );
    let town = built(&json!({
        "shell": { "command": "sh", "args": ["-c", line] },
        "deaf": entry("echo,hang", "deaf child"),
    }));
    let service = Service::of(&town);
    let client = Client::stateless(&service.address, "");
    let start = std::thread::scope(|scope| {
        let calls = ["shell", "deaf"]
            .map(|server| calling(scope, &client, &format!("{server}__hang"), &json!({})));
        until("the calls", || received(&town, "tools/call").len() == 2);
        let start = Instant::now();
        service.terminate();
        for call in calls {
            // An answer that says so, or none; but an end.
            let answer = call.join().unwrap();
            assert!(status(&answer) == 0 || said(&parsed(&answer)).0, "{answer}");
        }
        start
    });
    check_ended(service, &town, start);
}

fn parsed(answer: &str) -> serde_json::Value {
    serde_json::from_str(&line_of(answer)).unwrap()
}

#[test]
fn while_it_ends_it_is_not_ready_and_takes_nobody_in() {
    let town = built(&json!({ "a": entry("slow", "") }));
    let service = Service::of(&town);
    let client = Client::stateless(&service.address, "");
    let get = format!("GET /readyz HTTP/1.1\r\nHost: {}\r\n", service.address);
    until("the model", || status(&super::client::get(&service.address, "/readyz", "")) == 200);
    let mut open = connect(&service.address);
    let start = std::thread::scope(|scope| {
        let call = calling(scope, &client, "a__slow", &json!({ "s": 1 }));
        until("the call", || received(&town, "tools/call").len() == 1);
        // One request on it, so that it is known to be taken in.
        write!(open, "{get}\r\n").unwrap();
        let mut first = [0; 12];
        std::io::Read::read_exact(&mut open, &mut first).unwrap();
        assert_eq!(&first, b"HTTP/1.1 200");
        let start = Instant::now();
        service.terminate();
        until("the closed door", || std::net::TcpStream::connect(&service.address).is_err());
        write!(open, "{get}Connection: close\r\n\r\n").unwrap();
        let answers = rest(&mut open);
        let last = answers.rfind("HTTP/1.1 ").map(|at| &answers[at..]).unwrap();
        assert_eq!((status(last), body(last)), (503, "ending"));
        assert!(!said(&parsed(&call.join().unwrap())).0);
        start
    });
    check_ended(service, &town, start);
}
