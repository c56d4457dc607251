//! YAML to JSON, once, so that every importer reads one language.
//!
//! Owns the limits: a document of a few lines can unfold to gigabytes or nest
//! deeper than any stack.

use std::path::Path;

use serde_json::Value;
use serde_saphyr::options::DuplicateKeyPolicy;

/// Deeper documents are refused; catalogues have less than twenty levels.
const MAX_DEPTH: usize = 120;

/// Why a text is no YAML that we read.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct YamlError {
    message: String,
    /// Counted from one; zero where it is not known.
    pub(crate) line: u64,
    /// Counted from one; zero where it is not known.
    pub(crate) column: u64,
}

/// The documents of a text as JSON: one as itself, several as an array.
///
/// # Errors
/// When it is not YAML, or too deep or too large when unfolded.
pub(crate) fn to_json(text: &str) -> Result<String, YamlError> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_depth: MAX_DEPTH },
        strict_booleans: true,
        duplicate_keys: DuplicateKeyPolicy::LastWins,
        with_snippet: false,
    };
    let mut documents: Vec<Value> =
        serde_saphyr::from_multiple_with_options(text, options).map_err(YamlError::from)?;
    let whole = match documents.len() {
        1 => documents.remove(0),
        _ => Value::Array(documents),
    };
    Ok(whole.to_string())
}

/// Whether a text that is no JSON could be YAML: by its name, or because it
/// opens as JSON never would. Much broken JSON is YAML, and means another thing.
pub(crate) fn is_likely(name: &str, text: &str) -> bool {
    is_named_so(name) || !text.trim_start().starts_with(['{', '['])
}

/// Whether a file says by its name that it is YAML.
pub(crate) fn is_named_so(name: &str) -> bool {
    let extension = Path::new(name).extension();
    extension.is_some_and(|extension| {
        ["yaml", "yml"].iter().any(|known| extension.eq_ignore_ascii_case(known))
    })
}

impl From<serde_saphyr::Error> for YamlError {
    fn from(error: serde_saphyr::Error) -> Self {
        let (line, column) =
            error.location().map_or((0, 0), |place| (place.line(), place.column()));
        let message = error.without_snippet().to_string();
        let first = message.lines().next().unwrap_or_default().to_owned();
        Self { message: first, line, column }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(yaml: &str, json: &str) {
        assert_eq!(to_json(yaml).unwrap(), json, "{yaml}");
    }

    #[test]
    fn keys_keep_their_order_and_scalars_their_type() {
        check(
            "z: 1\na: [x, 'yes', true, ~]\nt: >-\n  two\n  lines\n",
            r#"{"z":1,"a":["x","yes",true,null],"t":"two lines"}"#,
        );
        check("# note\n---\na: 1\n---\nb: 2\n", r#"[{"a":1},{"b":2}]"#);
        check("a: &x {n: 1}\nb: *x\n", r#"{"a":{"n":1},"b":{"n":1}}"#);
    }

    #[test]
    fn a_broken_text_says_where() {
        let error = to_json("a: 1\nb: [1\n").unwrap_err();
        assert!(error.line >= 2, "{error:?}");
        assert!(!error.to_string().contains('\n'), "{error}");
    }

    #[test]
    fn a_text_that_unfolds_or_nests_without_end_is_refused() {
        let mut bomb = "l0: &l0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let before = format!("*l{}, ", level - 1).repeat(9);
            bomb.push_str(&format!("l{level}: &l{level} [{}]\n", before.trim_end_matches(", ")));
        }
        assert!(to_json(&bomb).is_err());
        assert!(to_json(&"[".repeat(100_000)).is_err());
        let deep = format!("{}1{}", "[".repeat(5_000), "]".repeat(5_000));
        assert!(to_json(&deep).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text: String, lines in "[-:a{}\\[\\]&*!|>'\"#, \n]{0,60}") {
            let _either = to_json(&text);
            let _either = to_json(&lines);
        }
    }
}
