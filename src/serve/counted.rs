//! JSON that counts how often a check looks at it.
//!
//! Owns what a look costs. All else is as the library has it for `Value`.

use std::borrow::Cow;

use jsonschema::JsonType;
use jsonschema::json::Array;
use jsonschema::json::Json;
use jsonschema::json::Node;
use jsonschema::json::NodeIdentity;
use jsonschema::json::Object;
use jsonschema::json::SerdeJson;
use jsonschema::json::unique;
use serde_json::Map;
use serde_json::Number;
use serde_json::Value;

use super::meter::spend;
use super::meter::spend_on_problem;
use super::meter::spend_on_text;

/// The representation.
pub(super) struct Counted;

/// A value.
#[derive(Clone, Copy)]
pub(super) struct Seen<'a, T: ?Sized>(pub(super) &'a T);

impl Json for Counted {
    type Node<'a> = Seen<'a, Value>;
    type PreparedKey = String;
    type StringBuffer = ();

    const KEYS_PER_LOOKUP: usize = SerdeJson::KEYS_PER_LOOKUP;
    const ACYCLIC: bool = true;

    fn prepare_key(key: &str) -> String {
        key.to_owned()
    }

    fn with_string_node<T>((): &mut (), text: &str, f: impl FnOnce(Seen<'_, Value>) -> T) -> T {
        f(Seen(&Value::from(text)))
    }
}

impl<'a> Node<'a, Counted> for Seen<'a, Value> {
    type Object = Seen<'a, Map<String, Value>>;
    type Array = Seen<'a, [Value]>;
    type Number = &'a Number;

    fn as_object(&self) -> Option<Seen<'a, Map<String, Value>>> {
        spend(1);
        self.0.as_object().map(Seen)
    }

    fn as_array(&self) -> Option<Seen<'a, [Value]>> {
        spend(1);
        self.0.as_array().map(|items| Seen(items.as_slice()))
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        let text = self.0.as_str();
        spend_on_text(text.map_or(0, str::len));
        text.map(Cow::Borrowed)
    }

    fn as_number(&self) -> Option<&'a Number> {
        spend(1);
        self.0.as_number()
    }

    fn as_boolean(&self) -> Option<bool> {
        spend(1);
        self.0.as_bool()
    }

    fn is_null(&self) -> bool {
        spend(1);
        self.0.is_null()
    }

    fn json_type(&self) -> JsonType {
        spend(1);
        match self.0 {
            Value::Null => JsonType::Null,
            Value::Bool(_) => JsonType::Boolean,
            Value::Number(_) => JsonType::Number,
            Value::String(_) => JsonType::String,
            Value::Array(_) => JsonType::Array,
            Value::Object(_) => JsonType::Object,
        }
    }

    fn string_length(&self) -> Option<u64> {
        let text = self.0.as_str();
        spend(1 + text.map_or(0, str::len) as u64 / 64);
        text.map(|text| text.chars().count() as u64)
    }

    fn equals_value(&self, expected: &Value) -> bool {
        spend_on_all(self.0);
        self.0.equals_value(expected)
    }

    /// For problems alone.
    fn to_value(&self) -> Cow<'a, Value> {
        spend_on_problem();
        Cow::Borrowed(self.0)
    }

    fn identity(&self) -> Option<NodeIdentity> {
        spend(1);
        self.0.identity()
    }
}

impl<'a> Object<'a, Counted> for Seen<'a, Map<String, Value>> {
    type Node = Seen<'a, Value>;
    type MemberName = &'a str;
    type MembersIter = Members<'a>;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn get(&self, key: &String) -> Option<Seen<'a, Value>> {
        spend(1);
        self.0.get(key).map(Seen)
    }

    fn members(&self) -> Members<'a> {
        Members(self.0.iter())
    }
}

/// The members of an object.
pub(super) struct Members<'a>(serde_json::map::Iter<'a>);

impl<'a> Iterator for Members<'a> {
    type Item = (&'a str, Seen<'a, Value>);

    fn next(&mut self) -> Option<Self::Item> {
        let (name, value) = self.0.next()?;
        spend_on_text(name.len());
        Some((name, Seen(value)))
    }
}

impl<'a> Array<'a, Counted> for Seen<'a, [Value]> {
    type Node = Seen<'a, Value>;
    type ElementsIter = Elements<'a>;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn elements(&self) -> Elements<'a> {
        Elements(self.0.iter())
    }

    fn is_unique(&self) -> bool {
        // Few are compared each with each, many by their hash.
        let n_times = self.0.len().min(16);
        (0..n_times).for_each(|_| self.0.iter().for_each(spend_on_all));
        unique::is_unique(self.0)
    }
}

/// The items of an array.
pub(super) struct Elements<'a>(std::slice::Iter<'a, Value>);

impl<'a> Iterator for Elements<'a> {
    type Item = Seen<'a, Value>;

    fn next(&mut self) -> Option<Self::Item> {
        spend(1);
        self.0.next().map(Seen)
    }
}

/// A look at a value and all that is in it.
fn spend_on_all(value: &Value) {
    match value {
        Value::String(text) => spend(1 + text.len() as u64 / 64),
        Value::Array(items) => {
            spend(1);
            items.iter().for_each(spend_on_all);
        }
        Value::Object(members) => {
            spend(1 + members.len() as u64);
            members.values().for_each(spend_on_all);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => spend(1),
    }
}
