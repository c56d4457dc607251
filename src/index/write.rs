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

use super::format::{CATALOG, LEXICAL, OFFSETS, SURFACE, TOOL_SERVER, VECTORS};
use super::lexical;
use super::publish::{forget_old, newest_generation, publish, remove_leftovers};
use super::tensor::{Slice, serialize};
use super::{
    Absent, BuildLock, Counts, FORMAT_VERSION, FileRecord, Index, IndexError, Manifest, Matrix,
    ServerRecord, SourceRecord, Surface, ToolRecord,
};
use crate::catalog::RawJson;
use crate::catalog::Reject;
use crate::catalog::compact_json;
use crate::embed::Identity;
use crate::embed::RemoteModel;

/// All that goes into a generation.
#[derive(Debug)]
pub struct Draft {
    /// In id order.
    pub servers: Vec<ServerRecord>,
    /// In id order; tools of one server are neighbours, servers ascend.
    pub tools: Vec<ToolRecord>,
    /// Owner of each tool, `[n_tools]`.
    pub tool_server: Vec<u32>,
    /// The words by which each tool is found, `[n_tools]`.
    pub words: Vec<String>,
    /// The matrices; shapes as [`Matrix`] says.
    pub matrices: BTreeMap<Matrix, Array2<f32>>,
    /// Zero rows, by matrix name.
    pub absent: BTreeMap<String, Absent>,
    /// Model the vectors are from.
    pub embedder: Identity,
    /// Where that model answers, if it is not a local one.
    pub remote: Option<RemoteModel>,
    /// Runtime the vectors are from.
    pub runtime: String,
    /// Source files.
    pub sources: Vec<SourceRecord>,
    /// Rejected records.
    pub rejected: Vec<Reject>,
    /// Warnings.
    pub warnings: Vec<String>,
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
    manifest.files.insert(SURFACE.to_owned(), record(&surface));
    manifest.files.insert(LEXICAL.to_owned(), record(&words));
    manifest.generation = newest_generation(dir).map_or(1, |newest| newest + 1);
    let [vectors, catalog] = contents;
    publish(dir, &manifest, &[vectors, catalog, (SURFACE, surface), (LEXICAL, words)])?;
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
        runtime: draft.runtime.clone(),
        paper: draft.matrices.contains_key(&Matrix::ToolDescription),
        counts: Counts { servers: draft.servers.len(), tools: draft.tools.len() },
        sources: draft.sources.clone(),
        rejected: draft.rejected.clone(),
        warnings: draft.warnings.clone(),
        absent: draft.absent.clone(),
        files: contents.iter().map(|(name, bytes)| ((*name).to_owned(), record(bytes))).collect(),
    }
}

/// Equal but for the generation number and what follows from the rest.
fn same(live: &Manifest, new: &Manifest) -> bool {
    let mut live = live.clone();
    live.generation = new.generation;
    live.files.remove(SURFACE);
    live.files.remove(LEXICAL);
    live == *new
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
    let mut tensors = vec![
        (OFFSETS, Slice::new(Dtype::U64, vec![offsets.len()], offsets)),
        (TOOL_SERVER, Slice::new(Dtype::U32, vec![owners.len()], owners)),
    ];
    for (kind, matrix) in &draft.matrices {
        let numbers = matrix.as_slice().unwrap_or_default();
        tensors.push((kind.name(), Slice::new(Dtype::F32, matrix.shape().to_vec(), numbers)));
    }
    serialize(VECTORS, tensors)
}
