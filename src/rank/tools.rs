//! Stage 2, the score of a tool.

use std::cmp::Ordering;

use super::cosines::Cosines;
use super::pool::Pooled;
use super::top_k::top_k;
use super::{Corpus, Recipe, Words, best_by_words, tool_id, tools_of};
use crate::catalog::{ServerId, ToolId};

/// Rows that a graph and the words are asked for where all tools compete: one
/// may lift a tool over many that the other puts before it.
const FLAT_ROWS: usize = 200;

/// One ranked tool and every part of its score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// The tool.
    pub tool: ToolId,
    /// Its owner.
    pub server: ServerId,
    /// What the order follows: the weighted mean of the parts below, in [0, 1].
    pub score: f32,
    /// Value of the formula, in [0, 1].
    pub dense_score: f32,
    /// s_server in [0, 1]; absent where no platform was asked for.
    pub server_score: Option<f32>,
    /// s_tool in [0, 1].
    pub tool_score: f32,
    /// Cosine of the joint text with the tool text, in [0, 1].
    pub joint_score: Option<f32>,
    /// BM25 relative to the best tool's, in [0, 1].
    pub word_score: f32,
    /// BM25 itself, ≥ 0.
    pub bm25: f32,
    /// Whether it does something else than was asked for.
    pub contradicts: bool,
}

/// `score = (s_server · s_tool) · max(s_server, s_tool)`, MCP-Zero §3.2.
pub(super) fn formula(server_score: f32, tool_score: f32) -> f32 {
    (server_score * tool_score) * server_score.max(tool_score)
}

/// Tools of the pool, scored.
pub(super) fn in_pool(
    corpus: &Corpus<'_>,
    pool: &[Pooled],
    cosines: &Cosines<'_>,
    words: Words<'_>,
    recipe: &Recipe,
) -> Vec<Hit> {
    let mut hits: Vec<Hit> = pool
        .iter()
        .flat_map(|pooled| tools_of(corpus, pooled.server.0).map(move |row| (pooled, row)))
        .map(|(pooled, row)| {
            let tool_score = cosines.tool(row);
            Hit {
                tool: tool_id(row),
                server: pooled.server,
                score: 0.0,
                dense_score: formula(pooled.score, tool_score),
                server_score: Some(pooled.score),
                tool_score,
                joint_score: cosines.joint(row),
                word_score: 0.0,
                bm25: 0.0,
                contradicts: (words.contradicts)(tool_id(row)),
            }
        })
        .collect();
    weigh_words(&mut hits, words, recipe);
    for hit in &mut hits {
        hit.score = weighted(hit, recipe);
    }
    lift_vectorless(&mut hits, corpus);
    hits
}

/// Tools by their own score and the words; no server has a say.
///
/// All of them; where a graph finds the nearest, these and the best by words.
pub(super) fn flat(
    corpus: &Corpus<'_>,
    query: &[f32],
    words: Words<'_>,
    recipe: &Recipe,
    limit: usize,
) -> Vec<Hit> {
    let cosines = Cosines::of_all(corpus, query, None);
    let hit = |row: usize| {
        let tool_score = cosines.tool(row);
        Hit {
            tool: tool_id(row),
            server: ServerId(corpus.tool_server[row]),
            score: 0.0,
            dense_score: tool_score,
            server_score: None,
            tool_score,
            joint_score: None,
            word_score: 0.0,
            bm25: 0.0,
            contradicts: (words.contradicts)(tool_id(row)),
        }
    };
    let mut hits: Vec<Hit> = match corpus.graph_of_tools() {
        Some(graph) => {
            let n = limit.max(FLAT_ROWS);
            let mut rows = graph.nearest(query, n);
            rows.extend(best_by_words(words.scores, n).iter().map(|(tool, _)| tool.row()));
            rows.sort_unstable();
            rows.dedup();
            rows.into_iter().map(hit).collect()
        }
        None => {
            let rows = 0..corpus.tool_server.len();
            rows.filter(|row| corpus.allows_tool(*row)).map(hit).collect()
        }
    };
    weigh_words(&mut hits, words, recipe);
    for hit in &mut hits {
        let sum = hit.tool_score + recipe.words * hit.word_score - penalty(hit, recipe);
        hit.score = sum.max(0.0) / (1.0 + recipe.words);
    }
    lift_vectorless(&mut hits, corpus);
    hits
}

/// What the words find, by BM25 alone.
pub(super) fn by_words(corpus: &Corpus<'_>, words: Words<'_>) -> Vec<Hit> {
    let most = words.best.first().map_or(1.0, |&(_, score)| score);
    let hit = |&(tool, score): &(ToolId, f32)| Hit {
        tool,
        server: ServerId(corpus.tool_server[tool.row()]),
        score: score / most,
        dense_score: 0.0,
        server_score: None,
        tool_score: 0.0,
        joint_score: None,
        word_score: score / most,
        bm25: score,
        contradicts: (words.contradicts)(tool),
    };
    words.best.iter().map(hit).collect()
}

/// The best `limit`: higher score, then higher tool score, then lower id.
pub(super) fn best(hits: Vec<Hit>, limit: usize) -> Vec<Hit> {
    top_k(hits, limit, |a: &Hit, b: &Hit| -> Ordering {
        b.score
            .total_cmp(&a.score)
            .then(b.tool_score.total_cmp(&a.tool_score))
            .then(a.tool.cmp(&b.tool))
    })
}

/// The weighted mean of the parts, less what a contradiction costs; with the
/// paper's weights the formula alone.
fn weighted(hit: &Hit, recipe: &Recipe) -> f32 {
    let joint = if hit.joint_score.is_some() { recipe.joint } else { 0.0 };
    let total = recipe.dense + recipe.tool + joint + recipe.words;
    let sum = recipe.dense * hit.dense_score
        + recipe.tool * hit.tool_score
        + joint * hit.joint_score.unwrap_or(0.0)
        + recipe.words * hit.word_score
        - penalty(hit, recipe);
    sum.max(0.0) / total
}

/// A tool whose text has no vector has only its words to be found by: they put
/// it on the scale of the best hit, or any faint likeness would bury it.
fn lift_vectorless(hits: &mut [Hit], corpus: &Corpus<'_>) {
    let most = hits.iter().map(|hit| hit.score).fold(0.0, f32::max);
    for hit in hits {
        let may_lack = hit.tool_score == 0.0 && hit.word_score > 0.0 && !hit.contradicts;
        if may_lack && corpus.tool_text.norm(hit.tool.row()) == 0.0 {
            hit.score = hit.score.max(most * hit.word_score);
        }
    }
}

fn penalty(hit: &Hit, recipe: &Recipe) -> f32 {
    if hit.contradicts { recipe.contradiction } else { 0.0 }
}

/// BM25 of every hit, divided by the best tool's in the whole corpus.
fn weigh_words(hits: &mut [Hit], words: Words<'_>, recipe: &Recipe) {
    let Some(&(_, most)) = words.best.first() else { return };
    if recipe.words == 0.0 || most <= 0.0 {
        return;
    }
    for hit in hits {
        hit.bm25 = words.scores[hit.tool.row()];
        hit.word_score = (hit.bm25 / most).min(1.0);
    }
}
