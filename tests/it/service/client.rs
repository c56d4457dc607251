//! A client that speaks HTTP by hand, so that it can say anything.

use std::io::Read;
use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;
use serde_json::json;

use super::META;

/// Longer than any answer takes, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// Sends these bytes; all that comes until the connection is closed.
pub(super) fn exchange(address: &str, bytes: &[u8]) -> String {
    let mut stream = connect(address);
    // Who is refused early may not be heard to the end.
    drop(stream.write_all(bytes));
    rest(&mut stream)
}

pub(super) fn connect(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// What comes until the connection is closed, be it in the middle.
pub(super) fn rest(stream: &mut TcpStream) -> String {
    let (mut bytes, mut part) = (Vec::new(), [0; 4096]);
    while let Ok(n @ 1..) = stream.read(&mut part) {
        bytes.extend(&part[..n]);
    }
    String::from_utf8(bytes).unwrap()
}

/// `HTTP/1.1 404 Not Found…` → 404; 0 for no answer at all.
pub(super) fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0)
}

/// The body of an answer.
pub(super) fn body(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").map_or("", |(_, body)| body)
}

pub(super) fn get(address: &str, path: &str, headers: &str) -> String {
    let head = format!("GET {path} HTTP/1.1\r\nConnection: close\r\n{headers}");
    let host =
        if headers.contains("Host:") { String::new() } else { format!("Host: {address}\r\n") };
    exchange(address, format!("{head}{host}\r\n").as_bytes())
}

/// A client; `headers` are whole lines that it sends with everything.
pub(super) struct Client {
    address: String,
    headers: String,
    /// Of the eras with sessions, if it has opened one.
    pub(super) session: Option<String>,
}

impl Client {
    /// One of 2026-07-28.
    pub(super) fn stateless(address: &str, headers: &str) -> Self {
        Self { address: address.to_owned(), headers: headers.to_owned(), session: None }
    }

    /// One of 2025-11-25, introduced.
    #[track_caller]
    pub(super) fn with_session(address: &str, headers: &str) -> Self {
        let mut client = Self::stateless(address, headers);
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        });
        let opening =
            json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let answer = client.post(&opening.to_string(), "");
        let session = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
        assert!(session.is_some(), "{answer}");
        client.session = session.map(ToOwned::to_owned);
        let note = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(status(&client.post(&note.to_string(), "")), 202);
        client
    }

    /// The whole answer to a body.
    pub(super) fn post(&self, body: &str, more: &str) -> String {
        exchange(&self.address, self.request("POST", body, more).as_bytes())
    }

    /// A request as it goes out.
    pub(super) fn request(&self, method: &str, body: &str, more: &str) -> String {
        let session = self.session.as_ref();
        let session = session.map(|id| format!("Mcp-Session-Id: {id}\r\n")).unwrap_or_default();
        let (host, headers, length) = (&self.address, &self.headers, body.len());
        let host = match headers.contains("Host:") {
            true => String::new(),
            false => format!("Host: {host}\r\n"),
        };
        format!(
            "{method} /mcp HTTP/1.1\r\n{host}Content-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nConnection: close\r\n\
             {headers}{session}{more}Content-Length: {length}\r\n\r\n{body}"
        )
    }

    /// The request of a method in the era of the client.
    pub(super) fn message(&self, method: &str, params: &Value) -> (String, String) {
        let mut params = params.clone();
        let mut more = String::new();
        if self.session.is_none() {
            params["_meta"][format!("{META}protocolVersion")] = json!("2026-07-28");
            params["_meta"][format!("{META}clientCapabilities")] = json!({});
            more = format!("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n");
            if let Some(name) = params["name"].as_str() {
                more.push_str(&format!("Mcp-Name: {name}\r\n"));
            }
        }
        let body = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
        (body.to_string(), more)
    }

    /// The line of the answer, as it came.
    #[track_caller]
    pub(super) fn line(&self, method: &str, params: &Value) -> String {
        let (body, more) = self.message(method, params);
        let answer = self.post(&body, &more);
        line_of(&answer)
    }

    #[track_caller]
    pub(super) fn rpc(&self, method: &str, params: &Value) -> Value {
        serde_json::from_str(&self.line(method, params)).unwrap()
    }

    /// Calls a tool of a server; whether it failed, and the text.
    #[track_caller]
    pub(super) fn call(&self, tool: &str, arguments: &Value) -> (bool, String) {
        said(&self.rpc("tools/call", &call_of(tool, arguments)))
    }

    /// Names of the tools that are found.
    #[track_caller]
    pub(super) fn found(&self, wanted: &str) -> Vec<String> {
        let answer = self.discover(&json!({ "tool": wanted, "top_k": 20 }));
        let found = answer["result"]["structuredContent"]["matches"].as_array().cloned();
        let found = found.unwrap_or_default();
        found.iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
    }

    #[track_caller]
    pub(super) fn discover(&self, arguments: &Value) -> Value {
        self.rpc("tools/call", &json!({ "name": "discover_tools", "arguments": arguments }))
    }
}

/// The parameters of a call of a server's tool.
pub(super) fn call_of(tool: &str, arguments: &Value) -> Value {
    json!({ "name": "call_tool", "arguments": { "name": tool, "arguments": arguments } })
}

/// Whether a call failed, and the text of its answer.
#[track_caller]
pub(super) fn said(answer: &Value) -> (bool, String) {
    let text = answer["result"]["content"][0]["text"].as_str();
    assert!(text.is_some(), "{answer}");
    (answer["result"]["isError"] == true, text.unwrap().to_owned())
}

/// Whether it comes as JSON or as an event, a message is one line; the last is the answer.
#[track_caller]
pub(super) fn line_of(answer: &str) -> String {
    let lines = answer.lines().map(|line| line.trim_start_matches("data: "));
    let line = lines.rev().find(|line| line.starts_with(r#"{"jsonrpc""#));
    assert!(line.is_some(), "{answer}");
    line.unwrap().to_owned()
}
