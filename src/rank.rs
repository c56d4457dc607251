//! Steps 3 and 4, rank: pure functions over slices.
//!
//! Owns the scores. No IO, no clock, no allocation per tool; equal input gives
//! equal output. Rows are servers or tools, unit-norm, so a cosine is a dot
//! product; an absent text is a zero row and scores 0.

mod cosines;
mod pool;
mod servers;
mod tools;
mod top_k;

pub use pool::{Pooled, Reason};
pub use tools::Hit;
pub use top_k::top_k;

use cosines::Cosines;

use crate::catalog::ServerId;
use crate::catalog::ToolId;
use crate::vectors::Graph;
use crate::vectors::Rows;

/// The matrices that a ranking reads.
#[derive(Clone, Debug)]
pub struct Corpus<'a> {
    /// Each `[n_servers × dim]`; a server's score is its best over these.
    pub server_texts: Vec<Rows<'a>>,
    /// `[n_tools × dim]`.
    pub tool_text: Rows<'a>,
    /// Owner of each tool, `[n_tools]`, ascending.
    pub tool_server: &'a [u32],
    /// Finds servers without a look at every row: rows of the first of
    /// `server_texts`, then of the second …
    pub server_graph: Option<Graph<'a>>,
    /// Finds tools without a look at every row.
    pub tool_graph: Option<Graph<'a>>,
    /// What may be found; everything, if nothing is said. With it every row is
    /// looked at: a graph would find mostly others.
    pub allowed: Option<Allowed<'a>>,
}

/// The part of a corpus that exists for who asks. A ranking is the same as if
/// all else were not there.
#[derive(Clone, Copy, Debug)]
pub struct Allowed<'a> {
    /// `[n_servers]`.
    pub servers: &'a [bool],
    /// `[n_tools]`; none of a server that is not allowed.
    pub tools: &'a [bool],
}

impl<'a> Corpus<'a> {
    fn graph_of_tools(&self) -> Option<Graph<'a>> {
        self.tool_graph.filter(|_| self.allowed.is_none())
    }

    fn graph_of_servers(&self) -> Option<Graph<'a>> {
        self.server_graph.filter(|_| self.allowed.is_none())
    }

    fn allows_tool(&self, row: usize) -> bool {
        self.allowed.is_none_or(|allowed| allowed.tools[row])
    }
}

/// A score below any other: of what may not be found.
const NOT_ALLOWED: f32 = f32::NEG_INFINITY;

/// Takes out of `scores` what is not allowed.
fn mask(scores: &mut [f32], allowed: Option<&[bool]>) {
    for (score, is_allowed) in scores.iter_mut().zip(allowed.unwrap_or_default()) {
        if !is_allowed {
            *score = NOT_ALLOWED;
        }
    }
}

/// What is looked for; unit vectors, `[dim]`.
#[derive(Clone, Copy, Debug)]
pub enum Query<'a> {
    /// Platform and operation: both stages.
    Both {
        /// The platform's vector.
        server: &'a [f32],
        /// The operation's vector.
        tool: &'a [f32],
        /// The vector of "platform: operation" in one text; absent in the paper.
        joint: Option<&'a [f32]>,
    },
    /// An operation on no named platform: all tools, by their own score.
    ToolOnly(&'a [f32]),
    /// A platform alone: the tools of the server that fits best.
    ServerOnly(&'a [f32]),
    /// A text without a usable vector: what the words find.
    WordsOnly,
}

/// The second opinion: what search by words says of the same request.
#[derive(Clone, Copy)]
pub struct Words<'a> {
    /// The best tools by BM25, best first; what [`best_by_words`] gives.
    pub best: &'a [(ToolId, f32)],
    /// BM25 of every tool, `[n_tools]`.
    pub scores: &'a [f32],
    /// Whether the request calls a server by its very name.
    pub is_named: &'a dyn Fn(ServerId) -> bool,
    /// Whether a tool does something else than the request asks for.
    pub contradicts: &'a dyn Fn(ToolId) -> bool,
}

impl Words<'_> {
    /// No opinion.
    pub const NONE: Words<'static> =
        Words { best: &[], scores: &[], is_named: &|_| false, contradicts: &|_| false };
}

/// The `n` best tools by BM25, best first; those that share no word with the
/// request, which have 0, are absent.
#[must_use]
pub fn best_by_words(scores: &[f32], n: usize) -> Vec<(ToolId, f32)> {
    let best = top_k::top_rows_above(scores, n, 0.0).into_iter();
    best.map(|(score, row)| (tool_id(row), score)).collect()
}

/// All knobs of a ranking.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recipe {
    /// Best servers by their own score that stage 1 keeps (m).
    pub n_servers: usize,
    /// Best tools of the whole corpus whose owners join; 0 = the paper's hard cut.
    pub n_owner_tools: usize,
    /// Best tools by words whose owners join.
    pub n_owner_words: usize,
    /// Weight of the formula's value.
    pub dense: f32,
    /// Weight of `s_tool` by itself.
    pub tool: f32,
    /// Weight of the joint text's cosine with the tool text.
    pub joint: f32,
    /// Weight of BM25, relative to the best tool's.
    pub words: f32,
    /// The same where the request is plain words.
    pub plain_words: f32,
    /// What a tool that does something else loses, on the scale of the weights.
    pub contradiction: f32,
}

/// The paper to the letter (MCP-Zero §3.2; matcher.py: `server_top_k` 5).
pub const MCP_ZERO: Recipe = Recipe {
    n_servers: 5,
    n_owner_tools: 0,
    n_owner_words: 0,
    dense: 1.0,
    tool: 0.0,
    joint: 0.0,
    words: 0.0,
    plain_words: 0.0,
    contradiction: 0.0,
};

/// The recall-safe default. Unit weights for what vectors say; words and
/// contradiction from the middle of a plateau on the development sets.
pub const SCOUT: Recipe = Recipe {
    n_servers: 5,
    n_owner_tools: 20,
    n_owner_words: 20,
    dense: 1.0,
    tool: 1.0,
    joint: 1.0,
    words: 0.4,
    plain_words: 0.3,
    contradiction: 0.15,
};

/// An order of tools and why these servers were looked at.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ranking {
    /// Best first, at most as many as asked for.
    pub hits: Vec<Hit>,
    /// The servers of stage 1; empty when all tools were ranked flat.
    pub pool: Vec<Pooled>,
}

/// The best `limit` tools of `corpus` for `query`.
///
/// Ties go to the higher tool score, then to the lower id.
#[must_use]
pub fn rank(
    corpus: &Corpus<'_>,
    query: Query<'_>,
    words: Words<'_>,
    recipe: &Recipe,
    limit: usize,
) -> Ranking {
    match query {
        Query::Both { server, tool, joint } => {
            let server_scores = servers::Scores::new(corpus, server);
            let cosines = Cosines::new(corpus, tool, joint, recipe);
            let pool = pool::open(corpus, &server_scores, &cosines, words, recipe);
            let hits = tools::in_pool(corpus, &pool, &cosines, words, recipe);
            Ranking { hits: tools::best(hits, limit), pool }
        }
        Query::ToolOnly(tool) => {
            let hits = tools::flat(corpus, tool, words, recipe, limit);
            Ranking { hits: tools::best(hits, limit), pool: Vec::new() }
        }
        Query::ServerOnly(server) => {
            let server_scores = servers::Scores::new(corpus, server);
            let pool = pool::best_server(corpus, &server_scores);
            let cosines = Cosines::of_few(corpus, server);
            let hits = tools::in_pool(corpus, &pool, &cosines, Words::NONE, &MCP_ZERO);
            Ranking { hits: tools::best(hits, limit), pool }
        }
        Query::WordsOnly => {
            let hits = tools::by_words(corpus, words);
            Ranking { hits: tools::best(hits, limit), pool: Vec::new() }
        }
    }
}

/// The tools of one server that may be found, as rows.
fn tools_of<'a>(corpus: &'a Corpus<'_>, server: u32) -> impl Iterator<Item = usize> + 'a {
    let start = corpus.tool_server.partition_point(|&owner| owner < server);
    let len = corpus.tool_server[start..].partition_point(|&owner| owner == server);
    (start..start + len).filter(|row| corpus.allows_tool(*row))
}

/// Row → id.
fn tool_id(row: usize) -> ToolId {
    ToolId(u32::try_from(row).unwrap_or(u32::MAX))
}
