//! The data set of MCP-Zero (arXiv 2506.01056): servers with parameter strings.
//!
//! Owns how the format is recognised and how its parameters become a schema.
//! Embedding vectors in the file are skipped unread: ours are made afresh.

use std::collections::HashSet;

use serde_json::value::RawValue;

use crate::catalog::RawJson;
use crate::sources::arguments::Arguments;
use crate::sources::entry::declared_schema;
use crate::sources::entry::server;
use crate::sources::fields::Fields;
use crate::sources::fields::Kind;
use crate::sources::fields::string;
use crate::sources::findings::Findings;
use crate::sources::findings::Notes;
use crate::sources::findings::shown;
use crate::sources::parameter::Parameter;
use crate::sources::records::Record;

/// Whether a record is a server of this format for sure.
pub(crate) fn recognises(fields: &Fields<'_>) -> bool {
    let has = |key: &str, kind| fields.get(key).is_some_and(|json| Kind::of(json) == kind);
    has("server_name", Kind::String) || (has("name", Kind::String) && has("tools", Kind::Array))
}

/// Whether a record can be read as a server of this format.
pub(crate) fn accepts(fields: &Fields<'_>) -> bool {
    fields.first(&["server_name", "name", "tools"]).is_some()
}

/// Reads every record as one server.
pub(crate) fn import(records: &[Record<'_>], found: &mut Findings) {
    for record in records {
        server(record.json, record.place, schema, found);
    }
}

/// The schema of a tool, from its parameters unless it has a real one.
fn schema(fields: &Fields<'_>, notes: &mut Notes) -> Option<RawJson> {
    if let Some(schema) = declared_schema(fields, notes) {
        return Some(schema);
    }
    let (key, json) = fields.first(&["parameter", "parameters"])?;
    match Fields::of(json) {
        Ok(parameters) if is_schema(&parameters) => Some(json.to_owned()),
        Ok(parameters) => Some(arguments(&parameters, notes).to_json()),
        Err(problem) => {
            notes.add(format!("`{key}` cannot be used, {problem}: left out"));
            None
        }
    }
}

/// Parameters that already are a schema, as writers after the paper have it.
fn is_schema(parameters: &Fields<'_>) -> bool {
    parameters.get("type").is_some_and(|json| json.get() == r#""object""#)
        && parameters.object("properties").is_some()
}

/// The arguments that parameter strings describe.
fn arguments(parameters: &Fields<'_>, notes: &mut Notes) -> Arguments {
    let mut arguments = Arguments::default();
    for (name, json) in last_of_each(parameters) {
        let (schema, required) = property(name, json, notes);
        arguments.add(name, schema);
        if required {
            arguments.require(name);
        }
    }
    arguments
}

/// A repeated name would make a schema that no two readers read alike.
fn last_of_each<'a>(fields: &'a Fields<'_>) -> Vec<(&'a str, &'a RawValue)> {
    let mut seen = HashSet::new();
    let mut last: Vec<_> = fields.iter().rev().filter(|(name, _)| seen.insert(*name)).collect();
    last.reverse();
    last
}

/// The schema of one parameter, and whether a call must give it.
fn property(name: &str, json: &RawValue, notes: &mut Notes) -> (RawJson, bool) {
    match string(json) {
        Ok(text) => {
            let parameter = Parameter::parse(&notes.clean(&text));
            (parameter.to_json(), parameter.required)
        }
        Err(_) if Kind::of(json) == Kind::Object => (json.to_owned(), true),
        Err(problem) => {
            notes.add(format!("parameter `{}` is {problem}: kept untyped", shown(name)));
            (Parameter::untyped().to_json(), true)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::Value;

    use crate::catalog::Tool;
    use crate::sources::Format;
    use crate::sources::Import;
    use crate::sources::parse;
    use crate::sources::read;
    use crate::sources::shared;

    fn schema_of(tool: &Tool) -> Value {
        serde_json::from_str(tool.input_schema.as_ref().unwrap().get()).unwrap()
    }

    fn check_parameters(parameters: &str, schema: &str, warnings: &[&str]) {
        let text = format!(r#"{{"name":"S","tools":[{{"name":"t","parameter":{parameters}}}]}}"#);
        let import = parse("x.json", &text, None).unwrap();
        let found = import.servers[0].tools[0].input_schema.as_ref();
        assert_eq!(found.map_or("none", |schema| schema.get()), schema, "{parameters}");
        assert_eq!(import.warnings, warnings, "{parameters}");
    }

    fn n_tools(import: &Import) -> usize {
        import.servers.iter().map(|server| server.tools.len()).sum()
    }

    #[test]
    fn parameters_become_an_object_schema_in_order() {
        check_parameters("{}", r#"{"type":"object","properties":{}}"#, &[]);
        check_parameters("null", "none", &[]);
        check_parameters(
            r#"{"z":"(string) Z","a":"(optional) A"}"#,
            r#"{"type":"object","properties":{"z":{"type":"string","description":"Z"},"a":{"description":"A"}},"required":["z"]}"#,
            &[],
        );
        check_parameters(
            r#"{"a":"(string)","b":"(int)","a":"(optional)"}"#,
            r#"{"type":"object","properties":{"b":{"type":"integer"},"a":{}},"required":["b"]}"#,
            &[],
        );
    }

    #[test]
    fn values_that_are_no_strings_are_kept_as_far_as_they_go() {
        check_parameters(
            r#"{"a":{ "type":"string" },"b":7}"#,
            r#"{"type":"object","properties":{"a":{ "type":"string" },"b":{}},"required":["a","b"]}"#,
            &["server `S`, tool `t`: parameter `b` is a number, not a string: kept untyped"],
        );
        check_parameters(
            r#"["a"]"#,
            "none",
            &[
                "server `S`, tool `t`: `parameter` cannot be used, it is an array, not an object: left out",
            ],
        );
        let schema = r#"{"type":"object", "properties":{"q":{}}}"#;
        check_parameters(schema, schema, &[]);
    }

    #[test]
    fn both_key_styles_and_all_three_layouts_are_read() {
        let short = r#"{"name":"A","description":"d","summary":"s","tools":[{"name":"t","description":"x","parameter":{"q":"(string) Q"}}]}"#;
        let long = r#"{"server_name":"A","server_description":"d","server_summary":"s","tools":[{"tool_name":"t","tool_description":"x","parameters":{"q":"(string) Q"}}]}"#;
        for server in [short, long] {
            for text in
                [server.to_owned(), format!("[{server}]"), format!("{server}\n\n{server}\n")]
            {
                let import = parse("x.json", &text, None).unwrap();
                assert_eq!(import.format, Format::McpZero, "{text}");
                let server = import.servers.last().unwrap();
                assert_eq!((server.name.as_str(), server.description.as_str()), ("A", "d"));
                assert_eq!(server.summary, "s");
                let tool = &server.tools[0];
                assert_eq!((tool.name.as_str(), tool.description.as_str()), ("t", "x"));
                assert_eq!(schema_of(tool)["properties"]["q"]["type"], "string");
            }
        }
    }

    #[test]
    fn a_bad_line_costs_only_itself() {
        let text = "{\"name\":\"A\",\"tools\":[]}\n{\"name\":\n7\n{\"name\":\"B\",\"tools\":[]}";
        let import = parse("x.jsonl", text, None).unwrap();
        assert_eq!(import.servers.len(), 2);
        let mut places: Vec<_> = import.rejected.iter().map(|r| r.server.as_str()).collect();
        places.sort_unstable();
        assert_eq!(places, ["line 2", "line 3"]);
    }

    #[test]
    fn a_stray_record_of_another_format_is_rejected() {
        let text = "{\"name\":\"A\",\"tools\":[]}\n{\"servers\":[]}\n{\"name\":\"B\",\"tools\":[]}";
        let import = parse("x.jsonl", text, None).unwrap();
        assert_eq!((import.format, import.servers.len()), (Format::McpZero, 2));
        assert_eq!(import.rejected[0].reason, "it has no name");
    }

    #[test]
    fn the_data_set_loads_whole() {
        let Some(path) = shared("data/raw/mcp-zero/mcp_tools.jsonl") else {
            return;
        };
        let import = read(&path, None).unwrap();
        assert_eq!(import.format, Format::McpZero);
        assert_eq!((import.servers.len(), n_tools(&import)), (308, 2797));
        assert_eq!(import.rejected, []);
        let tools = import.servers.iter().flat_map(|server| &server.tools);
        let mut kinds = BTreeMap::<String, usize>::new();
        let (mut n_parameters, mut n_required) = (0, 0);
        for schema in tools.map(schema_of) {
            n_required += schema["required"].as_array().map_or(0, Vec::len);
            for property in schema["properties"].as_object().unwrap().values() {
                n_parameters += 1;
                let kind = property.get("type").or(property.get("anyOf"));
                *kinds.entry(kind.map_or("none".to_owned(), Value::to_string)).or_default() += 1;
            }
        }
        assert_eq!((n_parameters, n_required), (2942, 1975));
        let expected = [
            (r#""array""#, 184),
            (r#""boolean""#, 110),
            (r#""integer""#, 183),
            (r#""number""#, 283),
            (r#""object""#, 101),
            (r#""string""#, 1861),
            (r#"["array","string"]"#, 6),
            (r#"["integer","null"]"#, 5),
            (r#"["integer","string"]"#, 1),
            (r#"["number","string"]"#, 2),
            (r#"["object","null"]"#, 1),
            (r#"["object","string"]"#, 3),
            (r#"["string","null"]"#, 6),
            (r#"["string","number"]"#, 4),
            (r#"[{"type":"string"},{"type":"array","items":{"type":"string"}}]"#, 3),
            ("none", 189),
        ];
        let kinds: Vec<_> = kinds.iter().map(|(kind, n)| (kind.as_str(), *n)).collect();
        assert_eq!(kinds, expected);
    }

    #[test]
    fn embedding_vectors_are_skipped() {
        for path in [
            "data/raw/mcp-zero/mcp_tools_with_embedding.github-only.json",
            "data/raw/mcp-zero/github-only.embeddings-elided.json",
        ] {
            let Some(path) = shared(path) else { return };
            let import = read(&path, None).unwrap();
            assert_eq!((import.format, n_tools(&import)), (Format::McpZero, 26));
            assert!(import.rejected.is_empty() && import.warnings.is_empty());
        }
        let Some(path) = shared("field-cases/files/i05.mcpzero.json") else {
            return;
        };
        let import = read(&path, None).unwrap();
        assert_eq!((import.servers[0].name.as_str(), n_tools(&import)), ("Clock", 2));
    }
}
