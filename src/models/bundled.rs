//! The small model files that are part of the binary.
//!
//! Owns the table of the texts under `models/side-files/`. Must not know which
//! model needs which: the manifest says.

/// A bundled text by its path below the top-level folder `models/`.
pub(crate) fn text(path: &str) -> Option<&'static str> {
    FILES.iter().find(|(known, _)| *known == path).map(|(_, text)| *text)
}

/// Makes one row of the table, so that path and text cannot disagree.
macro_rules! side_file {
    ($path:literal) => {
        ($path, include_str!(concat!("../../models/", $path)))
    };
}

const FILES: &[(&str, &str)] = &[
    side_file!("side-files/all-minilm-l6-v2/config.json"),
    side_file!("side-files/all-minilm-l6-v2/special_tokens_map.json"),
    side_file!("side-files/all-minilm-l6-v2/tokenizer_config.json"),
    side_file!("side-files/bge-small-en-v1.5/config.json"),
    side_file!("side-files/bge-small-en-v1.5/special_tokens_map.json"),
    side_file!("side-files/bge-small-en-v1.5/tokenizer_config.json"),
];
