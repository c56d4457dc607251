//! `login` and `logout`, and what tokens are good for: `tests/upstream/oauth.py`
//! is the server and the authorization server, the test plays the browser.

mod flow;
mod tokens;

use std::io::BufRead;
use std::io::BufReader;
use std::io::Read;
use std::path::PathBuf;
use std::process::Child;
use std::process::ChildStderr;
use std::process::Command;
use std::process::Output;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use serde_json::json;

use crate::support::World;
use crate::support::root;
use crate::support::run;
use crate::support::run_with;
use crate::support::stdout_of;

const PYTHON: &str = if cfg!(windows) { "python" } else { "python3" };

/// A home with a configuration, and a server that wants a login as `web`.
struct Inn {
    world: World,
    log: PathBuf,
    server: Child,
    port: String,
}

impl Inn {
    fn open(habits: &str) -> Self {
        let world = World::empty();
        let log = world.home().join("log");
        let mut server = Command::new(PYTHON)
            .arg(root().join("tests/upstream/oauth.py"))
            .args(habits.split_whitespace())
            .env("LOG", &log)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut port = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut port).unwrap();
        let inn = Self { world, log, server, port: port.trim().to_owned() };
        inn.configure(&json!({ "web": {"url": inn.url("/mcp")} }));
        inn
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    fn configure(&self, servers: &Value) {
        self.world.write("mcp.json", json!({ "mcpServers": servers }).to_string());
    }

    /// The command with the configuration behind it.
    fn command(&self, line: &str) -> Command {
        let mut command = self.world.command(line);
        command.arg(self.world.home().join("mcp.json"));
        command
    }

    /// Changes how the server behaves.
    fn tell(&self, path: &str) {
        ureq::get(self.url(path)).call().unwrap();
    }

    fn login(&self, flags: &str) -> Login {
        Login::start(self.command(&format!("login web --no-browser {flags} --config")))
    }

    /// Logs in as a person does.
    fn log_in(&self) {
        let mut login = self.login("");
        assert_eq!(browse(&login.address()), 200);
        let (code, stderr) = login.end();
        assert_eq!(code, Some(0), "{stderr}");
    }

    /// Builds an index of all servers again; what `--json` says of it.
    fn build(&self) -> Value {
        serde_json::from_str(&stdout_of(&mut self.building(), 0)).unwrap()
    }

    fn building(&self) -> Command {
        self.command("index build --json --model stand-in --refresh-after 0s --from")
    }

    /// Why `web`, the only server, gives no tools (or no new ones), without the
    /// port.
    #[track_caller]
    fn reason(&self) -> String {
        let output = run(&mut self.building());
        let reason = match output.status.code() {
            Some(0) => {
                let index: Value = serde_json::from_slice(&output.stdout).unwrap();
                index["stale"][0]["reason"].as_str().unwrap_or_default().to_owned()
            }
            _ => {
                let stderr = String::from_utf8_lossy(&output.stderr);
                let reason = stderr.split_once("the first, `web`: ");
                reason.map(|(_, reason)| reason.trim().to_owned()).unwrap_or_default()
            }
        };
        assert!(!reason.is_empty(), "{output:?}");
        reason.replace(&self.port, "PORT")
    }

    /// Calls `x` of `web` so many times at once through one `serve`; its output.
    fn calls(&self, n_calls: usize, flags: &str) -> Output {
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}});
        let mut input = vec![
            json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}),
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        ];
        for id in 1..=n_calls {
            let params =
                json!({"name": "call_tool", "arguments": {"name": "web__x", "arguments": {}}});
            input.push(
                json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}),
            );
        }
        let input: String = input.iter().map(|line| format!("{line}\n")).collect();
        run_with(&mut self.command(&format!("serve {flags} --config")), &input)
    }

    /// Lines of the log that start so, without that.
    fn logged(&self, start: &str) -> Vec<String> {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        log.lines().filter_map(|line| line.strip_prefix(start)).map(ToOwned::to_owned).collect()
    }

    fn tokens(&self) -> PathBuf {
        self.world.home().join("tokens")
    }

    /// The one file of tokens.
    fn token_file(&self) -> PathBuf {
        let files = std::fs::read_dir(self.tokens()).unwrap();
        let mut files = files.map(|file| file.unwrap().path());
        files.find(|file| file.extension().is_some_and(|kind| kind == "json")).unwrap()
    }
}

impl Drop for Inn {
    fn drop(&mut self) {
        drop(self.server.kill());
        drop(self.server.wait());
    }
}

/// A `login` under way.
struct Login {
    child: Child,
    stderr: BufReader<ChildStderr>,
    said: String,
}

impl Login {
    fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        Self { child, stderr, said: String::new() }
    }

    /// What a person is asked to open.
    fn address(&mut self) -> String {
        loop {
            let mut line = String::new();
            assert_ne!(self.stderr.read_line(&mut line).unwrap(), 0, "{}", self.said);
            self.said.push_str(&line);
            if line.starts_with("http://") {
                return line.trim().to_owned();
            }
        }
    }

    /// Its exit code and all that it said.
    fn end(mut self) -> (Option<i32>, String) {
        self.stderr.read_to_string(&mut self.said).unwrap();
        self.child.stdout.take().unwrap().read_to_string(&mut self.said).unwrap();
        (self.child.wait().unwrap().code(), self.said)
    }
}

/// Opens an address and goes where it leads; the last status.
fn browse(address: &str) -> u16 {
    let agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(Some(Duration::from_secs(20)))
        .build()
        .new_agent();
    agent.get(address).call().unwrap().status().as_u16()
}

/// A field of the query of an address.
fn field(address: &str, name: &str) -> String {
    let (_, query) = address.split_once('?').unwrap();
    let value = query.split('&').find_map(|pair| pair.strip_prefix(&format!("{name}="))).unwrap();
    value.replace("%3A", ":").replace("%2F", "/")
}

/// Fails where anything that must stay secret is in the text.
#[track_caller]
fn assert_no_secrets(text: &str) {
    assert!(!text.contains("-secret"), "{text}");
}

/// Texts of the results of calls.
fn results(output: &Output) -> Vec<String> {
    let stdout = String::from_utf8_lossy(&output.stdout);
    let messages = stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let text = |message: Value| message["result"]["content"][0]["text"].as_str().map(str::to_owned);
    messages.filter_map(text).collect()
}

/// Runs to a failure; what it says.
fn failure(command: &mut Command) -> String {
    let output = run(command);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}
