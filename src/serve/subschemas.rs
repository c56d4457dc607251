//! Where schemas stand in a JSON Schema, of any draft.

use serde_json::Map;
use serde_json::Value;

/// Keywords whose value is a schema, or an array of schemas.
const SCHEMAS: [&str; 16] = [
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "contains",
    "contentSchema",
    "else",
    "if",
    "items",
    "not",
    "oneOf",
    "prefixItems",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// Keywords whose value maps names to schemas.
const NAMED: [&str; 6] =
    ["$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"];

/// Keywords that name a schema elsewhere.
pub(super) const REFERENCES: [&str; 3] = ["$dynamicRef", "$recursiveRef", "$ref"];

/// Whether a keyword holds schemas.
pub(super) fn holds(keyword: &str) -> bool {
    SCHEMAS.contains(&keyword) || NAMED.contains(&keyword)
}

/// The values that should be schemas below one.
pub(super) fn of(schema: &mut Map<String, Value>) -> Vec<&mut Value> {
    let mut found = Vec::new();
    for (keyword, value) in schema {
        let (is_one, is_named) =
            (SCHEMAS.contains(&keyword.as_str()), NAMED.contains(&keyword.as_str()));
        if is_one && !value.is_array() {
            found.push(value);
            continue;
        }
        match value {
            Value::Object(named) if is_named => found.extend(named.values_mut()),
            Value::Array(all) if is_one => found.extend(all),
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn schemas_are_found_and_names_are_not_taken_for_keywords() {
        let mut schema = json!({
            "type": "object",
            "enum": [{"not": {}}],
            "properties": {"not": 1, "allOf": 2},
            "allOf": [3, 4],
            "items": 5,
            "dependencies": {"a": 6},
        });
        let found = of(schema.as_object_mut().unwrap());
        let found: Vec<u64> = found.into_iter().filter_map(|one| one.as_u64()).collect();
        assert_eq!(found, [1, 2, 3, 4, 5, 6]);
    }
}
