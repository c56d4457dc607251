//! Draft → files of a generation.
//!
//! Owns what the files hold; `publish` makes them live.

use std::collections::BTreeMap;
use std::path::Path;

use ndarray::Array2;
use safetensors::Dtype;
use serde::Serialize;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::Pins;
use super::Withheld;
use super::format::{
    CATALOG, LEXICAL, NEIGHBORS, OFFSETS, SURFACE, TOOL_OPERATION, TOOL_SERVER, VECTORS,
};
use super::lexical;
use super::neighbors;
use super::publish::{forget_old, newest_generation, publish, remove_leftovers};
use super::tensor::{Slice, serialize};
use super::{
    Absent, BuildLock, Counts, FORMAT_VERSION, FileRecord, Index, IndexError, Manifest, Matrix,
    Neighbors, ServerRecord, SourceRecord, Storage, Surface, ToolRecord,
};
use crate::catalog::RawJson;
use crate::catalog::Reject;
use crate::catalog::Stale;
use crate::catalog::compact_json;
use crate::embed::Identity;
use crate::embed::RemoteModel;
use crate::vectors::Packed;

/// All that goes into a generation.
#[derive(Debug)]
pub struct Draft {
    /// In id order.
    pub servers: Vec<ServerRecord>,
    /// In id order; tools of one server are neighbours, servers ascend.
    pub tools: Vec<ToolRecord>,
    /// Owner of each tool, `[n_tools]`.
    pub tool_server: Vec<u32>,
    /// What each tool does, a bit a class of operations, `[n_tools]`.
    pub tool_operation: Vec<u8>,
    /// The words by which each tool is found, `[n_tools]`.
    pub words: Vec<String>,
    /// The matrices; shapes as [`Matrix`] says.
    pub matrices: BTreeMap<Matrix, Array2<f32>>,
    /// How they are stored.
    pub storage: Storage,
    /// Zero rows, by matrix name.
    pub absent: BTreeMap<String, Absent>,
    /// Model the vectors are from.
    pub embedder: Identity,
    /// Where that model answers, if it is not a local one.
    pub remote: Option<RemoteModel>,
    /// The language model that summarised the servers, if one did.
    pub summarizer: Option<RemoteModel>,
    /// Runtime the vectors are from.
    pub runtime: String,
    /// Source files.
    pub sources: Vec<SourceRecord>,
    /// Rejected records.
    pub rejected: Vec<Reject>,
    /// Warnings.
    pub warnings: Vec<String>,
    /// Servers whose tools are those of an earlier time.
    pub stale: Vec<Stale>,
    /// Approved definitions, where others are withheld.
    pub pins: Option<Pins>,
    /// Tools that are left out because of them.
    pub withheld: Vec<Withheld>,
}

impl Draft {
    /// Vectors that need a graph of neighbours.
    #[must_use]
    pub fn n_linked(&self) -> usize {
        let graphs = Neighbors::needed(self.counts(), self.storage.graphs_above);
        graphs.into_iter().map(|kind| kind.n_rows(self.counts())).sum()
    }

    fn counts(&self) -> Counts {
        Counts { servers: self.servers.len(), tools: self.tools.len() }
    }
}

/// How a write ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// A new generation is live.
    New(u64),
    /// The live generation already is exactly this.
    Unchanged(u64),
}

/// Makes `draft` the live generation of `dir`, unless it already is.
///
/// `surface` is asked for only when something changed: counting tokens is dear.
///
/// # Errors
/// Names the file that could not be written; nothing is left half done, and
/// the generation before stays live.
pub fn write(
    dir: &Path,
    _lock: &BuildLock,
    draft: &Draft,
    surface: impl FnOnce(&Draft) -> Surface,
) -> Result<Written, IndexError> {
    remove_leftovers(dir)?;
    let live = Index::open(dir).ok().filter(|index| index.verify().is_ok());
    let (catalog, offsets) = catalog(draft)?;
    let contents = [(VECTORS, vectors(draft, &offsets)?), (CATALOG, catalog)];
    let mut manifest = manifest(draft, &contents);
    if let Some(live) = &live
        && same(live.manifest(), &manifest)
    {
        return Ok(Written::Unchanged(live.manifest().generation));
    }
    let surface = to_json("surface", &surface(draft))?;
    let words = lexical::build(draft.words.iter().map(String::as_str))?;
    let mut files: Vec<(&str, Vec<u8>)> = contents.into();
    files.extend([(SURFACE, surface), (LEXICAL, words)]);
    let graphs = manifest.graphs();
    if !graphs.is_empty() {
        files.push((NEIGHBORS, neighbors::build(draft, &graphs, live.as_ref())?));
    }
    manifest.files =
        files.iter().map(|(name, bytes)| ((*name).to_owned(), record(bytes))).collect();
    manifest.generation = newest_generation(dir).map_or(1, |newest| newest.saturating_add(1));
    let files: Vec<_> = files.iter().map(|(name, bytes)| (*name, bytes.as_slice())).collect();
    publish(dir, &manifest, &files)?;
    forget_old(dir, manifest.generation, live.map(|live| live.manifest().generation));
    Ok(Written::New(manifest.generation))
}

fn manifest(draft: &Draft, contents: &[(&str, Vec<u8>)]) -> Manifest {
    Manifest {
        format_version: FORMAT_VERSION,
        generation: 0,
        toolscout: env!("CARGO_PKG_VERSION").to_owned(),
        embedder: draft.embedder.clone(),
        remote: draft.remote.clone(),
        summarizer: draft.summarizer.clone(),
        runtime: draft.runtime.clone(),
        storage: draft.storage,
        paper: draft.matrices.contains_key(&Matrix::ToolDescription),
        counts: draft.counts(),
        sources: draft.sources.clone(),
        rejected: draft.rejected.clone(),
        warnings: draft.warnings.clone(),
        stale: draft.stale.clone(),
        pins: draft.pins.clone(),
        withheld: draft.withheld.clone(),
        absent: draft.absent.clone(),
        files: contents.iter().map(|(name, bytes)| ((*name).to_owned(), record(bytes))).collect(),
    }
}

/// Equal but for the generation number and what follows from the rest.
fn same(live: &Manifest, new: &Manifest) -> bool {
    let mut live = live.clone();
    live.generation = new.generation;
    let has_graphs = live.files.contains_key(NEIGHBORS);
    live.files.retain(|name, _| ![SURFACE, LEXICAL, NEIGHBORS].contains(&name.as_str()));
    live == *new && has_graphs != new.graphs().is_empty()
}

fn record(bytes: &[u8]) -> FileRecord {
    FileRecord { bytes: bytes.len() as u64, sha256: sha256_hex(bytes) }
}

pub(super) fn sha256_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(super) fn to_json<T: Serialize>(what: &'static str, value: &T) -> Result<Vec<u8>, IndexError> {
    serde_json::to_vec_pretty(value).map_err(|source| IndexError::Serialise { what, source })
}

/// `catalog.jsonl` and its offsets.
fn catalog(draft: &Draft) -> Result<(Vec<u8>, Vec<u64>), IndexError> {
    let failed = |source| IndexError::Serialise { what: "catalogue record", source };
    let (mut bytes, mut offsets) = (Vec::new(), vec![0]);
    for server in &draft.servers {
        serde_json::to_writer(&mut bytes, server).map_err(failed)?;
        end_line(&mut bytes, &mut offsets);
    }
    for tool in &draft.tools {
        serde_json::to_writer(&mut bytes, &on_one_line(tool)).map_err(failed)?;
        end_line(&mut bytes, &mut offsets);
    }
    Ok((bytes, offsets))
}

fn end_line(bytes: &mut Vec<u8>, offsets: &mut Vec<u64>) {
    bytes.push(b'\n');
    offsets.push(bytes.len() as u64);
}

/// Raw JSON stays byte for byte, unless it spans lines: then the white space
/// between its tokens goes.
fn on_one_line(tool: &ToolRecord) -> ToolRecord {
    let fold = |raw: &Option<RawJson>| {
        let raw = raw.as_ref()?;
        if raw.get().contains(['\n', '\r']) {
            return RawValue::from_string(compact_json(raw.get())).ok();
        }
        Some(raw.clone())
    };
    ToolRecord {
        input_schema: fold(&tool.input_schema),
        output_schema: fold(&tool.output_schema),
        annotations: fold(&tool.annotations),
        ..tool.clone()
    }
}

fn vectors(draft: &Draft, offsets: &[u64]) -> Result<Vec<u8>, IndexError> {
    let owners = draft.tool_server.as_slice();
    let operations = draft.tool_operation.as_slice();
    let dim = draft.embedder.dim;
    let packed: Vec<(Matrix, Packed<'_>)> = draft
        .matrices
        .iter()
        .map(|(kind, matrix)| {
            let numbers = matrix.as_slice().unwrap_or_default();
            (*kind, Packed::new(numbers, dim, draft.storage.precision))
        })
        .collect();
    let mut tensors = vec![
        (OFFSETS.to_owned(), Slice::new(Dtype::U64, vec![offsets.len()], offsets)),
        (TOOL_SERVER.to_owned(), Slice::new(Dtype::U32, vec![owners.len()], owners)),
        (TOOL_OPERATION.to_owned(), Slice::new(Dtype::U8, vec![operations.len()], operations)),
    ];
    for (kind, packed) in &packed {
        let name = kind.name().to_owned();
        let shape = draft.matrices[kind].shape().to_vec();
        tensors.push((
            name,
            match packed {
                Packed::F32(numbers) => Slice::new(Dtype::F32, shape, numbers),
                Packed::F16(bits) => Slice::new(Dtype::F16, shape, bits),
                Packed::Int8 { codes, .. } => Slice::new(Dtype::I8, shape, codes),
            },
        ));
        if let Packed::Int8 { scales, .. } = packed {
            let scales = Slice::new(Dtype::F32, vec![scales.len()], scales);
            tensors.push((kind.scales_name(), scales));
        }
    }
    serialize(VECTORS, tensors)
}
