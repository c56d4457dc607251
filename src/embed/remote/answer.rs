//! What the server said: vectors, or words about an error.

use serde::Deserialize;
use serde_json::Value;

use super::error::RemoteError;
use super::key::Key;
use crate::fetch::wire;

/// Characters of a server's words that are repeated.
const MAX_MESSAGE_CHARS: usize = 300;

/// Characters of a body that are shown when it is not understood.
const MAX_BEGINNING_CHARS: usize = 80;

#[derive(Deserialize)]
struct Answer {
    data: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    index: usize,
    /// NaN comes as `null` from most servers, infinity as a number too large for f32.
    embedding: Vec<Option<f64>>,
}

/// The numbers of every text, in the order of the texts.
pub(super) fn rows(
    body: &[u8],
    n_texts: usize,
    host: &str,
    key: &Key,
) -> Result<Vec<Vec<f32>>, RemoteError> {
    let answer: Answer = serde_json::from_slice(body).map_err(|error| {
        let text = key.hide_in(&String::from_utf8_lossy(body));
        let beginning: String = text.chars().take(MAX_BEGINNING_CHARS).collect();
        let reason: String = key.hide_in(&error.to_string()).chars().take(120).collect();
        let what = clean(&format!("{reason}; it begins with {beginning:?}"));
        RemoteError::NotEmbeddings { host: host.to_owned(), what }
    })?;
    if answer.data.len() != n_texts {
        let got = answer.data.len();
        return Err(RemoteError::OtherCount { host: host.to_owned(), expected: n_texts, got });
    }
    let mut rows: Vec<Option<Vec<f32>>> = vec![None; n_texts];
    for Item { index, embedding } in answer.data {
        match rows.get_mut(index) {
            Some(row @ None) => {
                *row = Some(embedding.into_iter().map(narrowed).collect());
            }
            _ => return Err(RemoteError::BadIndex { host: host.to_owned(), n_texts, index }),
        }
    }
    // As many items as texts and no index twice: none is missing.
    Ok(rows.into_iter().flatten().collect())
}

#[expect(clippy::cast_possible_truncation, reason = "vectors are f32; too large is infinite")]
fn narrowed(number: Option<f64>) -> f32 {
    number.map_or(f32::NAN, |number| number as f32)
}

/// The words of an error body: `error.message` and its relatives, or the body.
pub(super) fn message(body: &[u8], key: &Key) -> String {
    let value: Value = serde_json::from_slice(body).unwrap_or_default();
    let words = ["/error/message", "/error", "/message", "/detail", "/detail/0/msg"]
        .iter()
        .find_map(|path| value.pointer(path).and_then(Value::as_str).map(str::to_owned));
    let words = words.unwrap_or_else(|| String::from_utf8_lossy(body).into_owned());
    let words = clean(&key.hide_in(&words));
    if words.is_empty() { "no reason given".to_owned() } else { words }
}

fn clean(text: &str) -> String {
    wire::line(text, MAX_MESSAGE_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn no_key() -> Key {
        Key::new(None, None).unwrap()
    }

    fn read(body: &str, n_texts: usize) -> Result<Vec<Vec<f32>>, RemoteError> {
        rows(body.as_bytes(), n_texts, "host", &no_key())
    }

    fn refusal(body: &str, n_texts: usize) -> RemoteError {
        read(body, n_texts).unwrap_err()
    }

    #[test]
    fn vectors_are_ordered_by_index() {
        let body = r#"{"data":[{"index":1,"embedding":[2]},{"embedding":[1,-0.5e0],"index":0}]}"#;
        assert_eq!(read(body, 2).unwrap(), [vec![1.0, -0.5], vec![2.0]]);
    }

    #[test]
    fn null_is_a_number_that_is_none() {
        let body = r#"{"data":[{"index":0,"embedding":[1, null]}]}"#;
        assert!(read(body, 1).unwrap()[0][1].is_nan());
    }

    #[test]
    fn other_counts_and_indexes_are_refused() {
        let one = r#"{"data":[{"index":0,"embedding":[1]}]}"#;
        let twice = r#"{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}"#;
        let far = r#"{"data":[{"index":7,"embedding":[1]}]}"#;
        assert!(matches!(refusal(one, 2), RemoteError::OtherCount { expected: 2, got: 1, .. }));
        assert!(matches!(refusal(twice, 2), RemoteError::BadIndex { index: 0, n_texts: 2, .. }));
        assert!(matches!(refusal(far, 1), RemoteError::BadIndex { index: 7, .. }));
    }

    #[test]
    fn what_is_not_understood_is_shown_in_part() {
        let page = format!("<!doctype html>\n<p>{}", "x".repeat(1_000));
        let message = refusal(&page, 1).to_string();
        assert!(message.contains("<!doctype html>") && message.len() < 500, "{message}");
        let base64 = format!(r#"{{"data":[{{"index":0,"embedding":"{}"}}]}}"#, "A".repeat(9_000));
        let message = refusal(&base64, 1).to_string();
        assert!(message.contains("invalid type: string") && message.len() < 500, "{message}");
        assert!(refusal(r#"{"data":[{"embedding":[1]}]}"#, 1).to_string().contains("`index`"));
        assert!(
            refusal(r#"{"data":[{"index":0,"embedding":[NaN]}]}"#, 1).to_string().contains("NaN")
        );
    }

    #[test]
    fn an_error_is_put_in_the_servers_words() {
        for (body, expected) in [
            (r#"{"error":{"message":"No  such\nmodel","code":1}}"#, "No such model"),
            (r#"{"error":"overloaded"}"#, "overloaded"),
            (r#"{"detail":"Not Found"}"#, "Not Found"),
            (r#"{"detail":[{"msg":"field required"}]}"#, "field required"),
            ("Bad \u{1b}[31mGateway\0", "Bad [31mGateway"),
            ("", "no reason given"),
        ] {
            assert_eq!(message(body.as_bytes(), &no_key()), expected, "{body}");
        }
        assert_eq!(
            message("ä".repeat(1_000).as_bytes(), &no_key()).chars().count(),
            MAX_MESSAGE_CHARS + 1
        );
    }
}
