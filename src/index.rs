//! The index on disk and in memory.
//!
//! Owns the directory format: generations, checksums, the swap. A directory
//! can be read by any process while another rebuilds it. Must not know how
//! texts are made or ranked.

mod archive;
mod calibration;
mod check;
mod format;
mod lexical;
mod lock;
mod neighbors;
mod publish;
mod read;
mod tensor;
mod write;

pub use archive::{ArchiveError, Exported, export, import};
pub use format::{
    Absent, Counts, FORMAT_VERSION, FileRecord, LIVE, MIRRORS, Manifest, Matrix, Pins,
    ServerRecord, SourceRecord, Storage, Surface, SurfaceTokens, ToolRecord, Withheld,
};
pub use lexical::Lexical;
pub use lock::BuildLock;
pub use neighbors::Neighbors;
pub use read::Index;
pub use write::{Draft, Written, write};

use std::path::PathBuf;

use crate::error::Fault;

/// What can be wrong with an index directory.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// Nothing was built here yet.
    #[error("no index at `{dir}`; run `toolscout index build --from SOURCE --out {dir}`")]
    Missing {
        /// The directory asked for.
        dir: PathBuf,
    },
    /// Written by another version of this program.
    #[error(
        "index `{path}` has format version {found}, this toolscout reads {expected}; run `toolscout index build`"
    )]
    Version {
        /// The manifest.
        path: PathBuf,
        /// Version it names.
        found: u64,
        /// [`FORMAT_VERSION`].
        expected: u32,
    },
    /// Built with another model than the one that is loaded.
    #[error(
        "index was built with {index}, but {loaded} is loaded; build it again with `toolscout index build`, choosing the model with `--model`"
    )]
    OtherModel {
        /// Model, dimension and digest of the index.
        index: String,
        /// The same of the embedder.
        loaded: String,
    },
    /// A file is not what the manifest says.
    #[error(
        "index file `{path}` is damaged: {what}; run `toolscout index build` or `toolscout index update`"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Both sides: what was expected, what is there.
        what: String,
    },
    /// The index lacks what the paper's ranking needs.
    #[error(
        "ranking `mcp-zero` needs tool descriptions embedded alone, and index `{dir}` has none; rebuild it with `toolscout index build --paper`"
    )]
    NoPaperVectors {
        /// The directory.
        dir: PathBuf,
    },
    /// The disk or the file system says no.
    #[error("cannot write index file `{path}` ({bytes} bytes); the index before it stays in use")]
    Write {
        /// The file.
        path: PathBuf,
        /// Its full size.
        bytes: u64,
        /// No space, file too large, read-only …
        #[source]
        source: std::io::Error,
    },
    /// A file cannot be read.
    #[error(
        "cannot read index file `{path}`; if it is missing or damaged, run `toolscout index build` or `toolscout index update`"
    )]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The search by words fails.
    #[error("cannot search by words in `{path}`; run `toolscout index build`")]
    Words {
        /// The file.
        path: PathBuf,
        /// What the search library said.
        #[source]
        source: Box<tantivy::TantivyError>,
    },
    /// A value that cannot be written as JSON.
    #[error("cannot serialise `{what}`")]
    Serialise {
        /// Which value.
        what: &'static str,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
}

impl IndexError {
    /// Who can mend it.
    #[must_use]
    pub fn fault(&self) -> Fault {
        match self {
            Self::NoPaperVectors { .. } => Fault::Caller,
            Self::Serialise { .. } => Fault::Bug,
            _ => Fault::Environment,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use ndarray::{Array2, array};
    use serde_json::value::RawValue;

    use super::*;
    use crate::catalog::ServerId;
    use crate::catalog::ToolId;
    use crate::embed::Embedder;
    use crate::embed::Identity;
    use crate::embed::StandInEmbedder;
    use crate::vectors::Precision;

    const SCHEMA: &str = r#"{"b" :1.0,"a":[1e2, "\u00e9"],"b":9007199254740993}"#;

    fn draft() -> Draft {
        let server = |name: &str, n_tools| ServerRecord {
            name: name.to_owned(),
            description: "ä \"quoted\"\nline".to_owned(),
            summary: String::new(),
            url: None,
            digest: name.to_owned(),
            n_tools,
            entry: None,
        };
        let tool = |exposed: &str, schema: Option<&str>| ToolRecord {
            exposed: exposed.to_owned(),
            server: "one".to_owned(),
            name: exposed.to_owned(),
            title: None,
            description: String::new(),
            input_schema: schema.map(|json| RawValue::from_string(json.to_owned()).unwrap()),
            output_schema: None,
            annotations: None,
        };
        let servers = array![[1.0_f32, 0.0], [0.6, 0.8]];
        let tools = array![[0.0_f32, 1.0], [0.8, 0.6], [0.0, 0.0]];
        Draft {
            servers: vec![server("empty", 0), server("one", 3)],
            tools: vec![
                tool("a", Some(SCHEMA)),
                tool("b", None),
                tool("c", Some("{\n \"x\": 1 }")),
            ],
            tool_server: vec![1, 1, 1],
            tool_operation: vec![0, 1, 8],
            words: vec!["one a".to_owned(), "one b".to_owned(), "one c".to_owned()],
            matrices: BTreeMap::from([
                (Matrix::ServerDescription, servers.clone()),
                (Matrix::ServerSummary, Array2::zeros((2, 2))),
                (Matrix::ServerDigest, servers),
                (Matrix::ToolText, tools),
            ]),
            storage: Storage::default(),
            absent: BTreeMap::from([
                ("server_summary".to_owned(), Absent { no_text: 2, bad_vector: 0 }),
                ("tool_text".to_owned(), Absent { no_text: 0, bad_vector: 1 }),
            ]),
            embedder: Identity { dim: 2, ..StandInEmbedder::default().identity().clone() },
            remote: None,
            summarizer: None,
            runtime: "any".to_owned(),
            sources: Vec::new(),
            rejected: Vec::new(),
            warnings: Vec::new(),
            stale: Vec::new(),
            pins: None,
            withheld: Vec::new(),
        }
    }

    fn surface(draft: &Draft) -> Surface {
        Surface {
            instructions: "i".to_owned(),
            tool_description: "d".to_owned(),
            n_servers: draft.servers.len(),
            n_tools: draft.tools.len(),
            tokens: SurfaceTokens::default(),
        }
    }

    fn put(dir: &Path, draft: &Draft) -> Written {
        let lock = BuildLock::acquire(dir, || ()).unwrap();
        write(dir, &lock, draft, surface).unwrap()
    }

    #[test]
    fn what_is_read_is_what_was_written() {
        let dir = tempfile::tempdir().unwrap();
        let draft = draft();
        assert_eq!(put(dir.path(), &draft), Written::New(1));
        let index = Index::open(dir.path()).unwrap();
        index.verify().unwrap();
        for (kind, matrix) in &draft.matrices {
            let rows = index.rows(*kind).unwrap();
            for (row, numbers) in matrix.outer_iter().enumerate() {
                assert_eq!(rows.to_f32(row), numbers.to_vec(), "{kind:?}");
            }
        }
        assert!(index.rows(Matrix::ToolDescription).is_none());
        assert_eq!(index.tool_server(), draft.tool_server);
        assert_eq!(index.tool_operation(), draft.tool_operation);
        assert_eq!(index.server(ServerId(1)).unwrap(), draft.servers[1]);
        assert_eq!(index.tool(ToolId(0)).unwrap().input_schema.unwrap().get(), SCHEMA);
        assert_eq!(index.tool(ToolId(2)).unwrap().input_schema.unwrap().get(), r#"{"x":1}"#);
        assert_eq!(index.surface().unwrap(), surface(&draft));
        assert!(matches!(index.tool(ToolId(3)), Err(IndexError::Damaged { .. })));
    }

    #[test]
    fn an_equal_draft_writes_nothing_and_another_keeps_the_one_before() {
        let dir = tempfile::tempdir().unwrap();
        let mut draft = draft();
        put(dir.path(), &draft);
        assert_eq!(put(dir.path(), &draft), Written::Unchanged(1));
        for generation in 2..5 {
            draft.warnings.push("changed".to_owned());
            assert_eq!(put(dir.path(), &draft), Written::New(generation));
        }
        let mut names: Vec<String> = std::fs::read_dir(dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["CURRENT", "gen-3", "gen-4", "lock"]);
    }

    #[test]
    fn rows_that_are_no_unit_vectors_are_refused() {
        for (row, what) in [([f32::NAN, 0.0], "norm"), ([3.0, 4.0], "norm"), ([0.0, 0.0], "zero")] {
            let dir = tempfile::tempdir().unwrap();
            let mut draft = draft();
            if let Some(matrix) = draft.matrices.get_mut(&Matrix::ToolText) {
                matrix.row_mut(0).assign(&array![row[0], row[1]]);
            }
            put(dir.path(), &draft);
            let error = Index::open(dir.path()).unwrap().verify().unwrap_err();
            assert!(error.to_string().contains(what), "{error}");
        }
    }

    #[test]
    fn any_precision_is_read_as_it_was_written() {
        for precision in [Precision::F16, Precision::Int8] {
            let dir = tempfile::tempdir().unwrap();
            let storage = Storage { precision, graphs_above: 0 };
            let draft = Draft { storage, ..draft() };
            put(dir.path(), &draft);
            assert_eq!(put(dir.path(), &draft), Written::Unchanged(1));
            let index = Index::open(dir.path()).unwrap();
            index.verify().unwrap();
            assert_eq!(index.manifest().storage, storage);
            for (kind, matrix) in &draft.matrices {
                let rows = index.rows(*kind).unwrap();
                for (row, numbers) in matrix.outer_iter().enumerate() {
                    for (found, expected) in rows.to_f32(row).iter().zip(numbers) {
                        assert!((found - expected).abs() < 5e-3, "{precision:?} {kind:?} {row}");
                    }
                }
            }
            let tools = index.graph(Neighbors::Tools).unwrap();
            assert_eq!(tools.nearest(&[0.6, 0.8], 9), [1, 0], "the zero row is no node");
            let servers = index.graph(Neighbors::Servers).unwrap();
            assert_eq!(servers.nearest(&[1.0, 0.0], 9), [0, 4, 1, 5]);
        }
    }

    #[test]
    fn another_storage_is_another_index() {
        let dir = tempfile::tempdir().unwrap();
        let with = |precision, graphs_above| Draft {
            storage: Storage { precision, graphs_above },
            ..draft()
        };
        put(dir.path(), &draft());
        assert_eq!(put(dir.path(), &with(Precision::F16, 20_000)), Written::New(2));
        assert_eq!(put(dir.path(), &with(Precision::F16, 1)), Written::New(3));
        let index = Index::open(dir.path()).unwrap();
        assert!(index.graph(Neighbors::Tools).is_some());
        assert_eq!(put(dir.path(), &with(Precision::F16, 20_000)), Written::New(4));
        assert!(Index::open(dir.path()).unwrap().graph(Neighbors::Tools).is_none());
    }

    #[test]
    fn another_model_is_refused_naming_both() {
        let dir = tempfile::tempdir().unwrap();
        put(dir.path(), &draft());
        let index = Index::open(dir.path()).unwrap();
        let loaded = Identity { model: "other".to_owned(), ..draft().embedder };
        let error = index.require_model(&loaded).unwrap_err().to_string();
        assert!(error.contains("`stand-in` (2") && error.contains("`other` (2"), "{error}");
    }

    #[test]
    fn an_index_without_servers_is_an_index() {
        let dir = tempfile::tempdir().unwrap();
        let mut draft = draft();
        (draft.servers, draft.tools, draft.tool_server) = (Vec::new(), Vec::new(), Vec::new());
        draft.tool_operation.clear();
        draft.words.clear();
        draft.absent.clear();
        for matrix in draft.matrices.values_mut() {
            *matrix = Array2::zeros((0, 2));
        }
        put(dir.path(), &draft);
        Index::open(dir.path()).unwrap().verify().unwrap();
    }
}
