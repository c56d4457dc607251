//! Rankings → what is said of each request and of each tool.

use super::Options;
use super::error::RouteError;
use super::judge::Judgement;
use super::queries::{Texts, Vectors};
use crate::index::Index;
use crate::index::IndexError;
use crate::rank::Hit;
use crate::rank::Ranking;
use crate::reply::Match;
use crate::reply::RequestReport;
use crate::request::Parsed;
use crate::request::{self};

/// Characters of a request that its echo shows under a budget.
const ECHO_CHARS: usize = 120;

const BY_WORDS: &str = "the model has no vector for this text; ranked by its words alone";

/// Reads the records of the ranked tools; excluded names are passed over.
pub(super) fn matches(
    index: &Index,
    rankings: &[Ranking],
    judged: &[Judgement],
    options: &Options,
) -> Result<Vec<Match>, RouteError> {
    let mut matches = Vec::new();
    let answered = rankings.iter().zip(judged).enumerate();
    for (request, (ranking, _)) in answered.filter(|(_, (_, judged))| !judged.abstained) {
        let mut rank = 0;
        for hit in &ranking.hits {
            if rank == options.top_k {
                break;
            }
            let one = record(index, request, rank + 1, hit)?;
            if !options.exclude.contains(&one.name) {
                matches.push(one);
                rank += 1;
            }
        }
    }
    Ok(matches)
}

fn record(index: &Index, request: usize, rank: usize, hit: &Hit) -> Result<Match, IndexError> {
    let tool = index.tool(hit.tool)?;
    Ok(Match {
        request,
        rank,
        name: tool.exposed,
        server: tool.server,
        tool: tool.name,
        score: hit.score,
        dense_score: hit.dense_score,
        server_score: hit.server_score,
        tool_score: hit.tool_score,
        description: Some(tool.description),
        input_schema: tool.input_schema,
        annotations: tool.annotations,
        shortened: false,
    })
}

/// The echo of every request; what went wrong stands at the last one.
pub(super) fn reports(
    parsed: &Parsed,
    texts: &[Texts],
    vectors: &Vectors,
    judged: &[Judgement],
    options: &Options,
) -> Vec<RequestReport> {
    let shown = |text: &String| match options.max_bytes {
        Some(_) => echo(text),
        None => text.clone(),
    };
    let report = |((one, texts), judged): ((&request::ToolRequest, &Texts), &Judgement)| {
        let by_words = vectors.lacks(texts).then(|| BY_WORDS.to_owned());
        RequestReport {
            server: one.server.as_ref().map(shown),
            tool: one.tool.as_ref().map(shown),
            confidence: judged.confidence,
            abstained: judged.abstained,
            nearest: judged.nearest.clone(),
            note: one.note.clone().or(by_words),
        }
    };
    let mut reports: Vec<RequestReport> =
        parsed.requests.iter().zip(texts).zip(judged).map(report).collect();
    if let Some(last) = reports.last_mut() {
        let most = request::MAX_REQUESTS;
        let left_out = match parsed.left_out {
            0 => None,
            1 => Some(format!("1 more request was left out; at most {most} are answered")),
            n => Some(format!("{n} more requests were left out; at most {most} are answered")),
        };
        let own = last.note.take().into_iter();
        let said = own.chain(parsed.problems.clone()).chain(left_out);
        let notes: Vec<String> = said.chain(options.remark.clone()).collect();
        last.note = (!notes.is_empty()).then(|| notes.join("; "));
    }
    reports
}

/// A text as long as an echo may be.
pub(super) fn echo(text: &str) -> String {
    if text.chars().count() <= ECHO_CHARS {
        return text.to_owned();
    }
    text.chars().take(ECHO_CHARS - 1).chain(['…']).collect()
}
