//! What must not be seen in anything that a server says.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::sync::PoisonError;
use std::sync::RwLock;

/// Shorter values are words that stand everywhere.
const MIN_CHARS: usize = 6;

/// Values that came later and are kept in mind: tokens, of which the last count.
const MAX_LEARNT: usize = 8;

/// Values of a configuration that may be secret; `Debug` hides them. Clones
/// share what is learnt later.
#[derive(Clone, Default)]
pub struct Secrets {
    given: Arc<[String]>,
    learnt: Arc<RwLock<VecDeque<String>>>,
}

impl Secrets {
    /// Takes over what is long enough to be one.
    #[must_use]
    pub fn new(values: impl IntoIterator<Item = String>) -> Self {
        let mut values: Vec<String> = values.into_iter().filter(|value| is_one(value)).collect();
        // The longest first: one may be part of another.
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        values.dedup();
        Self { given: values.into(), learnt: Arc::default() }
    }

    /// Hides this value too from now on.
    pub(super) fn learn(&self, value: &str) {
        let known = |all: &VecDeque<String>| all.iter().any(|one| one == value);
        if !is_one(value) || known(&self.learnt.read().unwrap_or_else(PoisonError::into_inner)) {
            return;
        }
        let mut learnt = self.learnt.write().unwrap_or_else(PoisonError::into_inner);
        if learnt.len() == MAX_LEARNT {
            learnt.pop_front();
        }
        learnt.push_back(value.to_owned());
    }

    /// The text with each of them as `***`.
    #[must_use]
    pub fn hide_in(&self, text: &str) -> String {
        let hide = |text: String, secret: &String| match text.contains(secret.as_str()) {
            true => text.replace(secret.as_str(), "***"),
            false => text,
        };
        let text = self.given.iter().fold(text.to_owned(), hide);
        let learnt = self.learnt.read().unwrap_or_else(PoisonError::into_inner);
        learnt.iter().fold(text, hide)
    }
}

fn is_one(value: &str) -> bool {
    value.chars().count() >= MIN_CHARS
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} secrets", self.given.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_is_hidden_first_and_short_words_stay() {
        let values = ["true", "sk-123456", "Bearer sk-123456", "sk-123456"];
        let secrets = Secrets::new(values.map(str::to_owned));
        assert_eq!(secrets.hide_in("true: Bearer sk-123456, sk-123456"), "true: ***, ***");
        assert_eq!(format!("{secrets:?}"), "2 secrets");
    }

    #[test]
    fn clones_share_what_is_learnt_and_the_oldest_is_forgotten() {
        let secrets = Secrets::default();
        let clone = secrets.clone();
        (0..=MAX_LEARNT).for_each(|n| secrets.learn(&format!("token-{n}")));
        secrets.learn("short");
        assert_eq!(clone.hide_in("token-0 token-8 short"), "token-0 *** short");
    }
}
