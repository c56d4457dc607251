//! What an MCP server answers to `tools/list`, as a dump or a whole session.
//!
//! Owns how answers are told from the rest of a capture, and which server the
//! tools of a page belong to. Speaks no protocol: it only reads what was said.

use std::collections::HashMap;

use serde_json::value::RawValue;

use crate::catalog::Server;
use crate::sources::entry::Owner;
use crate::sources::entry::declared_schema;
use crate::sources::entry::text;
use crate::sources::entry::tool_list;
use crate::sources::entry::tools;
use crate::sources::fields::Fields;
use crate::sources::fields::string;
use crate::sources::findings::Findings;
use crate::sources::findings::Notes;
use crate::sources::records::Place;
use crate::sources::records::Record;

/// Where protocol 2026-07-28 puts the name of the server, in every answer.
const META_SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// Whether a record is a message of the protocol, or a bare answer, for sure.
pub(crate) fn recognises(fields: &Fields<'_>) -> bool {
    fields.get("jsonrpc").is_some()
        || fields.object("result").is_some_and(|result| is_answer(&result))
        || (is_answer(fields) && fields.first(&["name", "server_name"]).is_none())
}

/// Whether a record can be read as a message or an answer.
pub(crate) fn accepts(fields: &Fields<'_>) -> bool {
    recognises(fields) || is_answer(fields)
}

fn is_answer(fields: &Fields<'_>) -> bool {
    fields.list("tools").is_some() || fields.object("serverInfo").is_some()
}

/// Reads the pages of tools among the records, in order.
///
/// A server that introduces itself owns the pages that follow; pages before
/// any introduction belong to a server named `stem`.
pub(crate) fn import(records: &[Record<'_>], stem: &str, found: &mut Findings) {
    let mut capture = Capture { stem, sessions: Vec::new(), by_name: HashMap::new(), current: 0 };
    for record in records {
        match Fields::of(record.json) {
            Ok(message) => {
                let answer = message.object("result").unwrap_or(message);
                capture.introduce(&answer, found);
                capture.add_page(&answer, record.place, found);
            }
            Err(problem) => found.reject_server(record.place, problem),
        }
    }
    for session in capture.sessions {
        session.close(found);
    }
}

/// Reads what one server answered: how it introduced itself, and its pages of tools.
///
/// Whatever it calls itself, it is named as its configuration has it.
pub(crate) fn session<'a>(
    answers: impl Iterator<Item = &'a RawValue>,
    name: &str,
    found: &mut Findings,
) -> Server {
    let mut session = Session::new(name);
    for (index, answer) in answers.enumerate() {
        let place = Place::Position(index + 1);
        match Fields::of(answer) {
            Ok(answer) => {
                if let Some(info) = server_info(&answer) {
                    session.describe(&info, &answer, found);
                }
                if answer.get("tools").is_some() {
                    session.add_page(&answer, place, found);
                }
            }
            Err(problem) => found.reject_server(place, problem),
        }
    }
    session.server
}

fn server_info<'a>(answer: &Fields<'a>) -> Option<Fields<'a>> {
    let in_meta = || answer.object("_meta").and_then(|meta| meta.object(META_SERVER_INFO));
    answer.object("serverInfo").or_else(in_meta)
}

/// The servers that speak in a source, and which of them speaks now.
struct Capture<'a> {
    stem: &'a str,
    sessions: Vec<Session>,
    by_name: HashMap<String, usize>,
    current: usize,
}

impl Capture<'_> {
    /// Takes down who the server is, if an answer says so.
    fn introduce(&mut self, answer: &Fields<'_>, found: &mut Findings) {
        let Some(info) = server_info(answer) else {
            return;
        };
        let name = info.first(&["name", "title"]).and_then(|(_, json)| string(json).ok());
        let name = name.filter(|name| !name.is_empty()).unwrap_or_else(|| self.stem.to_owned());
        self.turn_to(&name).describe(&info, answer, found);
    }

    /// Adds the tools of an answer, if it lists any.
    fn add_page(&mut self, answer: &Fields<'_>, place: Place, found: &mut Findings) {
        if answer.get("tools").is_none() {
            return;
        }
        if self.sessions.is_empty() {
            self.turn_to(self.stem);
        }
        self.sessions[self.current].add_page(answer, place, found);
    }

    fn turn_to(&mut self, name: &str) -> &mut Session {
        self.current = *self.by_name.entry(name.to_owned()).or_insert_with(|| {
            self.sessions.push(Session::new(name));
            self.sessions.len() - 1
        });
        &mut self.sessions[self.current]
    }
}

/// One server and the pages seen of it.
struct Session {
    server: Server,
    n_pages: usize,
    has_more: bool,
}

impl Session {
    fn new(name: &str) -> Self {
        let server = Server { name: name.to_owned(), ..Server::default() };
        Self { server, n_pages: 0, has_more: false }
    }

    /// The first introduction counts; protocol 2026-07-28 repeats it.
    fn describe(&mut self, info: &Fields<'_>, answer: &Fields<'_>, found: &mut Findings) {
        let server = &mut self.server;
        let mut notes = Notes::default();
        if server.description.is_empty() {
            server.description = text(info, &["description"], &mut notes);
        }
        let instructions = text(answer, &["instructions"], &mut notes);
        if server.description.is_empty() {
            server.description = instructions;
        } else if server.summary.is_empty() && server.description != instructions {
            server.summary = instructions;
        }
        server.url = server.url.take().or_else(|| string(info.get("websiteUrl")?).ok());
        found.warn_server(&server.name, notes);
    }

    fn add_page(&mut self, answer: &Fields<'_>, record: Place, found: &mut Findings) {
        let mut notes = Notes::default();
        let list = tool_list(answer, &mut notes);
        found.warn_server(&self.server.name, notes);
        let owner = Owner { server: &self.server.name, record };
        self.server.tools.extend(tools(&list, owner, declared_schema, found));
        self.n_pages += 1;
        self.has_more = answer.get("nextCursor").is_some_and(|cursor| cursor.get() != r#""""#);
    }

    fn close(self, found: &mut Findings) {
        let mut notes = Notes::default();
        if self.n_pages == 0 {
            notes.add("no tools/list answer of it is in the source");
        }
        if self.has_more {
            notes.add("its last page of tools names a next one, which is not in the source");
        }
        found.warn_server(&self.server.name, notes);
        found.servers.push(self.server);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use serde_json::json;

    use crate::catalog::Server;
    use crate::sources::Format;
    use crate::sources::Import;
    use crate::sources::parse;
    use crate::sources::read;
    use crate::sources::shared;

    fn read_as_tools_list(name: &str, text: &str) -> Import {
        let import = parse(name, text, None).unwrap();
        assert_eq!(import.format, Format::ToolsList, "{text}");
        import
    }

    fn names(import: &Import) -> Vec<(&str, Vec<&str>)> {
        import.servers.iter().map(|server| (server.name.as_str(), tools_of(server))).collect()
    }

    fn tools_of(server: &Server) -> Vec<&str> {
        server.tools.iter().map(|tool| tool.name.as_str()).collect()
    }

    #[expect(clippy::needless_pass_by_value, reason = "reads better at the calls")]
    fn answer(result: Value) -> String {
        json!({"jsonrpc": "2.0", "id": 1, "result": result}).to_string()
    }

    fn tools_named(names: &[&str]) -> Value {
        names.iter().map(|name| json!({"name": name})).collect()
    }

    #[test]
    fn a_bare_answer_is_named_by_its_file() {
        let bare = json!({"tools": tools_named(&["a", "b"])}).to_string();
        for text in
            [bare.clone(), format!("[{bare}]"), answer(json!({"tools": tools_named(&["a", "b"])}))]
        {
            let import = read_as_tools_list("dumps/clock.tools.json", &text);
            assert_eq!(names(&import), [("clock.tools", vec!["a", "b"])]);
            assert!(import.warnings.is_empty());
        }
    }

    #[test]
    fn a_session_is_one_server_with_the_tools_of_all_pages() {
        let messages = [
            json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}).to_string(),
            answer(json!({"serverInfo": {"name": "clock", "title": "Clock", "websiteUrl": "u"},
                "instructions": "Tells the time.", "capabilities": {"tools": {}}})),
            answer(json!({"tools": tools_named(&["a", "b"]), "nextCursor": "p2"})),
            json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}).to_string(),
            answer(json!({"tools": tools_named(&["c"])})),
        ];
        for text in [messages.join("\n"), format!("[{}]", messages.join(","))] {
            let import = read_as_tools_list("x.jsonl", &text);
            assert_eq!(names(&import), [("clock", vec!["a", "b", "c"])]);
            assert_eq!(import.servers[0].description, "Tells the time.");
            assert_eq!(import.servers[0].url.as_deref(), Some("u"));
            assert!(import.warnings.is_empty(), "{:?}", import.warnings);
        }
    }

    #[test]
    fn captures_laid_end_to_end_are_as_many_servers() {
        let session = |name: &str, tool: &str| {
            let info = json!({"serverInfo": {"name": name}});
            [answer(info), answer(json!({"tools": tools_named(&[tool])}))].join("\n")
        };
        let text = [session("one", "a"), session("two", "b"), session("one", "c")].join("\n");
        let import = read_as_tools_list("x.jsonl", &text);
        assert_eq!(names(&import), [("one", vec!["a", "c"]), ("two", vec!["b"])]);
    }

    #[test]
    fn the_stateless_protocol_names_the_server_in_every_answer() {
        let meta = json!({"io.modelcontextprotocol/serverInfo": {"name": "clock", "description": "Time."}});
        let text = [
            answer(json!({"_meta": meta, "instructions": "Ask for a zone."})),
            answer(json!({"_meta": meta, "tools": tools_named(&["a"])})),
        ];
        let import = read_as_tools_list("x.jsonl", &text.join("\n"));
        assert_eq!(names(&import), [("clock", vec!["a"])]);
        assert_eq!(import.servers[0].description, "Time.");
        assert_eq!(import.servers[0].summary, "Ask for a zone.");
    }

    #[test]
    fn what_a_capture_lacks_is_said() {
        let text = answer(json!({"serverInfo": {"name": "mute"}}));
        let import = read_as_tools_list("x.jsonl", &text);
        assert_eq!(import.warnings, ["server `mute`: no tools/list answer of it is in the source"]);
        let text = answer(json!({"tools": [], "nextCursor": "more"}));
        let import = read_as_tools_list("x.jsonl", &text);
        let warning =
            "server `x`: its last page of tools names a next one, which is not in the source";
        assert_eq!(import.warnings, [warning]);
    }

    #[test]
    fn a_reject_says_on_which_line_it_stands() {
        let text = [
            answer(json!({"serverInfo": {"name": "clock"}})),
            "npm warn".to_owned(),
            answer(json!({"tools": [{"name": "a"}, {"name": 7}, {"name": "b"}]})),
        ];
        let import = read_as_tools_list("x.jsonl", &text.join("\n"));
        assert_eq!(names(&import), [("clock", vec!["a", "b"])]);
        let place =
            |n: usize| (import.rejected[n].server.as_str(), import.rejected[n].tool.as_deref());
        assert_eq!(place(0), ("line 2", None));
        assert_eq!(place(1), ("clock", Some("line 3, position 2")));
    }

    #[test]
    fn sessions_recorded_from_live_servers_load_whole() {
        for (file, server, n_tools) in [
            ("live-mcp-server-fetch.jsonl", "mcp-fetch", 1),
            ("live-mcp-server-git.jsonl", "mcp-git", 12),
            ("live-mcp-server-time.jsonl", "mcp-time", 2),
            ("live-server-everything.jsonl", "mcp-servers/everything", 13),
            ("live-server-filesystem.jsonl", "secure-filesystem-server", 14),
            ("live-server-memory.jsonl", "memory-server", 9),
            ("live-server-sequential-thinking.jsonl", "sequential-thinking-server", 1),
            (
                "spec-2026-07-28-ListToolsResult-tools-list-with-cursor-and-ttl.json",
                "spec-2026-07-28-ListToolsResult-tools-list-with-cursor-and-ttl",
                1,
            ),
        ] {
            let Some(path) = shared(&format!("data/raw/jsonrpc/{file}")) else {
                return;
            };
            let import = read(&path, None).unwrap();
            assert_eq!(import.format, Format::ToolsList, "{file}");
            assert_eq!(import.servers.len(), 1, "{file}");
            assert_eq!(
                (import.servers[0].name.as_str(), import.servers[0].tools.len()),
                (server, n_tools)
            );
            assert_eq!(import.rejected, [], "{file}");
        }
    }

    #[test]
    fn the_field_cases_keep_every_tool_and_its_schema() {
        for (file, n_tools) in [("s03", 2), ("s05", 2), ("s06", 5), ("d03", 4)] {
            let Some(path) = shared(&format!("field-cases/files/{file}.tools.json")) else {
                return;
            };
            let text = fs_err::read_to_string(&path).unwrap();
            let import = read(&path, None).unwrap();
            let tools = &import.servers[0].tools;
            assert_eq!(tools.len(), n_tools, "{file}");
            assert!(
                import.rejected.is_empty() && import.warnings.is_empty(),
                "{file}: {:?}",
                import.warnings
            );
            for tool in tools {
                assert!(text.contains(tool.input_schema.as_ref().unwrap().get()), "{}", tool.name);
            }
        }
    }

    #[test]
    fn deep_and_huge_schemas_load_at_once() {
        let depth = 100_000;
        let deep = format!("{}true{}", r#"{"not":"#.repeat(depth), "}".repeat(depth));
        let wide = format!(r#"{{"x":"{}"}}"#, "y".repeat(3_000_000));
        let text = format!(
            r#"{{"tools":[{{"name":"deep","inputSchema":{deep}}},{{"name":"wide","inputSchema":{wide}}},{{"name":"fine"}}]}}"#
        );
        let import = read_as_tools_list("x.json", &text);
        assert_eq!(names(&import), [("x", vec!["deep", "wide", "fine"])]);
        assert_eq!(import.servers[0].tools[0].input_schema.as_ref().unwrap().get(), deep);
    }
}
