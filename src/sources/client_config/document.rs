//! The text of a configuration as one JSON object, whatever it is written in.
//!
//! Owns telling JSON with comments, fragments of it, TOML and YAML apart. An
//! error of it never quotes the text, which may hold a password.

use std::path::Path;

use serde_json::value::RawValue;

use crate::catalog::RawJson;
use crate::sources::SourceError;
use crate::sources::client_config::jsonc;
use crate::sources::fields::Fields;
use crate::sources::yaml;

/// A configuration as JSON.
#[derive(Debug)]
pub(crate) struct Document {
    /// An object, unless someone wrote another thing.
    pub(crate) json: RawJson,
    /// What it is written in.
    pub(crate) language: Language,
    /// Braces had to be put around it.
    pub(crate) is_fragment: bool,
}

/// What configurations are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    Json,
    Toml,
    Yaml,
}

impl Document {
    /// Reads a text; nothing at all is an empty object.
    ///
    /// # Errors
    /// When it is none of the three languages.
    pub(crate) fn parse(path: &Path, text: &str) -> Result<Self, SourceError> {
        let text = text.trim_start_matches('\u{FEFF}');
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        match ending.to_lowercase().as_str() {
            "toml" => of_toml(path, text),
            "yaml" | "yml" => of_yaml(path, text),
            _ => of_json(path, text).or_else(|error| {
                if text.trim_start().starts_with(['{', '"', '/']) {
                    return Err(error);
                }
                let other = of_toml(path, text).or_else(|_| of_yaml(path, text)).ok();
                other.filter(|other| Fields::of(&other.json).is_ok()).ok_or(error)
            }),
        }
    }
}

fn of_json(path: &Path, text: &str) -> Result<Document, SourceError> {
    let json = jsonc::to_json(text);
    let json = if json.trim().is_empty() { "{}".to_owned() } else { json };
    let document = |json, is_fragment| Document { json, language: Language::Json, is_fragment };
    let error = match RawValue::from_string(json.clone()) {
        Ok(json) => return Ok(document(json, false)),
        Err(error) => error,
    };
    if let Some(Ok(json)) = jsonc::enclose(&json).map(RawValue::from_string) {
        return Ok(document(json, true));
    }
    Err(SourceError::NotJson {
        path: path.to_owned(),
        line: error.line(),
        column: error.column(),
        source: error,
    })
}

fn of_toml(path: &Path, text: &str) -> Result<Document, SourceError> {
    let not_toml = |line, message: String| SourceError::NotToml {
        path: path.to_owned(),
        line,
        problem: message,
    };
    let table: toml::Table = toml::from_str(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start.min(text.len()));
        let line = text.as_bytes()[..start].iter().filter(|byte| **byte == b'\n').count() + 1;
        // The error itself quotes the line; its message does not.
        not_toml(line, error.message().lines().next().unwrap_or_default().to_owned())
    })?;
    let json =
        serde_json::value::to_raw_value(&table).map_err(|error| not_toml(0, error.to_string()))?;
    Ok(Document { json, language: Language::Toml, is_fragment: false })
}

fn of_yaml(path: &Path, text: &str) -> Result<Document, SourceError> {
    let json = yaml::to_json(text).map_err(|source| SourceError::NotYaml {
        path: path.to_owned(),
        line: source.line,
        column: source.column,
        source,
    })?;
    let json = if json == "null" || json == "[]" { "{}".to_owned() } else { json };
    match RawValue::from_string(json) {
        Ok(json) => Ok(Document { json, language: Language::Yaml, is_fragment: false }),
        Err(source) => Err(SourceError::NotJson {
            path: path.to_owned(),
            line: source.line(),
            column: source.column(),
            source,
        }),
    }
}
