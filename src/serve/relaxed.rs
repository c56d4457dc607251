//! A schema without the details that cannot be compiled.
//!
//! Such as a pattern with look-around, or a reference to another document: the
//! rest is still worth checking. What is left allows all that the whole allowed.

use serde_json::Map;
use serde_json::Value;

use super::subschemas;

/// Details that are looked at one by one; schemas with more are not mended.
const MAX_DETAILS: usize = 4_096;

/// Characters of a detail that are shown.
const MAX_CHARS: usize = 80;

/// Says nothing about what is valid.
const ANNOTATIONS: [&str; 9] = [
    "$comment",
    "default",
    "deprecated",
    "description",
    "example",
    "examples",
    "readOnly",
    "title",
    "writeOnly",
];

/// Forbids what others allow, so it may forbid more once those allow more.
const NEGATIVE: [&str; 7] =
    ["else", "if", "maxContains", "not", "then", "unevaluatedItems", "unevaluatedProperties"];

/// Allows what is left over by keywords beside it.
const REST: [&str; 3] = ["additionalItems", "additionalProperties", "items"];

/// The schema as far as it compiles, and what has been left out of it.
///
/// `None` if it is too large for that. `compiles` tells whether a schema does.
pub(super) fn relaxed(
    mut document: Value,
    compiles: &dyn Fn(&Value) -> bool,
) -> Option<(Value, Vec<String>)> {
    let dialect = document.get("$schema").cloned();
    let dialect = dialect.filter(|one| compiles(&Value::from_iter([("$schema", one.clone())])));
    let whole = document.clone();
    let mut mending = Mending { whole, dialect, compiles, n_details: 0, left_out: Vec::new() };
    mending.mend(&mut document);
    if mending.n_details > MAX_DETAILS {
        return None;
    }
    if !mending.left_out.is_empty() {
        drop_negatives(&mut document);
    }
    Some((document, mending.left_out))
}

struct Mending<'a> {
    whole: Value,
    /// The `$schema` of the document, if it is known.
    dialect: Option<Value>,
    compiles: &'a dyn Fn(&Value) -> bool,
    n_details: usize,
    left_out: Vec<String>,
}

impl Mending<'_> {
    fn mend(&mut self, schema: &mut Value) {
        let keywords = match schema {
            Value::Object(keywords) => keywords,
            Value::Bool(_) => return,
            other => {
                self.leave_out("schema", other);
                *other = Value::Bool(true);
                return;
            }
        };
        let before_2019 =
            self.dialect.as_ref().is_some_and(|one| one.to_string().contains("draft-0"));
        let names: Vec<String> = keywords.keys().cloned().collect();
        for name in names {
            self.n_details += 1;
            let Some(value) = keywords.get(&name) else { continue };
            if self.n_details > MAX_DETAILS || self.fits(&name, value) {
                continue;
            }
            let value = keywords.shift_remove(&name).unwrap_or_default();
            if ANNOTATIONS.contains(&name.as_str()) {
                continue;
            }
            self.leave_out(&name, &value);
            if name == "$ref" && before_2019 {
                // What stands beside it was not in force.
                *schema = Value::Bool(true);
                return;
            }
            if subschemas::holds(&name) {
                REST.iter().for_each(|rest| drop(keywords.shift_remove(*rest)));
            }
        }
        self.mend_patterns(keywords);
        for child in subschemas::of(keywords) {
            // Names of properties that another needs, as old drafts have it.
            if !child.is_array() {
                self.mend(child);
            }
        }
    }

    /// Removes the properties whose pattern does not compile.
    fn mend_patterns(&mut self, keywords: &mut Map<String, Value>) {
        let Some(Value::Object(patterns)) = keywords.get_mut("patternProperties") else { return };
        let n_before = patterns.len();
        let all: Vec<String> = patterns.keys().cloned().collect();
        for pattern in all {
            self.n_details += 1;
            let text = Value::String(pattern);
            if self.n_details <= MAX_DETAILS && !self.compiles_alone("pattern", &text) {
                patterns.shift_remove(text.as_str().unwrap_or_default());
                self.leave_out("patternProperties", &text);
            }
        }
        if patterns.len() < n_before {
            keywords.shift_remove("additionalProperties");
        }
    }

    fn fits(&self, name: &str, value: &Value) -> bool {
        match value {
            _ if subschemas::REFERENCES.contains(&name) => {
                value.as_str().is_some_and(|reference| self.is_here(reference))
            }
            Value::Object(_) if subschemas::holds(name) => true,
            // Its members are looked at one by one.
            Value::Array(all) if subschemas::holds(name) => {
                let blank = vec![Value::Bool(true); all.len()];
                self.compiles_alone(name, &Value::Array(blank))
            }
            _ => self.compiles_alone(name, value),
        }
    }

    fn compiles_alone(&self, name: &str, value: &Value) -> bool {
        let mut schema = Map::new();
        if let Some(dialect) = &self.dialect {
            schema.insert("$schema".to_owned(), dialect.clone());
        }
        schema.insert(name.to_owned(), value.clone());
        (self.compiles)(&Value::Object(schema))
    }

    /// Whether what a reference names stands in the document.
    fn is_here(&self, reference: &str) -> bool {
        match reference.strip_prefix('#') {
            Some("") => true,
            Some(pointer) if pointer.starts_with('/') => self.whole.pointer(pointer).is_some(),
            Some(anchor) => has_text(&self.whole, anchor) || has_text(&self.whole, reference),
            None => has_text(&self.whole, reference.split('#').next().unwrap_or_default()),
        }
    }

    fn leave_out(&mut self, name: &str, value: &Value) {
        let text = value.to_string();
        let mut shown: String = text.chars().take(MAX_CHARS).collect();
        if shown.len() < text.len() {
            shown.push('…');
        }
        self.left_out.push(format!("`{name}`: {shown}"));
    }
}

/// Whether a keyword that gives a schema a name gives it this one.
fn has_text(value: &Value, text: &str) -> bool {
    let names = ["$anchor", "$dynamicAnchor", "$id", "id"];
    match value {
        Value::Object(fields) => fields.iter().any(|(key, value)| {
            (names.contains(&key.as_str()) && value == text) || has_text(value, text)
        }),
        Value::Array(items) => items.iter().any(|item| has_text(item, text)),
        _ => false,
    }
}

/// Makes a schema of which something has been left out allow no less than before.
fn drop_negatives(schema: &mut Value) {
    let Value::Object(keywords) = schema else { return };
    NEGATIVE.iter().for_each(|name| drop(keywords.shift_remove(*name)));
    if let Some(branches) = keywords.shift_remove("oneOf") {
        let any = Value::from_iter([("anyOf", branches)]);
        match keywords.get_mut("allOf") {
            Some(Value::Array(all)) => all.push(any),
            _ => drop(keywords.insert("allOf".to_owned(), Value::Array(vec![any]))),
        }
    }
    subschemas::of(keywords).into_iter().for_each(drop_negatives);
}
