//! A client that calls tools: several at once, answers in any order.

use std::collections::HashMap;

use serde_json::Value;
use serde_json::json;

use super::until;
use crate::live::Town;
use crate::serve::session::End;
use crate::serve::session::Session;

pub(super) struct Agent {
    pub(super) session: Session,
    /// Lines that nobody has asked for yet.
    early: HashMap<u64, String>,
    /// Numbers of the answers in the order in which they came.
    pub(super) order: Vec<u64>,
    /// What came besides answers.
    pub(super) notes: Vec<Value>,
}

impl Agent {
    /// A session over all servers of the town.
    pub(super) fn of(town: &Town) -> Self {
        Self::with(town, "")
    }

    /// The same, with flags of `serve`.
    pub(super) fn with(town: &Town, flags: &str) -> Self {
        let mut agent = Self::silent(town, flags);
        agent.session.initialize("2025-11-25");
        agent
    }

    /// One that speaks 2026-07-28.
    pub(super) fn stateless(town: &Town) -> Self {
        let mut agent = Self::silent(town, "");
        agent.session.be_stateless();
        agent
    }

    /// One that has said nothing yet.
    fn silent(town: &Town, flags: &str) -> Self {
        let mut command = town.world.command("serve --model stand-in --config");
        command.arg(town.world.home().join("mcp.json")).args(flags.split_whitespace());
        let (early, order, notes) = (HashMap::new(), Vec::new(), Vec::new());
        Self { session: Session::start(command), early, order, notes }
    }

    /// Calls and does not wait; the number of the request.
    pub(super) fn ask(&mut self, tool: &str, arguments: &Value) -> u64 {
        self.ask_with(tool, arguments, &json!({}))
    }

    /// The same, with `_meta`.
    pub(super) fn ask_with(&mut self, tool: &str, arguments: &Value, meta: &Value) -> u64 {
        let arguments = json!({ "name": tool, "arguments": arguments });
        let params = json!({ "name": "call_tool", "arguments": arguments, "_meta": meta });
        self.session.ask("tools/call", params)
    }

    /// The client no longer wants the answer.
    pub(super) fn cancel(&mut self, id: u64) {
        let params = json!({ "requestId": id, "reason": "changed its mind" });
        let note =
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
        self.session.send(&note.to_string());
    }

    /// The line with the answer, as it came.
    pub(super) fn line(&mut self, id: u64) -> String {
        loop {
            if let Some(line) = self.early.remove(&id) {
                return line;
            }
            let line = self.session.line();
            let message: Value = serde_json::from_str(&line).unwrap();
            match message["id"].as_u64() {
                Some(id) => {
                    self.order.push(id);
                    self.early.insert(id, line);
                }
                None => self.notes.push(message),
            }
        }
    }

    pub(super) fn answer(&mut self, id: u64) -> Value {
        serde_json::from_str(&self.line(id)).unwrap()
    }

    /// The text of an answer, be it a failure.
    #[track_caller]
    pub(super) fn said(&mut self, id: u64) -> (bool, String) {
        let answer = self.answer(id);
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str();
        assert!(text.is_some(), "{answer}");
        (result["isError"] == true, text.unwrap().to_owned())
    }

    /// Calls; the text of the answer, which is no failure.
    #[track_caller]
    pub(super) fn call(&mut self, tool: &str, arguments: &Value) -> String {
        let id = self.ask(tool, arguments);
        let (is_failure, text) = self.said(id);
        assert!(!is_failure, "{tool}: {text}");
        text
    }

    /// Calls; the text of the answer, which is a failure.
    #[track_caller]
    pub(super) fn failure(&mut self, tool: &str, arguments: &Value) -> String {
        let id = self.ask(tool, arguments);
        let (is_failure, text) = self.said(id);
        assert!(is_failure, "{tool}: {text}");
        text
    }

    /// Calls a tool that only repeats what it got.
    #[track_caller]
    pub(super) fn echo(&mut self, tool: &str) {
        let text = self.call(tool, &json!({ "word": "again" }));
        assert!(text.contains(r#""arguments": {"word": "again"}"#), "{text}");
    }

    /// Names of the tools that the session itself has.
    pub(super) fn listed(&mut self) -> Vec<String> {
        let list = self.session.result("tools/list", json!({}));
        let tools = list["tools"].as_array().unwrap();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    /// Names of the tools that are found.
    pub(super) fn found(&mut self, wanted: &str) -> Vec<String> {
        self.matches(wanted).iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
    }

    /// The tools that are found.
    pub(super) fn matches(&mut self, wanted: &str) -> Vec<Value> {
        self.discovered(wanted)["matches"].as_array().cloned().unwrap_or_default()
    }

    /// What the note of the answer says.
    pub(super) fn noted(&mut self, wanted: &str) -> Option<String> {
        self.discovered(wanted)["requests"][0]["note"].as_str().map(ToOwned::to_owned)
    }

    fn discovered(&mut self, wanted: &str) -> Value {
        let arguments = json!({ "tool": wanted, "top_k": 20 });
        let params = json!({ "name": "discover_tools", "arguments": arguments });
        let id = self.session.ask("tools/call", params);
        self.answer(id)["result"]["structuredContent"].clone()
    }

    /// Calls again and again until the failure says this.
    #[track_caller]
    pub(super) fn until_failure(&mut self, tool: &str, expected: &str) {
        until(expected, || {
            let id = self.ask(tool, &json!({}));
            let answer = self.answer(id);
            let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
            answer["result"]["isError"] == true && text.contains(expected)
        });
    }

    /// Calls again and again until it works.
    #[track_caller]
    pub(super) fn until_works(&mut self, tool: &str) {
        until(tool, || {
            let id = self.ask(tool, &json!({}));
            !self.said(id).0
        });
    }

    pub(super) fn close(self) -> End {
        self.session.close()
    }
}
