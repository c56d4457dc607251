//! Index and vectors → rankings: which matrices, which recipe, which stages.

use super::error::RouteError;
use super::queries::{Texts, Vectors};
use super::{Options, RankingMode};
use crate::catalog::ServerId;
use crate::catalog::ToolId;
use crate::index::Index;
use crate::index::IndexError;
use crate::index::Lexical;
use crate::index::Matrix;
use crate::index::Neighbors;
use crate::rank::Corpus;
use crate::rank::Query;
use crate::rank::Ranking;
use crate::rank::Recipe;
use crate::rank::Words;
use crate::rank::{self};

/// The recipe of a ranking mode.
pub(super) fn recipe(ranking: RankingMode) -> Recipe {
    match ranking {
        RankingMode::Scout => rank::SCOUT,
        RankingMode::McpZero => rank::MCP_ZERO,
    }
}

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
    // The paper looks at every row.
    let graph = |kind| index.graph(kind).filter(|_| ranking == RankingMode::Scout);
    let no_paper = || IndexError::NoPaperVectors { dir: index.dir().to_owned() };
    Ok(Corpus {
        server_texts: servers.iter().filter_map(|kind| index.rows(*kind)).collect(),
        tool_text: index.rows(tools).ok_or_else(no_paper)?,
        tool_server: index.tool_server(),
        server_graph: graph(Neighbors::Servers),
        tool_graph: graph(Neighbors::Tools),
    })
}

/// One ranking per request; room is left for the names to be passed over.
pub(super) fn rank_all(
    index: &Index,
    texts: &[Texts],
    vectors: &Vectors,
    options: &Options,
) -> Result<Vec<Ranking>, RouteError> {
    let corpus = corpus(index, options.ranking)?;
    let recipe = recipe(options.ranking);
    let limit = options.top_k + options.exclude.len();
    let one = |texts: &Texts| {
        let query = query(texts, vectors);
        let lexical = index.lexical();
        let n_words = match query {
            Query::WordsOnly => limit,
            _ => recipe.n_owner_words,
        };
        let best = lexical.best(&texts.words, n_words)?;
        let score_of = |tools: &[ToolId]| scores(lexical, &texts.words, tools);
        let platform = texts.platform.as_deref().map(name_words).unwrap_or_default();
        let is_named = |server: ServerId| {
            let name = index.server(server).map(|record| name_words(&record.name));
            !platform.is_empty() && name.is_ok_and(|name| name == platform)
        };
        let words = Words { best: &best, score_of: &score_of, is_named: &is_named };
        Ok(rank::rank(&corpus, query, words, &recipe, limit))
    };
    let rankings = texts.iter().map(one).collect::<Result<Vec<Ranking>, RouteError>>()?;
    match &vectors.bad {
        Some((text, reason)) if rankings.iter().all(|ranking| ranking.hits.is_empty()) => {
            Err(RouteError::NoVector { text: text.clone(), reason: reason.clone() })
        }
        _ => Ok(rankings),
    }
}

fn query<'a>(texts: &Texts, vectors: &'a Vectors) -> Query<'a> {
    let vector = |text: &Option<String>| Some(vectors.get(text.as_ref()?)?.as_slice());
    if vectors.lacks(texts) {
        return Query::WordsOnly;
    }
    match (vector(&texts.server), vector(&texts.tool)) {
        (Some(server), Some(tool)) => Query::Both { server, tool, joint: vector(&texts.joint) },
        (None, Some(tool)) => Query::ToolOnly(tool),
        (Some(server), None) => Query::ServerOnly(server),
        (None, None) => Query::WordsOnly,
    }
}

/// The words of a name that tell it from others, in lower case: `GitHub MCP
/// Server` and `github #2` are both `github`.
fn name_words(name: &str) -> Vec<String> {
    let name = name.split(" #").next().unwrap_or_default().to_lowercase();
    let words = name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.filter(|word| !["mcp", "server"].contains(word)).map(str::to_owned).collect()
}

/// A damaged file costs the second opinion, not the answer; it was verified
/// when the index was opened.
fn scores(lexical: &Lexical, words: &str, tools: &[ToolId]) -> Vec<f32> {
    lexical.scores(words, tools).unwrap_or_else(|error| {
        tracing::error!("{error}");
        vec![0.0; tools.len()]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_known_in_every_dress() {
        for name in ["GitHub", "github #2", "GitHub MCP Server", "mcp-github"] {
            assert_eq!(name_words(name), ["github"], "{name}");
        }
        assert_ne!(name_words("GitHub Actions"), name_words("GitHub"));
        assert_eq!(name_words("MCP server"), Vec::<String>::new());
    }
}
