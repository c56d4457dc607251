//! Configurations of MCP clients: which servers they start or call, and how.
//!
//! Owns finding the servers in a document of any known client. Starts and
//! contacts nothing, writes nothing, and lets no value out through `Debug`:
//! what stands in `env` or `headers` may be a password.

mod client;
mod document;
mod endpoint;
mod entry;
mod jsonc;
mod mask;
mod places;
mod process;
mod servers;
mod switch;
mod template;
mod warning;

use std::path::Path;

use crate::sources::SourceError;
use crate::sources::client_config::document::Document;
use crate::sources::reader::Reader;

pub use crate::sources::client_config::client::Client;
pub use crate::sources::client_config::endpoint::Endpoint;
pub use crate::sources::client_config::places::places;
pub use crate::sources::client_config::places::user_places;
pub use crate::sources::client_config::process::Process;
pub use crate::sources::client_config::template::Kind;
pub use crate::sources::client_config::template::Template;
pub use crate::sources::client_config::template::Variable;
pub use crate::sources::client_config::warning::Effect;
pub use crate::sources::client_config::warning::Warning;

/// What one configuration file holds.
#[derive(Debug)]
pub struct ClientConfig {
    /// Whose file it is, as far as its name and content tell.
    pub client: Client,
    /// In the order of the file, disabled ones too.
    pub servers: Vec<Launch>,
    /// What was left out or taken over otherwise than it was written.
    pub warnings: Vec<Warning>,
}

/// How to reach one server.
#[derive(Clone, Debug)]
pub struct Launch {
    /// As the file has it; unique within it.
    pub name: String,
    /// How to speak to it.
    pub transport: Transport,
    /// Its owner has switched it off: it must not be started.
    pub disabled: bool,
    /// What its values refer to, without repeats, in order.
    pub variables: Vec<Variable>,
}

/// How a client speaks to a server.
#[derive(Clone, Debug)]
pub enum Transport {
    /// It is started, and spoken to on its standard input and output.
    Stdio(Process),
    /// Streamable HTTP.
    Http(Endpoint),
    /// HTTP with server-sent events, as of protocol 2024-11-05.
    Sse(Endpoint),
    /// The file only has an address: streamable HTTP first, then SSE.
    Auto(Endpoint),
}

impl Transport {
    /// `stdio`, `http`, `sse` or `auto`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Stdio(_) => "stdio",
            Self::Http(_) => "http",
            Self::Sse(_) => "sse",
            Self::Auto(_) => "auto",
        }
    }

    /// Every value with the field it stands in, such as `args[1]`.
    #[must_use]
    pub fn values(&self) -> Vec<(String, &Template)> {
        match self {
            Self::Stdio(process) => process.values(),
            Self::Http(endpoint) | Self::Sse(endpoint) | Self::Auto(endpoint) => endpoint.values(),
        }
    }
}

impl Launch {
    /// The variables that have no value, each with the first field that needs it.
    #[must_use]
    pub fn missing(&self, is_set: &dyn Fn(&Variable) -> bool) -> Vec<(String, Variable)> {
        let mut missing: Vec<(String, Variable)> = Vec::new();
        for (field, value) in self.transport.values() {
            for variable in value.needed() {
                if !is_set(variable) && !missing.iter().any(|(_, seen)| seen == variable) {
                    missing.push((field.clone(), variable.clone()));
                }
            }
        }
        missing
    }
}

/// Reads the configuration of a client; the file stays as it is.
///
/// # Errors
/// When it cannot be read or is no JSON, TOML or YAML; an entry that cannot be
/// used is a warning.
pub fn read(path: &Path) -> Result<ClientConfig, SourceError> {
    let text = Reader::default().text(path)?;
    parse(path, &text)
}

/// Reads a text as [`read`] reads a file of that name.
///
/// # Errors
/// When it is no JSON, TOML or YAML.
pub fn parse(path: &Path, text: &str) -> Result<ClientConfig, SourceError> {
    let document = Document::parse(path, text)?;
    Ok(servers::read(path, &document))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::sources::shared;

    fn parsed(name: &str, text: &str) -> ClientConfig {
        parse(Path::new(name), text).unwrap()
    }

    /// One line a server: name, transport, what is shown of it, switch, variables.
    fn lines(config: &ClientConfig) -> Vec<String> {
        let line = |server: &Launch| {
            let shown = match &server.transport {
                Transport::Stdio(process) => process.shown().join(" "),
                Transport::Http(end) | Transport::Sse(end) | Transport::Auto(end) => end.shown(),
            };
            let off = if server.disabled { " (off)" } else { "" };
            let variables: Vec<String> = server.variables.iter().map(ToString::to_string).collect();
            let needs = if variables.is_empty() { "" } else { " needs " };
            let transport = server.transport.name();
            format!("{}: {transport} {shown}{off}{needs}{}", server.name, variables.join(" "))
        };
        config.servers.iter().map(line).collect()
    }

    fn warnings(config: &ClientConfig) -> Vec<String> {
        config.warnings.iter().map(ToString::to_string).collect()
    }

    #[track_caller]
    fn check(name: &str, text: &str, client: Client, servers: &[&str], said: &[&str]) {
        let config = parsed(name, text);
        assert_eq!(config.client, client, "{name}: {text}");
        assert_eq!(lines(&config), servers, "{name}: {text}");
        assert_eq!(warnings(&config), said, "{name}: {text}");
    }

    #[test]
    fn every_client_writes_its_servers_its_own_way() {
        let clock = r#"{"command":"clock","args":["--zone","utc"],"env":{"A":"${KEY}"}}"#;
        let line = "clock: stdio clock --zone utc needs KEY";
        for (name, client) in [
            ("home/.mcp.json", Client::ClaudeCode),
            ("home/.claude.json", Client::ClaudeCode),
            ("home/.cursor/mcp.json", Client::Cursor),
            ("home/.kiro/settings/mcp.json", Client::Kiro),
            ("home/.gemini/settings.json", Client::Gemini),
            (r"C:\Users\me\.codeium\windsurf\mcp_config.json", Client::Windsurf),
            ("kiro.json", Client::Kiro),
            ("mcp.json", Client::Other),
        ] {
            check(name, &format!(r#"{{"mcpServers":{{"clock":{clock}}}}}"#), client, &[line], &[]);
        }
        check(
            "Claude/claude_desktop_config.json",
            &format!(r#"{{"mcpServers":{{"clock":{clock}}}}}"#),
            Client::ClaudeDesktop,
            &[line],
            &[
                "server `clock`, field `env.A`: Claude Desktop expands no references; here it is one",
            ],
        );
    }

    #[test]
    fn vscode_has_servers_and_inputs_at_the_top_or_nested() {
        let inner = r#"{"inputs":[{"id":"key","type":"promptString","password":true}],"servers":{
            "s":{"type":"stdio","command":"s","env":{"K":"${input:key}","L":"${input:other}"}},
            "h":{"type":"http","url":"https://h.example/mcp","headers":{"V":"1"}}}}"#;
        let servers = ["s: stdio s needs input:key input:other", "h: http https://h.example/mcp"];
        let said = ["server `s`, field `inputs`: has no `other`, which the server asks for"];
        for (name, text) in [
            (".vscode/mcp.json", inner.to_owned()),
            ("x.json", inner.to_owned()),
            ("Code/User/settings.json", format!(r#"{{"editor.tabSize":2,"mcp":{inner}}}"#)),
            ("x.json", format!(r#"{{"mcp":{inner}}}"#)),
        ] {
            check(name, &text, Client::VsCode, &servers, &said);
        }
        let dotted = r#"{"mcp.servers":{"a":{"command":"a"}}}"#;
        check("settings.json", dotted, Client::VsCode, &["a: stdio a"], &[]);
    }

    #[test]
    fn zed_opencode_gemini_and_windsurf() {
        check(
            "zed/settings.json",
            r#"{ // Zed
              "theme": "x", "context_servers": {
                "old": {"command": {"path": "p", "args": ["-x"], "env": {"A": "1"}}},
                "new": {"source": "custom", "command": "n", "args": []},
                "far": {"url": "https://z.example/mcp", "enabled": false},
                "ext": {"source": "extension", "settings": {}}, }, }"#,
            Client::Zed,
            &["old: stdio p -x", "new: stdio n", "far: auto https://z.example/mcp (off)"],
            &[
                "server `ext`, field `source`: is an extension, which only the client can start; skipped",
            ],
        );
        check(
            "opencode.jsonc",
            r#"{"mcp":{"l":{"type":"local","command":["npx","-y","x"],"environment":{"A":"{env:KEY}"}},
                "r":{"type":"remote","url":"https://r.example","headers":{"X":"{file:~/key}"},"enabled":false}}}"#,
            Client::OpenCode,
            &["l: stdio npx -y x needs KEY", "r: auto https://r.example (off) needs file:~/key"],
            &[],
        );
        check(
            ".gemini/settings.json",
            r#"{"mcp":{"excluded":["c"]},"mcpServers":{"a":{"httpUrl":"https://a.example/$PART"},
                "b":{"url":"https://b.example/sse","headers":{"A":"Bearer $TOK"}},"c":{"command":"c","cwd":"$HOME/x"}}}"#,
            Client::Gemini,
            &[
                "a: http https://a.example/$PART needs PART",
                "b: auto https://b.example/sse needs TOK",
                "c: stdio c (off) needs HOME",
            ],
            &[],
        );
        check(
            "x.json",
            r#"{"mcpServers":{"w":{"serverUrl":"https://w.example/sse?key=abc"}}}"#,
            Client::Windsurf,
            &["w: auto https://w.example/sse?***"],
            &[],
        );
    }

    #[test]
    fn codex_and_continue() {
        check(
            ".codex/config.toml",
            "model = \"m\"\n[mcp_servers.a]\ncommand = \"a\"\nargs = [\"x\"]\nenv_vars = [\"KEY\"]\n\
             [mcp_servers.b]\nurl = \"https://b.example\"\nbearer_token_env_var = \"TOK\"\nenabled = false\n\
             [mcp_servers.b.env_http_headers]\nX = \"ORG\"\n",
            Client::Codex,
            &["a: stdio a x needs KEY", "b: http https://b.example (off) needs ORG TOK"],
            &[],
        );
        check(
            "config.yaml",
            "name: x\nmcpServers:\n  - name: a\n    command: a\n    env:\n      A: ${{ secrets.KEY }}\n      N: 5\n  \
             - name: b\n    type: sse\n    url: https://b.example\n    requestOptions:\n      headers: {X: y}\n  \
             - command: c\n  - 7\n  - name: a\n    command: d\n  - name: e\n    command: ''\n",
            Client::Continue,
            &["a: stdio a needs secret:KEY", "b: sse https://b.example"],
            &[
                "server `a`, field `env.N`: is a number: taken as text",
                "server `mcpServers[2]`, field `name`: is missing; skipped",
                "server `mcpServers[3]`: it is a number, not an object; skipped",
                "server `a`: stands there already, under another key or in the same list; skipped",
                "server `e`, field `command`: is empty; skipped",
            ],
        );
    }

    #[test]
    fn fragments_and_empty_files_are_read() {
        let braces = "it has no braces around it: read as if it had";
        let entry = r#""mcpServers": {"a": {"command": "a"}},"#;
        check("x.jsonc", entry, Client::Other, &["a: stdio a"], &[braces]);
        let keys = "it has no key such as `mcpServers` around its servers";
        let bare = r#""a": {"command": "a"}"#;
        check("x.json", bare, Client::Other, &["a: stdio a"], &[braces, keys]);
        check("home/.claude.json", "", Client::ClaudeCode, &[], &[]);
        check(
            "home/.claude.json",
            r#"{"projects":{"/p":{"mcpServers":{"a":{}}}}}"#,
            Client::ClaudeCode,
            &[],
            &["`projects`: 1 servers of single projects are not looked at"],
        );
        let none = "it has no servers: none of the keys mcpServers, servers, context_servers, mcp_servers, mcp.servers, mcp";
        check("x.json", "{}", Client::Other, &[], &[none]);
        check("x.json", "[1]", Client::Other, &[], &["it is an array, not an object"]);
        check(
            "x.json",
            r#"{"mcpServers":7}"#,
            Client::Other,
            &[],
            &["`mcpServers`: is a number, not an object"],
        );
    }

    #[test]
    fn a_broken_file_says_where_and_quotes_nothing() {
        for (name, text) in [
            ("x.json", "{\n \"mcpServers\": {\"a\": sk-1234}}"),
            ("x.toml", "a = 1\nkey = sk-1234\n"),
            ("x.yaml", "a: 1\nkey: [sk-1234\n"),
        ] {
            let error = parse(Path::new(name), text).unwrap_err();
            let debug = format!("{error:?}");
            let said = format!("{debug} {:#}", anyhow::Error::from(error));
            assert!(said.contains("line 2") || said.contains("line 3"), "{said}");
            assert!(!said.contains("1234"), "{said}");
        }
    }

    #[test]
    fn no_value_comes_out_by_debug() {
        let config = parsed(
            "x.json",
            r#"{"mcpServers":{"a":{"command":"run-1234","args":["arg-1234"],"env":{"A":"env-1234","B":"${X:-def-1234}"}},
                "b":{"url":"https://1234.example/?k=1234","headers":{"H":"head-1234"}}}}"#,
        );
        let said = format!("{config:?}");
        assert!(!said.contains("1234"), "{said}");
    }

    proptest! {
        #[test]
        fn damage_is_no_reason_to_panic(
            start in 0_usize..200,
            length in 0_usize..12,
            odd in prop::sample::select(vec!["null", "7", "\"\"", "[]", "{}", "[[1]]", "", "\"", "/*", "${"]),
        ) {
            let text = r#"{"inputs":[{"id":"k"}],"projects":{"p":{"mcpServers":{}}},"mcpServers":{"a":{"command":"c","args":["x"],
                "env":{"A":"${input:k}"},"cwd":"/","disabled":true},"b":{"type":"sse","url":"https://b.example?x","headers":{"H":"v"}}}}"#;
            let (start, end) = (start.min(text.len()), (start + length).min(text.len()));
            let text = format!("{}{odd}{}", &text[..start], &text[end..]);
            for name in ["x.json", ".gemini/settings.json", "x.yaml", "x.toml"] {
                let _either = parse(Path::new(name), &text);
            }
        }
    }

    /// The field cases, as the project's own files.
    mod field_cases {
        use super::*;

        #[test]
        fn c01_comments_and_trailing_commas() {
            let text = "// ours\n{\n \"mcpServers\": {\n  \"a\": {\"type\": \"http\", \"url\": \"http://127.0.0.1:1/mcp#//y\",}, // end\n  \
                /* \"gone\": {\"command\": \"x\"}, */\n  \"b\": {\"command\": \"p\", \"args\": [\"**/*.rs /* no comment */\",],},\n },\n}\n";
            let config = parsed("x.mcp.json", text);
            assert_eq!(
                lines(&config),
                ["a: http http://127.0.0.1:1/mcp#//y", "b: stdio p **/*.rs /* no comment */"]
            );
            assert_eq!(warnings(&config), Vec::<String>::new());
        }

        #[test]
        fn c02_marks_and_utf16() {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("mcp.json");
            let text = "{\"mcpServers\":{\"a\":{\"command\":\"p\"}}}\r\n";
            let utf16 = |text: &str| -> Vec<u8> {
                std::iter::once(0xFEFF)
                    .chain(text.encode_utf16())
                    .flat_map(u16::to_le_bytes)
                    .collect()
            };
            for bytes in [format!("\u{FEFF}{text}").into_bytes(), utf16(text)] {
                fs_err::write(&path, &bytes).unwrap();
                assert_eq!(lines(&read(&path).unwrap()), ["a: stdio p"]);
                assert_eq!(fs_err::read(&path).unwrap(), bytes);
            }
        }

        #[test]
        fn c03_references_are_expanded_once_and_what_is_missing_is_named() {
            let text = r#"{"inputs":[{"id":"key"}],"mcpServers":{
                "web":{"type":"http","url":"http://127.0.0.1:${PORT}/mcp","headers":{"Authorization":"Bearer ${TOK}","X":"${TIER:-free}"}},
                "local":{"command":"p","args":["db-${env:PORT}"],"env":{"A":"${PORT}","EMPTY":"${NONE:-}"}},
                "asks":{"command":"p","env":{"KEY":"${input:key}"}},
                "unset":{"command":"p","args":["${NOPE}"]}}}"#;
            let config = parsed("x.mcp.json", text);
            let value_of = |variable: &Variable| match (variable.kind, variable.name.as_str()) {
                (Kind::Env, "PORT") => Some("7".to_owned()),
                (Kind::Env, "TOK") => Some("t${PORT}".to_owned()),
                _ => None,
            };
            let expanded: Vec<Vec<Result<String, String>>> = config
                .servers
                .iter()
                .map(|server| {
                    let values = server.transport.values().into_iter();
                    values
                        .map(|(field, value)| {
                            let value = value.expand(&value_of);
                            value
                                .map(|v| format!("{field}={v}"))
                                .map_err(|v| format!("{field} needs {v}"))
                        })
                        .collect()
                })
                .collect();
            let ok = |text: &str| Ok(text.to_owned());
            assert_eq!(
                expanded,
                [
                    vec![
                        ok("url=http://127.0.0.1:7/mcp"),
                        ok("headers.Authorization=Bearer t${PORT}"),
                        ok("headers.X=free"),
                    ],
                    vec![ok("command=p"), ok("args[0]=db-7"), ok("env.A=7"), ok("env.EMPTY=")],
                    vec![ok("command=p"), Err("env.KEY needs input:key".to_owned())],
                    vec![ok("command=p"), Err("args[0] needs NOPE".to_owned())],
                ]
            );
            let is_set = |variable: &Variable| value_of(variable).is_some();
            let missing: Vec<_> =
                config.servers.iter().map(|server| server.missing(&is_set).len()).collect();
            assert_eq!(missing, [0, 0, 1, 1]);
            assert_eq!(config.servers[3].missing(&is_set)[0].0, "args[0]");
        }

        #[test]
        fn c05_an_odd_entry_is_skipped_with_one_warning() {
            let text = r#"{"theme":"dark","mcpServers":{"good":{"command":"p","args":["a"],"icon":"i","alwaysAllow":["x"]},
                "null":null,"args":{"args":["a"]},"text":"oops","list":[1],"number":{"url":7},"both":{"command":["p","b"]},
                "wind":{"type":"http","serverUrl":"http://127.0.0.1:1/mcp"},"deep":{"command":"p","args":[["x"]]},
                "env":{"command":"p","env":{"A":["x"]}},"ftp":{"url":"ftp://x"},"last":{"command":"p"}}}"#;
            check(
                "x.json",
                text,
                Client::Windsurf,
                &[
                    "good: stdio p a",
                    "both: stdio p b",
                    "wind: http http://127.0.0.1:1/mcp",
                    "last: stdio p",
                ],
                &[
                    "server `null`: it is null, not an object; skipped",
                    "server `args`, field `command`: is missing, and so is `url`; skipped",
                    "server `text`: it is a string, not an object; skipped",
                    "server `list`: it is an array, not an object; skipped",
                    "server `number`, field `url`: is a number, not a string; skipped",
                    "server `deep`, field `args[0]`: is an array, not a string; skipped",
                    "server `env`, field `env.A`: is an array, not a string; skipped",
                    "server `ftp`, field `url`: is no http or https address; skipped",
                ],
            );
        }

        #[test]
        fn c06_what_is_off_stays_off() {
            let text = r#"{"mcpServers":{"a":{"command":"p","disabled":false},"b":{"command":"p","enabled":true},
                "c":{"command":"p","disabled":true},"d":{"command":"p","enabled":false},
                "e":{"command":"p","enabled":true,"disabled":true},"f":{"command":"p","isActive":false},
                "g":{"command":"p","disabled":"yes"}}}"#;
            let config = parsed("x.json", text);
            let on: Vec<&str> =
                config.servers.iter().filter(|s| !s.disabled).map(|s| s.name.as_str()).collect();
            assert_eq!((on, config.servers.len()), (vec!["a", "b"], 7));
            assert_eq!(
                warnings(&config),
                ["server `g`, field `disabled`: is a string, not a boolean: taken as off"]
            );
        }

        #[test]
        fn c07_transports_have_many_names() {
            let text = r#"{"a":{"type":"http","url":"http://h"},"b":{"type":"streamable-http","url":"http://h"},
                "c":{"transport":"streamable_http","url":"http://h"},"d":{"type":"streamableHttp","url":"http://h"},
                "e":{"type":"HTTP","url":"http://h"},"n":{"transport":{"type":"http","url":"http://h"}},
                "f":{"type":"sse","url":"http://h"},"g":{"url":"http://h"},"h":{"type":"stdio","command":"p"},
                "i":{"type":"local","command":["p","x"]},"j":{"type":"http","command":"p"},
                "k":{"type":"websocket","url":"ws://h"}}"#;
            let expected = [
                "a: http http://h",
                "b: http http://h",
                "c: http http://h",
                "d: http http://h",
                "e: http http://h",
                "n: http http://h",
                "f: sse http://h",
                "g: auto http://h",
                "h: stdio p",
                "i: stdio p x",
                "j: stdio p",
            ];
            for document in [
                format!(r#"{{"mcpServers":{text}}}"#),
                format!(r#"{{"servers":{text}}}"#),
                format!(r#"{{"mcp.servers":{text}}}"#),
                format!(r#"{{"mcp":{{"servers":{text}}}}}"#),
                format!(r#"{{"mcp":{text}}}"#),
                format!(r#"{{"context_servers":{text}}}"#),
            ] {
                let config = parsed("x.json", &document);
                assert_eq!(lines(&config), expected, "{document}");
                assert_eq!(
                    warnings(&config),
                    [
                        "server `j`, field `type`: asks for a connection, but there is only a command",
                        "server `k`, field `type`: `websocket` is no transport known here; skipped",
                    ]
                );
            }
        }

        #[test]
        fn c08_codex() {
            let text = "[mcp_servers.plain]\ncommand = \"p\"\nstartup_timeout_sec = 20\n[mcp_servers.\"plain.env\"]\nX = \"1\"\n\
                [mcp_servers.typed]\ntype = \"stdio\"\ncommand = \"p\"\n[mcp_servers.remote]\nurl = \"http://h\"\n\
                bearer_token_env_var = \"TOK\"\n[mcp_servers.\"dots.in name\"]\ncommand = 'C:\\Program Files\\run.exe'\n\
                args = ['C:\\new\\table.db']\n[mcp_servers.both]\nurl = \"http://h\"\ncommand = \"p\"\n\
                [mcp_servers.only_timeout]\nstartup_timeout_sec = 60\n";
            check(
                "x.codex.toml",
                text,
                Client::Codex,
                &[
                    "plain: stdio p",
                    "typed: stdio p",
                    "remote: http http://h needs TOK",
                    r"dots.in name: stdio C:\Program Files\run.exe C:\new\table.db",
                ],
                &[
                    "server `plain.env`, field `command`: is missing, and so is `url`; skipped",
                    "server `both`, field `url`: stands beside `command`, and no `type` says which counts; skipped",
                    "server `only_timeout`, field `command`: is missing, and so is `url`; skipped",
                ],
            );
        }

        #[test]
        fn c09_paths_and_arguments_reach_the_process_as_they_are() {
            let text = r#"{"mcpServers":{"a":{"command":"npx","args":["a&b","100%","say \"hi\""]},
                "b":{"command":"C:\\Users\\New User\\tool.cmd","args":["C:\\new\\tmp"]},
                "c":{"command":"cmd","args":["/c","npx","x"]}}}"#;
            let config = parsed("x.json", text);
            let values: Vec<String> = config
                .servers
                .iter()
                .flat_map(|server| server.transport.values())
                .map(|(_, value)| value.expand(&|_| None).unwrap())
                .collect();
            assert_eq!(
                values,
                [
                    "npx",
                    "a&b",
                    "100%",
                    "say \"hi\"",
                    r"C:\Users\New User\tool.cmd",
                    r"C:\new\tmp",
                    "cmd",
                    "/c",
                    "npx",
                    "x",
                ]
            );
            if !cfg!(windows) {
                let said = "server `c`, field `command`: is `cmd /c`, which only Windows has";
                assert_eq!(warnings(&config), [said]);
            }
        }

        #[test]
        fn the_files_themselves_are_read() {
            for (file, n_servers, n_skipped) in [
                ("c01.mcp.json", 2, 0),
                ("c02-bom.json", 1, 0),
                ("c02-utf16.json", 1, 0),
                ("c03.mcp.json", 4, 0),
                ("c05.mcp.json", 4, 5),
                ("c06.mcp.json", 7, 0),
                ("c07.json", 11, 1),
                ("c08.codex.toml", 4, 3),
                ("c09.json", 4, 0),
            ] {
                let Some(path) = shared(&format!("field-cases/files/{file}")) else {
                    return;
                };
                let config = read(&path).unwrap();
                let skipped = config.warnings.iter().filter(|w| w.effect == Effect::Skipped);
                assert_eq!(
                    (config.servers.len(), skipped.count()),
                    (n_servers, n_skipped),
                    "{file}"
                );
            }
        }
    }
}
