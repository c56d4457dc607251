//! Names as words.

/// A name in words: `createIssue`, `create_issue` and `create-issue` are all
/// `create issue`; runs of capitals and digits stay together.
#[must_use]
pub fn words(name: &str) -> String {
    let chars: Vec<char> = name.chars().collect();
    let mut words = String::with_capacity(name.len() + 8);
    for (i, &c) in chars.iter().enumerate() {
        if matches!(c, '_' | '-' | '.' | '/' | ':') || c.is_whitespace() {
            if !words.ends_with(' ') && !words.is_empty() {
                words.push(' ');
            }
            continue;
        }
        let before = i.checked_sub(1).map(|i| chars[i]);
        let after = chars.get(i + 1);
        let starts_word = c.is_uppercase()
            && before.is_some_and(|b| {
                b.is_lowercase() || (b.is_uppercase() && after.is_some_and(|a| a.is_lowercase()))
            });
        if starts_word && !words.ends_with(' ') {
            words.push(' ');
        }
        words.push(c);
    }
    words.trim_end().to_owned()
}
