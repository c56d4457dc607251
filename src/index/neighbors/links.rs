//! Rows → links: `hnsw_rs` inserts the distinct ones, its base layer is kept.
//!
//! One after another, so that equal rows give equal links.

use std::collections::HashMap;

use hnsw_rs::prelude::{Distance, Hnsw};

use crate::vectors::Graph;
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
    /// out. The links of the graph `before` are taken over if its nodes are the
    /// same.
    pub(super) fn new<'a>(
        rows: impl Iterator<Item = &'a [f32]>,
        dim: usize,
        before: Option<Graph<'_>>,
    ) -> Self {
        let mut graph = Self::default();
        let node_of_row = graph.add_distinct(rows);
        graph.add_rows(&node_of_row);
        let packed = Packed::Int8 {
            codes: std::mem::take(&mut graph.codes),
            scales: std::mem::take(&mut graph.scales),
        };
        if let Some(codes) = packed.rows(dim) {
            match before.filter(|before| before.codes == codes) {
                Some(before) => graph.take_over(before),
                None => graph.link(codes),
            }
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

    fn take_over(&mut self, before: Graph<'_>) {
        self.link_starts = before.link_starts.to_vec();
        self.links = before.links.to_vec();
        self.entries = before.entries.to_vec();
    }

    /// Links and entries of the nodes with these codes.
    fn link(&mut self, codes: Rows<'_>) {
        let ids: Vec<u32> = (0..codes.n_rows()).map(id).collect();
        let hnsw = Hnsw::new(LINKS, ids.len().max(1), MAX_LAYERS, CANDIDATES, CodeDistance(codes));
        for node in &ids {
            hnsw.insert((std::slice::from_ref(node), *node as usize));
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::Rows;

    fn graph<'a>(links: &'a Links, codes: Rows<'a>) -> Graph<'a> {
        Graph {
            codes,
            link_starts: &links.link_starts,
            links: &links.links,
            row_starts: &links.row_starts,
            rows: &links.rows,
            entries: &links.entries,
        }
    }

    /// A circle of rows, the first of which comes again at the end.
    fn circle(n: u16) -> Vec<[f32; 2]> {
        let angle = |row: u16| f32::from(row % n) * std::f32::consts::TAU / f32::from(n);
        (0..=n).map(|row| [angle(row).cos(), angle(row).sin()]).collect()
    }

    fn links(rows: &[[f32; 2]], before: Option<Graph<'_>>) -> Links {
        Links::new(rows.iter().map(|row| &row[..]), 2, before)
    }

    #[test]
    fn links_are_taken_over_only_between_the_same_nodes() {
        let (rows, others) = (circle(40), circle(41));
        let mut first = links(&rows, None);
        assert_eq!((first.scales.len(), first.rows.len()), (40, 41));
        let (codes, scales) = (first.codes.clone(), first.scales.clone());
        let packed = Packed::Int8 { codes, scales };
        let codes = packed.rows(2).unwrap();
        first.links.reverse();
        let again = links(&rows, Some(graph(&first, codes)));
        assert_eq!(again.links, first.links);
        assert_eq!(again.entries, first.entries);
        let other = links(&others, Some(graph(&first, codes)));
        assert_eq!(other.links, links(&others, None).links);
    }
}
