//! Rows → links: `hnsw_rs` inserts the distinct ones, two of its layers are kept.
//!
//! One after another, so that equal rows give equal links.

use std::collections::HashMap;

use hnsw_rs::prelude::{Distance, Hnsw};

use crate::vectors::Graph;
use crate::vectors::Lists;
use crate::vectors::Packed;
use crate::vectors::Rows;
use crate::vectors::quantise;

/// Links a node and layer (M; the base layer has up to twice as many), and
/// candidates looked at to choose them. What they cost and find stands in
/// `eval/reports/size.md`.
const LINKS: usize = 24;
const CANDIDATES: usize = 100;

/// `hnsw_rs` knows no more layers.
const MAX_LAYERS: usize = 16;

/// A graph as it is written; see `vectors::Graph`.
#[derive(Default)]
pub(super) struct Links {
    pub(super) codes: Vec<i8>,
    pub(super) scales: Vec<f32>,
    pub(super) rows: OwnedLists,
    pub(super) layers: Layers,
}

/// What an insertion gives; the rest of a graph is what it was given.
#[derive(Default)]
pub(super) struct Layers {
    pub(super) links: OwnedLists,
    pub(super) upper: Vec<u32>,
    pub(super) upper_links: OwnedLists,
}

/// See [`Lists`].
#[derive(Debug, Default, PartialEq)]
pub(super) struct OwnedLists {
    pub(super) starts: Vec<u32>,
    pub(super) ids: Vec<u32>,
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
            graph.layers = match before.filter(|before| before.codes == codes) {
                Some(before) => Layers::of(before),
                None => Layers::new(codes),
            };
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

    /// The rows of every node, ascending.
    fn add_rows(&mut self, node_of_row: &[Option<u32>]) {
        let mut rows = vec![Vec::new(); self.scales.len()];
        for (row, node) in node_of_row.iter().enumerate() {
            if let Some(node) = node {
                rows[*node as usize].push(id(row));
            }
        }
        self.rows = OwnedLists::new(&rows);
    }
}

impl Layers {
    /// Inserts the nodes with these codes.
    fn new(codes: Rows<'_>) -> Self {
        let ids: Vec<u32> = (0..codes.n_rows()).map(id).collect();
        let hnsw = Hnsw::new(LINKS, ids.len().max(1), MAX_LAYERS, CANDIDATES, CodeDistance(codes));
        for node in &ids {
            hnsw.insert((std::slice::from_ref(node), *node as usize));
        }
        let points = hnsw.get_point_indexation();
        let mut links = vec![Vec::new(); ids.len()];
        let (mut upper, mut upper_links) = (Vec::new(), Vec::new());
        for layer in (0..=usize::from(points.get_max_level_observed())).rev() {
            for point in points.get_layer_iterator(layer) {
                let node = point.get_origin_id();
                let layers = point.get_neighborhood_id();
                let nodes = |layer: usize| layers[layer].iter().map(|near| id(near.d_id));
                links[node] = nodes(0).collect::<Vec<u32>>();
                if layer > 0 {
                    upper.push(id(node));
                    upper_links.push(nodes(1).collect::<Vec<u32>>());
                }
            }
        }
        if upper.is_empty() && !links.is_empty() {
            upper.push(0);
            upper_links.push(Vec::new());
        }
        number_within(&upper, &mut upper_links);
        link_unreachable(&upper, &mut links);
        let [links, upper_links] = [links, upper_links].map(|lists| OwnedLists::new(&lists));
        Self { links, upper, upper_links }
    }

    fn of(graph: Graph<'_>) -> Self {
        Self {
            links: OwnedLists::of(graph.links),
            upper: graph.upper.to_vec(),
            upper_links: OwnedLists::of(graph.upper_links),
        }
    }
}

/// Names nodes by their places in `upper`; `hnsw_rs` links a few others too.
fn number_within(upper: &[u32], links: &mut [Vec<u32>]) {
    let places: HashMap<u32, u32> = upper.iter().copied().zip(0..).collect();
    for links in links {
        *links = links.iter().filter_map(|node| places.get(node).copied()).collect();
    }
}

/// Links the nodes that no path from `upper` leads to, which are few, from one
/// of their own links.
fn link_unreachable(upper: &[u32], links: &mut [Vec<u32>]) {
    let mut is_reached = vec![false; links.len()];
    let mut open = upper.to_vec();
    for node in 0..=links.len() {
        while let Some(node) = open.pop() {
            if !std::mem::replace(&mut is_reached[node as usize], true) {
                open.extend(&links[node as usize]);
            }
        }
        if is_reached.get(node) == Some(&false) {
            let near = links[node].iter().find(|near| is_reached[**near as usize]);
            let from = near.copied().unwrap_or(upper[0]);
            links[from as usize].push(id(node));
            open.push(id(node));
        }
    }
}

impl OwnedLists {
    fn new(lists: &[Vec<u32>]) -> Self {
        let mut starts = vec![0];
        let mut end = 0;
        for list in lists {
            end += list.len();
            starts.push(id(end));
        }
        Self { starts, ids: lists.concat() }
    }

    fn of(lists: Lists<'_>) -> Self {
        Self { starts: lists.starts.to_vec(), ids: lists.ids.to_vec() }
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

    fn as_lists(lists: &OwnedLists) -> Lists<'_> {
        Lists { starts: &lists.starts, ids: &lists.ids }
    }

    fn graph<'a>(links: &'a Links, codes: Rows<'a>) -> Graph<'a> {
        Graph {
            codes,
            rows: as_lists(&links.rows),
            links: as_lists(&links.layers.links),
            upper: &links.layers.upper,
            upper_links: as_lists(&links.layers.upper_links),
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
        assert_eq!((first.scales.len(), first.rows.ids.len()), (40, 41));
        let (codes, scales) = (first.codes.clone(), first.scales.clone());
        let packed = Packed::Int8 { codes, scales };
        let codes = packed.rows(2).unwrap();
        first.layers.links.ids.reverse();
        let again = links(&rows, Some(graph(&first, codes)));
        assert_eq!(again.layers.links, first.layers.links);
        assert_eq!(again.layers.upper, first.layers.upper);
        let other = links(&others, Some(graph(&first, codes)));
        assert_eq!(other.layers.links, links(&others, None).layers.links);
    }

    #[test]
    fn every_node_gets_a_path() {
        let mut links = vec![vec![1], vec![], vec![1], vec![4], vec![3], vec![]];
        link_unreachable(&[0], &mut links);
        assert_eq!(links[1], [2], "its link leads to a node that is reached");
        assert_eq!(links[0], [1, 3, 5], "theirs do not");
    }

    #[test]
    fn no_rows_and_one_row_are_graphs() {
        let zero = links(&[[0.0; 2]], None);
        assert!(zero.layers.upper.is_empty());
        let one = links(&[[1.0, 0.0]], None);
        assert_eq!((one.rows.ids.len(), &one.layers.upper[..]), (1, &[0][..]));
    }
}
