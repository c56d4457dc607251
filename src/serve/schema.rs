//! Arguments against the schema of their tool, before they are sent.
//!
//! Owns the bounds: nothing is fetched, no pattern backtracks, the work is
//! counted, and what is too large, too deep or no schema at all checks nothing.

use jsonschema::PatternOptions;
use jsonschema::Retrieve;
use jsonschema::Uri;
use jsonschema::ValidationError;
use jsonschema::Validator;
use serde_json::Value;
use serde_json::value::RawValue;

use super::meter;
use super::relaxed::relaxed;

/// Larger and deeper schemas are not compiled.
const MAX_BYTES: usize = 512 << 10;
const MAX_DEPTH: usize = 64;

/// Steps of compiling a schema, of telling whether arguments fit it, and of
/// telling why not: a tenth of a second or so each.
const COMPILE_STEPS: u64 = 1 << 18;
const CHECK_STEPS: u64 = 1 << 21;
const EXPLAIN_STEPS: u64 = 1 << 17;

/// Bytes of one compiled pattern, and of what it keeps to be fast.
const PATTERN_BYTES: usize = 256 << 10;
const PATTERN_CACHE_BYTES: usize = 64 << 10;

/// Details that are left out which the log names.
const MAX_LEFT_OUT: usize = 3;

/// Problems that are listed; more are counted.
const MAX_PROBLEMS: usize = 20;

/// Characters of a problem that are shown; it may hold the whole argument.
const MAX_CHARS: usize = 240;

/// A schema that can be checked against.
pub(super) struct Schema {
    validator: Option<Validator>,
    /// What of the schema is not checked, and why.
    left_out: Option<String>,
}

impl Schema {
    /// The schema that allows everything.
    pub(super) fn open() -> Self {
        Self { validator: None, left_out: None }
    }

    /// Compiles a schema as far as that is possible; the rest allows everything.
    pub(super) fn new(raw: &RawValue) -> Self {
        let unchecked = |why: &str| Self { validator: None, left_out: Some(why.to_owned()) };
        let text = raw.get();
        if text.len() > MAX_BYTES {
            return unchecked("it is larger than 512 KiB");
        }
        if depth(text) > MAX_DEPTH {
            return unchecked("it nests deeper than 64 levels");
        }
        let Ok(schema) = serde_json::from_str::<Value>(text) else {
            return unchecked("it is no JSON");
        };
        match compiled(&schema) {
            Ok(validator) => Self { validator: Some(validator), left_out: None },
            Err(why) => match relaxed(schema, &|detail| compiled(detail).is_ok()) {
                Some((rest, left_out)) => Self {
                    validator: compiled(&rest).ok(),
                    left_out: Some(if left_out.is_empty() { why } else { shown(&left_out) }),
                },
                None => unchecked(&why),
            },
        }
    }

    /// What of the schema is not checked, and why.
    pub(super) fn left_out(&self) -> Option<&str> {
        self.left_out.as_deref()
    }

    /// All that is wrong with the arguments, a line each; nothing where
    /// finding out would take too long.
    pub(super) fn problems(&self, arguments: &Value) -> Vec<String> {
        let Some(validator) = &self.validator else { return Vec::new() };
        match meter::within(CHECK_STEPS, || validator.is_valid(arguments)) {
            Some(false) => meter::within(EXPLAIN_STEPS, || explained(validator, arguments))
                .unwrap_or_else(|| vec!["arguments: they break too many rules to list".to_owned()]),
            Some(true) | None => Vec::new(),
        }
    }
}

fn compiled(schema: &Value) -> Result<Validator, String> {
    let mut schema = schema.clone();
    if !meter::put(&mut schema) {
        return Err("it has references that are not followed".to_owned());
    }
    let patterns =
        PatternOptions::regex().size_limit(PATTERN_BYTES).dfa_size_limit(PATTERN_CACHE_BYTES);
    let options = jsonschema::options()
        .with_retriever(Offline)
        .with_pattern_options(patterns)
        .with_keyword(meter::KEYWORD, meter::keyword);
    match meter::within(COMPILE_STEPS, || options.build(&schema)) {
        Some(built) => built.map_err(|error| cut(&error.to_string())),
        None => Err("it grows too large".to_owned()),
    }
}

/// The first of these, and how many more there are.
fn shown(left_out: &[String]) -> String {
    let first = left_out.iter().take(MAX_LEFT_OUT).map(String::as_str).collect::<Vec<_>>();
    match left_out.len() - first.len() {
        0 => first.join(", "),
        n_more => format!("{} and {n_more} more", first.join(", ")),
    }
}

fn explained(validator: &Validator, arguments: &Value) -> Vec<String> {
    let mut errors = validator.iter_errors(arguments);
    let mut problems: Vec<String> =
        errors.by_ref().take(MAX_PROBLEMS).map(|error| problem(&error)).collect();
    let n_more = errors.count();
    if n_more > 0 {
        problems.push(format!("… and {n_more} more"));
    }
    problems
}

fn problem(error: &ValidationError<'_>) -> String {
    let path = error.instance_path().to_string();
    let place = if path.is_empty() { "arguments" } else { path.as_str() };
    format!("{place}: {}", cut(&error.to_string()))
}

fn cut(text: &str) -> String {
    let mut shown: String = text.chars().take(MAX_CHARS).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
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
        Schema::new(&to_raw(schema)).problems(arguments)
    }

    fn to_raw(schema: &Value) -> Box<RawValue> {
        serde_json::value::to_raw_value(schema).unwrap()
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
    fn a_schema_that_is_odd_or_hostile_fetches_nothing_and_is_told() {
        let nothing = Vec::<String>::new();
        for schema in [
            json!({"type": 7}),
            json!({"$ref": "http://127.0.0.1:1/schema.json"}),
            json!({"$ref": "file:///etc/passwd"}),
            json!({"$ref": "#/nowhere"}),
            json!({"$ref": "#nowhere"}),
            json!({"properties": {"a": {"pattern": "(a+)+(?=x)"}}}),
            json!({"properties": {"a": {"pattern": "\\w{1000}{1000}"}}}),
            json!({"properties": {"a": 7}, "required": true}),
            json!({"$schema": "http://127.0.0.1:1/dialect"}),
            json!({"allOf": [{"not": {"properties": {"a": {"pattern": "(?!x)"}}}}]}),
            json!({"patternProperties": {"(?=a)": true}, "additionalProperties": false}),
            json!("no schema"),
        ] {
            let compiled = Schema::new(&to_raw(&schema));
            assert_eq!(compiled.problems(&json!({"a": "aaaa"})), nothing, "{schema}");
            assert!(compiled.left_out().is_some(), "{schema}");
        }
        let deep = format!("{}true{}", r#"{"not":"#.repeat(100_000), "}".repeat(100_000));
        let raw = RawValue::from_string(deep).unwrap();
        assert_eq!(Schema::new(&raw).problems(&json!({})), nothing);
        assert_eq!(Schema::new(&to_raw(&json!(true))).left_out(), None);
    }

    #[test]
    fn one_detail_that_does_not_compile_leaves_the_rest_in_force() {
        let email = r"^(?!\.)(?!.*\.\.)([a-z_'+\-\.]*)[a-z_+-]@([a-z][a-z\-]*\.)+[a-z]{2,}$";
        for odd in [
            json!({"type": "string", "pattern": email}),
            json!({"$ref": "https://example.com/other.json"}),
            json!({"type": null}),
            json!({"oneOf": [{"pattern": email}, {"type": "string"}]}),
        ] {
            let schema = json!({
                "type": "object",
                "properties": {"odd": odd, "n": {"type": "integer"}},
                "required": ["n"],
                "additionalProperties": false,
            });
            let raw = to_raw(&schema);
            assert!(Schema::new(&raw).left_out().is_some(), "{schema}");
            assert_eq!(problems(&schema, &json!({"odd": "a", "n": 1})), Vec::<String>::new());
            let found = problems(&schema, &json!({"n": "1", "other": 2}));
            assert_eq!(found.len(), 2, "{found:?}");
        }
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

    #[test]
    fn a_check_that_branches_without_end_is_given_up() {
        let branch = |key| {
            let next = json!({"$ref": "#/$defs/e"});
            json!({"type": "object", "properties": {"a": next}, "required": ["a", key]})
        };
        let recursive = json!({
            "$defs": {"e": {"anyOf": [branch("x"), branch("y"), {"type": "integer"}]}},
            "$ref": "#/$defs/e",
        });
        let mut levels = json!("end");
        for _ in 0..58 {
            levels = json!({"a": levels, "x": 1, "y": 1});
        }
        let mut chain = json!({"$ref": "#/$defs/a0", "$defs": {"a40": {"required": ["x"]}}});
        for i in 0..40 {
            let next = json!({"$ref": format!("#/$defs/a{}", i + 1)});
            chain["$defs"][format!("a{i}")] = json!({"allOf": [next, next]});
        }
        for schema in [recursive, chain] {
            let negated = json!({"$defs": schema["$defs"], "not": {"$ref": schema["$ref"]}});
            for schema in [schema, negated] {
                let many = problems(&schema, &levels);
                assert!(many.len() <= MAX_PROBLEMS + 1, "{many:?}");
                let compiled = Schema::new(&to_raw(&schema));
                assert_eq!(compiled.left_out(), None);
            }
        }
        let names: Vec<String> = (0..50_000).map(|i| format!("name {i}")).collect();
        let many = json!({"properties": {"a": {"items": {"enum": names}}}});
        assert_eq!(problems(&many, &json!({"a": vec!["name"; 100_000]})), Vec::<String>::new());
    }

    #[test]
    fn a_schema_that_would_fill_memory_checks_nothing() {
        let field = |i| (format!("p{i}"), json!({"pattern": format!(r"\p{{L}}{{2}}x{i}")}));
        let fields: serde_json::Map<String, Value> = (0..1_000).map(field).collect();
        let compiled = Schema::new(&to_raw(&json!({"properties": fields})));
        assert_eq!(compiled.left_out(), Some("it grows too large"));
        let odd = |i| (format!("p{i}"), json!({"pattern": format!("(?=x{i})")}));
        let fields: serde_json::Map<String, Value> = (0..1_000).map(odd).collect();
        let compiled = Schema::new(&to_raw(&json!({"properties": fields})));
        assert!(compiled.left_out().unwrap().ends_with(" and 997 more"));
    }
}
