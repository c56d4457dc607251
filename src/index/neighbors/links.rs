//! Rows → links: `hnsw_rs` inserts the distinct ones, its base layer is kept.

use std::collections::HashMap;

use hnsw_rs::prelude::{Distance, Hnsw};

use crate::vectors::Packed;
use crate::vectors::Rows;
use crate::vectors::quantise;

/// Links a node and layer (M; the base layer has up to twice as many), and
/// candidates looked at to choose them. What more and fewer cost and bring
/// stands in `eval/reports/size.md`.
const LINKS: usize = 24;
const CANDIDATES: usize = 100;

/// `hnsw_rs` knows no more layers.
const MAX_LAYERS: usize = 16;

/// Nodes inserted one by one at first: two that find an empty graph at the
/// same time would never be linked.
const ALONE: usize = 1_000;

/// Entries taken from the upper layers; every search looks at all of them.
const MAX_ENTRIES: usize = 256;

/// A graph as it is written; see `vectors::Graph`.
#[derive(Default)]
pub(super) struct Links {
    pub(super) codes: Vec<i8>,
    pub(super) scales: Vec<f32>,
    pub(super) link_starts: Vec<u32>,
    pub(super) links: Vec<u32>,
    pub(super) row_starts: Vec<u32>,
    pub(super) rows: Vec<u32>,
    pub(super) entries: Vec<u32>,
}

impl Links {
    /// Links the distinct rows; zero rows, and any that is no vector, are left
    /// out.
    pub(super) fn new<'a>(rows: impl Iterator<Item = &'a [f32]>, dim: usize) -> Self {
        let mut graph = Self::default();
        let node_of_row = graph.add_distinct(rows);
        graph.add_rows(&node_of_row);
        let packed = Packed::Int8 {
            codes: std::mem::take(&mut graph.codes),
            scales: std::mem::take(&mut graph.scales),
        };
        if let Some(codes) = packed.rows(dim) {
            graph.link(codes);
        }
        if let Packed::Int8 { codes, scales } = packed {
            (graph.codes, graph.scales) = (codes, scales);
        }
        graph
    }

    /// Codes of every distinct row, and the node of each row.
    fn add_distinct<'a>(&mut self, rows: impl Iterator<Item = &'a [f32]>) -> Vec<Option<u32>> {
        let mut nodes: HashMap<&[u8], u32> = HashMap::new();
        let mut add = |row: &'a [f32]| {
            let norm = row.iter().map(|number| number * number).sum::<f32>();
            if !norm.is_normal() {
                return None;
            }
            Some(*nodes.entry(bytemuck::cast_slice(row)).or_insert_with(|| {
                self.scales.push(quantise(row, &mut self.codes));
                id(self.scales.len() - 1)
            }))
        };
        rows.map(&mut add).collect()
    }

    /// The rows of every node, ascending: a counting sort.
    fn add_rows(&mut self, node_of_row: &[Option<u32>]) {
        let mut starts = vec![0_u32; self.scales.len() + 1];
        for node in node_of_row.iter().flatten() {
            starts[*node as usize + 1] += 1;
        }
        for node in 1..starts.len() {
            starts[node] += starts[node - 1];
        }
        self.row_starts.clone_from(&starts);
        self.rows = vec![0; node_of_row.iter().flatten().count()];
        for (row, node) in node_of_row.iter().enumerate() {
            if let Some(node) = node {
                let next = &mut starts[*node as usize];
                self.rows[*next as usize] = id(row);
                *next += 1;
            }
        }
    }

    /// Links and entries of the nodes with these codes.
    fn link(&mut self, codes: Rows<'_>) {
        let ids: Vec<u32> = (0..codes.n_rows()).map(id).collect();
        let hnsw = Hnsw::new(LINKS, ids.len().max(1), MAX_LAYERS, CANDIDATES, CodeDistance(codes));
        let mut items = ids.iter().map(|node| (std::slice::from_ref(node), *node as usize));
        items.by_ref().take(ALONE).for_each(|item| hnsw.insert(item));
        hnsw.parallel_insert_slice(&items.collect());
        let points = hnsw.get_point_indexation();
        let mut links = vec![Vec::new(); ids.len()];
        for layer in (0..=usize::from(points.get_max_level_observed())).rev() {
            for point in points.get_layer_iterator(layer) {
                let node = point.get_origin_id();
                if self.entries.len() < MAX_ENTRIES {
                    self.entries.push(id(node));
                }
                let base = point.get_neighborhood_id().swap_remove(0);
                links[node] = base.iter().map(|neighbor| id(neighbor.d_id)).collect();
            }
        }
        self.add_unreachable(&links);
        self.link_starts.push(0);
        for links in links {
            self.links.extend(links);
            self.link_starts.push(id(self.links.len()));
        }
    }

    /// Adds the nodes that no path leads to, which are few, to the entries.
    fn add_unreachable(&mut self, links: &[Vec<u32>]) {
        let mut is_reached = vec![false; links.len()];
        let mut open = self.entries.clone();
        for node in 0..=links.len() {
            while let Some(node) = open.pop() {
                if !std::mem::replace(&mut is_reached[node as usize], true) {
                    open.extend(&links[node as usize]);
                }
            }
            if is_reached.get(node) == Some(&false) {
                self.entries.push(id(node));
                open.push(id(node));
            }
        }
    }
}

/// Nodes are the ids that `hnsw_rs` keeps; it compares them by their codes.
struct CodeDistance<'a>(Rows<'a>);

impl Distance<u32> for CodeDistance<'_> {
    /// 1 - cos; never below 0, which `hnsw_rs` does not stand.
    fn eval(&self, a: &[u32], b: &[u32]) -> f32 {
        (1.0 - self.0.cosine_of_codes(a[0] as usize, b[0] as usize)).max(0.0)
    }
}

#[expect(clippy::expect_used, reason = "a graph of so many links fits no memory")]
fn id(n: usize) -> u32 {
    u32::try_from(n).expect("there are fewer than 2^32 rows and links")
}
