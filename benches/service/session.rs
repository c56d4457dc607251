//! A client on the input and output of a process, which asks one thing at a time.

use std::io::BufRead;
use std::io::BufReader;
use std::io::Write;
use std::process::Child;
use std::process::ChildStdin;
use std::process::ChildStdout;
use std::process::Command;
use std::process::Stdio;

use serde_json::Value;
use serde_json::json;

pub(crate) struct Session {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    n_asked: u64,
    line: String,
}

impl Session {
    /// Starts the program and greets it.
    pub(crate) fn open(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        let mut session = Self { child, input, output, n_asked: 0, line: String::new() };
        let hello = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "bench", "version": "1" },
        });
        session.ask("initialize", &hello);
        session.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        session
    }

    /// The answer to a request, unread.
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> &str {
        self.n_asked += 1;
        let id = self.n_asked;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        self.line.clear();
        self.output.read_line(&mut self.line).unwrap();
        assert!(self.line.contains("\"result\""), "{}", self.line);
        &self.line
    }

    fn send(&mut self, message: &Value) {
        let line = format!("{message}\n");
        self.input.as_mut().unwrap().write_all(line.as_bytes()).unwrap();
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        drop(self.input.take());
        drop(self.child.wait());
    }
}
