//! A graph of near neighbours, searched without looking at every row.
//!
//! The base layer of an HNSW graph (Malkov and Yashunin, arXiv 1603.09320,
//! algorithm 2) over slices, so that it is searched where it is mapped. Its
//! upper layers only find a start; here the nearest of a few hundred of their
//! nodes are the start, as high-dimensional vectors need no hierarchy
//! (Munyampirwa et al., arXiv 2412.01940).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Rows;

/// Nodes that a search keeps for each row asked for. What fewer and more cost
/// and find at 100,000 and 1,000,000 rows stands in `eval/reports/size.md`.
const NODES_A_ROW: usize = 4;

/// Entries from which a search starts.
const STARTS: usize = 8;

/// Distinct vectors as nodes, linked to near ones.
#[derive(Clone, Copy, Debug)]
pub struct Graph<'a> {
    /// `[n_nodes × dim]` in int8: a quarter of the memory traffic of f32.
    pub codes: Rows<'a>,
    /// `[n_nodes + 1]`, ascending: where the links of a node start in `links`.
    pub link_starts: &'a [u32],
    /// Nodes.
    pub links: &'a [u32],
    /// `[n_nodes + 1]`, ascending: where the rows of a node start in `rows`.
    pub row_starts: &'a [u32],
    /// Rows that hold the vector of a node, ascending within it.
    pub rows: &'a [u32],
    /// Nodes from which every other can be reached.
    pub entries: &'a [u32],
}

/// A node met by a search; the greater is the nearer, then the lower node.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Near {
    cosine: f32,
    node: u32,
}

impl Graph<'_> {
    /// About the `n` nearest rows, nearest first by the cosine with their codes.
    ///
    /// The codes differ from the rows by their rounding: ask for some more
    /// than are needed and compare those exactly.
    #[must_use]
    pub fn nearest(&self, query: &[f32], n: usize) -> Vec<usize> {
        self.nearest_within(query, n, n * NODES_A_ROW)
    }

    /// The same with another number of nodes kept, to measure what it does.
    #[must_use]
    pub fn nearest_within(&self, query: &[f32], n: usize, beam: usize) -> Vec<usize> {
        let nodes = self.walk(query, beam.max(n));
        nodes.into_iter().flat_map(|near| self.rows_of(near.node)).take(n).collect()
    }

    /// Whether every number points to something that is there.
    #[must_use]
    pub fn is_sound(&self, n_rows: usize) -> bool {
        let n_nodes = self.codes.n_rows();
        let starts = |starts: &[u32], n: usize| {
            let ends = (starts.first(), starts.last());
            starts.len() == n_nodes + 1
                && starts.is_sorted()
                && matches!(ends, (Some(0), Some(&last)) if last as usize == n)
        };
        let within = |ids: &[u32], n: usize| ids.iter().all(|id| (*id as usize) < n);
        starts(self.link_starts, self.links.len())
            && starts(self.row_starts, self.rows.len())
            && within(self.links, n_nodes)
            && within(self.entries, n_nodes)
            && within(self.rows, n_rows)
    }

    /// The `beam` nearest nodes found, nearest first.
    fn walk(&self, query: &[f32], beam: usize) -> Vec<Near> {
        let near = |node: u32| Near { cosine: self.codes.cosine(node as usize, query), node };
        let mut starts: Vec<Near> = self.entries.iter().map(|node| near(*node)).collect();
        starts.sort_unstable_by(|a, b| b.cmp(a));
        starts.truncate(STARTS);
        let mut seen = Seen::new(self.codes.n_rows());
        for start in &starts {
            seen.insert(start.node);
        }
        let mut kept: BinaryHeap<Reverse<Near>> = starts.iter().copied().map(Reverse).collect();
        let mut open = BinaryHeap::from(starts);
        let mut fresh: Vec<u32> = Vec::new();
        while let Some(next) = open.pop() {
            if kept.len() >= beam && kept.peek().is_some_and(|worst| next < worst.0) {
                break;
            }
            fresh.clear();
            fresh.extend(self.links_of(next.node).iter().filter(|node| seen.insert(**node)));
            fresh.iter().for_each(|node| self.codes.touch(*node as usize));
            for found in fresh.iter().map(|node| near(*node)) {
                if kept.len() < beam {
                    kept.push(Reverse(found));
                    open.push(found);
                } else if let Some(mut worst) = kept.peek_mut()
                    && worst.0 < found
                {
                    *worst = Reverse(found);
                    open.push(found);
                }
            }
        }
        kept.into_sorted_vec().into_iter().map(|kept| kept.0).collect()
    }

    fn links_of(&self, node: u32) -> &[u32] {
        &self.links[slice_of(self.link_starts, node)]
    }

    fn rows_of(&self, node: u32) -> impl Iterator<Item = usize> {
        self.rows[slice_of(self.row_starts, node)].iter().map(|row| *row as usize)
    }
}

fn slice_of(starts: &[u32], node: u32) -> std::ops::Range<usize> {
    starts[node as usize] as usize..starts[node as usize + 1] as usize
}

impl Eq for Near {}

impl Ord for Near {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.cosine.total_cmp(&other.cosine).then(other.node.cmp(&self.node))
    }
}

impl PartialOrd for Near {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// One bit a node.
struct Seen(Vec<u64>);

impl Seen {
    fn new(n_nodes: usize) -> Self {
        Self(vec![0; n_nodes.div_ceil(64)])
    }

    /// Whether the node was not in yet.
    fn insert(&mut self, node: u32) -> bool {
        let (word, bit) = (&mut self.0[node as usize / 64], 1 << (node % 64));
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::Packed;
    use crate::vectors::Precision;

    /// Eight nodes around a circle, each linked to the next two; node n has
    /// rows n and n + 8.
    fn check(test: impl Fn(Graph<'_>)) {
        let angle = |n: u8| f32::from(n) * std::f32::consts::TAU / 8.0;
        let numbers: Vec<f32> = (0..8).flat_map(|n| [angle(n).cos(), angle(n).sin()]).collect();
        let packed = Packed::new(&numbers, 2, Precision::Int8);
        let links: Vec<u32> = (0..8).flat_map(|n| [(n + 1) % 8, (n + 2) % 8]).collect();
        let rows: Vec<u32> = (0..8).flat_map(|n| [n, n + 8]).collect();
        let starts: Vec<u32> = (0..=8).map(|n| 2 * n).collect();
        test(Graph {
            codes: packed.rows(2).unwrap(),
            link_starts: &starts,
            links: &links,
            row_starts: &starts,
            rows: &rows,
            entries: &[5],
        });
    }

    #[test]
    fn the_nearest_rows_come_first_and_equal_rows_by_id() {
        check(|graph| {
            assert_eq!(graph.nearest(&[0.0, 1.0], 2), [2, 10]);
            assert_eq!(graph.nearest(&[0.8, 0.6], 5), [1, 9, 0, 8, 2]);
            assert_eq!(graph.nearest(&[0.8, 0.6], 100).len(), 16);
            assert_eq!(graph.nearest(&[0.8, 0.6], 0), Vec::<usize>::new());
        });
    }

    #[test]
    fn a_graph_that_points_nowhere_is_not_sound() {
        check(|graph| {
            assert!(graph.is_sound(16));
            assert!(!graph.is_sound(15));
            assert!(!Graph { entries: &[8], ..graph }.is_sound(16));
            assert!(!Graph { links: &graph.links[1..], ..graph }.is_sound(16));
            assert!(!Graph { links: &[9; 16], ..graph }.is_sound(16));
            assert!(!Graph { row_starts: &graph.row_starts[1..], ..graph }.is_sound(16));
            assert!(!Graph { link_starts: &[16; 9], ..graph }.is_sound(16));
        });
    }

    #[test]
    fn an_empty_graph_finds_nothing() {
        let codes = Packed::new(&[], 2, Precision::Int8);
        let graph = Graph {
            codes: codes.rows(2).unwrap(),
            link_starts: &[0],
            links: &[],
            row_starts: &[0],
            rows: &[],
            entries: &[],
        };
        assert!(graph.is_sound(0));
        assert!(graph.nearest(&[1.0, 0.0], 3).is_empty());
    }
}
