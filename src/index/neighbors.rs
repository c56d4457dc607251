//! Graphs of near neighbours, for matrices too large to look at every row.
//!
//! Owns one file, `neighbors.safetensors`. `hnsw_rs` builds the graphs: its
//! insertion, and its choice of neighbours while others write, are some two
//! thousand lines. Its own dump is not used: reading one makes a heap object of
//! every node and link and panics on damage. `vectors` searches the mapped
//! slices; what that takes and finds stands in `eval/reports/size.md`.

mod links;

use links::Links;

use std::path::{Path, PathBuf};

use memmap2::Mmap;
use safetensors::Dtype;

use super::format::NEIGHBORS;
use super::read::map;
use super::tensor::{Slice, Tensors, serialize};
use super::{Counts, Draft, Index, IndexError, Matrix};
use crate::vectors::Graph;
use crate::vectors::Lists;
use crate::vectors::Numbers;
use crate::vectors::Rows;

/// What a graph finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Neighbors {
    /// Rows of [`Matrix::ToolText`].
    Tools,
    /// Servers by any of their texts: rows of [`Matrix::ServerDescription`],
    /// then of [`Matrix::ServerSummary`], then of [`Matrix::ServerDigest`].
    Servers,
}

impl Neighbors {
    /// The graphs of an index of that size.
    pub(super) fn needed(counts: Counts, above: usize) -> Vec<Self> {
        let all = [Self::Tools, Self::Servers].into_iter();
        all.filter(|kind| kind.n_rows(counts) > above).collect()
    }

    pub(super) fn n_rows(self, counts: Counts) -> usize {
        match self {
            Self::Tools => counts.tools,
            Self::Servers => counts.servers * self.matrices().len(),
        }
    }

    /// Where its rows are from, in their order.
    #[must_use]
    pub fn matrices(self) -> &'static [Matrix] {
        match self {
            Self::Tools => &[Matrix::ToolText],
            Self::Servers => {
                &[Matrix::ServerDescription, Matrix::ServerSummary, Matrix::ServerDigest]
            }
        }
    }

    /// Name of a tensor.
    fn tensor(self, part: &str) -> String {
        match self {
            Self::Tools => format!("tools.{part}"),
            Self::Servers => format!("servers.{part}"),
        }
    }
}

/// The file with the graphs of `kinds`; those of the `live` generation serve
/// again where the vectors are the same.
pub(super) fn build(
    draft: &Draft,
    kinds: &[Neighbors],
    live: Option<&Index>,
) -> Result<Vec<u8>, IndexError> {
    let dim = draft.embedder.dim;
    let links = |kind: &Neighbors| {
        let matrices = kind.matrices().iter().filter_map(|matrix| draft.matrices.get(matrix));
        let rows = matrices.filter_map(|matrix| matrix.as_slice());
        let before = live.and_then(|live| live.graph(*kind));
        (*kind, Links::new(rows.flat_map(|numbers| numbers.chunks_exact(dim)), dim, before))
    };
    let built: Vec<(Neighbors, Links)> = kinds.iter().map(links).collect();
    let tensors = built.iter().flat_map(|(kind, links)| tensors(*kind, links, dim));
    serialize(NEIGHBORS, tensors.collect())
}

fn tensors(kind: Neighbors, links: &Links, dim: usize) -> Vec<(String, Slice<'_>)> {
    let n_nodes = links.scales.len();
    let mut all = vec![
        (kind.tensor("codes"), Slice::new(Dtype::I8, vec![n_nodes, dim], &links.codes)),
        (kind.tensor("scales"), Slice::new(Dtype::F32, vec![n_nodes], &links.scales)),
    ];
    let layers = &links.layers;
    for (part, ids) in [
        ("row_starts", &links.rows.starts),
        ("rows", &links.rows.ids),
        ("link_starts", &layers.links.starts),
        ("links", &layers.links.ids),
        ("upper", &layers.upper),
        ("upper_link_starts", &layers.upper_links.starts),
        ("upper_links", &layers.upper_links.ids),
    ] {
        all.push((kind.tensor(part), Slice::new(Dtype::U32, vec![ids.len()], ids)));
    }
    all
}

/// The mapped file.
#[derive(Debug)]
pub(super) struct NeighborsFile {
    path: PathBuf,
    pub(super) bytes: Mmap,
    tensors: Tensors,
}

impl NeighborsFile {
    /// Opens the file in `folder` and looks for the graphs of `kinds`.
    pub(super) fn open(folder: &Path, kinds: &[Neighbors], dim: usize) -> Result<Self, IndexError> {
        let path = folder.join(NEIGHBORS);
        let bytes = map(&path)?;
        let tensors = Tensors::parse(&path, &bytes, dtype)?;
        let file = Self { path, bytes, tensors };
        match kinds.iter().find(|kind| file.graph(**kind, dim).is_none()) {
            Some(missing) => Err(file.damaged(format!("no graph of {missing:?}, dimension {dim}"))),
            None => Ok(file),
        }
    }

    /// `None` where the file has no such graph.
    pub(super) fn graph(&self, kind: Neighbors, dim: usize) -> Option<Graph<'_>> {
        let codes = self.tensors.numbers(&self.bytes, &kind.tensor("codes"))?;
        let scales = self.tensors.numbers(&self.bytes, &kind.tensor("scales"))?;
        let ids = |part: &str| self.tensors.numbers(&self.bytes, &kind.tensor(part));
        let lists = |starts, part| Some(Lists { starts: ids(starts)?, ids: ids(part)? });
        Some(Graph {
            codes: Rows::new(dim, Numbers::Int8 { codes, scales })?,
            rows: lists("row_starts", "rows")?,
            links: lists("link_starts", "links")?,
            upper: ids("upper")?,
            upper_links: lists("upper_link_starts", "upper_links")?,
        })
    }

    /// Every number of the graph points into it, or into its matrices.
    pub(super) fn check(
        &self,
        kind: Neighbors,
        counts: Counts,
        dim: usize,
    ) -> Result<(), IndexError> {
        let n_rows = kind.n_rows(counts);
        if self.graph(kind, dim).is_some_and(|graph| graph.is_sound(n_rows)) {
            return Ok(());
        }
        Err(self.damaged(format!("the graph of {kind:?} points beyond its {n_rows} rows")))
    }

    fn damaged(&self, what: String) -> IndexError {
        IndexError::Damaged { path: self.path.clone(), what }
    }
}

fn dtype(name: &str) -> Dtype {
    match name.rsplit('.').next() {
        Some("codes") => Dtype::I8,
        Some("scales") => Dtype::F32,
        _ => Dtype::U32,
    }
}
