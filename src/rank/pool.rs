//! Which servers stage 2 looks at, and why.

use super::cosines::Cosines;
use super::servers::Scores;
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
    server_scores: &Scores<'_>,
    cosines: &Cosines<'_>,
    words: Words<'_>,
    recipe: &Recipe,
) -> Vec<Pooled> {
    let mut pool = best_servers(server_scores, recipe.n_servers);
    let mut join = |tool: ToolId, reason: Reason| {
        let server = ServerId(corpus.tool_server[tool.row()]);
        if pool.iter().all(|pooled| pooled.server != server) {
            pool.push(Pooled { server, score: server_scores.of(server.row()), reason });
        }
    };
    for (n, row) in cosines.best_by_tool(recipe.n_owner_tools).into_iter().enumerate() {
        join(tool_id(row), Reason::OwnsBestTool { tool: tool_id(row), rank: n + 1 });
    }
    for (n, row) in cosines.best_by_joint(recipe.n_owner_tools).into_iter().enumerate() {
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
pub(super) fn best_server(corpus: &Corpus<'_>, server_scores: &Scores<'_>) -> Vec<Pooled> {
    let has_tools = |pooled: &Pooled| tools_of(corpus, pooled.server.0).next().is_some();
    let n_servers = server_scores.n_servers();
    let mut counts = std::iter::successors(Some(8), |n| (*n < n_servers).then_some(n * 8));
    let best = counts.find_map(|n| best_servers(server_scores, n).into_iter().find(has_tools));
    best.into_iter().collect()
}

fn best_servers(server_scores: &Scores<'_>, n: usize) -> Vec<Pooled> {
    server_scores
        .best(n)
        .into_iter()
        .enumerate()
        .map(|(n, (score, row))| Pooled {
            server: ServerId(tool_id(row).0),
            score,
            reason: Reason::BestServer { rank: n + 1 },
        })
        .collect()
}
