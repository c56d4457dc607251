//! A JSON object as its fields, each kept raw until someone asks.
//!
//! Owns all looking into foreign JSON. Goes one level deep and never further:
//! what lies below is skipped without recursion, however deep it is.

use std::fmt;

use serde::Deserialize;
use serde::Deserializer;
use serde::de;
use serde_json::value::RawValue;

/// The fields of one JSON object, in order.
#[derive(Debug)]
pub(crate) struct Fields<'a>(Vec<(String, &'a RawValue)>);

impl<'a> Fields<'a> {
    /// Opens an object.
    ///
    /// # Errors
    /// When the value is no object, or a key of it is no text.
    pub(crate) fn of(json: &'a RawValue) -> Result<Self, NoObject> {
        match Kind::of(json) {
            Kind::Object => serde_json::from_str(json.get()).map_err(NoObject::Keys),
            kind => Err(NoObject::Kind(kind)),
        }
    }

    /// The value under a key; the last one counts, and `null` is no value.
    pub(crate) fn get(&self, key: &str) -> Option<&'a RawValue> {
        let value = self.0.iter().rev().find(|(name, _)| name == key)?.1;
        (Kind::of(value) != Kind::Null).then_some(value)
    }

    /// The first of several keys that has a value, and that value.
    pub(crate) fn first<'k>(&self, keys: &[&'k str]) -> Option<(&'k str, &'a RawValue)> {
        keys.iter().find_map(|key| Some((*key, self.get(key)?)))
    }

    /// The items of the array under a key, if there is one.
    pub(crate) fn list(&self, key: &str) -> Option<Vec<&'a RawValue>> {
        self.get(key).and_then(elements)
    }

    /// The fields of the object under a key, if there is one.
    pub(crate) fn object(&self, key: &str) -> Option<Self> {
        self.get(key).and_then(|json| Fields::of(json).ok())
    }

    /// The values that are objects, in order.
    pub(crate) fn objects(&self) -> impl Iterator<Item = Self> + use<'a> {
        let objects: Vec<Self> =
            self.0.iter().filter_map(|(_, json)| Fields::of(json).ok()).collect();
        objects.into_iter()
    }

    /// All fields in order, a repeated key as often as it is written.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (&str, &'a RawValue)> {
        self.0.iter().map(|(key, value)| (key.as_str(), *value))
    }
}

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Fields<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Visitor)
    }
}

/// Why a value has no fields.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoObject {
    /// It is something else.
    #[error("it is {0}, not an object")]
    Kind(Kind),
    /// A key holds half a surrogate pair.
    #[error("its keys cannot be read: {0}")]
    Keys(serde_json::Error),
}

/// Why a value is no text.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoText {
    /// It is something else.
    #[error("{0}, not a string")]
    Kind(Kind),
    /// It holds half a surrogate pair.
    #[error("not valid text: {0}")]
    Broken(serde_json::Error),
}

/// The text of a JSON string.
///
/// # Errors
/// When the value is no string, or a string that no text can hold.
pub(crate) fn string(json: &RawValue) -> Result<String, NoText> {
    match Kind::of(json) {
        Kind::String => serde_json::from_str(json.get()).map_err(NoText::Broken),
        kind => Err(NoText::Kind(kind)),
    }
}

/// The items of a JSON array; none for anything else.
pub(crate) fn elements(json: &RawValue) -> Option<Vec<&RawValue>> {
    serde_json::from_str(json.get()).ok()
}

/// The six kinds of JSON value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `null`.
    Null,
    /// `true` or `false`.
    Boolean,
    /// Any number.
    Number,
    /// A string, even one that does not decode.
    String,
    /// A list of values.
    Array,
    /// Keys and values.
    Object,
}

impl Kind {
    /// Told by the first character, without reading further.
    pub(crate) fn of(json: &RawValue) -> Self {
        match json.get().as_bytes().first() {
            Some(b'n') => Self::Null,
            Some(b't' | b'f') => Self::Boolean,
            Some(b'"') => Self::String,
            Some(b'[') => Self::Array,
            Some(b'{') => Self::Object,
            _ => Self::Number,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Null => "null",
            Self::Boolean => "a boolean",
            Self::Number => "a number",
            Self::String => "a string",
            Self::Array => "an array",
            Self::Object => "an object",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(json: &str) -> &RawValue {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn the_last_of_a_repeated_key_counts_and_null_is_absent() {
        let fields = Fields::of(raw(r#"{"a":1,"b":null,"a":{ "x" : 2 }}"#)).unwrap();
        assert_eq!(fields.get("a").unwrap().get(), r#"{ "x" : 2 }"#);
        assert!(fields.get("b").is_none());
        assert_eq!(fields.first(&["b", "a"]).unwrap().0, "a");
    }

    #[test]
    fn what_has_no_fields_says_what_it_is() {
        for (json, message) in [
            ("null", "it is null, not an object"),
            ("-1", "it is a number, not an object"),
            ("[{}]", "it is an array, not an object"),
        ] {
            assert_eq!(Fields::of(raw(json)).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn half_a_surrogate_pair_is_an_error_and_no_panic() {
        let message = string(raw(r#""a\ud800b""#)).unwrap_err().to_string();
        assert!(message.starts_with("not valid text: "), "{message}");
        assert!(matches!(Fields::of(raw(r#"{"\ud800":1}"#)), Err(NoObject::Keys(_))));
    }

    #[test]
    fn depth_costs_no_stack() {
        let depth = 100_000;
        let deep = format!(r#"{{"x":{}1{}}}"#, "[".repeat(depth), "]".repeat(depth));
        assert!(Fields::of(raw(&deep)).unwrap().list("x").is_some());
    }
}
