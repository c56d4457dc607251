//! Suites and arms → an outcome a case → figures.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;

use super::EvalError;
use super::arms::{Arm, Asks};
use super::bench::Bench;
use super::bench::{self};
use super::cases::{Case, Labels};
use super::results::{self};
use super::results::{Ground, Run};
use super::suite::Suite;
use crate::catalog::ToolId;
use crate::confidence::Signals;
use crate::embed::Embedder;
use crate::index::IndexError;
use crate::reply::Detail;
use crate::router::Ask;
use crate::router::Method;
use crate::router::Options;
use crate::router::Router;
use crate::router::Stages;
use crate::tokens;

/// Tools of a ranking that are looked at.
const DEPTH: usize = 20;

/// What a caller may show while a suite runs.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// Its index is being built, and so many texts are embedded.
    Building {
        /// Embedded so far.
        done: usize,
        /// Of so many.
        total: usize,
    },
    /// Cases, with all arms.
    Ran {
        /// Done so far.
        done: usize,
        /// Of so many.
        total: usize,
    },
}

/// How one case went with one arm.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// Name of the set.
    pub set: String,
    /// Name of the pool.
    pub pool: String,
    /// Name of the arm.
    pub arm: &'static str,
    /// Of the case.
    pub id: String,
    /// Level of the case, where the set has levels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<u8>,
    /// Whether the catalogue has a right tool.
    pub answerable: Answerable,
    /// Place of the first right tool, from 1; absent beyond 20.
    pub rank: Option<usize>,
    /// nDCG@10, in [0, 1].
    pub ndcg10: f64,
    /// Confidence where the arm has one, else the score of the best tool.
    pub confidence: f64,
    /// Whether it is a probability.
    #[serde(skip)]
    pub is_calibrated: bool,
    /// What it follows from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signals: Option<Signals>,
    /// Whether the router abstained.
    pub abstained: bool,
    /// The three best, `server / tool`.
    pub best: Vec<String>,
    /// Tokens of the reply's text with one tool and its schema.
    pub reply_tokens: usize,
    /// Time of that reply with the vectors at hand.
    pub latency_ms: f64,
}

/// Whether a right tool can be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Answerable {
    /// The pool has one.
    Yes,
    /// It never had one.
    No,
    /// All tools that fulfil the request, also in part, were taken out.
    Removed,
}

/// A case on a bench: what is asked, and what is right there.
struct Question<'a> {
    suite: &'a Suite,
    case: &'a Case,
    grades: BTreeMap<ToolId, u8>,
    answerable: Answerable,
}

/// Runs `arms` over one suite: figures an arm, and an outcome a case and arm.
///
/// # Errors
/// Fails when an index cannot be built or a request cannot be routed.
pub fn run(
    suite: &Suite,
    arms: &[Arm],
    labels: Labels,
    embedder: &Arc<dyn Embedder>,
    on_event: &mut dyn FnMut(Event),
) -> Result<(Vec<Run>, Vec<Outcome>), EvalError> {
    let full = Bench::new(&suite.servers, embedder, &mut |done, total| {
        on_event(Event::Building { done, total });
    })?;
    let mut small = BTreeMap::new();
    let (mut outcomes, mut n_skipped) = (Vec::new(), 0);
    let total = suite.cases.len();
    for (done, case) in suite.cases.iter().enumerate() {
        let bench = match suite.by_case {
            true => of_candidates(suite, case, &mut small, embedder)?,
            false => &full,
        };
        match question(suite, bench, case, labels) {
            None => n_skipped += 1,
            Some(question) => {
                ask_all(arms, bench, &question, &mut outcomes)?;
                if let Some((bench, question)) = without_right(bench, &question, embedder)? {
                    ask_all(arms, &bench, &question, &mut outcomes)?;
                }
            }
        }
        on_event(Event::Ran { done: done + 1, total });
    }
    let index = full.router.index();
    let tokens = index.surface()?.tokens;
    let ground = Ground { labels, n_skipped, tokens, index: index.digest().to_owned() };
    let runs = arms.iter().map(|arm| results::figures(suite, arm, &outcomes, &ground)).collect();
    Ok((runs, outcomes))
}

/// The bench of a case's own candidates; equal ones are built once.
fn of_candidates<'a>(
    suite: &Suite,
    case: &Case,
    benches: &'a mut BTreeMap<Vec<String>, Bench>,
    embedder: &Arc<dyn Embedder>,
) -> Result<&'a Bench, EvalError> {
    let mut wanted = case.candidates.clone();
    wanted.sort_unstable();
    match benches.entry(wanted) {
        Entry::Occupied(entry) => Ok(entry.into_mut()),
        Entry::Vacant(entry) => {
            let keeps = |_: &str, tool: &str| entry.key().iter().any(|name| name == tool);
            let servers = bench::reduced(&suite.servers, keeps);
            let own = servers.iter().filter(|server| !server.tools.is_empty());
            let bench = Bench::new(own, embedder, &mut |_, _| {})?;
            Ok(entry.insert(bench))
        }
    }
}

/// `None` when labels name tools, and the pool has none of them.
fn question<'a>(
    suite: &'a Suite,
    bench: &Bench,
    case: &'a Case,
    labels: Labels,
) -> Option<Question<'a>> {
    let named = case.grades(labels);
    let mut grades: BTreeMap<ToolId, u8> = BTreeMap::new();
    for (name, grade) in &named {
        for id in bench.find(name) {
            let best = grades.entry(id).or_default();
            *best = (*best).max(*grade);
        }
    }
    let is_right = |grade: &u8| *grade >= 2;
    let is_named_right = named.iter().any(|(_, grade)| is_right(grade));
    let is_found = grades.values().any(is_right);
    if is_named_right && !is_found {
        return None;
    }
    let answerable = if is_found { Answerable::Yes } else { Answerable::No };
    Some(Question { suite, case, grades, answerable })
}

/// The same case after all that fulfils it, also in part, was taken out.
fn without_right<'a>(
    bench: &Bench,
    question: &Question<'a>,
    embedder: &Arc<dyn Embedder>,
) -> Result<Option<(Bench, Question<'a>)>, EvalError> {
    if !question.suite.removes || question.answerable != Answerable::Yes {
        return Ok(None);
    }
    let fulfils = question.grades.iter().filter(|(_, grade)| **grade >= 1);
    let ids: Vec<ToolId> = fulfils.map(|(id, _)| *id).collect();
    let gone = bench::names(&bench.router, &ids)?;
    let keeps = |server: &str, tool: &str| !gone.contains(&(server.to_owned(), tool.to_owned()));
    let bench =
        Bench::new(&bench::reduced(&question.suite.servers, keeps), embedder, &mut |_, _| {})?;
    let (suite, case, grades) = (question.suite, question.case, BTreeMap::new());
    Ok(Some((bench, Question { suite, case, grades, answerable: Answerable::Removed })))
}

fn ask_all(
    arms: &[Arm],
    bench: &Bench,
    question: &Question<'_>,
    outcomes: &mut Vec<Outcome>,
) -> Result<(), EvalError> {
    for arm in arms {
        let (Some(method), Some(ask)) = (arm.method, ask(question.case, arm.asks)) else {
            continue;
        };
        let outcome = outcome(arm.name, method, &bench.router, &ask, question);
        let id = || question.case.id.clone();
        outcomes.push(
            outcome.map_err(|source| EvalError::Route { id: id(), source: Box::new(source) })?,
        );
    }
    Ok(())
}

/// The place at which one arm finds a right tool of `case`.
pub(super) fn rank_of(bench: &Bench, arm: &Arm, case: &Case) -> Result<Option<usize>, EvalError> {
    let (Some(method), Some(ask)) = (arm.method, ask(case, arm.asks)) else {
        return Ok(None);
    };
    let right: Vec<ToolId> = case.gold.iter().flat_map(|name| bench.find(name)).collect();
    let deep = Options { method, top_k: DEPTH, detail: Detail::Names, ..Options::default() };
    let failed = |source| EvalError::Route { id: case.id.clone(), source: Box::new(source) };
    let routed = bench.router.route(&ask, &deep).map_err(failed)?;
    let hits = routed.explained.first().map(|one| one.hits.as_slice()).unwrap_or_default();
    Ok(hits.iter().position(|hit| right.contains(&hit.tool)).map(|place| place + 1))
}

fn ask(case: &Case, asks: Asks) -> Option<Ask> {
    let (server, tool) = (case.server.clone(), case.tool.clone());
    let said = case.query.clone().map(Ask::Text);
    match asks {
        Asks::Request if server.is_some() || tool.is_some() => Some(Ask::Fields { server, tool }),
        Asks::Request | Asks::UserText => said,
    }
}

fn outcome(
    arm: &'static str,
    method: Method,
    router: &Router,
    ask: &Ask,
    question: &Question<'_>,
) -> Result<Outcome, crate::router::RouteError> {
    let deep = Options { method, top_k: DEPTH, detail: Detail::Names, ..Options::default() };
    let routed = router.route(ask, &deep)?;
    let explained = routed.explained.first();
    let hits = explained.map(|one| one.hits.as_slice()).unwrap_or_default();
    let said = explained.and_then(|one| one.confidence);
    let score = hits.first().map(|hit| match method.stages {
        Stages::Words => hit.bm25,
        Stages::Both | Stages::Flat => hit.score,
    });
    let grade = |id: &ToolId| question.grades.get(id).copied().unwrap_or(0);
    let ranked: Vec<u8> = hits.iter().map(|hit| grade(&hit.tool)).collect();
    let all: Vec<u8> = question.grades.values().copied().collect();
    let best = hits.iter().take(3).map(|hit| {
        let tool = router.index().tool(hit.tool)?;
        Ok(format!("{} / {}", tool.server, tool.name))
    });
    let best = best.collect::<Result<_, IndexError>>()?;
    let start = Instant::now();
    let one = router.route(ask, &Options { top_k: 1, detail: Detail::Schema, ..deep })?;
    let text = one.reply.to_text();
    let latency_ms = start.elapsed().as_secs_f64() * 1e3;
    Ok(Outcome {
        set: question.suite.set.clone(),
        pool: question.suite.pool.clone(),
        arm,
        id: question.case.id.clone(),
        level: question.case.level,
        answerable: question.answerable,
        rank: ranked.iter().position(|grade| *grade >= 2).map(|place| place + 1),
        ndcg10: super::metrics::ndcg10(&ranked, &all),
        confidence: f64::from(said.or(score).unwrap_or(0.0)),
        is_calibrated: said.is_some(),
        signals: explained.and_then(|one| one.signals),
        abstained: routed.reply.requests.iter().any(|request| request.abstained),
        best,
        reply_tokens: tokens::count(&text),
        latency_ms,
    })
}
