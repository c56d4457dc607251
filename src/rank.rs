//! Steps 3 and 4, rank: pure functions over slices.
//!
//! Owns the scores. No IO, no clock, no allocation per tool; equal input gives
//! equal output. Rows are servers or tools, unit-norm, so a cosine is a dot
//! product; an absent text is a zero row and scores 0.

mod pool;
mod servers;
mod tools;
mod top_k;

pub use pool::{Pooled, Reason};
pub use tools::Hit;
pub use top_k::top_k;

use ndarray::ArrayView2;

use crate::catalog::ToolId;

/// Servers that stage 1 keeps (MCP-Zero's `server_top_k`, matcher.py).
pub const STAGE_1_SERVERS: usize = 5;

/// Best tools whose owners join the pool in `scout`; measured in EVALUATION:
/// 20 recovers all that the cut at five servers loses.
pub const OWNER_TOOLS: usize = 20;

/// The matrices that a ranking reads.
#[derive(Clone, Debug)]
pub struct Corpus<'a> {
    /// Each `[n_servers × dim]`; a server's score is its best over these.
    pub server_texts: Vec<ArrayView2<'a, f32>>,
    /// `[n_tools × dim]`.
    pub tool_text: ArrayView2<'a, f32>,
    /// Owner of each tool, `[n_tools]`, ascending.
    pub tool_server: &'a [u32],
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
    },
    /// An operation on no named platform: all tools, by their own score.
    ToolOnly(&'a [f32]),
    /// A platform alone: the tools of the server that fits best.
    ServerOnly(&'a [f32]),
}

/// How wide stage 1 opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Width {
    /// Best servers by their own score.
    pub n_servers: usize,
    /// Best tools of the whole corpus whose owners join; 0 = the paper's hard cut.
    pub n_owner_tools: usize,
}

/// The paper's stage 1: five servers, nothing else.
pub const MCP_ZERO: Width = Width { n_servers: STAGE_1_SERVERS, n_owner_tools: 0 };

/// The recall-safe stage 1: the best tools vote their owners in.
pub const SCOUT: Width = Width { n_servers: STAGE_1_SERVERS, n_owner_tools: OWNER_TOOLS };

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
pub fn rank(corpus: &Corpus<'_>, query: Query<'_>, width: Width, limit: usize) -> Ranking {
    match query {
        Query::Both { server, tool } => {
            let server_scores = servers::scores(&corpus.server_texts, server);
            let tool_scores = tools::Scores::new(&corpus.tool_text, tool, width);
            let pool = pool::open(corpus, &server_scores, &tool_scores, width);
            Ranking { hits: tools::in_pool(corpus, &pool, &tool_scores, limit), pool }
        }
        Query::ToolOnly(tool) => {
            Ranking { hits: tools::flat(corpus, tool, limit), pool: Vec::new() }
        }
        Query::ServerOnly(server) => {
            let server_scores = servers::scores(&corpus.server_texts, server);
            let pool = pool::best_server(&server_scores);
            let tool_scores = tools::Scores::on_demand(&corpus.tool_text, server);
            Ranking { hits: tools::in_pool(corpus, &pool, &tool_scores, limit), pool }
        }
    }
}

/// The tools of one server, as rows.
fn tools_of(corpus: &Corpus<'_>, server: u32) -> std::ops::Range<usize> {
    let start = corpus.tool_server.partition_point(|&owner| owner < server);
    let len = corpus.tool_server[start..].partition_point(|&owner| owner == server);
    start..start + len
}

/// Row → id.
fn tool_id(row: usize) -> ToolId {
    ToolId(u32::try_from(row).unwrap_or(u32::MAX))
}
