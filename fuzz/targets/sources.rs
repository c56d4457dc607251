//! Any bytes are a source or a refusal, in every format, and what is taken
//! over keeps what the importers promise.
#![no_main]

use std::collections::HashSet;

use libfuzzer_sys::fuzz_target;
use toolscout::build::{digest, tool_text};
use toolscout::catalog::{RawJson, Server, Tool, compact_json};
use toolscout::sources::{Format, merge, parse};

fuzz_target!(|bytes: &[u8]| {
    let mut imports = Vec::new();
    for forced in [None].into_iter().chain(Format::ALL.map(Some)) {
        match parse("x.json", bytes, forced) {
            Ok(import) => imports.push(("x.json".to_owned(), import)),
            Err(error) => drop(error.to_string()),
        }
    }
    let merged = merge(imports);
    let mut names = HashSet::new();
    for server in &merged.servers {
        assert!(!server.name.is_empty() && names.insert(&server.name), "{:?}", server.name);
        check(server);
    }
});

fn check(server: &Server) {
    drop(digest(server));
    let mut names = HashSet::new();
    for tool in &server.tools {
        assert!(!tool.name.is_empty() && names.insert(&tool.name), "{:?}", tool.name);
        assert!(tool.description.len() <= 16_384);
        drop(tool_text(tool));
        raw(tool).for_each(same_on_one_line);
    }
}

fn raw(tool: &Tool) -> impl Iterator<Item = &RawJson> {
    [&tool.input_schema, &tool.output_schema, &tool.annotations].into_iter().flatten()
}

/// What the index does to a schema that spans lines.
fn same_on_one_line(json: &RawJson) {
    let compact = compact_json(json.get());
    assert!(!compact.contains(['\n', '\r']), "{compact:?}");
    let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
    assert_eq!(value(&compact), value(json.get()));
}
