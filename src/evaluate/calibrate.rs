//! Outcomes → a calibration: which signals mean that a request was fulfilled.
//!
//! L2-regularised logistic regression by Newton's method over standardised
//! signals (½|β|² + Σ wᵢ·loss, Σ wᵢ = n). Every suite weighs the same, and in
//! it the fulfilled requests as much as the others. Pure.

use serde::{Deserialize, Serialize};

use super::metrics::{self, Bin, float};
use super::run::{Answerable, Outcome};
use crate::confidence::Calibration;

/// Fewer rows than this only shift and stretch the numbers there are.
const ENOUGH_ROWS: usize = 200;

const N_SIGNALS: usize = 4;

/// One request of which it is known whether it was fulfilled.
#[derive(Clone, Copy, Debug)]
struct Row {
    signals: [f64; N_SIGNALS],
    /// Whether one of the first three tools fulfils it.
    is_fulfilled: bool,
    is_answerable: bool,
    weight: f64,
}

/// How well confidence and truth agree, over all suites.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Calibrated {
    /// Expected calibration error, weighted as above.
    pub error: f64,
    /// Requests, with those asked again without their tools.
    pub n: usize,
    /// The reliability diagram.
    pub bins: Vec<Bin>,
}

/// A new calibration and what it does.
#[derive(Clone, Debug, Serialize)]
pub struct Fit {
    /// The numbers.
    pub calibration: Calibration,
    /// Rows they were fitted on.
    pub n: usize,
    /// Whether all numbers are new; with fewer than 200 rows only their scale is.
    pub is_whole: bool,
    /// Expected calibration error on the same rows.
    pub error: f64,
    /// What floors would do.
    pub floors: Vec<FloorEffect>,
}

/// What a floor does.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct FloorEffect {
    /// The floor.
    pub floor: f32,
    /// Share of the requests with a right tool that are still answered.
    pub kept: f64,
    /// Share of the others that no longer are.
    pub rejected: f64,
}

/// How well the confidences of `outcomes` hold; `None` without any.
#[must_use]
pub fn calibrated(outcomes: &[Outcome]) -> Option<Calibrated> {
    let said: Vec<&Outcome> = outcomes.iter().filter(|one| one.is_calibrated).collect();
    let weights = weights(&said);
    let rows: Vec<(f64, bool, f64)> = said
        .iter()
        .zip(&weights)
        .map(|(one, weight)| (one.confidence, is_fulfilled(one), *weight))
        .collect();
    let bins = metrics::reliability(&rows);
    Some(Calibrated { error: metrics::calibration_error(&bins)?, n: rows.len(), bins })
}

/// Fits to `outcomes`, starting from `before`; the floor is the highest of a
/// few that keeps `keep` of the requests that have a right tool.
///
/// `None` unless there are requests of both kinds.
#[must_use]
pub fn fit(outcomes: &[Outcome], before: Option<Calibration>, keep: f64) -> Option<Fit> {
    let rows = rows(outcomes);
    let n_fulfilled = rows.iter().filter(|row| row.is_fulfilled).count();
    if n_fulfilled == 0 || n_fulfilled == rows.len() {
        return None;
    }
    let before = before.filter(|_| rows.len() < ENOUGH_ROWS);
    let mut calibration = match before {
        Some(before) => rescaled(&rows, &before),
        None => whole(&rows),
    };
    let said: Vec<f64> = rows.iter().map(|row| said(&calibration, row)).collect();
    let floors = [0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3].map(|floor| {
        let over = |is_answerable: bool| {
            let kind =
                rows.iter().zip(&said).filter(move |(row, _)| row.is_answerable == is_answerable);
            metrics::rate(kind.map(|(_, said)| *said >= f64::from(floor)))
        };
        let (kept, answered) = (over(true).unwrap_or(0.0), over(false).unwrap_or(0.0));
        FloorEffect { floor, kept, rejected: 1.0 - answered }
    });
    let kept = floors.iter().rev().find(|one| one.kept >= keep);
    calibration.floor = kept.map_or(0.0, |one| one.floor);
    let said: Vec<(f64, bool, f64)> =
        rows.iter().zip(said).map(|(row, said)| (said, row.is_fulfilled, row.weight)).collect();
    let error = metrics::calibration_error(&metrics::reliability(&said))?;
    let is_whole = before.is_none();
    Some(Fit { calibration, n: rows.len(), is_whole, error, floors: floors.to_vec() })
}

fn rows(outcomes: &[Outcome]) -> Vec<Row> {
    let known: Vec<&Outcome> = outcomes.iter().filter(|one| one.signals.is_some()).collect();
    let row = |(one, weight): (&&Outcome, f64)| {
        Some(Row {
            signals: one.signals?.as_array().map(f64::from),
            is_fulfilled: is_fulfilled(one),
            is_answerable: one.answerable == Answerable::Yes,
            weight,
        })
    };
    known.iter().zip(weights(&known)).filter_map(row).collect()
}

fn is_fulfilled(outcome: &Outcome) -> bool {
    outcome.rank.is_some_and(|rank| rank <= 3)
}

/// One a suite, half of it for the fulfilled; their sum is the number of rows.
fn weights(outcomes: &[&Outcome]) -> Vec<f64> {
    let kind = |one: &Outcome| (one.set.clone(), one.pool.clone(), is_fulfilled(one));
    let mut counts = std::collections::BTreeMap::new();
    for one in outcomes {
        *counts.entry(kind(one)).or_insert(0_usize) += 1;
    }
    let each = float(outcomes.len()) / float(counts.len().max(1));
    outcomes.iter().map(|one| each / float(counts[&kind(one)])).collect()
}

/// All numbers anew.
fn whole(rows: &[Row]) -> Calibration {
    let (means, deviations) = moments(rows);
    let standard = |row: &Row| {
        let mut x = [1.0; N_SIGNALS + 1];
        for n in 0..N_SIGNALS {
            x[n + 1] = (row.signals[n] - means[n]) / deviations[n];
        }
        x
    };
    let beta = newton(rows, standard);
    let raw: Vec<f64> = (0..N_SIGNALS).map(|n| beta[n + 1] / deviations[n]).collect();
    let intercept = beta[0] - raw.iter().zip(means).map(|(b, mean)| b * mean).sum::<f64>();
    of_numbers(intercept, &raw)
}

/// The numbers of `before`, stretched and shifted.
fn rescaled(rows: &[Row], before: &Calibration) -> Calibration {
    let beta = newton(rows, |row| [1.0, logit(before, row)]);
    let raw = [before.similarity, before.margin, before.coverage, before.contradiction]
        .map(|number| f64::from(number) * beta[1]);
    of_numbers(beta[0] + beta[1] * f64::from(before.intercept), &raw)
}

#[expect(clippy::cast_possible_truncation, reason = "single precision is plenty")]
fn of_numbers(intercept: f64, raw: &[f64]) -> Calibration {
    Calibration {
        intercept: intercept as f32,
        similarity: raw[0] as f32,
        margin: raw[1] as f32,
        coverage: raw[2] as f32,
        contradiction: raw[3] as f32,
        floor: 0.0,
    }
}

fn said(calibration: &Calibration, row: &Row) -> f64 {
    sigmoid(logit(calibration, row))
}

fn logit(calibration: &Calibration, row: &Row) -> f64 {
    let [similarity, margin, coverage, contradiction] = row.signals;
    f64::from(calibration.intercept)
        + f64::from(calibration.similarity) * similarity
        + f64::from(calibration.margin) * margin
        + f64::from(calibration.coverage) * coverage
        + f64::from(calibration.contradiction) * contradiction
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// Weighted means and standard deviations of the signals; a constant one has 1.
fn moments(rows: &[Row]) -> ([f64; N_SIGNALS], [f64; N_SIGNALS]) {
    let total: f64 = rows.iter().map(|row| row.weight).sum();
    let (mut means, mut deviations) = ([0.0; N_SIGNALS], [1.0; N_SIGNALS]);
    for n in 0..N_SIGNALS {
        means[n] = rows.iter().map(|row| row.weight * row.signals[n]).sum::<f64>() / total;
        let squares = rows.iter().map(|row| row.weight * (row.signals[n] - means[n]).powi(2));
        let deviation = (squares.sum::<f64>() / total).sqrt();
        if deviation > 1e-9 {
            deviations[n] = deviation;
        }
    }
    (means, deviations)
}

/// Minimises ½|β|² (without the intercept) + Σ w·loss.
fn newton<const P: usize>(rows: &[Row], features: impl Fn(&Row) -> [f64; P]) -> [f64; P] {
    let mut beta = [0.0; P];
    for _ in 0..50 {
        let (mut gradient, mut hessian) = ([0.0; P], [[0.0; P]; P]);
        for n in 1..P {
            gradient[n] = beta[n];
            hessian[n][n] = 1.0;
        }
        for row in rows {
            let x = features(row);
            let p = sigmoid(x.iter().zip(beta).map(|(x, b)| x * b).sum());
            let truth = if row.is_fulfilled { 1.0 } else { 0.0 };
            for i in 0..P {
                gradient[i] += row.weight * (p - truth) * x[i];
                for j in 0..P {
                    hessian[i][j] += row.weight * p * (1.0 - p) * x[i] * x[j];
                }
            }
        }
        let step = solved(hessian, gradient);
        for (b, step) in beta.iter_mut().zip(step) {
            *b -= step;
        }
        if step.iter().all(|step| step.abs() < 1e-9) {
            break;
        }
    }
    beta
}

/// x of a·x = b for a symmetric positive definite `a`, by elimination.
fn solved<const P: usize>(mut a: [[f64; P]; P], mut b: [f64; P]) -> [f64; P] {
    for i in 0..P {
        for j in i + 1..P {
            let factor = a[j][i] / a[i][i];
            let above = a[i];
            for (below, above) in a[j].iter_mut().zip(above).skip(i) {
                *below -= factor * above;
            }
            b[j] -= factor * b[i];
        }
    }
    for i in (0..P).rev() {
        let known: f64 = (i + 1..P).map(|j| a[i][j] * b[j]).sum();
        b[i] = (b[i] - known) / a[i][i];
    }
    b
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::confidence::Signals;

    fn signals([similarity, margin, coverage, contradiction]: [f32; 4]) -> Signals {
        Signals { similarity, margin, coverage, contradiction }
    }

    fn outcome(n: u16, answerable: Answerable) -> Outcome {
        let x = f32::from(n % 10) / 10.0;
        Outcome {
            set: "s".to_owned(),
            pool: "p".to_owned(),
            arm: "scout",
            id: n.to_string(),
            level: None,
            answerable,
            rank: (answerable == Answerable::Yes).then_some(1),
            ndcg10: 0.0,
            confidence: 0.5,
            is_calibrated: true,
            signals: Some(signals([x, 0.2, x, 0.0])),
            abstained: false,
            best: Vec::new(),
            reply_tokens: 0,
            latency_ms: 0.0,
        }
    }

    /// A signal of x is fulfilled x of the time.
    fn outcomes(n: u16) -> Vec<Outcome> {
        let kind = |i| if (i / 10) % 10 < i % 10 { Answerable::Yes } else { Answerable::No };
        (0..n).map(|i| outcome(i, kind(i))).collect()
    }

    #[test]
    fn a_fit_says_what_came_true() {
        let fit = fit(&outcomes(1_000), None, 0.97).unwrap();
        assert!(fit.is_whole && fit.n == 1_000 && fit.error < 0.05, "{fit:?}");
        let at = |x: f32| fit.calibration.confidence(&signals([x, 0.2, x, 0.0]));
        assert!(at(0.9) > 0.85 && at(0.1) < 0.15 && (at(0.5) - 0.5).abs() < 0.1, "{fit:?}");
        let kept = fit.floors.iter().find(|one| one.floor >= fit.calibration.floor).unwrap();
        assert!(kept.kept >= 0.97, "{fit:?}");
    }

    #[test]
    fn few_rows_only_stretch() {
        let before = fit(&outcomes(1_000), None, 0.97).unwrap().calibration;
        let few = fit(&outcomes(100), Some(before), 0.97).unwrap();
        assert!(!few.is_whole);
        let ratio = few.calibration.coverage / before.coverage;
        assert!((few.calibration.similarity / before.similarity - ratio).abs() < 1e-3, "{few:?}");
    }

    #[test]
    fn one_kind_alone_fits_nothing() {
        let all: Vec<Outcome> = (0..300).map(|n| outcome(n, Answerable::Yes)).collect();
        assert!(fit(&all, None, 0.97).is_none());
        assert!(calibrated(&[]).is_none());
        assert!((calibrated(&all).unwrap().error - 0.5).abs() < 1e-9);
    }

    #[test]
    fn equations_are_solved() {
        let x = solved([[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 2.0]], [6.0, 10.0, 8.0]);
        for (found, expected) in x.into_iter().zip([1.0, 2.0, 3.0]) {
            assert!((found - expected).abs() < 1e-12, "{x:?}");
        }
    }
}
