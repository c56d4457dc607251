//! What the publisher of a registry entry adds to it: tools, and a status.
//!
//! Owns `io.modelcontextprotocol.registry/publisher-provided` as ToolHive
//! fills it: publisher → package or address → `tools`, `tool_definitions`.

use std::collections::HashSet;

use serde_json::value::RawValue;

use crate::sources::fields::Fields;
use crate::sources::fields::string;

const PROVIDED: &str = "io.modelcontextprotocol.registry/publisher-provided";

/// Tools as objects where the publisher has them so, else their bare names.
pub(crate) fn tools<'a>(fields: &Fields<'a>) -> Vec<&'a RawValue> {
    let mut tools = Vec::new();
    for extension in extensions(fields) {
        tools.extend(listed(&extension));
    }
    let mut seen = HashSet::new();
    tools.retain(|json| seen.insert(json.get()));
    tools
}

/// The tools of one object with `tool_definitions`, `tools` or both.
pub(crate) fn listed<'a>(fields: &Fields<'a>) -> Vec<&'a RawValue> {
    let mut tools = fields.list("tool_definitions").unwrap_or_default();
    let name_of = |json: &RawValue| string(Fields::of(json).ok()?.get("name")?).ok();
    let defined: HashSet<String> = tools.iter().filter_map(|json| name_of(json)).collect();
    let named = fields.list("tools").unwrap_or_default();
    let is_new = |json: &&RawValue| string(json).is_ok_and(|name| !defined.contains(&name));
    tools.extend(named.into_iter().filter(|json| defined.is_empty() || is_new(json)));
    tools
}

/// The first status among the extensions.
pub(crate) fn status(fields: &Fields<'_>) -> Option<String> {
    extensions(fields).find_map(|extension| string(extension.get("status")?).ok())
}

fn extensions<'a>(fields: &Fields<'a>) -> impl Iterator<Item = Fields<'a>> {
    let provided = fields.object("_meta").and_then(|meta| meta.object(PROVIDED));
    let publishers = provided.into_iter().flat_map(|provided| provided.objects());
    publishers.flat_map(|publisher| publisher.objects())
}
