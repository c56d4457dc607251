//! Which tools may be offered and called: `--read-only`, `--allow`, `--deny`.

use serde::Deserialize;

use super::patterns::Aim;
use super::patterns::PatternError;
use super::patterns::Patterns;
use crate::catalog::RawJson;

/// Everything, unless something is said.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    read_only: bool,
    /// Of these alone; each is a list of patterns, and all must agree.
    allow: Vec<Patterns>,
    /// But none of any of these.
    deny: Vec<Patterns>,
}

/// Why a tool is neither offered nor called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Its annotations do not say that it only reads.
    #[error("only tools that are annotated as read-only may be called here")]
    NotReadOnly,
    /// No pattern lets it in.
    #[error("it is not among the tools that are allowed here")]
    NotAllowed,
    /// A pattern keeps it out.
    #[error("it is denied here")]
    Denied,
}

impl Policy {
    /// Refuses what matches one of these patterns.
    ///
    /// # Errors
    /// Names a pattern that cannot be read.
    pub fn deny(mut self, patterns: &[String]) -> Result<Self, PatternError> {
        if !patterns.is_empty() {
            self.deny.push(Patterns::new(patterns, Aim::Close)?);
        }
        Ok(self)
    }

    /// Refuses what matches none of these patterns; an empty list allows all.
    ///
    /// # Errors
    /// Names a pattern that cannot be read.
    pub fn allow(self, patterns: &[String]) -> Result<Self, PatternError> {
        if patterns.is_empty() { Ok(self) } else { self.only(patterns) }
    }

    /// Refuses what matches none of these patterns, all if there are none.
    ///
    /// # Errors
    /// Names a pattern that cannot be read.
    pub fn only(mut self, patterns: &[String]) -> Result<Self, PatternError> {
        let set = Patterns::new(patterns, Aim::Open)?;
        if !patterns.iter().any(|pattern| ["*", "*/*"].contains(&pattern.as_str())) {
            self.allow.push(set);
        }
        Ok(self)
    }

    /// Refuses what is not annotated as read-only.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.read_only = true;
        self
    }

    /// Whether it refuses nothing.
    #[must_use]
    pub fn allows_all(&self) -> bool {
        !self.read_only && self.allow.is_empty() && self.deny.is_empty()
    }

    /// Whether a tool may be offered and called.
    ///
    /// # Errors
    /// Says why not.
    pub fn check(
        &self,
        server: &str,
        tool: &str,
        annotations: Option<&RawJson>,
    ) -> Result<(), Refusal> {
        // What is not allowed is not said to be denied: that would say it is there.
        if !self.allow.iter().all(|allow| allow.is_match(server, tool)) {
            return Err(Refusal::NotAllowed);
        }
        if self.deny.iter().any(|deny| deny.is_match(server, tool)) {
            return Err(Refusal::Denied);
        }
        if self.read_only && !is_read_only(annotations) {
            return Err(Refusal::NotReadOnly);
        }
        Ok(())
    }
}

/// Only a plain yes counts; a hint that is missing or odd is none.
fn is_read_only(annotations: Option<&RawJson>) -> bool {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Hints {
        #[serde(default)]
        read_only_hint: Option<bool>,
    }
    let hints = annotations.and_then(|raw| serde_json::from_str::<Hints>(raw.get()).ok());
    hints.is_some_and(|hints| hints.read_only_hint == Some(true))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(list: &[&str]) -> Vec<String> {
        list.iter().map(|one| (*one).to_owned()).collect()
    }

    #[test]
    fn deny_wins_over_allow_and_a_server_stands_for_its_tools() {
        let policy = Policy::default().allow(&patterns(&["git*", "files/read_*"])).unwrap();
        let policy = policy.deny(&patterns(&["GitHub/delete_*", "other/y"])).unwrap();
        for (server, tool, expected) in [
            ("github", "create_issue", Ok(())),
            ("github", "a/b", Ok(())),
            ("github", "delete_repo", Err(Refusal::Denied)),
            ("files", "read_file", Ok(())),
            ("files", "write_file", Err(Refusal::NotAllowed)),
            ("other", "x", Err(Refusal::NotAllowed)),
            ("other", "y", Err(Refusal::NotAllowed)),
        ] {
            assert_eq!(policy.check(server, tool, None), expected, "{server}/{tool}");
        }
    }

    #[test]
    fn nothing_said_allows_all_and_only_nothing_allows_none() {
        assert!(Policy::default().allows_all());
        assert_eq!(Policy::default().allow(&[]).unwrap().check("a", "b", None), Ok(()));
        let none = Policy::default().only(&[]).unwrap();
        assert_eq!(none.check("a", "b", None), Err(Refusal::NotAllowed));
        for all in [&["*"][..], &["files", "*/*"]] {
            assert!(Policy::default().only(&patterns(all)).unwrap().allows_all(), "{all:?}");
        }
    }

    #[test]
    fn only_a_plain_yes_is_read_only() {
        let policy = Policy::default().read_only();
        let check = |json: &str| {
            policy.check(
                "a",
                "b",
                Some(&RawJson::from(serde_json::from_str::<RawJson>(json).unwrap())),
            )
        };
        assert_eq!(check(r#"{"readOnlyHint":true}"#), Ok(()));
        for json in [r#"{"readOnlyHint":false}"#, r#"{"readOnlyHint":"true"}"#, "{}", "null", "7"] {
            assert_eq!(check(json), Err(Refusal::NotReadOnly), "{json}");
        }
        assert_eq!(policy.check("a", "b", None), Err(Refusal::NotReadOnly));
    }
}
