//! The JSON Schema of a tool's arguments, put together one by one.
//!
//! For formats that list parameters in a manner of their own.

use serde::Serialize;
use serde::Serializer;
use serde_json::value::to_raw_value;

use crate::catalog::RawJson;

/// An object schema in the making.
#[derive(Debug, Default, Serialize)]
#[serde(tag = "type", rename = "object")]
pub(crate) struct Arguments {
    #[serde(serialize_with = "as_object")]
    properties: Vec<(String, RawJson)>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    required: Vec<String>,
}

impl Arguments {
    /// Adds one; names must not repeat.
    pub(crate) fn add(&mut self, name: &str, schema: RawJson) {
        self.properties.push((name.to_owned(), schema));
    }

    /// Makes one of them a must in every call.
    pub(crate) fn require(&mut self, name: &str) {
        self.required.push(name.to_owned());
    }

    /// The schema as text.
    #[expect(clippy::expect_used, reason = "keys are strings and the values are JSON already")]
    pub(crate) fn to_json(&self) -> RawJson {
        to_raw_value(self).expect("strings and raw JSON can always be written")
    }
}

fn as_object<S: Serializer>(
    properties: &[(String, RawJson)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(properties.iter().map(|(name, schema)| (name, schema)))
}
