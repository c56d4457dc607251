//! Stage 1, the score of a server.

use super::top_k::{higher, top_k, top_rows};
use super::{Corpus, NOT_ALLOWED, mask};
use crate::vectors::Graph;
use crate::vectors::Rows;

/// Rows asked of a graph for each server wanted: three texts a server, five
/// times over, since the codes of a graph order only about right.
const ROWS_A_SERVER: usize = 15;

/// s_server = max over a server's texts of cos(query, text), clamped at 0
/// (MCP-Zero §3.2 takes description and summary).
///
/// The clamp is ours: two negative factors must not multiply to a positive.
/// Known of all servers, or computed when asked for where a graph finds the
/// best.
pub(super) struct Scores<'a> {
    texts: &'a [Rows<'a>],
    graph: Option<Graph<'a>>,
    query: &'a [f32],
    all: Option<Vec<f32>>,
}

impl<'a> Scores<'a> {
    pub(super) fn new(corpus: &'a Corpus<'a>, query: &'a [f32]) -> Self {
        let (texts, graph) = (&corpus.server_texts[..], corpus.graph_of_servers());
        let all = graph.is_none().then(|| {
            let mut all = all(texts, query);
            mask(&mut all, corpus.allowed.map(|allowed| allowed.servers));
            all
        });
        Self { texts, graph, query, all }
    }

    pub(super) fn n_servers(&self) -> usize {
        self.texts.first().map_or(0, Rows::n_rows)
    }

    pub(super) fn of(&self, server: usize) -> f32 {
        match &self.all {
            Some(all) => all[server],
            None => {
                self.texts.iter().map(|text| text.cosine(server, self.query)).fold(0.0, f32::max)
            }
        }
    }

    /// The `n` best servers with their scores, best first.
    pub(super) fn best(&self, n: usize) -> Vec<(f32, usize)> {
        let Some(graph) = self.graph else {
            let mut best = self.all.as_deref().map(|all| top_rows(all, n)).unwrap_or_default();
            best.retain(|(score, _)| *score > NOT_ALLOWED);
            return best;
        };
        let rows = graph.nearest(self.query, n * ROWS_A_SERVER).into_iter();
        let mut servers: Vec<usize> = rows.map(|row| row % self.n_servers()).collect();
        servers.sort_unstable();
        servers.dedup();
        top_k(servers.into_iter().map(|server| (self.of(server), server)), n, higher)
    }
}

fn all(texts: &[Rows<'_>], query: &[f32]) -> Vec<f32> {
    let n_servers = texts.first().map_or(0, Rows::n_rows);
    let mut best = vec![0.0_f32; n_servers];
    for text in texts {
        let [cosines] = text.cosines([query]);
        for (best, cosine) in best.iter_mut().zip(cosines) {
            *best = best.max(cosine);
        }
    }
    best
}
