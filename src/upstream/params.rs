//! The parameters of a request, each raw JSON.

use serde::Serialize;
use serde::Serializer;
use serde::ser::SerializeMap;
use serde_json::value::RawValue;

/// The parameters of a request, in order; a name is given once.
#[derive(Clone, Debug, Default)]
pub struct Params(Vec<(String, Box<RawValue>)>);

impl Params {
    /// Adds a value of our own.
    #[must_use]
    pub fn with(self, name: &str, value: &impl Serialize) -> Self {
        match serde_json::value::to_raw_value(value) {
            Ok(raw) => self.with_raw(name, raw),
            Err(error) => {
                tracing::error!(name, %error, "a parameter is no JSON and left out");
                self
            }
        }
    }

    /// Adds JSON as it came, byte for byte.
    #[must_use]
    pub fn with_raw(mut self, name: &str, value: Box<RawValue>) -> Self {
        self.0.push((name.to_owned(), value));
        self
    }

    /// A parameter that is a string.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        let (_, value) = self.0.iter().find(|(key, _)| key == name)?;
        serde_json::from_str(value.get()).ok()
    }
}

impl Serialize for Params {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}
