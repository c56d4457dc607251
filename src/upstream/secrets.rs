//! What must not be seen in anything that a server says.

use std::fmt;
use std::sync::Arc;

/// Shorter values are words that stand everywhere.
const MIN_CHARS: usize = 6;

/// Values of a configuration that may be secret; `Debug` hides them.
#[derive(Clone, Default)]
pub struct Secrets(Arc<[String]>);

impl Secrets {
    /// Takes over what is long enough to be one.
    #[must_use]
    pub fn new(values: impl IntoIterator<Item = String>) -> Self {
        let mut values: Vec<String> =
            values.into_iter().filter(|value| value.chars().count() >= MIN_CHARS).collect();
        // The longest first: one may be part of another.
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        values.dedup();
        Self(values.into())
    }

    /// The text with each of them as `***`.
    #[must_use]
    pub fn hide_in(&self, text: &str) -> String {
        let hide = |text: String, secret: &String| match text.contains(secret.as_str()) {
            true => text.replace(secret.as_str(), "***"),
            false => text,
        };
        self.0.iter().fold(text.to_owned(), hide)
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} secrets", self.0.len())
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
}
