//! A small index for the targets that need one.

use std::path::Path;

use toolscout::build::{self, Plan};
use toolscout::embed::{BadVector, EmbedError, Embedder, Identity, UnitVector};
use toolscout::index::Storage;
use toolscout::sources::{Fetching, Live, Source};
use toolscout::vectors::Precision;

const DIM: usize = 4;

const CATALOG: &str = r#"{"servers": [
  {"name": "git hub", "description": "Hosts code.", "summary": "Issues, code.", "tools": [
    {"name": "createIssue", "description": "Creates an issue.", "title": "Create",
     "inputSchema": {"type": "object", "properties": {"title": {"type": "string"}}},
     "annotations": {"readOnlyHint": false}},
    {"name": "list_issues", "description": "Lists issues."}]},
  {"name": "空の天気", "description": "天気予報", "tools": [{"name": "天気", "description": ""}]}
]}"#;

/// Vectors of four numbers from the bytes of a text: files stay small.
pub struct Tiny(Identity);

impl Default for Tiny {
    fn default() -> Self {
        Self(Identity {
            model: "tiny".to_owned(),
            dim: DIM,
            pooling: "sum".to_owned(),
            query_prefix: String::new(),
            max_length: 1_000,
            files: Vec::new(),
        })
    }
}

impl Embedder for Tiny {
    fn identity(&self) -> &Identity {
        &self.0
    }

    fn runtime(&self) -> &str {
        "any"
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Result<UnitVector, BadVector>>, EmbedError> {
        let one = |text: &&str| {
            let mut sums = vec![0.0; DIM];
            for (place, byte) in text.bytes().enumerate() {
                sums[place % DIM] += f32::from(byte);
            }
            UnitVector::new(sums, DIM)
        };
        Ok(texts.iter().map(one).collect())
    }
}

/// Builds the index of two servers and three tools in `dir/index`; one of
/// codes has graphs of neighbours.
pub fn build(dir: &Path, precision: Precision) {
    let source = dir.join("catalog.json");
    std::fs::write(&source, CATALOG).unwrap();
    let graphs_above = if precision == Precision::Int8 { 0 } else { 100 };
    let plan = Plan {
        sources: vec![Source::of_path(source)],
        fetching: Fetching::default(),
        dir: dir.join("index"),
        paper: true,
        storage: Storage { precision, graphs_above },
        remote: None,
        summarizer: None,
        live: Live::default(),
        pin: false,
        approve: Vec::new(),
    };
    build::build(&plan, &Tiny::default(), None, &mut |_| ()).unwrap();
}
