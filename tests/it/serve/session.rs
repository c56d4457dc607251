//! One client of one `serve` process, as bare as it gets.
//!
//! Every line the server writes must be JSON-RPC, whatever the test is about.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::World;

/// Longer than any answer takes, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Session {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    stderr: Option<JoinHandle<String>>,
    next_id: u64,
    /// `_meta` of every request.
    meta: Option<Value>,
}

/// How a session ended.
pub(crate) struct End {
    pub(crate) code: Option<i32>,
    pub(crate) stderr: String,
    /// Lines that nobody had read.
    pub(crate) rest: Vec<String>,
    pub(crate) took: Duration,
}

impl Session {
    /// Starts the process and says nothing yet.
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let mut stderr = child.stderr.take().unwrap();
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines() {
                if sender.send(line.unwrap()).is_err() {
                    return;
                }
            }
        });
        let stderr = std::thread::spawn(move || {
            let mut all = Vec::new();
            stderr.read_to_end(&mut all).unwrap();
            String::from_utf8_lossy(&all).into_owned()
        });
        Self { child, stdin, lines, stderr: Some(stderr), next_id: 1, meta: None }
    }

    /// Opens a session over the index of `world`.
    pub(super) fn open(world: &World) -> Self {
        let mut session = Self::start(world.command("serve"));
        session.initialize("2025-11-25");
        session
    }

    /// A session without a session: protocol 2026-07-28.
    pub(super) fn stateless(world: &World) -> Self {
        let mut session = Self::start(world.command("serve"));
        session.be_stateless();
        session
    }

    /// From now on the client speaks 2026-07-28.
    pub(crate) fn be_stateless(&mut self) {
        self.meta = Some(json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        }));
    }

    /// The opening exchange; the result of `initialize`.
    pub(crate) fn initialize(&mut self, version: &str) -> Value {
        let result = self.result("initialize", initialize_params(version));
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
        result
    }

    /// Writes one line.
    pub(crate) fn send(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(line.as_bytes()).unwrap();
        stdin.write_all(b"\n").unwrap();
        stdin.flush().unwrap();
    }

    /// Writes a request; its id.
    pub(crate) fn ask(&mut self, method: &str, mut params: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        if let (Some(meta), true) = (&self.meta, params.is_object()) {
            for (key, value) in meta.as_object().unwrap() {
                params["_meta"][key] = value.clone();
            }
        }
        let mut request = json!({"jsonrpc": "2.0", "id": id, "method": method});
        if !params.is_null() {
            request["params"] = params;
        }
        self.send(&request.to_string());
        id
    }

    /// The next line, as it came.
    pub(crate) fn line(&mut self) -> String {
        let line = self.lines.recv_timeout(PATIENCE).unwrap();
        check_message(&line);
        line
    }

    /// The next message.
    pub(super) fn receive(&mut self) -> Value {
        parse(&self.line())
    }

    /// The answer to a request, be it result or error.
    pub(super) fn answer(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        let answer = self.receive();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    #[track_caller]
    pub(crate) fn result(&mut self, method: &str, params: Value) -> Value {
        let mut answer = self.answer(method, params);
        assert!(answer.get("result").is_some(), "{answer}");
        answer["result"].take()
    }

    /// Code and message of the error that a request must get.
    #[track_caller]
    pub(super) fn error(&mut self, method: &str, params: Value) -> (i64, String) {
        let answer = self.answer(method, params);
        let error = &answer["error"];
        assert!(error.is_object(), "{answer}");
        (error["code"].as_i64().unwrap(), error["message"].as_str().unwrap().to_owned())
    }

    /// The result of `discover_tools`.
    #[track_caller]
    pub(super) fn call(&mut self, arguments: &Value) -> Value {
        self.result("tools/call", call_params(arguments))
    }

    /// The same, with its bytes as sent.
    #[track_caller]
    pub(super) fn call_raw(&mut self, arguments: &Value) -> (String, Value) {
        let id = self.ask("tools/call", call_params(arguments));
        let line = self.line();
        let head = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"#);
        let result = line.strip_prefix(&head).and_then(|rest| rest.strip_suffix('}'));
        assert!(result.is_some(), "{}", &line[..line.len().min(500)]);
        let result = result.unwrap();
        (result.to_owned(), parse(result))
    }

    /// The message of a failed call.
    #[track_caller]
    pub(super) fn failure(&mut self, arguments: &Value) -> String {
        let result = self.call(arguments);
        assert_eq!(result["isError"], true, "{result}");
        super::text(&result).to_owned()
    }

    /// The number of the process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Closes stdin and waits for the end.
    pub(crate) fn close(mut self) -> End {
        drop(self.stdin.take());
        self.end()
    }

    /// Waits for the end, which something else brings about.
    pub(crate) fn end(mut self) -> End {
        let start = Instant::now();
        let mut rest = Vec::new();
        // The channel ends with the process's stdout.
        while let Ok(line) = self.lines.recv_timeout(PATIENCE) {
            check_message(&line);
            rest.push(line);
        }
        let code = self.child.wait().unwrap().code();
        End {
            code,
            rest,
            took: start.elapsed(),
            stderr: self.stderr.take().unwrap().join().unwrap(),
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // A test that failed leaves its server running otherwise; one that has
        // ended already cannot be killed, which is well.
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

pub(super) fn initialize_params(version: &str) -> Value {
    json!({
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    })
}

pub(super) fn call_params(arguments: &Value) -> Value {
    json!({"name": "discover_tools", "arguments": arguments})
}

/// Deeper than serde's default bound, if it must be.
pub(super) fn parse(json: &str) -> Value {
    let mut parser = serde_json::Deserializer::from_str(json);
    parser.disable_recursion_limit();
    serde::Deserialize::deserialize(&mut parser).unwrap()
}

#[track_caller]
fn check_message(line: &str) {
    let message = parse(line);
    assert_eq!(message["jsonrpc"], "2.0", "{line}");
}
