//! Which servers stage 2 looks at, and why.

use std::cmp::Ordering;

use super::tools::Cosines;
use super::top_k::top_k;
use super::{Corpus, Recipe, Words, tool_id, tools_of};
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

/// What brings a server into the pool; rank 1 is the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Among the best servers.
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
    /// It owns one of the best tools by the joint text.
    OwnsBestJoint {
        /// The tool.
        tool: ToolId,
        /// The tool's rank by the joint cosine.
        rank: usize,
    },
    /// It owns one of the best tools by words.
    OwnsBestWords {
        /// The tool.
        tool: ToolId,
        /// The tool's rank by BM25.
        rank: usize,
    },
}

/// The best servers ∪ the owners of the best tools by each opinion, in this
/// order; one entry a server.
pub(super) fn open(
    corpus: &Corpus<'_>,
    server_scores: &[f32],
    cosines: &Cosines<'_>,
    words: Words<'_>,
    recipe: &Recipe,
) -> Vec<Pooled> {
    let mut pool = best_servers(server_scores, recipe.n_servers);
    let mut join = |tool: ToolId, reason: Reason| {
        let server = ServerId(corpus.tool_server[tool.row()]);
        if pool.iter().all(|pooled| pooled.server != server) {
            pool.push(Pooled { server, score: server_scores[server.row()], reason });
        }
    };
    let rows = 0..corpus.tool_server.len();
    let by_tool = rows.clone().map(|row| (cosines.tool(row), row));
    for (n, (_, row)) in top_k(by_tool, recipe.n_owner_tools, higher).into_iter().enumerate() {
        join(tool_id(row), Reason::OwnsBestTool { tool: tool_id(row), rank: n + 1 });
    }
    let by_joint = rows.filter_map(|row| Some((cosines.joint(row)?, row)));
    for (n, (_, row)) in top_k(by_joint, recipe.n_owner_tools, higher).into_iter().enumerate() {
        join(tool_id(row), Reason::OwnsBestJoint { tool: tool_id(row), rank: n + 1 });
    }
    for (n, (tool, _)) in words.best.iter().take(recipe.n_owner_words).enumerate() {
        join(*tool, Reason::OwnsBestWords { tool: *tool, rank: n + 1 });
    }
    // Who is called by name needs no likeness.
    for pooled in &mut pool {
        if recipe.words > 0.0 && (words.is_named)(pooled.server) {
            pooled.score = 1.0;
        }
    }
    pool
}

/// The best server that has tools.
pub(super) fn best_server(corpus: &Corpus<'_>, server_scores: &[f32]) -> Vec<Pooled> {
    let has_tools = |pooled: &Pooled| !tools_of(corpus, pooled.server.0).is_empty();
    let ranked = best_servers(server_scores, server_scores.len());
    ranked.into_iter().find(has_tools).into_iter().collect()
}

fn best_servers(server_scores: &[f32], n: usize) -> Vec<Pooled> {
    let scored = server_scores.iter().copied().zip(0..);
    top_k(scored, n, higher)
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
