//! The entries of a registry, and what its changes do to them.

use std::collections::BTreeMap;
use std::time::SystemTime;

use serde_json::value::RawValue;

use crate::catalog::compact_json;
use crate::sources::mirror::state::Before;
use crate::sources::registry;

/// A registry without servers, where no file may be empty.
const NONE: &str = r#"{"servers":[],"metadata":{"count":0}}"#;

/// By name and version, so that a full run and changes end in equal bytes.
#[derive(Default)]
pub(super) struct Entries {
    by_key: BTreeMap<(String, String), Entry>,
    newest: Option<SystemTime>,
    /// New, or other than they were.
    pub(super) n_changed: usize,
    /// Called deleted by the registry.
    pub(super) n_deleted: usize,
}

struct Entry {
    /// On one line.
    json: String,
    is_latest: bool,
}

impl Entries {
    /// Those of the last time.
    pub(super) fn of_mirror(before: &Before) -> Self {
        let mut entries = Self::default();
        let text = String::from_utf8_lossy(&before.bytes);
        for line in text.lines().filter(|line| *line != NONE) {
            if let Ok(json) = serde_json::from_str(line) {
                entries.apply(json);
            }
        }
        let known = before.state.high_water.as_deref().and_then(registry::time);
        Self { newest: entries.newest.max(known), n_changed: 0, n_deleted: 0, ..entries }
    }

    /// Takes over one entry as the registry sends it.
    ///
    /// The latest version of a name takes that mark from the one before it,
    /// which a registry that is asked for latest versions does not send again.
    pub(super) fn apply(&mut self, json: &RawValue) {
        let facts = registry::facts(json);
        self.newest = self.newest.max(facts.updated_at);
        // One that cannot be told from others stays, to be rejected by the importer.
        let key = match facts.name {
            Some(name) => (name, facts.version),
            None => (String::new(), json.get().to_owned()),
        };
        if facts.is_deleted {
            self.n_deleted += 1;
            self.by_key.remove(&key);
            return;
        }
        if facts.is_latest {
            let of_name = self.by_key.range((key.0.clone(), String::new())..);
            let of_name = of_name.take_while(|(other, _)| other.0 == key.0);
            let outdated: Vec<_> = of_name
                .filter(|(other, entry)| **other != key && entry.is_latest)
                .map(|(other, _)| other.clone())
                .collect();
            for other in outdated {
                self.by_key.remove(&other);
            }
        }
        let json = match json.get().contains(['\n', '\r']) {
            true => compact_json(json.get()),
            false => json.get().to_owned(),
        };
        if self.by_key.get(&key).is_none_or(|entry| entry.json != json) {
            self.n_changed += 1;
            self.by_key.insert(key, Entry { json, is_latest: facts.is_latest });
        }
    }

    /// One entry a line, as the importer reads them.
    pub(super) fn to_jsonl(&self) -> Vec<u8> {
        if self.by_key.is_empty() {
            return format!("{NONE}\n").into_bytes();
        }
        let mut text = String::new();
        for entry in self.by_key.values() {
            text.push_str(&entry.json);
            text.push('\n');
        }
        text.into_bytes()
    }

    /// When the last of all entries ever seen was changed.
    pub(super) fn high_water(&self) -> Option<String> {
        self.newest.map(|newest| humantime::format_rfc3339(newest).to_string())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use serde_json::value::to_raw_value;

    use super::*;

    fn entry(name: &str, version: &str, status: &str, latest: &str) -> Box<RawValue> {
        let official = json!({"status": status, "isLatest": latest == "latest",
            "updatedAt": format!("2025-01-01T00:00:0{}Z", version.len())});
        to_raw_value(&json!({
            "server": {"name": name, "version": version},
            "_meta": {"io.modelcontextprotocol.registry/official": official},
        }))
        .unwrap()
    }

    fn keys(entries: &Entries) -> Vec<String> {
        entries.by_key.keys().map(|(name, version)| format!("{name} {version}")).collect()
    }

    #[test]
    fn changes_add_replace_and_remove() {
        let mut entries = Entries::default();
        for (name, version, status, latest) in [
            ("b", "1", "active", "latest"),
            ("a", "1", "active", "latest"),
            ("a", "0", "active", ""),
            ("gone", "1", "active", "latest"),
            ("a", "22", "deprecated", "latest"),
            ("gone", "1", "deleted", "latest"),
            ("b", "1", "active", "latest"),
        ] {
            entries.apply(&entry(name, version, status, latest));
        }
        entries.apply(&RawValue::from_string("7".to_owned()).unwrap());
        entries.apply(&RawValue::from_string("{\n\"name\": \"x\"}".to_owned()).unwrap());
        assert_eq!(keys(&entries), [" 7", "a 0", "a 22", "b 1", "x "]);
        assert_eq!((entries.n_changed, entries.n_deleted), (7, 1));
        assert_eq!(entries.high_water().as_deref(), Some("2025-01-01T00:00:02Z"));
        let text = String::from_utf8(entries.to_jsonl()).unwrap();
        assert!(text.starts_with("7\n") && text.ends_with("{\"name\":\"x\"}\n"), "{text}");
    }

    #[test]
    fn no_entries_are_a_file_too() {
        assert_eq!(Entries::default().to_jsonl(), format!("{NONE}\n").as_bytes());
    }
}
