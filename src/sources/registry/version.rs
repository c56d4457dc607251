//! Which of two versions of a server is the later one.

use std::cmp::Reverse;

/// A version, ordered; what the registry calls the latest comes last.
///
/// Numbers compare as numbers, and `1.0.0-beta` comes before `1.0.0`; the rest
/// as text. Registries take any text for a version, so nothing is refused.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version {
    is_latest: bool,
    numbers: Vec<u64>,
    before: Reverse<bool>,
    suffix: Vec<Part>,
}

/// Numbers come before words, as in semantic versions.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Number(u64),
    Word(String),
}

impl Version {
    /// Reads a version; text that is none is the earliest.
    pub(crate) fn parse(text: &str) -> Self {
        let text = text.trim().trim_start_matches(['v', 'V']);
        let text = text.split('+').next().unwrap_or_default();
        let (core, suffix) = text.split_once('-').unwrap_or((text, ""));
        let mut numbers: Vec<u64> =
            core.split('.').map(|number| number.parse().unwrap_or_default()).collect();
        while numbers.last() == Some(&0) {
            numbers.pop();
        }
        let part = |word: &str| match word.parse() {
            Ok(number) => Part::Number(number),
            Err(_) => Part::Word(word.to_owned()),
        };
        let before = Reverse(!suffix.is_empty());
        let suffix = suffix.split(['.', '-']).map(part).collect();
        Self { is_latest: false, numbers, before, suffix }
    }

    /// What the registry calls the latest is, whatever its number.
    pub(crate) fn marked_latest(self) -> Self {
        Self { is_latest: true, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_as_people_mean_them() {
        let ascending = [
            "",
            "0.0.1-seed",
            "0.9",
            "0.10.0",
            "1.0.0-alpha.2",
            "1.0.0-alpha.10",
            "1.0.0-beta",
            "1.0.0",
            "v1.0.1",
            "2025.10.17",
        ];
        for pair in ascending.windows(2) {
            let [earlier, later] = [pair[0], pair[1]].map(Version::parse);
            assert!(earlier < later, "{pair:?}");
        }
        assert_eq!(Version::parse("1.0"), Version::parse("v1.0.0+build"));
    }

    #[test]
    fn what_the_registry_calls_the_latest_is() {
        assert!(Version::parse("1.0.0").marked_latest() > Version::parse("2.0.0"));
    }
}
