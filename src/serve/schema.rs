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

use super::counted::Counted;
use super::counted::Seen;
use super::meter;
use super::meter::Budget;
use super::relaxed::relaxed;

/// Larger and deeper schemas are not compiled.
const MAX_BYTES: usize = 512 << 10;
const MAX_DEPTH: usize = 64;

/// Steps of telling whether arguments fit, and of telling why not: half a
/// second at most, and much less as a rule.
const CHECK_STEPS: u64 = 1 << 21;
const EXPLAIN_STEPS: u64 = 1 << 20;

/// Patterns of one schema; those with more are not compiled.
const MAX_PATTERNS: usize = 128;

/// Bytes of one compiled pattern, and of what it keeps to be fast.
const PATTERN_KIB: [usize; 5] = [1, 4, 16, 64, 256];
const LARGEST_KIB: usize = 256;
const PATTERN_CACHE_BYTES: usize = 256 << 10;

/// Details that are left out which the log names.
const MAX_LEFT_OUT: usize = 3;

/// Problems that are listed; more are counted.
const MAX_PROBLEMS: usize = 20;

/// Characters of a problem that are shown; it may hold the whole argument.
const MAX_CHARS: usize = 240;

/// A schema that can be checked against.
pub(super) struct Schema {
    validator: Option<Validator<Counted>>,
    /// KiB of its largest pattern.
    pattern_kib: usize,
    /// What of the schema is not checked, and why.
    left_out: Option<String>,
}

impl Schema {
    /// The schema that allows everything.
    pub(super) fn open() -> Self {
        Self { validator: None, pattern_kib: 0, left_out: None }
    }

    /// Compiles a schema as far as that is possible; the rest allows everything.
    pub(super) fn new(raw: &RawValue) -> Self {
        let unchecked = |why: &str| Self { left_out: Some(why.to_owned()), ..Self::open() };
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
        let patterns = patterns(&schema);
        if patterns.len() > MAX_PATTERNS {
            return unchecked("it has more than 128 patterns");
        }
        let pattern_kib = patterns.iter().map(|one| kib_of(one)).max().unwrap_or(0);
        match compiled(&schema, LARGEST_KIB) {
            Ok(validator) => Self { validator: Some(validator), pattern_kib, left_out: None },
            Err(why) => match relaxed(schema, &|detail| compiled(detail, LARGEST_KIB).is_ok()) {
                Some((rest, left_out)) => Self {
                    validator: compiled(&rest, LARGEST_KIB).ok(),
                    pattern_kib,
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
        let pattern_kib = self.pattern_kib as u64;
        let budget = Budget { steps: CHECK_STEPS, pattern_kib, path_bytes: 0 };
        if meter::within(budget, || validator.is_valid(Seen(arguments))) != Some(false) {
            return Vec::new();
        }
        let path_bytes = longest_path(arguments) as u64;
        let budget = Budget { steps: EXPLAIN_STEPS, path_bytes, ..budget };
        meter::within(budget, || explained(validator, arguments))
            .or_else(|| meter::within(budget, || first_of_many(validator, arguments)))
            .unwrap_or_else(|| vec!["arguments: they break too many rules to list".to_owned()])
    }
}

fn compiled(schema: &Value, pattern_kib: usize) -> Result<Validator<Counted>, String> {
    let patterns =
        PatternOptions::regex().size_limit(pattern_kib << 10).dfa_size_limit(PATTERN_CACHE_BYTES);
    let options =
        jsonschema::options_for::<Counted>().with_retriever(Offline).with_pattern_options(patterns);
    options.build(schema).map_err(|error| cut(&error.to_string()))
}

/// All patterns of a schema, wherever they stand.
fn patterns(schema: &Value) -> Vec<&str> {
    match schema {
        Value::Object(fields) => {
            let own = fields.get("pattern").and_then(Value::as_str);
            let named = fields.get("patternProperties").and_then(Value::as_object);
            let named = named.into_iter().flat_map(|all| all.keys().map(String::as_str));
            let below = fields.values().flat_map(patterns);
            own.into_iter().chain(named).chain(below).collect()
        }
        Value::Array(items) => items.iter().flat_map(patterns).collect(),
        _ => Vec::new(),
    }
}

/// How large a pattern gets; nothing for one that does not compile.
fn kib_of(pattern: &str) -> usize {
    let schema = Value::from_iter([("pattern", pattern)]);
    PATTERN_KIB.into_iter().find(|kib| compiled(&schema, *kib).is_ok()).unwrap_or(0)
}

/// The first of these, and how many more there are.
fn shown(left_out: &[String]) -> String {
    let first = left_out.iter().take(MAX_LEFT_OUT).map(String::as_str).collect::<Vec<_>>();
    match left_out.len() - first.len() {
        0 => first.join(", "),
        n_more => format!("{} and {n_more} more", first.join(", ")),
    }
}

fn explained(validator: &Validator<Counted>, arguments: &Value) -> Vec<String> {
    let mut errors = validator.iter_errors(Seen(arguments));
    let mut problems: Vec<String> =
        errors.by_ref().take(MAX_PROBLEMS).map(|error| problem(&error)).collect();
    let n_more = errors.count();
    if n_more > 0 {
        problems.push(format!("… and {n_more} more"));
    }
    problems
}

fn first_of_many(validator: &Validator<Counted>, arguments: &Value) -> Vec<String> {
    let first = validator.validate(Seen(arguments)).err();
    first.iter().map(problem).chain(["… and very many more".to_owned()]).collect()
}

/// Bytes of the names on the longest way to a value.
fn longest_path(value: &Value) -> usize {
    match value {
        Value::Object(members) => {
            let ways = members.iter().map(|(name, value)| name.len() + longest_path(value));
            ways.max().unwrap_or(0)
        }
        Value::Array(items) => items.iter().map(longest_path).max().unwrap_or(0),
        _ => 0,
    }
}

fn problem(error: &ValidationError<'_>) -> String {
    let path = error.instance_path().to_string();
    let place = if path.is_empty() { "arguments" } else { path.as_str() };
    format!("{}: {}", cut(place), cut(&error.to_string()))
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
        assert_eq!(compiled.left_out(), Some("it has more than 128 patterns"));
        let odd = |i| (format!("p{i}"), json!({"pattern": format!(r"\p{{L}}{{200}}x{i}")}));
        let fields: serde_json::Map<String, Value> = (0..100).map(odd).collect();
        let compiled = Schema::new(&to_raw(&json!({"properties": fields})));
        assert!(compiled.left_out().unwrap().ends_with(" and 97 more"));
    }

    /// A pattern for which the fast ways of matching all give up.
    #[test]
    fn a_pattern_that_is_slow_for_a_long_text_is_given_up() {
        let schema = json!({"properties": {"a": {"pattern": "[ab]*a[ab]{300}c"}}});
        let text: String = (0..4_000_000_u32)
            .map(|i| if i.wrapping_mul(2_654_435_761) >> 31 == 0 { 'a' } else { 'b' })
            .collect();
        assert_eq!(problems(&schema, &json!({"a": text})), Vec::<String>::new());
        assert_eq!(problems(&schema, &json!({"a": text[..2_000]})).len(), 1);
    }

    #[test]
    fn a_chain_that_is_deeper_than_the_stack_is_given_up() {
        for applied in
            [|next| json!({"allOf": [next]}), |next| json!({"anyOf": [next]}), |next| next]
        {
            let mut chain = json!({"$defs": {}, "$ref": "#/$defs/a0"});
            for i in 0..3_000 {
                let next = json!({"$ref": format!("#/$defs/a{}", i + 1)});
                chain["$defs"][format!("a{i}")] = applied(next);
            }
            let around = json!({"$ref": "#/$defs/a0"});
            chain["$defs"]["a3000"] = json!({"properties": {"x": around}, "required": ["x"]});
            let mut levels = json!({});
            for _ in 0..100 {
                levels = json!({"x": levels});
            }
            assert!(problems(&chain, &levels).len() <= 1);
        }
    }

    #[test]
    fn alternatives_that_all_fail_are_paid_for() {
        let names: Vec<String> = (0..900).map(|i| format!("name {i}")).collect();
        let branches: Vec<Value> = (0..30).map(|_| json!({"enum": names})).collect();
        let schema = json!({"properties": {"a": {"items": {"anyOf": branches}}}});
        let arguments = json!({"a": vec!["name 0"; 1_000_000]});
        assert_eq!(problems(&schema, &arguments), Vec::<String>::new());
        let last = json!({"items": {"anyOf": [{"enum": names}, {"const": "last"}]}});
        let arguments = json!({"a": vec!["last"; 1_000_000]});
        assert_eq!(problems(&json!({"properties": {"a": last}}), &arguments), Vec::<String>::new());
    }

    #[test]
    fn problems_in_any_number_fit_into_memory() {
        let schema = json!({"additionalProperties": {"items": {"type": "string"}}});
        let found = problems(&schema, &json!({"a": vec![1; 3_000]}));
        assert_eq!((found.len(), found[20].as_str()), (21, "… and 2980 more"));
        let found = problems(&schema, &json!({"a": vec![1; 300_000]}));
        assert_eq!(found, ["/a/0: 1 is not of type \"string\"", "… and very many more"]);
        // Each of them would hold the long name.
        let name = "x".repeat(1_000_000);
        let found = problems(&schema, &json!({name: vec![1; 100_000]}));
        assert_eq!(found.len(), 2);
    }
}
