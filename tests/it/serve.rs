//! `serve`: raw JSON-RPC over stdio of the real binary.

mod budget;
mod calls;
mod lifecycle;
mod odd_schemas;
mod protocol;
mod reload;
pub(crate) mod session;
mod stateless;

use serde_json::Value;

/// Two servers, three tools; `VERSION` stands in every description.
const VERSIONED: &str = r#"{"servers":[
{"name":"echo","description":"Echo VERSION","tools":[{"name":"say","description":"Say it again, VERSION"}]},
{"name":"files","description":"Files VERSION","tools":[
{"name":"read_file","description":"Read a file from disk, VERSION","inputSchema":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]},"annotations":{"readOnlyHint":true}},
{"name":"write_file","description":"Write a file to disk, VERSION"}]}]}"#;

fn versioned(version: &str) -> String {
    VERSIONED.replace("VERSION", version)
}

/// The text of a tool result.
fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

/// Names of the matches of a tool result, best first.
fn names(result: &Value) -> Vec<&str> {
    let matches = result["structuredContent"]["matches"].as_array().unwrap();
    matches.iter().map(|one| one["name"].as_str().unwrap()).collect()
}
