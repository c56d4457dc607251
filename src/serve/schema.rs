//! Arguments against the schema of their tool, before they are sent.
//!
//! Owns the bounds: nothing is fetched, no pattern backtracks, and a schema
//! that is too large, too deep or no schema at all checks nothing.

use jsonschema::PatternOptions;
use jsonschema::Retrieve;
use jsonschema::Uri;
use jsonschema::Validator;
use serde_json::Value;
use serde_json::value::RawValue;

/// Larger and deeper schemas are not compiled.
const MAX_BYTES: usize = 512 << 10;
const MAX_DEPTH: usize = 64;

/// Problems that are listed; more are counted.
const MAX_PROBLEMS: usize = 20;

/// Characters of a problem that are shown; it may hold the whole argument.
const MAX_CHARS: usize = 240;

/// A schema that can be checked against.
pub(super) struct Schema(Option<Validator>);

impl Schema {
    /// The schema that allows everything.
    pub(super) fn open() -> Self {
        Self(None)
    }

    /// Compiles a schema; one that cannot be compiled allows everything.
    pub(super) fn new(raw: &RawValue) -> Self {
        let text = raw.get();
        if text.len() > MAX_BYTES || depth(text) > MAX_DEPTH {
            return Self(None);
        }
        let compiled = serde_json::from_str::<Value>(text).ok().and_then(|schema| {
            let options = jsonschema::options()
                .with_retriever(Offline)
                .with_pattern_options(PatternOptions::regex());
            options.build(&schema).ok()
        });
        Self(compiled)
    }

    /// All that is wrong with the arguments, a line each.
    pub(super) fn problems(&self, arguments: &Value) -> Vec<String> {
        let Some(validator) = &self.0 else { return Vec::new() };
        let mut errors = validator.iter_errors(arguments);
        let mut problems: Vec<String> = errors
            .by_ref()
            .take(MAX_PROBLEMS)
            .map(|error| {
                let (path, text) = (error.instance_path().to_string(), error.to_string());
                let mut shown: String = text.chars().take(MAX_CHARS).collect();
                if shown.len() < text.len() {
                    shown.push('…');
                }
                let place = if path.is_empty() { "arguments" } else { path.as_str() };
                format!("{place}: {shown}")
            })
            .collect();
        let n_more = errors.count();
        if n_more > 0 {
            problems.push(format!("… and {n_more} more"));
        }
        problems
    }
}

/// Refuses whatever would have to be fetched.
struct Offline;

impl Retrieve for Offline {
    fn retrieve(
        &self,
        uri: &Uri<String>,
    ) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        Err(format!("{uri} is not fetched").into())
    }
}

/// How deep brackets nest.
fn depth(json: &str) -> usize {
    let (mut depth, mut deepest, mut in_string, mut escaped) = (0_usize, 0, false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn problems(schema: &Value, arguments: &Value) -> Vec<String> {
        let raw = serde_json::value::to_raw_value(schema).unwrap();
        Schema::new(&raw).problems(arguments)
    }

    #[test]
    fn every_problem_is_listed_with_its_place() {
        let schema = json!({
            "type": "object",
            "properties": {"path": {"type": "string"}, "n": {"type": "integer", "minimum": 1}, "mode": {}},
            "required": ["path", "mode"],
            "additionalProperties": false,
        });
        let found = problems(&schema, &json!({"n": 0, "x": true}));
        assert_eq!(found.len(), 4, "{found:?}");
        assert!(found.iter().any(|one| one.starts_with("/n: ")), "{found:?}");
        assert!(found.iter().any(|one| one.contains("\"mode\" is a required")), "{found:?}");
        assert_eq!(problems(&schema, &json!({"path": "a", "mode": 1})), Vec::<String>::new());
    }

    #[test]
    fn a_schema_that_is_odd_or_hostile_checks_nothing_and_fetches_nothing() {
        let nothing = Vec::<String>::new();
        for schema in [
            json!(true),
            json!({"type": 7}),
            json!({"$ref": "http://127.0.0.1:1/schema.json"}),
            json!({"$ref": "file:///etc/passwd"}),
            json!({"$ref": "#/nowhere"}),
            json!({"properties": {"a": {"pattern": "(a+)+(?=x)"}}}),
            json!("no schema"),
        ] {
            assert_eq!(problems(&schema, &json!({"a": "aaaa"})), nothing, "{schema}");
        }
        let deep = format!("{}true{}", r#"{"not":"#.repeat(100_000), "}".repeat(100_000));
        let raw = RawValue::from_string(deep).unwrap();
        assert_eq!(Schema::new(&raw).problems(&json!({})), nothing);
    }

    #[test]
    fn a_recursive_schema_and_a_slow_pattern_end() {
        let tree = json!({
            "type": "object",
            "properties": {"child": {"$ref": "#"}, "name": {"type": "string", "pattern": "^(a+)+$"}},
        });
        let mut arguments = json!({"name": "a".repeat(50_000) + "b"});
        for _ in 0..60 {
            arguments = json!({"child": arguments});
        }
        assert_eq!(problems(&tree, &arguments).len(), 1);
    }
}
