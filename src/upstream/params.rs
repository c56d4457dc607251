//! The parameters of a request, each raw JSON.

use serde::Serialize;
use serde::Serializer;
use serde::ser::SerializeMap;
use serde_json::Map;
use serde_json::Value;
use serde_json::value::RawValue;

/// The parameters of a request, in order; a name is given once.
#[derive(Clone, Debug, Default)]
pub(super) struct Params {
    fields: Vec<(String, Box<RawValue>)>,
    /// `_meta`, left out where it is empty.
    meta: Map<String, Value>,
}

impl Params {
    /// Adds a value of our own.
    pub(super) fn with(self, name: &str, value: &impl Serialize) -> Self {
        match serde_json::value::to_raw_value(value) {
            Ok(raw) => self.with_raw(name, raw),
            Err(error) => {
                tracing::error!(name, %error, "a parameter is no JSON and left out");
                self
            }
        }
    }

    /// Adds JSON as it came, byte for byte.
    pub(super) fn with_raw(mut self, name: &str, value: Box<RawValue>) -> Self {
        self.fields.push((name.to_owned(), value));
        self
    }

    /// Adds to `_meta`; what was there under a name is replaced.
    pub(super) fn with_meta(mut self, meta: Map<String, Value>) -> Self {
        self.meta.extend(meta);
        self
    }

    /// Asks for word of progress under our number.
    pub(super) fn with_progress_token(mut self, id: u64) -> Self {
        self.meta.insert("progressToken".to_owned(), id.into());
        self
    }

    /// A parameter that is a string.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        let (_, value) = self.fields.iter().find(|(key, _)| key == name)?;
        serde_json::from_str(value.get()).ok()
    }
}

impl Serialize for Params {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in &self.fields {
            map.serialize_entry(name, value)?;
        }
        if !self.meta.is_empty() {
            map.serialize_entry("_meta", &self.meta)?;
        }
        map.end()
    }
}
