//! Stage 2, the score of a tool.

use std::cmp::Ordering;

use ndarray::{Array1, ArrayView1, ArrayView2};

use super::pool::Pooled;
use super::top_k::top_k;
use super::{Corpus, Width, tool_id, tools_of};
use crate::catalog::{ServerId, ToolId};

/// One ranked tool and every part of its score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// The tool.
    pub tool: ToolId,
    /// Its owner.
    pub server: ServerId,
    /// What the order follows.
    pub score: f32,
    /// Value of the formula, in [0, 1].
    pub dense_score: f32,
    /// s_server in [0, 1]; absent where no platform was asked for.
    pub server_score: Option<f32>,
    /// s_tool in [0, 1].
    pub tool_score: f32,
}

/// `score = (s_server · s_tool) · max(s_server, s_tool)`, MCP-Zero §3.2.
pub(super) fn formula(server_score: f32, tool_score: f32) -> f32 {
    (server_score * tool_score) * server_score.max(tool_score)
}

/// s_tool = cos(query, tool text), clamped at 0: of all tools, or computed
/// when asked for, where a hard cut leaves only a few to look at.
pub(super) enum Scores<'a> {
    All(Array1<f32>),
    OnDemand(ArrayView2<'a, f32>, ArrayView1<'a, f32>),
}

impl<'a> Scores<'a> {
    pub(super) fn new(texts: &ArrayView2<'a, f32>, query: &'a [f32], width: Width) -> Self {
        if width.n_owner_tools == 0 {
            return Self::on_demand(texts, query);
        }
        Self::All(texts.dot(&ArrayView1::from(query)))
    }

    pub(super) fn on_demand(texts: &ArrayView2<'a, f32>, query: &'a [f32]) -> Self {
        Self::OnDemand(*texts, ArrayView1::from(query))
    }

    pub(super) fn of(&self, row: usize) -> f32 {
        match self {
            Self::All(scores) => scores[row],
            Self::OnDemand(texts, query) => texts.row(row).dot(query),
        }
        .max(0.0)
    }
}

/// Tools of the pool, by the formula.
pub(super) fn in_pool(
    corpus: &Corpus<'_>,
    pool: &[Pooled],
    tool_scores: &Scores<'_>,
    limit: usize,
) -> Vec<Hit> {
    let hits = pool.iter().flat_map(|pooled| {
        tools_of(corpus, pooled.server.0).map(|row| {
            let tool_score = tool_scores.of(row);
            let dense_score = formula(pooled.score, tool_score);
            Hit {
                tool: tool_id(row),
                server: pooled.server,
                score: dense_score,
                dense_score,
                server_score: Some(pooled.score),
                tool_score,
            }
        })
    });
    top_k(hits, limit, better)
}

/// All tools by their own score; no server has a say.
pub(super) fn flat(corpus: &Corpus<'_>, query: &[f32], limit: usize) -> Vec<Hit> {
    let cosines = corpus.tool_text.dot(&ArrayView1::from(query));
    let hits = cosines.iter().zip(corpus.tool_server).enumerate().map(|(row, (cosine, owner))| {
        let tool_score = cosine.max(0.0);
        Hit {
            tool: tool_id(row),
            server: ServerId(*owner),
            score: tool_score,
            dense_score: tool_score,
            server_score: None,
            tool_score,
        }
    });
    top_k(hits, limit, better)
}

/// Higher score, then higher tool score, then lower id.
fn better(a: &Hit, b: &Hit) -> Ordering {
    b.score
        .total_cmp(&a.score)
        .then(b.tool_score.total_cmp(&a.tool_score))
        .then(a.tool.cmp(&b.tool))
}
