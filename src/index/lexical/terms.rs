//! Text → terms: the same for tools and for requests.
//!
//! Words are folded (NFKC, lower case, accents off), split where spelling
//! hides a boundary (`camelCase`, `snake_case`, letters and digits), and
//! stemmed (Porter2). A split word is kept whole too, so that `GitHub` and
//! `github` meet. Scripts without spaces become pairs of characters.

use frostem::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization;

/// Longer words are no words; they are cut.
const MAX_WORD_CHARS: usize = 40;

/// The terms of `text`, in order, repeated as often as they occur.
#[must_use]
pub(super) fn terms(text: &str) -> Vec<String> {
    let folded: Vec<char> = text.nfkd().filter(|c| !is_accent(*c)).nfc().collect();
    let stemmer = Stemmer::new(Algorithm::English);
    let mut terms = Vec::new();
    for run in folded.chunk_by(|a, b| Script::of(*a) == Script::of(*b)) {
        match Script::of(run[0]) {
            Script::Spaced => spaced(run, &stemmer, &mut terms),
            Script::Unspaced => unspaced(run, &mut terms),
            Script::None => {}
        }
    }
    terms
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Script {
    /// Words stand between spaces.
    Spaced,
    /// Chinese, Japanese, Korean, Thai: words follow each other.
    Unspaced,
    /// Everything between words.
    None,
}

impl Script {
    fn of(c: char) -> Self {
        match c {
            '\u{0E00}'..='\u{0EFF}'
            | '\u{1100}'..='\u{11FF}'
            | '\u{3005}'..='\u{3007}'
            | '\u{3040}'..='\u{30FF}'
            | '\u{3400}'..='\u{9FFF}'
            | '\u{AC00}'..='\u{D7AF}'
            | '\u{F900}'..='\u{FAFF}'
            | '\u{20000}'..='\u{3FFFF}' => Self::Unspaced,
            _ if c.is_alphanumeric() => Self::Spaced,
            _ => Self::None,
        }
    }
}

/// A combining mark of the Latin, Greek and Cyrillic scripts.
fn is_accent(c: char) -> bool {
    ('\u{0300}'..='\u{036F}').contains(&c)
}

fn spaced(run: &[char], stemmer: &Stemmer, terms: &mut Vec<String>) {
    let parts = split(run);
    if parts.len() > 1 {
        terms.push(lower(run));
    }
    terms.extend(parts.into_iter().map(|part| stemmer.stem(&lower(part)).to_string()));
}

fn unspaced(run: &[char], terms: &mut Vec<String>) {
    if let [only] = run {
        terms.push(only.to_string());
    }
    terms.extend(run.windows(2).map(|pair| pair.iter().collect::<String>()));
}

/// `getHTTPResponse2` → get, HTTP, Response, 2.
fn split(run: &[char]) -> Vec<&[char]> {
    let mut parts = Vec::new();
    let mut start = 0;
    for i in 1..run.len() {
        let (before, here, after) = (run[i - 1], run[i], run.get(i + 1));
        let is_boundary = before.is_numeric() != here.is_numeric()
            || (here.is_uppercase()
                && (before.is_lowercase() || after.is_some_and(|c| c.is_lowercase())));
        if is_boundary {
            parts.push(&run[start..i]);
            start = i;
        }
    }
    parts.push(&run[start..]);
    parts
}

fn lower(word: &[char]) -> String {
    word.iter().take(MAX_WORD_CHARS).flat_map(|c| c.to_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, expected: &[&str]) {
        assert_eq!(terms(text), expected, "{text}");
    }

    #[test]
    fn spelling_hides_no_boundary() {
        check("createIssue create_issue", &["createissue", "creat", "issu", "creat", "issu"]);
        check("getHTTPResponse2", &["gethttpresponse2", "get", "http", "respons", "2"]);
        check("GitHub", &["github", "git", "hub"]);
        check("github", &["github"]);
    }

    #[test]
    fn spellings_of_one_word_are_one_term() {
        check("ＧｉｔＨｕｂ", &["github", "git", "hub"]);
        check("Café r\u{00E9}server", &["cafe", "reserv"]);
        check("Cafe\u{0301} re\u{0301}server", &["cafe", "reserv"]);
        check("listing lists", &["list", "list"]);
    }

    #[test]
    fn scripts_without_spaces_become_pairs() {
        check("天気予報", &["天気", "気予", "予報"]);
        check("が x", &["が", "x"]);
        check("查询 GitHub issues", &["查询", "github", "git", "hub", "issu"]);
        check("解析pdf", &["解析", "pdf"]);
    }

    #[test]
    fn punctuation_alone_has_no_terms() {
        check("!? — …", &[]);
    }

    proptest! {
        #[test]
        fn letters_always_leave_a_term(text in "\\PC{0,60}") {
            let has_letter = text.nfkd().any(char::is_alphanumeric);
            prop_assert_eq!(has_letter, !terms(&text).is_empty());
        }
    }
}
