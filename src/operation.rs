//! What a request wants done, and what a tool does: read, create, delete …
//!
//! Owns the verbs. A request to delete is not fulfilled by a tool that reads,
//! however alike their texts are. Pure. Must not guess: a verb that stands
//! nowhere, such as `run` or `manage`, says nothing and costs nothing.

use std::collections::HashMap;
use std::sync::LazyLock;

use frostem::{Algorithm, Stemmer};

use crate::catalog::words;

/// A set of classes, one bit each; none where no verb is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operation(u8);

/// The classes and their verbs; a verb may stand in several. Searching is
/// reading: they do not contradict. Chosen on the development sets; what the
/// whole costs and gains stands in `eval/reports`.
const CLASSES: [(&str, &str); 6] = [
    (
        "read",
        "get fetch retrieve read list show view query look find search browse describe check \
         return obtain inspect locate discover display lookup",
    ),
    (
        "create",
        "create add insert make generate build register book reserve schedule write save store \
         record draft upload import post publish",
    ),
    (
        "update",
        "update edit modify change set rename move replace patch reschedule adjust configure \
         assign write append",
    ),
    ("delete", "delete remove cancel clear drop erase purge revoke uninstall"),
    ("send", "send write post publish share notify reply forward submit email"),
    (
        "compute",
        "generate calculate compute evaluate solve convert translate transform estimate predict \
         analyze compare summarize",
    ),
];

/// Words of a description among which its verb is looked for: "This API
/// queries …", "Initiate and write …".
const DESCRIPTION_WORDS: usize = 6;

impl Operation {
    /// Of a request's `tool:` line: its first word, and the second verb of
    /// "create and publish …".
    #[must_use]
    pub fn of_request(tool: &str) -> Self {
        let words = verbs(tool, 3);
        let bits = |n: usize| words.get(n).map_or(0, |word| bits(word));
        let is_joined = words.get(1).is_some_and(|word| word == "and" || word == "or");
        match bits(0) {
            0 => Self(0),
            first if is_joined => Self(first | bits(2)),
            first => Self(first),
        }
    }

    /// Of a tool: the first verb of its name, and the first of its description,
    /// which often says more (`write_contract`: "Initiate …").
    #[must_use]
    pub fn of_tool(name: &str, description: &str) -> Self {
        let first = |text: &str, n: usize| {
            verbs(text, n).iter().map(|word| bits(word)).find(|bits| *bits != 0).unwrap_or(0)
        };
        Self(first(name, usize::MAX) | first(description, DESCRIPTION_WORDS))
    }

    /// Whether both are known and have no class in common.
    #[must_use]
    pub fn contradicts(self, other: Self) -> bool {
        self.0 != 0 && other.0 != 0 && self.0 & other.0 == 0
    }

    /// Names of its classes, for explanations.
    #[must_use]
    pub fn names(self) -> Vec<&'static str> {
        let classes = CLASSES.iter().enumerate();
        classes.filter(|(n, _)| self.0 >> n & 1 == 1).map(|(_, (name, _))| *name).collect()
    }

    /// As stored in an index.
    #[must_use]
    pub fn to_bits(self) -> u8 {
        self.0
    }

    /// As read from an index.
    #[must_use]
    pub fn from_bits(bits: u8) -> Self {
        Self(bits)
    }
}

/// The first `n` words of a text, stemmed; only letters make words.
fn verbs(text: &str, n: usize) -> Vec<String> {
    let stemmer = Stemmer::new(Algorithm::English);
    let lower = words(text).to_lowercase();
    let runs = lower.split(|c: char| !c.is_alphabetic()).filter(|run| !run.is_empty());
    runs.take(n).map(|run| stemmer.stem(run).to_string()).collect()
}

fn bits(stem: &str) -> u8 {
    static BITS: LazyLock<HashMap<String, u8>> = LazyLock::new(|| {
        let stemmer = Stemmer::new(Algorithm::English);
        let mut bits: HashMap<String, u8> = HashMap::new();
        for (n, (_, verbs)) in CLASSES.iter().enumerate() {
            for verb in verbs.split_whitespace() {
                *bits.entry(stemmer.stem(verb).to_string()).or_default() |= 1 << n;
            }
        }
        bits
    });
    BITS.get(stem).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_say_it_first() {
        for (tool, expected) in [
            ("Delete an alarm by its ID", &["delete"][..]),
            ("Querying a scene", &["read"]),
            ("Create and publish a post", &["create", "send"]),
            ("Create a post and delete it", &["create"]),
            ("Generate an image", &["create", "compute"]),
            ("Run a SQL query", &[]),
            ("An alarm to delete", &[]),
            ("", &[]),
            ("日本語 delete", &[]),
        ] {
            assert_eq!(Operation::of_request(tool).names(), expected, "{tool}");
        }
    }

    #[test]
    fn tools_say_it_in_name_or_description() {
        for (name, description, expected) in [
            ("deleteAlarm", "", &["delete"][..]),
            ("SymptomSearch", "This API searches for a symptom.", &["read"]),
            ("npmQuality", "Analyze package quality", &["compute"]),
            ("group_list", "Makes lists of groups", &["read", "create"]),
            ("searchscraper", "Scrape the web with a prompt that tells what to find", &[]),
            ("calendar", "An app in which one can only ever view", &[]),
        ] {
            let found = Operation::of_tool(name, description).names();
            assert_eq!(found, expected, "{name}: {description}");
        }
    }

    #[test]
    fn only_what_is_known_contradicts() {
        let [read, delete, both, none] = [1, 8, 9, 0].map(Operation::from_bits);
        assert!(read.contradicts(delete) && delete.contradicts(read));
        for (a, b) in [(read, read), (read, both), (both, delete), (none, read), (read, none)] {
            assert!(!a.contradicts(b), "{a:?} {b:?}");
        }
    }
}
