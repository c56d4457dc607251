//! Rankings → how sure it is, and whether that is enough to answer.

use super::answer::echo;
use super::error::RouteError;
use super::queries::{Texts, Vectors};
use super::{Method, Options, Stages};
use crate::catalog::clean_text;
use crate::catalog::without_tags;
use crate::catalog::words;
use crate::confidence::Calibration;
use crate::confidence::Signals;
use crate::index::Index;
use crate::index::IndexError;
use crate::rank::Ranking;
use crate::request::Form;

/// Hits that the signals are taken from, whatever `top_k` is.
pub(super) const SIGNAL_HITS: usize = 4;

/// Servers that an abstention names.
const NEAREST: usize = 3;

/// What is thought of one ranking.
#[derive(Clone, Debug, Default)]
pub(super) struct Judgement {
    /// Absent where no calibration holds: plain words, a platform alone, a
    /// text without a vector, the paper's ranking, a model without numbers.
    pub(super) confidence: Option<f32>,
    /// What it follows from.
    pub(super) signals: Option<Signals>,
    /// Whether the answer is "no tool fits".
    pub(super) abstained: bool,
    /// Names of the servers that come nearest, of an abstention.
    pub(super) nearest: Vec<String>,
}

/// Judges every ranking.
pub(super) fn judge_all(
    index: &Index,
    texts: &[Texts],
    vectors: &Vectors,
    rankings: &[Ranking],
    (calibration, options): (Option<&Calibration>, &Options),
) -> Result<Vec<Judgement>, RouteError> {
    let one = |(texts, ranking): (&Texts, &Ranking)| {
        let Some(calibration) = calibration.filter(|_| is_judged(texts, vectors, &options.method))
        else {
            return Ok(Judgement::default());
        };
        let Some(signals) = signals(index, texts, ranking)? else {
            return Ok(Judgement::default());
        };
        let confidence = calibration.confidence(&signals);
        let abstained = confidence < options.floor.unwrap_or(calibration.floor);
        let nearest = if abstained { nearest(index, ranking)? } else { Vec::new() };
        Ok(Judgement { confidence: Some(confidence), signals: Some(signals), abstained, nearest })
    };
    texts.iter().zip(rankings).map(one).collect()
}

fn is_judged(texts: &Texts, vectors: &Vectors, method: &Method) -> bool {
    let is_ranked = method.stages != Stages::Words && method.has_words();
    is_ranked && texts.form == Form::Tagged && texts.tool.is_some() && !vectors.lacks(texts)
}

/// `None` of an empty ranking.
fn signals(index: &Index, texts: &Texts, ranking: &Ranking) -> Result<Option<Signals>, IndexError> {
    let (Some(first), Some(tool_line)) = (ranking.hits.first(), &texts.tool) else {
        return Ok(None);
    };
    let last = ranking.hits.iter().take(SIGNAL_HITS).next_back().unwrap_or(first);
    let name = words(&index.tool(first.tool)?.name);
    let joint = first.joint_score.unwrap_or(first.tool_score);
    Ok(Some(Signals {
        similarity: f32::midpoint(first.tool_score, joint),
        margin: first.score - last.score,
        coverage: index.lexical().coverage(first.tool, &name, tool_line, &texts.words)?,
        contradiction: if first.contradicts { 1.0 } else { 0.0 },
    }))
}

/// The best servers, or the owners of the best tools where no platform was
/// asked for.
fn nearest(index: &Index, ranking: &Ranking) -> Result<Vec<String>, IndexError> {
    let pooled = ranking.pool.iter().map(|pooled| pooled.server);
    let owners = ranking.hits.iter().map(|hit| hit.server);
    let mut names = Vec::new();
    for server in pooled.chain(owners) {
        let name = echo(&without_tags(&clean_text(&index.server(server)?.name)));
        if !names.contains(&name) {
            names.push(name);
        }
        if names.len() == NEAREST {
            break;
        }
    }
    Ok(names)
}
