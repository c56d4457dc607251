//! Many clients of one `serve --http`, which share its servers.

use std::io::BufRead;
use std::io::BufReader;
use std::io::Read;
use std::io::Write;
use std::net::TcpStream;
use std::process::Child;
use std::process::Stdio;

use serde_json::Value;
use serde_json::json;

use super::PATIENCE;
use super::built;
use super::n_starts;
use super::until;
use crate::live::Town;
use crate::live::entry;

/// A running service; it is killed when dropped.
struct Service {
    child: Child,
    address: String,
}

impl Service {
    fn of(town: &Town) -> Self {
        let mut command = town.world.command("serve --model stand-in --http 127.0.0.1:0");
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let address = lines
            .find_map(|line| {
                let line = line.unwrap();
                let (_, rest) = line.split_once("http://")?;
                Some(rest.strip_suffix("/mcp")?.to_owned())
            })
            .unwrap();
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        Self { child, address }
    }

    /// Calls as a client of 2026-07-28 does; whether it failed, and the text.
    fn call(&self, tool: &str, arguments: &Value) -> (bool, String) {
        let params = json!({
            "name": "call_tool",
            "arguments": { "name": tool, "arguments": arguments },
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        });
        let request =
            json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let answer = self.post(&request.to_string());
        let text = answer["result"]["content"][0]["text"].as_str();
        assert!(text.is_some(), "{answer}");
        (answer["result"]["isError"] == true, text.unwrap().to_owned())
    }

    fn post(&self, body: &str) -> Value {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let (address, length) = (&self.address, body.len());
        write!(
            stream,
            "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
             Mcp-Method: tools/call\r\nMcp-Name: call_tool\r\nConnection: close\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        // Whether it comes as JSON or as an event, it is one line.
        let message = answer.find(r#"{"jsonrpc""#).and_then(|at| answer[at..].lines().next());
        assert!(message.is_some(), "{answer}");
        serde_json::from_str(message.unwrap()).unwrap()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[cfg(target_os = "linux")]
#[test]
fn fifty_clients_are_all_answered_while_their_servers_are_killed() {
    const SERVERS: [&str; 5] = ["s0", "s1", "s2", "s3", "s4"];
    const KILLS: usize = 4;
    let entries = SERVERS.map(|name| (name.to_owned(), entry("slow,die,pid", "")));
    let town = built(&Value::Object(entries.into_iter().collect()));
    let service = Service::of(&town);
    let pid = service.child.id();
    let all_up = || {
        for server in SERVERS {
            until(server, || !service.call(&format!("{server}__pid"), &json!({})).0);
        }
    };
    all_up();
    let n_files = || std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count();
    // The connection of the last call is closed by now, or soon.
    std::thread::sleep(std::time::Duration::from_millis(300));
    let n_files_before = n_files();
    std::thread::scope(|scope| {
        let service = &service;
        for server in SERVERS {
            scope.spawn(move || {
                for _ in 0..KILLS {
                    // One that has answered is started again at once.
                    until(server, || !service.call(&format!("{server}__pid"), &json!({})).0);
                    assert!(service.call(&format!("{server}__die"), &json!({})).0);
                }
            });
        }
        for n in 0..50 {
            scope.spawn(move || {
                for _ in 0..KILLS {
                    let tool = format!("{}__slow", SERVERS[n % SERVERS.len()]);
                    let (is_failure, text) = service.call(&tool, &json!({ "s": 0.1 }));
                    let is_known = match is_failure {
                        true => text.contains("signal: 9 (SIGKILL)"),
                        false => text == "slept",
                    };
                    assert!(is_known, "{text}");
                }
            });
        }
    });
    all_up();
    assert!(n_starts(&town) > SERVERS.len() * 2, "{}", n_starts(&town));
    until("the end of those that were killed", || town.left().len() == SERVERS.len());
    until("no more open files than before", || n_files() <= n_files_before);
    drop(service);
    until("the end of all", || town.left().is_empty());
}
