//! Index and vectors → rankings: which matrices, which recipe, which stages.

use super::error::RouteError;
use super::judge::SIGNAL_HITS;
use super::queries::{Texts, Vectors};
use super::{Options, Stages};
use crate::catalog::ServerId;
use crate::catalog::ToolId;
use crate::index::Index;
use crate::index::IndexError;
use crate::index::Matrix;
use crate::index::Neighbors;
use crate::operation::Operation;
use crate::rank::Corpus;
use crate::rank::Query;
use crate::rank::Ranking;
use crate::rank::Words;
use crate::rank::{self};

/// The matrices that a method reads, and the graphs of just these.
fn corpus<'a>(index: &'a Index, options: &'a Options) -> Result<Corpus<'a>, RouteError> {
    let method = &options.method;
    let graph =
        |kind: Neighbors, of: &[Matrix]| index.graph(kind).filter(|_| kind.matrices() == of);
    let no_paper = || IndexError::NoPaperVectors { dir: index.dir().to_owned() };
    Ok(Corpus {
        server_texts: method.server_texts.iter().filter_map(|kind| index.rows(*kind)).collect(),
        tool_text: index.rows(method.tool_text).ok_or_else(no_paper)?,
        tool_server: index.tool_server(),
        server_graph: graph(Neighbors::Servers, method.server_texts),
        tool_graph: graph(Neighbors::Tools, &[method.tool_text]),
        allowed: options.view.as_ref().map(|view| view.allowed()),
    })
}

/// One ranking per request; room is left for the names to be passed over.
pub(super) fn rank_all(
    index: &Index,
    texts: &[Texts],
    vectors: &Vectors,
    options: &Options,
) -> Result<Vec<Ranking>, RouteError> {
    let method = &options.method;
    let operations = index.tool_operation();
    let corpus = corpus(index, options)?;
    let limit = options.top_k.max(SIGNAL_HITS) + options.exclude.len();
    let one = |texts: &Texts| {
        let recipe = &method.recipe_for(texts.form);
        let query = query(texts, vectors, method.stages);
        let n_words = match query {
            Query::WordsOnly => limit,
            // The best one sets the measure of the others.
            _ => recipe.n_owner_words.max(1),
        };
        let mut scores = index.lexical().scores(&texts.words)?;
        if let Some(view) = &options.view {
            view.hide_others(&mut scores);
        }
        let best = rank::best_by_words(&scores, n_words);
        let platform = texts.platform.as_deref().map(name_words).unwrap_or_default();
        let is_named = |server: ServerId| {
            let name = index.server(server).map(|record| name_words(&record.name));
            !platform.is_empty() && name.is_ok_and(|name| name == platform)
        };
        let contradicts = |tool: ToolId| {
            texts.operation.contradicts(Operation::from_bits(operations[tool.row()]))
        };
        let words =
            Words { best: &best, scores: &scores, is_named: &is_named, contradicts: &contradicts };
        Ok(rank::rank(&corpus, query, words, recipe, limit))
    };
    let rankings = texts.iter().map(one).collect::<Result<Vec<Ranking>, RouteError>>()?;
    match &vectors.bad {
        Some((text, reason)) if rankings.iter().all(|ranking| ranking.hits.is_empty()) => {
            Err(RouteError::NoVector { text: text.clone(), reason: reason.clone() })
        }
        _ => Ok(rankings),
    }
}

fn query<'a>(texts: &Texts, vectors: &'a Vectors, stages: Stages) -> Query<'a> {
    let vector = |text: &Option<String>| Some(vectors.get(text.as_ref()?)?.as_slice());
    if stages == Stages::Words || vectors.lacks(texts) {
        return Query::WordsOnly;
    }
    let server = vector(&texts.server).filter(|_| stages == Stages::Both);
    match (server, vector(&texts.tool)) {
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
