//! How much work a check may take.
//!
//! The library checks to the end, and a schema of a few lines can make that
//! longer than a life: 40 levels of `allOf: [next, next]`. So each schema of a
//! document gets a keyword more, which counts its visits. What is spent is
//! spent by unwinding: there is no other way out of the library.

use std::cell::Cell;
use std::panic::AssertUnwindSafe;
use std::panic::catch_unwind;
use std::panic::resume_unwind;

use jsonschema::Keyword;
use jsonschema::ValidationError;
use jsonschema::paths::Location;
use serde_json::Map;
use serde_json::Value;

use super::subschemas;

/// The keyword that counts.
pub(super) const KEYWORD: &str = "toolscout:work";

/// Bytes of a string, and members of an object or array, that are one step more.
const SIZE_OF_STEP: usize = 64;

/// Steps of compiling a pattern, for the memory that it may take.
const STEPS_OF_PATTERN: u64 = 2_048;

thread_local! {
    /// Steps that the check on this thread may still take.
    static LEFT: Cell<u64> = const { Cell::new(u64::MAX) };
}

/// What unwinds where nothing is left.
struct Spent;

/// Does something in so many steps; `None` where they do not suffice.
pub(super) fn within<T>(steps: u64, work: impl FnOnce() -> T) -> Option<T> {
    LEFT.set(steps);
    let done = catch_unwind(AssertUnwindSafe(work));
    LEFT.set(u64::MAX);
    match done {
        Ok(done) => Some(done),
        Err(panic) if panic.is::<Spent>() => None,
        Err(panic) => resume_unwind(panic),
    }
}

fn spend(steps: u64) {
    match LEFT.get().checked_sub(steps) {
        Some(left) => LEFT.set(left),
        None => resume_unwind(Box::new(Spent)),
    }
}

/// Puts the keyword into each schema of a document; false where one may be missed.
pub(super) fn put(document: &mut Value) -> bool {
    let mut references = Vec::new();
    put_below(document, &mut references);
    while let Some(reference) = references.pop() {
        match reference.split_once('#') {
            // The root of a document, or an anchor: these are schemas that were seen.
            None => {}
            Some((_, fragment)) if !fragment.starts_with('/') => {}
            Some(("", pointer)) if !pointer.contains('%') => {
                if let Some(schema) = document.pointer_mut(pointer) {
                    put_below(schema, &mut references);
                }
            }
            Some(_) => return false,
        }
    }
    true
}

fn put_below(schema: &mut Value, references: &mut Vec<String>) {
    let Value::Object(keywords) = schema else { return };
    if keywords.insert(KEYWORD.to_owned(), Value::Bool(true)).is_some() {
        return;
    }
    let named = subschemas::REFERENCES.iter().filter_map(|one| keywords.get(*one)?.as_str());
    references.extend(named.map(str::to_owned));
    for child in subschemas::of(keywords) {
        put_below(child, references);
    }
}

fn entries(value: &Value) -> usize {
    match value {
        Value::Array(entries) => entries.len(),
        Value::Object(entries) => entries.len(),
        _ => 0,
    }
}

/// What counts in one schema.
struct Meter {
    /// Steps of one visit: one, and as many as its own keywords have entries.
    steps: u64,
}

/// The keyword of one schema, as the library asks for it.
#[expect(clippy::unnecessary_wraps, reason = "the signature is the library's")]
pub(super) fn keyword<'a>(
    schema: &'a Map<String, Value>,
    _: &'a Value,
    _: Location,
) -> Result<Box<dyn for<'i> Keyword<'i>>, ValidationError<'a>> {
    let n_entries = schema.values().map(entries).sum::<usize>() as u64;
    let patterns = schema.get("patternProperties").map_or(0, entries);
    let n_patterns = patterns as u64 + u64::from(schema.contains_key("pattern"));
    let steps = 1 + n_entries;
    spend(steps + STEPS_OF_PATTERN * n_patterns);
    Ok(Box::new(Meter { steps }))
}

impl<'i> Keyword<'i> for Meter {
    fn validate(&self, instance: &'i Value) -> Result<(), ValidationError<'i>> {
        self.visit(instance);
        Ok(())
    }

    fn is_valid(&self, instance: &'i Value) -> bool {
        self.visit(instance);
        true
    }
}

impl Meter {
    fn visit(&self, instance: &Value) {
        let size = match instance {
            Value::String(text) => text.len(),
            Value::Array(items) => items.len(),
            Value::Object(members) => members.len(),
            _ => 0,
        };
        spend(self.steps.saturating_mul(1 + (size / SIZE_OF_STEP) as u64));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_schema_gets_the_keyword_and_nothing_else_does() {
        let mut document = json!({
            "properties": {"a": {"$ref": "#/odd/place"}, "b": true},
            "odd": {"place": {"items": {"enum": [{}]}}, "other": {}},
        });
        assert!(put(&mut document));
        let expected = json!({
            "properties": {"a": {"$ref": "#/odd/place", KEYWORD: true}, "b": true},
            "odd": {"place": {"items": {"enum": [{}], KEYWORD: true}, KEYWORD: true}, "other": {}},
            KEYWORD: true,
        });
        assert_eq!(document, expected);
    }

    #[test]
    fn a_reference_that_cannot_be_followed_is_told() {
        for reference in ["other.json#/a", "#/%24defs/a"] {
            assert!(!put(&mut json!({"$ref": reference})), "{reference}");
        }
        for reference in ["#", "#/nowhere", "#anchor", "other.json"] {
            assert!(put(&mut json!({"$ref": reference})), "{reference}");
        }
    }

    #[test]
    fn work_ends_with_its_steps_and_other_panics_go_on() {
        assert_eq!(within(3, || spend(3)), Some(()));
        assert_eq!(within(3, || spend(4)), None);
        spend(1 << 40);
        let panic = catch_unwind(|| within(1, || resume_unwind(Box::new("other"))));
        assert_eq!(*panic.unwrap_err().downcast::<&str>().unwrap(), "other");
    }
}
