//! What the meta-server says of itself: instructions, tool entry, prompt.
//!
//! Generated from the index at build time, so that an agent knows what it can
//! ask for without seeing a single schema. Must stay small: the entry of
//! `discover_tools` costs every conversation at most 250 tokens (350 with its
//! output schema).

use serde_json::{Value, json};

use crate::catalog::clean_text;
use crate::catalog::without_tags;
use crate::index::Draft;
use crate::index::Matrix;
use crate::index::Surface;
use crate::index::SurfaceTokens;
use crate::tokens;

/// The one tool of the meta-server.
pub const TOOL_NAME: &str = "discover_tools";

/// The tool that calls what was found, where servers are configured.
pub const CALL_NAME: &str = "call_tool";

/// The one prompt of the meta-server.
pub const PROMPT_NAME: &str = "tool_assistant";

/// Server names shown as examples of what the index covers.
const MAX_EXAMPLES: usize = 8;
const MAX_EXAMPLE_CHARS: usize = 28;

/// Servers looked at when choosing examples; the choice is quadratic in it.
const MAX_CANDIDATES: usize = 400;

/// Texts and token counts of a generation.
#[must_use]
pub fn describe(draft: &Draft) -> Surface {
    let examples = examples(draft);
    let (n_servers, n_tools) = (draft.servers.len(), draft.tools.len());
    let mut surface = Surface {
        instructions: instructions(n_servers, n_tools, &examples),
        tool_description: tool_description(n_servers, n_tools, &examples),
        n_servers,
        n_tools,
        tokens: SurfaceTokens::default(),
    };
    surface.tokens = count_tokens(draft, &surface);
    surface
}

/// What stands in for a surface while there is no index.
#[must_use]
pub fn without_index() -> Surface {
    Surface {
        instructions: instructions(0, 0, &[]),
        tool_description: tool_description(0, 0, &[]),
        n_servers: 0,
        n_tools: 0,
        tokens: SurfaceTokens::default(),
    }
}

/// What the part of an index says of itself that a visitor may see.
#[must_use]
pub fn of_part(servers: &[String], n_tools: usize) -> Surface {
    let examples: Vec<String> = servers.iter().take(MAX_EXAMPLES).map(|name| short(name)).collect();
    let n_servers = servers.len();
    Surface {
        instructions: instructions(n_servers, n_tools, &examples),
        tool_description: tool_description(n_servers, n_tools, &examples),
        n_servers,
        n_tools,
        tokens: SurfaceTokens::default(),
    }
}

/// JSON Schema of the arguments of `discover_tools`.
#[must_use]
pub fn input_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "request": {"type": "string"},
            "server": {"type": "string", "description": "platform or domain"},
            "tool": {"type": "string", "description": "operation + target"},
            "top_k": {"type": "integer", "minimum": 1, "maximum": 20, "default": 3},
            "detail": {"enum": ["names", "summary", "schema"], "default": "schema"},
            "max_bytes": {"type": "integer", "default": 16384},
            "exclude": {"type": "array", "items": {"type": "string"}},
            "cursor": {"type": "string"},
        },
    })
}

/// JSON Schema of the structured reply of `discover_tools`.
#[must_use]
pub fn output_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "requests": {"type": "array", "items": {"type": "object"}},
            "matches": {"type": "array", "items": {"type": "object", "required": ["name"]}},
            "omitted": {"type": "integer"},
            "next_cursor": {"type": "string"},
        },
        "required": ["requests", "matches", "omitted"],
    })
}

/// The entry of `discover_tools` as `tools/list` carries it.
#[must_use]
pub fn tool_entry(description: &str) -> Value {
    json!({
        "name": TOOL_NAME,
        "description": description,
        "inputSchema": input_schema(),
        "annotations": {"readOnlyHint": true, "openWorldHint": false},
    })
}

/// The entry of `call_tool` as `tools/list` carries it.
#[must_use]
pub fn call_entry() -> Value {
    json!({
        "name": CALL_NAME,
        "description": format!(
            "Calls a tool that `{TOOL_NAME}` found. Give its `name` as shown there and `arguments` that fit its schema."
        ),
        "inputSchema": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "arguments": {"type": "object"}},
            "required": ["name"],
        },
    })
}

/// Instructions of a server that also calls what it finds.
#[must_use]
pub fn with_calls(instructions: &str) -> String {
    format!("{instructions} Call a tool that was found with `{CALL_NAME}`.")
}

/// The system prompt of the prompt `tool_assistant`, for clients that let a
/// model write `<tool_assistant>` blocks on its own (MCP-Zero, appendix).
#[must_use]
pub fn system_prompt(surface: &Surface) -> String {
    format!(
        "You can use {} of {}, but none of them is shown to you in advance. \
Work through the task step by step. As soon as a step needs a capability that you do not have, \
do not guess and do not give up: say what you need in this form, one block for each capability:\n\
\n\
<tool_assistant>\n\
server: the platform or domain, such as GitHub, a calendar, a SQL database\n\
tool: the operation and its target, such as create an issue in a repository\n\
</tool_assistant>\n\
\n\
Pass the block as `request` to the tool `{TOOL_NAME}`; it returns the tools that fit, with their \
schemas. If none fits, say it in other words, or pass the names already seen as `exclude`. \
If no tool fits in the end, tell the user so.",
        counted(surface.n_tools, "tool"),
        counted(surface.n_servers, "server")
    )
}

fn instructions(n_servers: usize, n_tools: usize, examples: &[String]) -> String {
    let covers = covers(n_servers, n_tools, examples);
    format!(
        "{covers} Whenever a step needs a capability you lack, call `{TOOL_NAME}` before you say it \
cannot be done. `server` is the platform or domain, `tool` is operation + target. It returns the \
few tools that fit best, with their schemas; ask again in other words if none of them does."
    )
}

fn tool_description(n_servers: usize, n_tools: usize, examples: &[String]) -> String {
    let covers = covers(n_servers, n_tools, examples);
    format!(
        "{covers} Call it when you lack a tool, with `server` and `tool` or with `request`:\n\
<tool_assistant>\nserver: GitHub\ntool: create an issue\n</tool_assistant>\n\
`exclude` names already seen."
    )
}

fn covers(n_servers: usize, n_tools: usize, examples: &[String]) -> String {
    if n_tools == 0 && n_servers == 0 {
        return "Finds MCP tools.".to_owned();
    }
    let of = counted(n_servers, "server");
    let such = if examples.len() < n_servers { ", such as " } else { ": " };
    format!("Finds tools among {} of {of}{such}{}.", thousands(n_tools), examples.join(", "))
}

/// `2797` → `2,797`.
#[must_use]
pub fn thousands(n: usize) -> String {
    let digits = n.to_string();
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .filter_map(|group| std::str::from_utf8(group).ok())
        .collect();
    groups.join(",")
}

/// `1 server`, `1,234 servers`: a noun that takes an `s`.
#[must_use]
pub fn counted(n: usize, noun: &str) -> String {
    format!("{} {noun}{}", thousands(n), if n == 1 { "" } else { "s" })
}

/// Names of servers that together stand for the index: greedy facility
/// location (Nemhauser et al. 1978) over the digests, weighted by tools.
fn examples(draft: &Draft) -> Vec<String> {
    let Some(digests) = draft.matrices.get(&Matrix::ServerDigest) else {
        return Vec::new();
    };
    let step = draft.servers.len().div_ceil(MAX_CANDIDATES).max(1);
    let rows = (0..draft.servers.len()).step_by(step);
    // A second server of a name says nothing new.
    let rows: Vec<usize> = rows.filter(|row| !draft.servers[*row].name.contains(" #")).collect();
    let vectors = digests.select(ndarray::Axis(0), &rows);
    let alike = vectors.dot(&vectors.t());
    let mut covered = vec![0.0_f32; rows.len()];
    let mut chosen: Vec<usize> = Vec::new();
    while chosen.len() < MAX_EXAMPLES.min(rows.len()) {
        let gain = |candidate: usize| -> f32 {
            covered.iter().zip(alike.row(candidate)).map(|(c, a)| (a - c).max(0.0)).sum()
        };
        let next = (0..rows.len())
            .filter(|candidate| !chosen.contains(candidate))
            .max_by(|&a, &b| gain(a).total_cmp(&gain(b)).then(b.cmp(&a)));
        let Some(next) = next else { break };
        for (covered, alike) in covered.iter_mut().zip(alike.row(next)) {
            *covered = covered.max(*alike);
        }
        chosen.push(next);
    }
    chosen.into_iter().map(|row| short(&draft.servers[rows[row]].name)).collect()
}

/// A server's name as it may stand in a sentence: visible, on one line, short.
fn short(name: &str) -> String {
    let clean = without_tags(&clean_text(name));
    let name = clean.split_whitespace().collect::<Vec<_>>().join(" ");
    if name.chars().count() <= MAX_EXAMPLE_CHARS {
        return name;
    }
    name.chars().take(MAX_EXAMPLE_CHARS - 1).chain(['…']).collect()
}

fn count_tokens(draft: &Draft, surface: &Surface) -> SurfaceTokens {
    let entry = tool_entry(&surface.tool_description);
    let mut with_output = entry.clone();
    if let Some(entry) = with_output.as_object_mut() {
        entry.insert("outputSchema".to_owned(), output_schema());
    }
    let definitions: Vec<String> = draft
        .tools
        .iter()
        .map(|tool| {
            let schema =
                tool.input_schema.as_ref().map_or("{\"type\":\"object\"}", |raw| raw.get());
            let (name, description) = (json!(tool.exposed), json!(tool.description));
            format!(r#"{{"name":{name},"description":{description},"inputSchema":{schema}}}"#)
        })
        .collect();
    SurfaceTokens {
        all_schemas: tokens::count_all(definitions),
        tool_entry: tokens::count(&entry.to_string()),
        tool_entry_with_output_schema: tokens::count(&with_output.to_string()),
        instructions: tokens::count(&surface.instructions),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_grouped() {
        for (n, expected) in [(0, "0"), (999, "999"), (2797, "2,797"), (1_000_000, "1,000,000")] {
            assert_eq!(thousands(n), expected);
        }
    }

    #[test]
    fn one_thing_is_no_things() {
        let said = [0, 1, 2, 2_797].map(|n| counted(n, "tool"));
        assert_eq!(said, ["0 tools", "1 tool", "2 tools", "2,797 tools"]);
    }

    #[test]
    fn the_entry_stays_small_with_the_longest_examples() {
        let examples = vec!["Model Context Protocol Serve…".to_owned(); MAX_EXAMPLES];
        let description = tool_description(12_345, 1_234_567, &examples);
        let mut entry = tool_entry(&description);
        assert!(tokens::count(&entry.to_string()) <= 250, "{}", tokens::count(&entry.to_string()));
        entry["outputSchema"] = output_schema();
        assert!(tokens::count(&entry.to_string()) <= 350, "{}", tokens::count(&entry.to_string()));
    }
}
