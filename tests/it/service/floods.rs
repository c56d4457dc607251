//! Clients that send too much, too slowly, or nonsense.

use std::io::Write;
use std::time::Duration;

use serde_json::json;

use super::client::Client;
use super::client::body;
use super::client::call_of;
use super::client::connect;
use super::client::exchange;
use super::client::rest;
use super::client::status;
use super::process::Service;
use crate::calls::built;
use crate::live::Town;
use crate::live::entry;

const LIMIT: usize = 4 << 20;

fn town() -> Town {
    built(&json!({ "a": entry("echo", "") }))
}

#[track_caller]
fn check_answers(service: &Service) {
    let client = Client::stateless(&service.address, "");
    assert!(!client.call("a__echo", &json!({})).0);
}

#[test]
fn a_body_that_is_too_large_is_refused_before_it_is_read() {
    let town = town();
    let service = Service::of(&town);
    let head = format!("POST /mcp HTTP/1.1\r\nHost: {}\r\n", service.address);
    let expected = "the body is larger than 4194304 bytes";
    // Promised, and never sent.
    let promised = format!("{head}Content-Length: {}\r\n\r\n", LIMIT + 1);
    let answer = exchange(&service.address, promised.as_bytes());
    assert_eq!((status(&answer), body(&answer)), (413, expected));
    // Sent without a promise.
    let mut stream = connect(&service.address);
    write!(stream, "{head}Transfer-Encoding: chunked\r\n\r\n").unwrap();
    let part = vec![b' '; 1 << 16];
    for _ in 0..=LIMIT / part.len() {
        drop(write!(stream, "{:x}\r\n", part.len()));
        drop(stream.write_all(&part));
        drop(write!(stream, "\r\n"));
    }
    let answer = rest(&mut stream);
    assert_eq!((status(&answer), body(&answer)), (413, expected));
    // One that is just not too large is read, and is no JSON.
    let client = Client::stateless(&service.address, "");
    let answer = client.post(&" ".repeat(LIMIT), "MCP-Protocol-Version: 2026-07-28\r\n");
    assert!((400..=415).contains(&status(&answer)) && status(&answer) != 413, "{answer}");
    check_answers(&service);
}

#[test]
fn whoever_is_slow_is_sent_away() {
    let town = town();
    let service = Service::with(&town, "--client-timeout 1s", &[]);
    // A head that does not end, and nothing at all.
    for start in ["POST /mcp HTTP/1.1\r\nHost: localh", ""] {
        let mut stream = connect(&service.address);
        stream.write_all(start.as_bytes()).unwrap();
        let answer = rest(&mut stream);
        assert!([0, 408].contains(&status(&answer)), "{answer}");
    }
    // A body that does not end.
    let client = Client::stateless(&service.address, "");
    let request = client.request("POST", "0123456789", "");
    let answer = exchange(&service.address, request.strip_suffix("89").unwrap().as_bytes());
    assert_eq!((status(&answer), body(&answer)), (408, "the body takes too long"));
    check_answers(&service);
}

#[test]
fn whoever_does_not_read_is_sent_away() {
    let town = built(&json!({ "a": entry("huge,echo", "") }));
    let service = Service::with(&town, "--client-timeout 1s", &[]);
    let client = Client::stateless(&service.address, "");
    let n_bytes = 40 << 20;
    let (message, more) =
        client.message("tools/call", &call_of("a__huge", &json!({ "of": "x", "n": n_bytes })));
    // Who reads gets all of it, however long that takes.
    let answer = client.post(&message, &more);
    assert!(answer.len() > n_bytes, "{}", answer.len());
    let mut stream = connect(&service.address);
    stream.write_all(client.request("POST", &message, &more).as_bytes()).unwrap();
    std::thread::sleep(Duration::from_secs(5));
    let n_read = rest(&mut stream).len();
    assert!(n_read < n_bytes, "{n_read}");
    check_answers(&service);
}

#[test]
fn more_idle_connections_than_there_may_be_pass() {
    let town = town();
    let service = Service::with(&town, "--client-timeout 1s", &[]);
    let idle: Vec<_> = (0..1_100).map(|_| connect(&service.address)).collect();
    check_answers(&service);
    drop(idle);
}

#[test]
fn nonsense_is_refused() {
    let town = town();
    let service = Service::of(&town);
    for bytes in [
        &b"\0\xff\x16\x03\x01garbage\r\n\r\n"[..],
        b"GET /mcp HTTP/9.9\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
    ] {
        let status = status(&exchange(&service.address, bytes));
        assert!(status == 0 || (400..=505).contains(&status), "{status}");
    }
    let head = "x: ".to_owned() + &"y".repeat(1 << 20) + "\r\n";
    let client = Client::stateless(&service.address, &head);
    let answer = client.post("{}", "");
    assert!([0, 431].contains(&status(&answer)), "{answer}");
    let client = Client::stateless(&service.address, "");
    for message in ["", "{", "[]", "7", "\u{feff}{}", r#"{"jsonrpc":"2.0","id":1}"#] {
        let answer = client.post(message, "MCP-Protocol-Version: 2026-07-28\r\n");
        assert!((400..500).contains(&status(&answer)), "{message}: {answer}");
    }
    for (message, code) in [("{", -32700), ("[]", -32600), ("7", -32600)] {
        let answer = client.post(message, "MCP-Protocol-Version: 2026-07-28\r\n");
        assert_eq!(status(&answer), 400, "{answer}");
        let error: serde_json::Value = serde_json::from_str(body(&answer)).unwrap();
        assert_eq!(error["error"]["code"], code, "{error}");
    }
    check_answers(&service);
}
