//! Which servers stage 2 looks at, and why.

use std::cmp::Ordering;

use super::tools::Scores;
use super::top_k::top_k;
use super::{Corpus, Width, tool_id};
use crate::catalog::{ServerId, ToolId};

/// A server in the pool.
#[derive(Clone, Debug, PartialEq)]
pub struct Pooled {
    /// The server.
    pub server: ServerId,
    /// s_server in [0, 1].
    pub score: f32,
    /// What brought it in first.
    pub reason: Reason,
}

/// What brings a server into the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Among the best servers; 1 is the best.
    BestServer {
        /// Its rank by s_server.
        rank: usize,
    },
    /// It owns one of the best tools of the whole corpus.
    OwnsBestTool {
        /// The tool.
        tool: ToolId,
        /// The tool's rank by s_tool.
        rank: usize,
    },
}

/// The best servers ∪ the owners of the best tools, in this order.
pub(super) fn open(
    corpus: &Corpus<'_>,
    server_scores: &[f32],
    tool_scores: &Scores<'_>,
    width: Width,
) -> Vec<Pooled> {
    let mut pool = best_servers(server_scores, width.n_servers);
    if width.n_owner_tools == 0 {
        return pool;
    }
    let n_tools = corpus.tool_server.len();
    let scored = (0..n_tools).map(|row| (tool_scores.of(row), row));
    for (n, (_, row)) in top_k(scored, width.n_owner_tools, higher).into_iter().enumerate() {
        let server = ServerId(corpus.tool_server[row]);
        if pool.iter().all(|pooled| pooled.server != server) {
            pool.push(Pooled {
                server,
                score: server_scores[server.row()],
                reason: Reason::OwnsBestTool { tool: tool_id(row), rank: n + 1 },
            });
        }
    }
    pool
}

/// The one best server.
pub(super) fn best_server(server_scores: &[f32]) -> Vec<Pooled> {
    best_servers(server_scores, 1)
}

fn best_servers(server_scores: &[f32], n: usize) -> Vec<Pooled> {
    let scored = server_scores.iter().copied().zip(0..);
    top_k(scored, n, |a: &(f32, usize), b| higher(a, b))
        .into_iter()
        .enumerate()
        .map(|(n, (score, row))| Pooled {
            server: ServerId(tool_id(row).0),
            score,
            reason: Reason::BestServer { rank: n + 1 },
        })
        .collect()
}

/// Higher score first, then the lower row.
fn higher(a: &(f32, usize), b: &(f32, usize)) -> Ordering {
    b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
}
