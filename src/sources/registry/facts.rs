//! What a mirror must know of an entry of a registry to keep it up to date.

use std::time::SystemTime;

use serde_json::value::RawValue;

use crate::sources::entry::server_name;
use crate::sources::fields::Fields;
use crate::sources::registry::inner;
use crate::sources::registry::is_latest;
use crate::sources::registry::number;
use crate::sources::registry::official;
use crate::sources::registry::status;
use crate::sources::registry::text_of;

/// Which entry it is, and what became of it.
pub(crate) struct Facts {
    /// None of one that the importer will reject.
    pub(crate) name: Option<String>,
    /// As written; may be empty.
    pub(crate) version: String,
    /// Taken back.
    pub(crate) is_deleted: bool,
    /// The version that counts, as the registry says.
    pub(crate) is_latest: bool,
    /// The last change, where it says so in a form that is understood.
    pub(crate) updated_at: Option<SystemTime>,
}

/// Looks an entry up and down, whatever its envelope.
pub(crate) fn facts(json: &RawValue) -> Facts {
    let Ok(outer) = Fields::of(json) else {
        let version = String::new();
        return Facts {
            name: None,
            version,
            is_deleted: false,
            is_latest: false,
            updated_at: None,
        };
    };
    let inner = inner(&outer);
    let fields = inner.as_ref().unwrap_or(&outer);
    let metas = official(&outer).into_iter().chain(official(fields));
    let updated_at = metas
        .into_iter()
        .find_map(|meta| text_of(&meta, "updatedAt").or_else(|| text_of(&meta, "updated_at")));
    Facts {
        name: server_name(fields).ok(),
        version: number(fields).unwrap_or_default(),
        is_deleted: status(&outer, fields).as_deref() == Some("deleted"),
        is_latest: is_latest(&outer, fields) == Some(true),
        updated_at: updated_at.and_then(|text| time(&text)),
    }
}

/// A time of RFC 3339 in UTC, as registries write it.
pub(crate) fn time(text: &str) -> Option<SystemTime> {
    let text = text.trim();
    let utc = text.strip_suffix("+00:00").map(|time| format!("{time}Z"));
    humantime::parse_rfc3339(utc.as_deref().unwrap_or(text)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_registries_are_understood() {
        let expected = time("2025-09-16T16:43:44Z").unwrap();
        assert_eq!(time("2025-09-16T16:43:44+00:00"), Some(expected));
        assert!(time("2025-09-16T16:43:44.243434Z").unwrap() > expected);
        assert_eq!(time("yesterday"), None);
    }
}
