//! Our own catalogue: `{"servers": [{"name", "description", "tools": […]}]}`.
//!
//! Owns how the format is recognised and walked; `index/catalog.schema.json`
//! describes it. Keys that it does not know are ignored.

use crate::sources::entry::declared_schema;
use crate::sources::entry::server;
use crate::sources::fields::Fields;
use crate::sources::findings::Findings;
use crate::sources::records::Place;
use crate::sources::records::Record;

/// Whether a record is a catalogue for sure.
///
/// A page of the official registry has `servers` too, each in an envelope.
pub(crate) fn recognises(fields: &Fields<'_>) -> bool {
    let Some(servers) = fields.list("servers") else {
        return false;
    };
    let first = servers.first().and_then(|json| Fields::of(json).ok());
    !first.is_some_and(|first| first.get("server").is_some() && first.get("name").is_none())
}

/// Whether a record can be read as a catalogue.
pub(crate) fn accepts(fields: &Fields<'_>) -> bool {
    fields.list("servers").is_some()
}

/// Reads the servers of every catalogue among the records.
pub(crate) fn import(records: &[Record<'_>], found: &mut Findings) {
    for record in records {
        let servers = Fields::of(record.json).ok().and_then(|fields| fields.list("servers"));
        let Some(servers) = servers else {
            found.reject_server(record.place, "it holds no list of servers");
            continue;
        };
        for (index, json) in servers.into_iter().enumerate() {
            server(json, Place::Position(index + 1), declared_schema, found);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;
    use serde_json::json;

    use crate::sources::Format;
    use crate::sources::Import;
    use crate::sources::parse;
    use crate::sources::read;
    use crate::sources::shared;

    fn counts(import: &Import) -> (usize, usize) {
        (import.servers.len(), import.servers.iter().map(|server| server.tools.len()).sum())
    }

    #[test]
    fn both_key_styles_are_read_and_unknown_keys_ignored() {
        let text = r#"{"version":1,"servers":[{"name":"S","x":1,"description":"d","summary":"s","url":"u",
            "tools":[{"name":"a","title":"A","input_schema":{"a":1},"outputSchema":{ }},
                     {"name":"b","inputSchema":true,"extra":{},"annotations":{"readOnlyHint":true}}]}]}"#;
        let import = parse("x.json", text, None).unwrap();
        assert_eq!(import.format, Format::Catalog);
        let server = &import.servers[0];
        assert_eq!((server.description.as_str(), server.summary.as_str()), ("d", "s"));
        assert_eq!(server.url.as_deref(), Some("u"));
        assert_eq!(server.tools[0].title.as_deref(), Some("A"));
        assert_eq!(server.tools[0].input_schema.as_ref().unwrap().get(), r#"{"a":1}"#);
        assert_eq!(server.tools[0].output_schema.as_ref().unwrap().get(), "{ }");
        assert_eq!(server.tools[1].input_schema.as_ref().unwrap().get(), "true");
        assert!(import.rejected.is_empty() && import.warnings.is_empty());
    }

    #[test]
    fn one_bad_server_never_costs_its_neighbours() {
        let text = r#"{"servers":[{"name":"a"},7,{"tools":[{"name":"x"}]},{"name":"z"}]}"#;
        let import = parse("x.json", text, None).unwrap();
        assert_eq!(counts(&import), (2, 0));
        let places: Vec<_> = import.rejected.iter().map(|r| r.server.as_str()).collect();
        assert_eq!(places, ["position 2", "position 3"]);
        assert_eq!(import.rejected[1].reason, "it has no name; its tool is lost with it");
    }

    #[test]
    fn the_bundled_sample_loads_without_a_word() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("index/sample.catalog.json");
        let import = read(&path, None).unwrap();
        assert!(import.servers.len() >= 12 && counts(&import).1 >= 80, "{:?}", counts(&import));
        assert!(import.rejected.is_empty(), "{:?}", import.rejected);
        assert!(import.warnings.is_empty(), "{:?}", import.warnings);
        assert!(import.servers.iter().flat_map(|s| &s.tools).all(|t| t.input_schema.is_some()));
    }

    #[test]
    fn every_public_corpus_loads_whole() {
        let expected = [
            ("apibank", 8, 48),
            ("apibank_all", 10, 73),
            ("bfcl_multi_turn", 8, 128),
            ("bfcl_single", 522, 1870),
            ("docker", 328, 755),
            ("etom", 491, 2375),
            ("livemcpbench", 70, 527),
            ("mcp_reference45", 7, 45),
            ("mcp_registry_seed", 471, 0),
            ("mcpzero", 308, 2797),
            ("metatool", 199, 199),
            ("sealtools", 146, 4076),
            ("stabletoolbench", 811, 2479),
            ("toolhive", 102, 1652),
            ("toucan_all", 2120, 17479),
            ("toucan_core", 758, 5442),
        ];
        for (name, n_servers, n_tools) in expected {
            let Some(path) = shared(&format!("data/corpora/{name}.json")) else {
                return;
            };
            let import = read(&path, None).unwrap();
            assert_eq!(import.format, Format::Catalog, "{name}");
            assert_eq!(counts(&import), (n_servers, n_tools), "{name}");
            assert_eq!(import.rejected, [], "{name}");
        }
    }

    /// Names are any text; other texts hold nothing that cleaning would change.
    fn tool_json() -> impl Strategy<Value = serde_json::Value> {
        (".{1,8}", "[a-z]{0,4}", "[ -~]{0,12}", any::<bool>()).prop_map(
            |(name, title, description, hint)| {
                json!({"name": name, "title": title, "description": description.trim(),
                    "input_schema": {"type": "object", "x": name},
                    "annotations": {"readOnlyHint": hint}})
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(tools in prop::collection::vec(tool_json(), 0..6), name in ".{1,8}") {
            let text = json!({"servers": [{"name": name, "tools": tools}]}).to_string();
            let import = parse("x.json", &text, None).unwrap();
            prop_assert!(import.rejected.is_empty() && import.warnings.is_empty());
            prop_assert_eq!(&import.servers[0].name, &name);
            let read_back: Vec<_> = import.servers[0].tools.iter().map(|tool| {
                let raw = |raw: &Option<crate::catalog::RawJson>| {
                    serde_json::from_str::<serde_json::Value>(raw.as_ref().unwrap().get()).unwrap()
                };
                json!({"name": tool.name, "title": tool.title.as_deref().unwrap_or(""),
                    "description": tool.description, "input_schema": raw(&tool.input_schema),
                    "annotations": raw(&tool.annotations)})
            }).collect();
            prop_assert_eq!(read_back, tools);
        }
    }
}
