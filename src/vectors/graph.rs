//! A graph of near neighbours, searched without looking at every row.
//!
//! Two layers of an HNSW graph (Malkov and Yashunin, arXiv 1603.09320, algorithm
//! 2) over slices, so that it is searched where it is mapped. The upper layer,
//! some four in a hundred nodes, gives the starts for the search of all. Layers
//! above it only find a start in it, for which a few hundred nodes are compared.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{Rows, rounded};

/// Nodes that a search keeps for each row asked for. What fewer and more cost
/// and find at 100,000 and 1,000,000 rows stands in `eval/reports/size.md`.
const NODES_A_ROW: usize = 3;

/// Nodes of the upper layer that a search begins with.
const ENTRIES: usize = 256;

/// Nodes that the search of the upper layer keeps, and the next one starts from.
const STARTS: usize = 128;

/// Distinct vectors as nodes, linked to near ones.
#[derive(Clone, Copy, Debug)]
pub struct Graph<'a> {
    /// `[n_nodes × dim]` in int8: a quarter of the memory traffic of f32.
    pub codes: Rows<'a>,
    /// The rows that hold the vector of a node, ascending.
    pub rows: Lists<'a>,
    /// The nodes that a node is linked to.
    pub links: Lists<'a>,
    /// The nodes of the upper layer, those of the layers above it first.
    pub upper: &'a [u32],
    /// Their links, as places in `upper`.
    pub upper_links: Lists<'a>,
}

/// Lists of ids, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Lists<'a> {
    /// `[n_lists + 1]`, ascending: where a list starts in `ids`.
    pub starts: &'a [u32],
    /// What is listed.
    pub ids: &'a [u32],
}

/// What a search met; the greater is the nearer, then the lower id.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Near {
    cosine: f32,
    id: u32,
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
        let query = &rounded(query)[..];
        let entries = (0..).take(self.upper.len().min(ENTRIES));
        let upper_node = |place: u32| self.upper[place as usize];
        let starts = self.walk(query, (self.upper_links, upper_node), entries, STARTS);
        let starts = starts.into_iter().map(|near| upper_node(near.id));
        let found = self.walk(query, (self.links, |node| node), starts, beam.max(n));
        found
            .into_iter()
            .flat_map(|near| self.rows.of(near.id))
            .take(n)
            .map(|row| *row as usize)
            .collect()
    }

    /// Whether every number points to something that is there.
    #[must_use]
    pub fn is_sound(&self, n_rows: usize) -> bool {
        let (n_nodes, n_upper) = (self.codes.n_rows(), self.upper.len());
        self.rows.are_sound(n_nodes, n_rows)
            && self.links.are_sound(n_nodes, n_nodes)
            && self.upper.iter().all(|node| (*node as usize) < n_nodes)
            && self.upper_links.are_sound(n_upper, n_upper)
    }

    /// The `beam` nearest found in a layer, nearest first: from `starts` along
    /// the links, while one of them is nearer than the worst kept.
    ///
    /// Ids are places in the layer; `node_of` gives their nodes.
    fn walk(
        &self,
        query: &[i16],
        (links, node_of): (Lists<'_>, impl Fn(u32) -> u32),
        starts: impl Iterator<Item = u32>,
        beam: usize,
    ) -> Vec<Near> {
        let near =
            |id: u32| Near { cosine: self.codes.cosine_with(node_of(id) as usize, query), id };
        let mut starts: Vec<Near> = starts.map(near).collect();
        starts.sort_unstable_by(|a, b| b.cmp(a));
        starts.truncate(beam);
        let mut seen = Seen::new(links.starts.len());
        for start in &starts {
            seen.insert(start.id);
        }
        let mut kept: BinaryHeap<Reverse<Near>> = starts.iter().copied().map(Reverse).collect();
        let mut open = BinaryHeap::from(starts);
        let mut fresh: Vec<u32> = Vec::new();
        while let Some(next) = open.pop() {
            if kept.len() >= beam && kept.peek().is_some_and(|worst| next < worst.0) {
                break;
            }
            fresh.clear();
            fresh.extend(links.of(next.id).iter().filter(|id| seen.insert(**id)));
            fresh.iter().for_each(|id| self.codes.touch(node_of(*id) as usize));
            for found in fresh.iter().map(|id| near(*id)) {
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
}

impl<'a> Lists<'a> {
    fn of(&self, id: u32) -> &'a [u32] {
        &self.ids[self.starts[id as usize] as usize..self.starts[id as usize + 1] as usize]
    }

    /// Whether these are `n` lists of ids below `end`.
    fn are_sound(&self, n: usize, end: usize) -> bool {
        let ends = (self.starts.first(), self.starts.last());
        self.starts.len() == n + 1
            && self.starts.is_sorted()
            && matches!(ends, (Some(0), Some(&last)) if last as usize == self.ids.len())
            && self.ids.iter().all(|id| (*id as usize) < end)
    }
}

impl Eq for Near {}

impl Ord for Near {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.cosine.total_cmp(&other.cosine).then(other.id.cmp(&self.id))
    }
}

impl PartialOrd for Near {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// One bit an id.
struct Seen(Vec<u64>);

impl Seen {
    fn new(n_ids: usize) -> Self {
        Self(vec![0; n_ids.div_ceil(64)])
    }

    /// Whether the id was not in yet.
    fn insert(&mut self, id: u32) -> bool {
        let (word, bit) = (&mut self.0[id as usize / 64], 1 << (id % 64));
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
    /// rows n and n + 8; nodes 5 and 1 are the upper layer.
    fn check(test: impl Fn(Graph<'_>)) {
        let angle = |n: u8| f32::from(n) * std::f32::consts::TAU / 8.0;
        let numbers: Vec<f32> = (0..8).flat_map(|n| [angle(n).cos(), angle(n).sin()]).collect();
        let packed = Packed::new(&numbers, 2, Precision::Int8);
        let links: Vec<u32> = (0..8).flat_map(|n| [(n + 1) % 8, (n + 2) % 8]).collect();
        let rows: Vec<u32> = (0..8).flat_map(|n| [n, n + 8]).collect();
        let starts: Vec<u32> = (0..=8).map(|n| 2 * n).collect();
        test(Graph {
            codes: packed.rows(2).unwrap(),
            rows: Lists { starts: &starts, ids: &rows },
            links: Lists { starts: &starts, ids: &links },
            upper: &[5, 1],
            upper_links: Lists { starts: &[0, 1, 1], ids: &[1] },
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
            let Lists { starts, ids } = graph.links;
            for links in [
                Lists { starts, ids: &ids[1..] },
                Lists { starts, ids: &[9; 16] },
                Lists { starts: &starts[1..], ids },
                Lists { starts: &[16; 9], ids },
            ] {
                assert!(!Graph { links, ..graph }.is_sound(16));
            }
            let none = Lists { starts: &[0, 0, 0], ids: &[] };
            assert!(Graph { upper_links: none, ..graph }.is_sound(16));
            assert!(!Graph { upper: &[8, 1], ..graph }.is_sound(16));
            assert!(!Graph { upper: &[5], ..graph }.is_sound(16));
        });
    }

    #[test]
    fn an_empty_graph_finds_nothing() {
        let codes = Packed::new(&[], 2, Precision::Int8);
        let none = Lists { starts: &[0], ids: &[] };
        let codes = codes.rows(2).unwrap();
        let graph = Graph { codes, rows: none, links: none, upper: &[], upper_links: none };
        assert!(graph.is_sound(0));
        assert!(graph.nearest(&[1.0, 0.0], 3).is_empty());
    }
}
