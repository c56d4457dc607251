//! Figures, in the shape of `eval run --json`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::arms::Arm;
use super::calibrate::Calibrated;
use super::cases::Labels;
use super::metrics::{self, Bin, float};
use super::run::{Answerable, Outcome};
use super::suite::Suite;
use crate::embed::Identity;
use crate::index::SurfaceTokens;

/// Seed of the needle grid.
pub(super) const SEED: u64 = 2506_01056;

/// What `eval run --json` prints; rates are fractions.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Results {
    /// Of the program's source, where it is known.
    pub commit: Option<String>,
    /// Version.
    pub toolscout: String,
    /// Embedding model and the digest of its identity.
    pub model: String,
    /// Digest of the index, by `set@pool`.
    pub index: BTreeMap<String, String>,
    /// Of what is random; rankings are not.
    pub seed: u64,
    /// How well scout's confidence holds, over all sets that have requests
    /// without a right tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibrated>,
    /// One per set, pool and arm.
    pub runs: Vec<Run>,
}

impl Results {
    /// No runs yet, of this program and model.
    #[must_use]
    pub fn new(model: &Identity) -> Self {
        let digest = hex::encode(&model.digest()[..6]);
        Self {
            commit: commit(),
            toolscout: env!("CARGO_PKG_VERSION").to_owned(),
            model: format!("{} {digest}", model.model),
            index: BTreeMap::new(),
            seed: SEED,
            calibration: None,
            runs: Vec::new(),
        }
    }

    /// The figures of one more suite.
    pub fn add(&mut self, runs: Vec<Run>) {
        for run in &runs {
            self.index.insert(format!("{}@{}", run.set, run.pool), run.index.clone());
        }
        self.runs.extend(runs);
    }
}

/// State of the checkout that the program was built in, if it is still there;
/// `-dirty` marks changes that are not committed.
fn commit() -> Option<String> {
    let mut git = std::process::Command::new("git");
    git.args(["-C", env!("CARGO_MANIFEST_DIR"), "describe", "--always", "--dirty", "--exclude=*"]);
    let output = git.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// One arm over one set and pool.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Run {
    /// Name of the set.
    pub set: String,
    /// Name of the pool.
    pub pool: String,
    /// `judged` or `original`.
    pub labels: String,
    /// Name of the arm.
    pub arm: String,
    /// Cases with a right tool; the rates are over these.
    pub n: usize,
    /// Cases whose labels the pool does not have, or that the arm cannot ask.
    pub skipped: usize,
    /// Rates, 0 without cases.
    #[serde(flatten)]
    pub rates: Option<Rates>,
    /// How well it knows that nothing fits.
    pub abstain: Option<Abstain>,
    /// What enters the context.
    pub tokens: Tokens,
    /// Of a whole request whose vectors are known.
    pub latency_ms: Option<Latency>,
    /// Digest of the index.
    #[serde(skip)]
    pub index: String,
}

/// Share of cases with a right tool among the first k, and the like.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Rates {
    /// k = 1.
    pub top1: f64,
    /// k = 3.
    pub top3: f64,
    /// k = 5.
    pub top5: f64,
    /// k = 10.
    pub top10: f64,
    /// Mean of 1 / rank of the first right tool, 0 beyond 20.
    pub mrr: f64,
    /// Mean nDCG@10.
    pub ndcg10: f64,
    /// Wilson's 95 % intervals of the first four.
    pub ci95: BTreeMap<String, [f64; 2]>,
}

/// Cases with a right tool against cases without one, by confidence.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Abstain {
    /// Area under the ROC curve against cases that never had a right tool.
    pub auc: Option<f64>,
    /// Share of these that is answered where 95 % of the others are.
    pub far_at_95tar: Option<f64>,
    /// Share of cases with a right tool that the router answered.
    pub answered: f64,
    /// Share of cases without one that it answered.
    pub answered_wrongly: Option<f64>,
    /// Cases that never had a right tool.
    pub n: usize,
    /// The same by level of the set.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub by_level: BTreeMap<u8, Separation>,
    /// Against the same cases without the tools that fulfil them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub removed: Option<Separation>,
    /// Mean distance of confidence and truth over bins of a tenth.
    pub calibration_error: Option<f64>,
    /// The bins.
    pub reliability: Vec<Bin>,
}

/// One kind of case without a right tool.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Separation {
    /// Area under the ROC curve.
    pub auc: Option<f64>,
    /// Share answered where 95 % of the answerable are.
    pub far_at_95tar: Option<f64>,
    /// Share answered by the router.
    pub answered: Option<f64>,
    /// Cases.
    pub n: usize,
}

/// Tokens by o200k_base.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Tokens {
    /// Every schema of the pool.
    pub all_schemas: usize,
    /// The meta-server's entry and instructions, once a conversation.
    pub surface: usize,
    /// Text of a reply with one tool and its schema, mean.
    pub reply_mean: Option<f64>,
    /// 1 − reply / all schemas.
    pub saved: Option<f64>,
}

/// Milliseconds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Latency {
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
}

/// What all arms of a suite have in common.
pub(super) struct Ground {
    pub(super) labels: Labels,
    /// Cases whose labels the pool does not have.
    pub(super) n_skipped: usize,
    /// Of the whole pool.
    pub(super) tokens: SurfaceTokens,
    /// Digest.
    pub(super) index: String,
}

/// The figures of one arm.
pub(super) fn figures(suite: &Suite, arm: &Arm, outcomes: &[Outcome], ground: &Ground) -> Run {
    let surface = ground.tokens;
    let own: Vec<&Outcome> = outcomes.iter().filter(|one| one.arm == arm.name).collect();
    let of = |kind: Answerable| -> Vec<&Outcome> {
        own.iter().filter(|one| one.answerable == kind).copied().collect()
    };
    let (yes, no, removed) = (of(Answerable::Yes), of(Answerable::No), of(Answerable::Removed));
    let n_unasked = suite.cases.len() - ground.n_skipped - yes.len() - no.len();
    let reply_mean = metrics::mean(yes.iter().map(|one| float(one.reply_tokens)));
    let all = float(surface.all_schemas);
    Run {
        set: suite.set.clone(),
        pool: suite.pool.clone(),
        labels: ground.labels.name().to_owned(),
        arm: arm.name.to_owned(),
        n: yes.len(),
        skipped: ground.n_skipped + n_unasked,
        rates: rates(&yes),
        abstain: (!own.is_empty()).then(|| abstain(&yes, &no, &removed)),
        tokens: Tokens {
            all_schemas: surface.all_schemas,
            surface: surface.tool_entry + surface.instructions,
            reply_mean,
            saved: reply_mean.map(|mean| 1.0 - mean / all).filter(|_| all > 0.0),
        },
        latency_ms: latency(&own),
        index: ground.index.clone(),
    }
}

fn rates(cases: &[&Outcome]) -> Option<Rates> {
    let n_hits =
        |k: usize| cases.iter().filter(|one| one.rank.is_some_and(|rank| rank <= k)).count();
    let rate =
        |k: usize| metrics::rate(cases.iter().map(|one| one.rank.is_some_and(|rank| rank <= k)));
    let interval = |k: usize| (format!("top{k}"), metrics::wilson(n_hits(k), cases.len()));
    Some(Rates {
        top1: rate(1)?,
        top3: rate(3)?,
        top5: rate(5)?,
        top10: rate(10)?,
        mrr: metrics::mean(cases.iter().map(|one| one.rank.map_or(0.0, |rank| 1.0 / float(rank))))?,
        ndcg10: metrics::mean(cases.iter().map(|one| one.ndcg10))?,
        ci95: [1, 3, 5, 10].into_iter().map(interval).collect(),
    })
}

fn abstain(yes: &[&Outcome], no: &[&Outcome], removed: &[&Outcome]) -> Abstain {
    let against = separation(yes, no);
    let mut by_level: BTreeMap<u8, Vec<&Outcome>> = BTreeMap::new();
    for one in no {
        if let Some(level) = one.level {
            by_level.entry(level).or_default().push(one);
        }
    }
    // Confidence speaks of the tools that are returned: three by default.
    let came_true = |one: &&Outcome| (one.confidence, one.rank.is_some_and(|rank| rank <= 3), 1.0);
    let all = yes.iter().chain(no).chain(removed);
    let said: Vec<(f64, bool, f64)> = all.filter(|one| one.is_calibrated).map(came_true).collect();
    let reliability = metrics::reliability(&said);
    Abstain {
        auc: against.auc,
        far_at_95tar: against.far_at_95tar,
        answered: answered(yes).unwrap_or(0.0),
        answered_wrongly: against.answered,
        n: no.len(),
        by_level: by_level.iter().map(|(level, no)| (*level, of_level(*level, yes, no))).collect(),
        removed: (!removed.is_empty()).then(|| separation(yes, removed)),
        calibration_error: metrics::calibration_error(&reliability),
        reliability,
    }
}

/// Against the cases of the other levels: what makes a level is that it has a
/// right tool, or has none.
fn of_level(level: u8, yes: &[&Outcome], no: &[&Outcome]) -> Separation {
    let others = yes.iter().filter(|one| one.level != Some(level)).copied();
    separation(&others.collect::<Vec<_>>(), no)
}

fn separation(yes: &[&Outcome], no: &[&Outcome]) -> Separation {
    let values = |cases: &[&Outcome]| cases.iter().map(|one| one.confidence).collect::<Vec<_>>();
    let (right, wrong) = (values(yes), values(no));
    Separation {
        auc: metrics::auc(&right, &wrong),
        far_at_95tar: metrics::false_accepts_at_95(&right, &wrong),
        answered: answered(no),
        n: no.len(),
    }
}

fn answered(cases: &[&Outcome]) -> Option<f64> {
    metrics::rate(cases.iter().map(|one| !one.abstained))
}

fn latency(cases: &[&Outcome]) -> Option<Latency> {
    let times: Vec<f64> = cases.iter().map(|one| one.latency_ms).collect();
    Some(Latency { p50: metrics::quantile(&times, 0.5)?, p95: metrics::quantile(&times, 0.95)? })
}
