//! Index and vectors → rankings: which matrices, how wide, which stages.

use super::error::RouteError;
use super::queries::{Texts, Vectors};
use super::{Options, RankingMode};
use crate::index::Index;
use crate::index::IndexError;
use crate::index::Matrix;
use crate::rank::Corpus;
use crate::rank::Query;
use crate::rank::Ranking;
use crate::rank::{self};

/// The matrices that a ranking mode reads.
pub(super) fn corpus(index: &Index, ranking: RankingMode) -> Result<Corpus<'_>, RouteError> {
    let (servers, tools): (&[Matrix], Matrix) = match ranking {
        RankingMode::Scout => (
            &[Matrix::ServerDescription, Matrix::ServerSummary, Matrix::ServerDigest],
            Matrix::ToolText,
        ),
        RankingMode::McpZero => {
            (&[Matrix::ServerDescription, Matrix::ServerSummary], Matrix::ToolDescription)
        }
    };
    let no_paper = || IndexError::NoPaperVectors { dir: index.dir().to_owned() };
    Ok(Corpus {
        server_texts: servers.iter().filter_map(|kind| index.matrix(*kind)).collect(),
        tool_text: index.matrix(tools).ok_or_else(no_paper)?,
        tool_server: index.tool_server(),
    })
}

/// One ranking per request; room is left for the names to be passed over.
pub(super) fn rank_all(
    corpus: &Corpus<'_>,
    texts: &[Texts],
    vectors: &Vectors,
    options: &Options,
) -> Vec<Ranking> {
    let width = match options.ranking {
        RankingMode::Scout => rank::SCOUT,
        RankingMode::McpZero => rank::MCP_ZERO,
    };
    let limit = options.top_k + options.exclude.len();
    let vector = |text: &Option<String>| Some(vectors.get(text.as_ref()?)?.as_slice());
    let one = |texts: &Texts| {
        let query = match (vector(&texts.server), vector(&texts.tool)) {
            (Some(server), Some(tool)) => Query::Both { server, tool },
            (None, Some(tool)) => Query::ToolOnly(tool),
            (Some(server), None) => Query::ServerOnly(server),
            (None, None) => return Ranking::default(),
        };
        rank::rank(corpus, query, width, limit)
    };
    texts.iter().map(one).collect()
}
