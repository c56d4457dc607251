//! Step 1, parse: from a model's text or arguments to requests for tools.
//!
//! Owns the request grammar: `<tool_assistant>` blocks, their JSON and XML
//! dialects, bare fields, plain words. Does no IO, never panics, and takes
//! linear time, whatever the text. Must not judge whether a tool fits.

mod block;
mod draft;
mod json;
mod lines;
mod tags;
mod value;
mod xml;

use html_escape::decode_html_entities;
use thiserror::Error;

use crate::catalog::clean_text;
use crate::error::Fault;
use crate::request::block::Block;
use crate::request::block::End;
use crate::request::block::blocks;
use crate::request::draft::Draft;
use crate::request::value::Field;
use crate::request::value::cleaned;
use crate::request::value::cleaned_server;

/// How many requests of one text are answered; further ones are counted.
pub const MAX_REQUESTS: usize = 16;

/// Longest field in characters, about what a 512-token model reads.
pub const MAX_FIELD_CHARS: usize = 2000;

/// The right form, as every error shows it.
const EXAMPLE: &str =
    "<tool_assistant>\nserver: platform\ntool: operation + target\n</tool_assistant>";

/// How the caller put a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As fields: a tagged block, JSON, bare `server:`/`tool:` lines, arguments.
    Tagged,
    /// As plain words, which stand for the server and the tool alike.
    Plain,
}

/// What one request asks for; at least one of `server` and `tool` is there.
///
/// Values are NFKC, on one line, free of invisible characters, never empty,
/// and at most [`MAX_FIELD_CHARS`] long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolRequest {
    /// Platform or domain; absent also for `none`, `any`, `n/a` and their kin.
    pub server: Option<String>,
    /// Operation and target; the same text as `server` if `form` is plain.
    pub tool: Option<String>,
    /// How it was put.
    pub form: Form,
    /// What the caller should know about it, such as that a field was cut.
    pub note: Option<String>,
}

/// What a text asks for, and what was wrong with the rest of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parsed {
    /// In the order of the text, 1 to [`MAX_REQUESTS`] of them.
    pub requests: Vec<ToolRequest>,
    /// Blocks that hold no request, a sentence each without a full stop.
    ///
    /// At most [`MAX_REQUESTS`], and one more that counts the others.
    pub problems: Vec<String>,
    /// Valid requests beyond [`MAX_REQUESTS`].
    pub left_out: usize,
}

/// Why a text or its arguments ask for nothing.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RequestError {
    /// There is nothing to read, or only white space and invisible characters.
    #[error("the request is empty; send\n{EXAMPLE}")]
    Empty,
    /// There are tags or fields, but no field has a value.
    #[error("no request found{}; send\n{EXAMPLE}", because(.problem.as_deref()))]
    NoRequest {
        /// The first bad block; absent when tags are only mentioned.
        problem: Option<String>,
    },
}

impl RequestError {
    /// Always the caller's: another text helps.
    #[must_use]
    pub const fn fault(&self) -> Fault {
        Fault::Caller
    }
}

/// Finds every request in a text, in order.
///
/// A text without any `<tool_assistant>` tag may be JSON or bare fields;
/// anything else is taken as plain words.
///
/// ```
/// let text = "<tool_assistant>\nserver: GitHub\ntool: list issues\n</tool_assistant>";
/// let parsed = toolscout::request::parse(text)?;
/// assert_eq!(parsed.requests[0].server.as_deref(), Some("GitHub"));
/// # Ok::<(), toolscout::request::RequestError>(())
/// ```
///
/// # Errors
/// [`RequestError::Empty`] if there is nothing to read;
/// [`RequestError::NoRequest`] if tags or fields are there, but no value.
pub fn parse(text: &str) -> Result<Parsed, RequestError> {
    let text = tidy(text);
    if text.is_empty() {
        return Err(RequestError::Empty);
    }
    if let Some(blocks) = blocks(&text) {
        return tagged(&blocks);
    }
    if let Some(blocks) = blocks(&decode_html_entities(&text)) {
        return tagged(&blocks);
    }
    untagged(&text)
}

/// One request from two arguments, either of which may be absent or blank.
///
/// # Errors
/// [`RequestError::Empty`] if neither holds a value.
pub fn from_fields(server: Option<&str>, tool: Option<&str>) -> Result<ToolRequest, RequestError> {
    let server = server.and_then(cleaned_server).map(Field::server);
    let tool = tool.and_then(cleaned).map(Field::tool);
    ToolRequest::tagged(server, tool).ok_or(RequestError::Empty)
}

fn tagged(blocks: &[Block<'_>]) -> Result<Parsed, RequestError> {
    let mut parsed = Parsed::default();
    let mut n_blocks = 0_usize;
    let mut n_bad = 0_usize;
    for block in blocks {
        let drafts = block.drafts();
        if drafts.is_empty() && block.end == End::Open {
            continue; // the tag is only mentioned
        }
        n_blocks += 1;
        if parsed.add(&drafts) {
            continue;
        }
        n_bad += 1;
        if n_bad <= MAX_REQUESTS {
            let problem = problem(&drafts);
            parsed.problems.push(format!("block {n_blocks} {problem}"));
        }
    }
    if n_bad > MAX_REQUESTS {
        parsed.problems.push(match n_bad - MAX_REQUESTS {
            1 => "1 more block holds no request".to_owned(),
            n => format!("{n} more blocks hold no request"),
        });
    }
    parsed.if_any()
}

fn untagged(text: &str) -> Result<Parsed, RequestError> {
    let mut drafts = json::drafts_in_text(text);
    if drafts.is_empty() && lines::start_with_field(text) {
        drafts = Block::open(text).drafts();
    }
    if drafts.is_empty() {
        return plain(text);
    }
    let mut parsed = Parsed::default();
    if !parsed.add(&drafts) {
        let problem = problem(&drafts);
        parsed.problems.push(format!("the request {problem}"));
    }
    parsed.if_any()
}

fn plain(text: &str) -> Result<Parsed, RequestError> {
    let text = cleaned(text).ok_or(RequestError::Empty)?;
    let Field { text, note } = Field::cut("the request", text);
    let request =
        ToolRequest { server: Some(text.clone()), tool: Some(text), form: Form::Plain, note };
    Ok(Parsed { requests: vec![request], ..Parsed::default() })
}

impl Parsed {
    /// Takes over the requests of one block; false if there are none.
    fn add(&mut self, drafts: &[Draft]) -> bool {
        let n_before = self.requests.len() + self.left_out;
        let mut current_server = None;
        for draft in drafts {
            let server = draft.server();
            let tool = draft.tool();
            if server.is_none() && tool.is_none() {
                continue;
            }
            if server.is_some() || !draft.inherits_server {
                current_server = server;
            }
            // Checked first: a long inherited server is not copied without end.
            if self.requests.len() == MAX_REQUESTS {
                self.left_out += 1;
            } else {
                let request = ToolRequest::tagged(current_server.clone(), tool);
                self.requests.extend(request);
            }
        }
        self.requests.len() + self.left_out > n_before
    }

    fn if_any(self) -> Result<Self, RequestError> {
        if self.requests.is_empty() {
            let problem = self.problems.into_iter().next();
            return Err(RequestError::NoRequest { problem });
        }
        Ok(self)
    }
}

impl ToolRequest {
    fn tagged(server: Option<Field>, tool: Option<Field>) -> Option<Self> {
        let notes: Vec<&str> = [&server, &tool]
            .into_iter()
            .flatten()
            .filter_map(|field| field.note.as_deref())
            .collect();
        let note = (!notes.is_empty()).then(|| notes.join("; "));
        let server = server.map(|field| field.text);
        let tool = tool.map(|field| field.text);
        (server.is_some() || tool.is_some()).then_some(Self {
            server,
            tool,
            form: Form::Tagged,
            note,
        })
    }
}

/// Says why drafts that came to nothing did.
fn problem(drafts: &[Draft]) -> &'static str {
    if drafts.is_empty() {
        "has no `server:` or `tool:` line"
    } else {
        "leaves `server:` and `tool:` empty"
    }
}

fn because(problem: Option<&str>) -> String {
    problem.map_or_else(String::new, |problem| format!(": {problem}"))
}

/// The text with `\n` for every kind of line break and nothing invisible.
fn tidy(text: &str) -> String {
    const LINE_BREAKS: [char; 6] = ['\r', '\u{B}', '\u{C}', '\u{85}', '\u{2028}', '\u{2029}'];
    clean_text(&text.replace("\r\n", "\n").replace(LINE_BREAKS, "\n"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Compares everything a text parses to, a line each: requests as
    /// `server | tool`, then `! problem`, then `+ n` left out; or one error.
    #[track_caller]
    fn check(input: &str, expected: &[&str]) {
        assert_eq!(outcome(input), expected, "{input}");
    }

    fn outcome(input: &str) -> Vec<String> {
        let parsed = match parse(input) {
            Ok(parsed) => parsed,
            Err(RequestError::Empty) => return vec!["empty".to_owned()],
            Err(RequestError::NoRequest { problem }) => {
                return vec![format!("no request{}", because(problem.as_deref()))];
            }
        };
        let requests = parsed.requests.iter().map(|request| match request.form {
            Form::Tagged => {
                let [server, tool] = [&request.server, &request.tool].map(Option::as_deref);
                format!("{} | {}", server.unwrap_or("∅"), tool.unwrap_or("∅"))
            }
            Form::Plain => {
                assert_eq!(request.server, request.tool);
                format!("plain {}", request.tool.as_deref().unwrap_or("∅"))
            }
        });
        let problems = parsed.problems.iter().map(|problem| format!("! {problem}"));
        let left_out = (parsed.left_out > 0).then(|| format!("+ {}", parsed.left_out));
        requests.chain(problems).chain(left_out).collect()
    }

    /// Checks a body in a closed block.
    #[track_caller]
    fn check_body(body: &str, expected: &[&str]) {
        check(&format!("<tool_assistant>\n{body}\n</tool_assistant>"), expected);
    }

    #[test]
    fn task_is_accepted_for_tool() {
        check(
            "Let me see.\n<tool_assistant>\nserver: Version control\ntask: 查看最近的提交\n</tool_assistant>",
            &["Version control | 查看最近的提交"],
        );
    }

    #[test]
    fn order_case_width_bullets_and_attributes_do_not_matter() {
        check(
            "  <TOOL_Assistant kind='q'>\r\n  - ＴＯＯＬ： book a room\r\n  * Server : Hotels\r\n  </Tool_Assistant >",
            &["Hotels | book a room"],
        );
        check("< tool_assistant\n>server: Hotels\n</ tool_assistant>", &["Hotels | ∅"]);
    }

    #[test]
    fn one_field_is_a_request_and_none_is_an_error() {
        check_body("tool: crop a photo", &["∅ | crop a photo"]);
        check_body("server: Photo studio", &["Photo studio | ∅"]);
        let empty = "no request: block 1 leaves `server:` and `tool:` empty";
        check_body("server:\ntool:   ", &[empty]);
        check_body("server: \"\"\ntool: ``", &[empty]);
        check("<tool_assistant>\nserver:\ntool:", &[empty]);
        let bare = "no request: block 1 has no `server:` or `tool:` line";
        check("<tool_assistant></tool_assistant>", &[bare]);
        check("<tool_assistant/>", &[bare]);
    }

    #[test]
    fn every_block_is_answered_in_order_and_a_bad_one_is_reported() {
        check(
            "<tool_assistant>\nserver: Trains\ntool: next departure\n</tool_assistant>\nthen\n\
             <tool_assistant>\nserver: Chat\ntool: post a note\n</tool_assistant>\n\
             <tool_assistant>\nserver: Trains\ntool: next departure\n</tool_assistant>\n\
             <tool_assistant>\nthanks\n</tool_assistant>",
            &[
                "Trains | next departure",
                "Chat | post a note",
                "Trains | next departure",
                "! block 4 has no `server:` or `tool:` line",
            ],
        );
    }

    #[test]
    fn fences_json_and_elements_say_the_same() {
        let expected = &["Library | renew a loan"];
        for text in [
            "```xml\n<tool_assistant>\nserver: Library\ntool: renew a loan\n</tool_assistant>\n```",
            "<tool_assistant>\n```yaml\nserver: Library\ntool: renew a loan\n```\n</tool_assistant>",
            "```json\n{\"tool_assistant\": {\"tool\": \"renew a loan\", \"server\": \"Library\"}}\n```",
            "I need this:\n```\n{\"Tool\": \"renew a loan\", \"SERVER\": \"Library\"}\n```\nThanks.",
            "{\"tool_assistant\": [{\"tool\": \"renew a loan\", \"server\": \"Library\"}]}",
            "{\"platform\": \"Library\", \"task\": [\"renew\", \"a loan\"], \"n\": null}",
            "<tool_assistant>{\"domain\": \"Library\", \"query\": \"renew a loan\"} ok?</tool_assistant>",
            "<tool_assistant>{'server': 'Library', 'tool': 'renew a loan'}</tool_assistant>",
            "<tool_assistant>{\n  \"server\": \"Library\",\n  \"tool\": \"renew a loan\",\n}</tool_assistant>",
            "<tool_assistant><server>Library</server><tool>renew a loan</tool></tool_assistant>",
            "<tool_assistant>Now: <TASK x='1'>\nrenew\na loan</TASK><Platform>Library</Platform>",
            "<tool_assistant><![CDATA[\nserver: Library\ntool: renew a loan\n]]></tool_assistant>",
            "&lt;tool_assistant&gt;\nserver: Library\ntool: renew a loan\n&lt;/tool_assistant&gt;",
            "```\nserver: Library\ntool: renew a loan\n```\nThat is all.",
            "**Tool:** renew a loan\n**Server:** Library",
        ] {
            check(text, expected);
        }
    }

    #[test]
    fn several_json_objects_are_several_requests() {
        let two = &["Maps | route", "Mail | ∅"];
        let objects =
            "{\"server\":\"Maps\",\"tool\":\"route\"}|{\"server\":\"Mail\",\"tool\":null}";
        check_body(&objects.replace('|', "\n"), two);
        check_body(&format!("[{}]", objects.replace('|', ",")), two);
        check(&objects.replace('|', " "), two);
    }

    #[test]
    fn json_of_another_kind_is_plain_words() {
        check("{\"a\": 1}", &["plain {\"a\": 1}"]);
        check(
            "post ```json\n{\"action\": \"opened\"}\n```",
            &["plain post ```json {\"action\": \"opened\"} ```"],
        );
        let empty = "no request: the request leaves `server:` and `tool:` empty";
        check("{\"server\": \"\", \"tool\": \"\"}", &[empty]);
    }

    #[test]
    fn a_mention_is_no_request() {
        check("Put it in `<tool_assistant>` if you can.", &["no request"]);
        check("The tag <tool_assistant> is for that.", &["no request"]);
        check("fine </tool_assistant>", &["no request"]);
        check(
            "As `<tool_assistant>` says:\n<tool_assistant>\ntool: sum\n</tool_assistant>",
            &["∅ | sum"],
        );
    }

    #[test]
    fn a_missing_closing_tag_does_not_matter() {
        check("<tool_assistant>\nserver: Radio\ntool: tune in", &["Radio | tune in"]);
        check(
            "<tool_assistant>\nserver: Radio\ntool: tune in\n<tool_assistant>\nserver: Chat\ntool: post\n</tool_assistant>",
            &["Radio | tune in", "Chat | post"],
        );
    }

    #[test]
    fn a_blank_line_ends_an_open_block_only() {
        let body = "server: Radio\ntool: tune in\nto jazz\n\nThen I wait.";
        check(&format!("<tool_assistant>\n\n{body}"), &["Radio | tune in to jazz"]);
        check(body, &["Radio | tune in to jazz"]);
        check_body(body, &["Radio | tune in to jazz Then I wait."]);
        check("server: Radio\n\ntool: tune in", &["Radio | tune in"]);
        check("server: Radio\n\naction: wait", &["Radio | ∅"]);
    }

    #[test]
    fn values_are_folded_but_keep_their_language() {
        check_body(
            "server: ＧｉｔＬａｂ 平台\ntool: 查询 open merge requests 一覧",
            &["GitLab 平台 | 查询 open merge requests 一覧"],
        );
        check_body("server: Théâtre\ntool: acheter un billet", &["Théâtre | acheter un billet"]);
        check_body(
            "server: The\u{301}a\u{302}tre\ntool: acheter un billet",
            &["Théâtre | acheter un billet"],
        );
    }

    #[test]
    fn values_are_cleaned() {
        for (value, clean) in [
            ("  two\t words ", "two words"),
            ("R&amp;D &lt;plan&gt;", "R&D <plan>"),
            ("&amp;lt;", "&lt;"),
            ("in\u{200B}vis\u{202E}ible\u{E0041}\u{7}", "invisible"),
            ("\"quoted\",", "quoted"),
            ("“`both`”", "both"),
            ("**bold**", "bold"),
            ("\"a\" or \"b\"", "\"a\" or \"b\""),
            ("call f(x)", "call f(x)"),
            ("list: a = b", "list: a = b"),
            ("open http://server:80/tool:x", "open http://server:80/tool:x"),
            ("query where server=prod", "query where server=prod"),
            ("any", "any"),
        ] {
            check_body(&format!("tool: {value}"), &[&format!("∅ | {clean}")]);
        }
    }

    #[test]
    fn keys_may_be_dressed_up() {
        for key in [
            "server",
            "SERVER ",
            "**server**",
            "`server`",
            "\"server\"",
            "> server",
            "1. server",
            "2) __server__",
            "• Server",
            "## Server",
            "+ platform",
            "Domain",
            "server name",
            "mcp-server",
            "serverName",
            "ＳＥＲＶＥＲ",
        ] {
            for separator in [":", "：", " = "] {
                check_body(&format!("{key}{separator}Wiki"), &["Wiki | ∅"]);
            }
        }
        check_body("**server:** Wiki\n**tool: read a page**", &["Wiki | read a page"]);
        check_body(
            "servers: Wiki\nmy tool: x\nurl: y",
            &["no request: block 1 has no `server:` or `tool:` line"],
        );
    }

    #[test]
    fn own_names_win_over_aliases_and_aliases_add_up() {
        check_body(
            "platform: Git\nserver: Wiki\naction: read\nquery: \"a page\"",
            &["Wiki | read a page"],
        );
        check_body("server: none\nplatform: Git\ntool:\ntask: push", &["Git | push"]);
        check_body("server: N/A\nplatform: any\ntool: none", &["∅ | none"]);
        check_body("task: show\nquery: &amp;lt;", &["∅ | show &lt;"]);
    }

    #[test]
    fn a_repeated_field_starts_a_further_request() {
        check_body(
            "server: A1\ntool: b1\ntool: c1\nserver: D1\ntool: e1",
            &["A1 | b1", "A1 | c1", "D1 | e1"],
        );
        check_body(
            "tool: b1\nserver: A1\ntool: c1\nserver: D1\ntool: e1",
            &["A1 | b1", "D1 | c1", "D1 | e1"],
        );
        check_body("tool:\ntool: late\ntool:", &["∅ | late"]);
    }

    #[test]
    fn fields_on_one_line_are_split_once() {
        let expected = &["Wiki | read a page"];
        for line in [
            "server: Wiki, tool: read a page",
            "tool: read a page; server: Wiki",
            "server: Wiki | **tool:** read a page",
            "server: Wiki - task: read a page",
            "Platform：Wiki，Tool：read a page",
            "server=Wiki tool=read a page",
            "(server: Wiki, tool: read a page)",
            "{server: \"Wiki\",tool: \"read a page\"}",
            "[{\"server\": \"Wiki\", \"tool\": \"read a page\",}]",
        ] {
            check_body(line, expected);
        }
        check_body("tool: search query: cats", &["∅ | search query: cats"]);
        check_body("tool: add a task: rest", &["∅ | add a task: rest"]);
        check_body("tool: sub-server: x", &["∅ | sub-server: x"]);
        check("<tool_assistant> server: Wiki tool: read </tool_assistant>", &["Wiki | read"]);
    }

    #[test]
    fn comments_go_and_stray_marks_do_not_hurt() {
        check_body(
            "<!-- tool: no -->\nserver: Wiki <!-- a\nb -->\ntool: re<!-- x -->ad",
            &["Wiki | read"],
        );
        check_body("server: Wiki -->\ntool: read <!-- a page", &["Wiki | read a page"]);
    }

    #[test]
    fn words_without_tags_are_plain() {
        check("  list my\n open issues ", &["plain list my open issues"]);
        check("any", &["plain any"]);
        check("task: list issues", &["plain task: list issues"]);
        check("a <tool_assistant b", &["plain a <tool_assistant b"]);
    }

    #[test]
    fn nothing_visible_is_empty() {
        for text in ["", " \r\n\t", "\u{200B}\u{FEFF}\u{0}", "\u{3000}", "\"\""] {
            check(text, &["empty"]);
        }
        assert_eq!(from_fields(None, Some(" ")), Err(RequestError::Empty));
        assert_eq!(from_fields(Some("any"), None), Err(RequestError::Empty));
    }

    #[test]
    fn arguments_are_cleaned_like_fields() {
        let request = from_fields(Some(" Ｗｉｋｉ "), Some("`read`\na page")).unwrap();
        assert_eq!(request.server.as_deref(), Some("Wiki"));
        assert_eq!(request.tool.as_deref(), Some("`read` a page"));
        assert_eq!(request.form, Form::Tagged);
    }

    #[test]
    fn a_long_field_is_cut_with_a_note() {
        let long = "é".repeat(MAX_FIELD_CHARS + 5);
        let request = from_fields(Some(&long), Some("read")).unwrap();
        assert_eq!(request.server, Some("é".repeat(MAX_FIELD_CHARS)));
        let note = "`server:` was cut from 2005 to 2000 characters";
        assert_eq!(request.note.as_deref(), Some(note));
        let parsed = parse(&long).unwrap();
        let note = "the request was cut from 2005 to 2000 characters";
        assert_eq!(parsed.requests[0].note.as_deref(), Some(note));
    }

    #[test]
    fn requests_and_problems_beyond_the_limit_are_counted() {
        let good = "<tool_assistant>\ntool: a\ntool: b\n</tool_assistant>".repeat(20);
        let parsed = parse(&good).unwrap();
        assert_eq!((parsed.requests.len(), parsed.left_out), (MAX_REQUESTS, 24));
        let bad = "<tool_assistant></tool_assistant>".repeat(20);
        let parsed = parse(&(good + &bad)).unwrap();
        assert_eq!(parsed.problems.len(), MAX_REQUESTS + 1);
        assert_eq!(parsed.problems[MAX_REQUESTS], "4 more blocks hold no request");
    }

    #[test]
    fn errors_show_the_right_form() {
        for text in ["", "<tool_assistant></tool_assistant>", "</tool_assistant>"] {
            let error = parse(text).unwrap_err();
            assert!(error.to_string().ends_with(EXAMPLE), "{error}");
            assert_eq!(error.fault(), Fault::Caller);
        }
        assert!(parse(EXAMPLE).is_ok());
    }

    #[rustfmt::skip]
    const HOSTILE: [&str; 35] = [
        "<", "&", "&lt;", "&#x", "`", "```\n", "```{", "\"", "{", "[", "{\"tool\":1}", ":", ",", "}", "(",
        "**", "\n", "tool:", "tool: x\n", "server: x\n", "task: x\n", "tool: server: ", "<!--", "-->",
        "<tool_assistant", "<tool_assistant>", "</tool_assistant>", "`<tool_assistant>`",
        "<tool_assistant/>", "<tool_assistant>tool: x", "<tool>x</tool>", "\u{301}", "\u{315}\u{300}",
        "\u{FDFA}", "\u{200D}",
    ];

    const HOSTILE_BYTES: usize = 2 << 20;

    /// Finishing is the test: a quadratic step would take minutes to hours.
    fn finishes_after(beginning: &str) {
        for unit in HOSTILE {
            let text = beginning.to_owned() + &unit.repeat(HOSTILE_BYTES / unit.len());
            assert_sound(&text);
        }
    }

    #[test]
    fn megabytes_of_hostile_text_finish() {
        finishes_after("");
    }

    #[test]
    fn megabytes_in_a_field_finish() {
        finishes_after("<tool_assistant>\nserver: x\ntool: ");
    }

    #[test]
    fn megabytes_in_json_finish() {
        finishes_after("<tool_assistant>{");
    }

    #[test]
    fn megabytes_in_an_element_finish() {
        finishes_after("<tool_assistant><tool>");
    }

    #[test]
    fn a_long_server_for_many_tools_is_not_copied_to_each() {
        let server = format!("server: {}\n", "x".repeat(HOSTILE_BYTES));
        let tools = "tool: x\n".repeat(HOSTILE_BYTES / 8);
        let parsed = parse(&(server + &tools)).unwrap();
        assert_eq!(parsed.left_out, HOSTILE_BYTES / 8 - MAX_REQUESTS);
    }

    fn grammar_soup() -> impl Strategy<Value = String> {
        let fragment = prop_oneof![
            prop::sample::select(vec![
                "<tool_assistant>",
                "</tool_assistant>",
                "<tool_assistant",
                "`<tool_assistant>`",
                "&lt;tool_assistant&gt;",
                "<server>",
                "</server>",
                "<tool/>",
                "<!--",
                "-->",
                "<![CDATA[",
                "]]>",
                "```",
                "server",
                "tool",
                "TASK",
                "ｔｏｏｌ",
                ":",
                "：",
                "=",
                "\n",
                "\n\n",
                "\r\n",
                " ",
                ",",
                "|",
                "- ",
                "1. ",
                "**",
                "\"",
                "`",
                "{",
                "}",
                "[",
                "]",
                "{\"tool\": \"x\"}",
                "&amp;",
                "&#x200B;",
                "\u{301}",
                "\u{200D}",
                "none",
                "é",
                "列",
            ])
            .prop_map(str::to_owned),
            ".{0,3}",
        ];
        prop::collection::vec(fragment, 0..60).prop_map(|fragments| fragments.concat())
    }

    fn assert_sound(text: &str) {
        let Ok(parsed) = parse(text) else {
            return;
        };
        assert!((1..=MAX_REQUESTS).contains(&parsed.requests.len()));
        for request in &parsed.requests {
            let fields: Vec<&String> =
                [&request.server, &request.tool].into_iter().flatten().collect();
            assert!(!fields.is_empty());
            for field in fields {
                assert!(!field.trim().is_empty() && !field.contains(['\n', '\r']));
                assert!(field.chars().count() <= MAX_FIELD_CHARS);
            }
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_soundly(text in any::<String>()) {
            assert_sound(&text);
        }

        #[test]
        fn any_mix_of_grammar_is_read_soundly(text in grammar_soup()) {
            assert_sound(&text);
            assert_sound(&format!("<tool_assistant>{text}"));
        }

        #[test]
        fn a_written_block_is_read_back(
            server in "[A-Z][a-z0-9]{1,8}( [a-zé列]{1,8}){1,3}",
            tool in "[a-z]{1,8}( [a-zé列0-9]{1,8}){0,6}",
            prose in "[a-zA-Z .\n]{0,40}",
        ) {
            let text = format!(
                "{prose}<tool_assistant>\nserver: {server}\ntool: {tool}\n</tool_assistant>{prose}"
            );
            prop_assert_eq!(outcome(&text), [format!("{server} | {tool}")]);
        }
    }
}
