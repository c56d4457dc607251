//! Least figures that a run must reach: a check for anyone's own CI.
//!
//! ```toml
//! [[require]]
//! set = "requests"     # any of set, pool and arm may be left out
//! arm = "scout"
//! top1 = 0.9           # any of the rates, as fractions
//! ```

use std::path::Path;

use serde::Deserialize;

use super::EvalError;
use super::results::{Results, Run};

/// What a run must reach.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gate {
    require: Vec<Requirement>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Requirement {
    set: Option<String>,
    pool: Option<String>,
    arm: Option<String>,
    top1: Option<f64>,
    top3: Option<f64>,
    top5: Option<f64>,
    top10: Option<f64>,
    mrr: Option<f64>,
    ndcg10: Option<f64>,
    auc: Option<f64>,
    answered: Option<f64>,
    saved: Option<f64>,
    n: Option<usize>,
}

/// A figure below what is required.
#[derive(Clone, Debug, PartialEq)]
pub struct Missed {
    /// Set, pool and arm; what the requirement names if no run has that.
    pub run: String,
    /// `top1`, `auc` …
    pub figure: &'static str,
    /// What there is, if anything.
    pub found: Option<f64>,
    /// What is required.
    pub least: f64,
}

impl std::fmt::Display for Missed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { run, figure, found, least } = self;
        match found {
            Some(found) => write!(f, "{run}: {figure} is {found:.4}, at least {least} is required"),
            None => write!(f, "{run}: there is no {figure}, at least {least} is required"),
        }
    }
}

impl Gate {
    /// Reads a gate file.
    ///
    /// # Errors
    /// Fails when it is no TOML or has an unknown key.
    pub fn load(path: &Path) -> Result<Self, EvalError> {
        let text = fs_err::read_to_string(path)
            .map_err(|source| EvalError::Read { path: path.to_owned(), source })?;
        toml::from_str(&text)
            .map_err(|source| EvalError::Toml { path: path.to_owned(), source: Box::new(source) })
    }

    /// Every figure below its requirement. A requirement that no run meets by
    /// name is missed too: a renamed set must not open the gate.
    #[must_use]
    pub fn missed(&self, results: &Results) -> Vec<Missed> {
        self.require.iter().flat_map(|one| one.missed(results)).collect()
    }
}

impl Requirement {
    fn missed(&self, results: &Results) -> Vec<Missed> {
        let is = |wanted: &Option<String>, name: &str| wanted.as_deref().is_none_or(|w| w == name);
        let concerns = |run: &&Run| {
            is(&self.set, &run.set) && is(&self.pool, &run.pool) && is(&self.arm, &run.arm)
        };
        let runs: Vec<&Run> = results.runs.iter().filter(concerns).collect();
        if runs.is_empty() {
            let part = |part: &Option<String>| part.clone().unwrap_or_else(|| "*".to_owned());
            let run = format!("{}@{} {}", part(&self.set), part(&self.pool), part(&self.arm));
            return vec![Missed { run, figure: "run", found: None, least: 1.0 }];
        }
        runs.into_iter().flat_map(|run| self.missed_by(run)).collect()
    }

    fn missed_by(&self, run: &Run) -> Vec<Missed> {
        let rate = |figure: fn(&super::results::Rates) -> f64| run.rates.as_ref().map(figure);
        let abstain = run.abstain.as_ref();
        let figures = [
            ("top1", self.top1, rate(|rates| rates.top1)),
            ("top3", self.top3, rate(|rates| rates.top3)),
            ("top5", self.top5, rate(|rates| rates.top5)),
            ("top10", self.top10, rate(|rates| rates.top10)),
            ("mrr", self.mrr, rate(|rates| rates.mrr)),
            ("ndcg10", self.ndcg10, rate(|rates| rates.ndcg10)),
            ("auc", self.auc, abstain.and_then(|abstain| abstain.auc)),
            ("answered", self.answered, abstain.map(|abstain| abstain.answered)),
            ("saved", self.saved, run.tokens.saved),
            ("n", self.n.map(super::metrics::float), Some(super::metrics::float(run.n))),
        ];
        let run = format!("{}@{} {}", run.set, run.pool, run.arm);
        let missed = |(figure, least, found): (&'static str, Option<f64>, Option<f64>)| {
            let least = least?;
            let is_reached = found.is_some_and(|found| found >= least);
            (!is_reached).then(|| Missed { run: run.clone(), figure, found, least })
        };
        figures.into_iter().filter_map(missed).collect()
    }
}
