//! What a text costs a model, in o200k_base tokens.
//!
//! The vocabulary takes about 0.4 s and 46 MB to load: only `index build`,
//! `demo` and `eval` count, `serve` reads what they stored.

use rayon::iter::{IntoParallelIterator, ParallelIterator};

/// Tokens of one text.
#[must_use]
pub fn count(text: &str) -> usize {
    tiktoken_rs::o200k_base_singleton().encode_ordinary(text).len()
}

/// Tokens of many texts, each counted alone and summed.
pub fn count_all(texts: impl IntoParallelIterator<Item = String>) -> usize {
    texts.into_par_iter().map(|text| count(&text)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_those_of_o200k_base() {
        assert_eq!(count("hello world"), 2);
        assert_eq!(count(""), 0);
        assert_eq!(count_all(vec!["hello world".to_owned(); 3]), 6);
    }
}
