//! Outcomes → figures. Pure.

/// z of a two-sided 95 % interval.
const Z: f64 = 1.959_963_984_540_054;

/// Mean of `values`; `None` of none.
#[must_use]
pub(super) fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut n) = (0.0, 0.0);
    for value in values {
        sum += value;
        n += 1.0;
    }
    (n > 0.0).then_some(sum / n)
}

/// Share of `cases` that are so; `None` of none.
#[must_use]
pub(super) fn rate(cases: impl IntoIterator<Item = bool>) -> Option<f64> {
    mean(cases.into_iter().map(|is_so| if is_so { 1.0 } else { 0.0 }))
}

/// Wilson's 95 % interval of a rate: `n_hits` of `n`, as fractions.
#[must_use]
pub(super) fn wilson(n_hits: usize, n: usize) -> [f64; 2] {
    if n == 0 {
        return [0.0, 1.0];
    }
    let (hits, n) = (float(n_hits), float(n));
    let (rate, z2) = (hits / n, Z * Z);
    let centre = (rate + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = Z / (1.0 + z2 / n) * (rate * (1.0 - rate) / n + z2 / (4.0 * n * n)).sqrt();
    [(centre - half).max(0.0), (centre + half).min(1.0)]
}

/// The `q` quantile of `values` (nearest rank); `None` of none.
#[must_use]
pub(super) fn quantile(values: &[f64], q: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rank in 0..=n")]
    let rank = (q * float(sorted.len())).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied()
}

/// Normalised discounted cumulative gain at 10 (Järvelin and Kekäläinen 2002,
/// gain 2^grade − 1): `ranked` grades best first, `all` grades of the catalogue.
#[must_use]
pub(super) fn ndcg10(ranked: &[u8], all: &[u8]) -> f64 {
    let mut ideal = all.to_vec();
    ideal.sort_unstable_by(|a, b| b.cmp(a));
    let best = dcg10(&ideal);
    if best > 0.0 { dcg10(ranked) / best } else { 0.0 }
}

fn dcg10(grades: &[u8]) -> f64 {
    let gain = |(n, grade): (usize, &u8)| (f64::from(*grade).exp2() - 1.0) / float(n + 2).log2();
    grades.iter().take(10).enumerate().map(gain).sum()
}

/// Area under the ROC curve: how often a value of `right` is above one of
/// `wrong`, ties half (Mann and Whitney); `None` if either is empty.
#[must_use]
pub(super) fn auc(right: &[f64], wrong: &[f64]) -> Option<f64> {
    let wins = |a: f64| {
        wrong.iter().map(move |b| {
            if a > *b {
                1.0
            } else if a < *b {
                0.0
            } else {
                0.5
            }
        })
    };
    mean(right.iter().flat_map(|a| wins(*a)))
}

/// Share of `wrong` that is let through by the threshold that lets 95 % of
/// `right` through; `None` if either is empty.
#[must_use]
pub(super) fn false_accepts_at_95(right: &[f64], wrong: &[f64]) -> Option<f64> {
    let mut descending: Vec<f64> = right.iter().map(|value| -value).collect();
    descending.sort_by(f64::total_cmp);
    let threshold = -quantile(&descending, 0.95)?;
    rate(wrong.iter().map(|value| *value >= threshold))
}

/// One bin of a reliability diagram.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Bin {
    /// Mean of what was said, in [0, 1].
    pub confidence: f64,
    /// Share that came true, in [0, 1].
    pub rate: f64,
    /// Sum of the weights of its cases.
    pub weight: f64,
    /// Cases.
    pub n: usize,
}

/// Ten bins of equal width over (said, came true, weight); empty ones are left out.
#[must_use]
pub(super) fn reliability(said: &[(f64, bool, f64)]) -> Vec<Bin> {
    let in_bin = |bin: u8, p: f64| {
        let low = f64::from(bin) / 10.0;
        p >= low && (p < low + 0.1 || bin == 9)
    };
    let bin = |bin: u8| {
        let inside = said.iter().filter(|(p, ..)| in_bin(bin, *p));
        let weight: f64 = inside.clone().map(|(.., weight)| weight).sum();
        let confidence: f64 = inside.clone().map(|(p, _, weight)| p * weight).sum();
        let rate: f64 = inside.clone().filter(|(_, is_so, _)| *is_so).map(|(.., w)| w).sum();
        let (confidence, rate) = (confidence / weight, rate / weight);
        (weight > 0.0).then(|| Bin { confidence, rate, weight, n: inside.count() })
    };
    (0..10).filter_map(bin).collect()
}

/// Expected calibration error (Naeini et al. 2015): the weighted mean of
/// |said − came true| over the bins; `None` without bins.
#[must_use]
pub(super) fn calibration_error(bins: &[Bin]) -> Option<f64> {
    let total: f64 = bins.iter().map(|bin| bin.weight).sum();
    let sum: f64 = bins.iter().map(|bin| (bin.confidence - bin.rate).abs() * bin.weight).sum();
    (total > 0.0).then(|| sum / total)
}

/// A count as a number to reckon with.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "counts of cases and tokens are far below 2^52")]
pub(super) fn float(n: usize) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 5e-4, "{found}, expected {expected}");
    }

    #[test]
    fn intervals_are_wilsons() {
        // Brown, Cai and DasGupta 2001: 10 of 20 gives 0.299 … 0.701.
        let [low, high] = wilson(10, 20);
        near(low, 0.2993);
        near(high, 0.7007);
        near(wilson(0, 10)[1], 0.2775);
        let [low, high] = wilson(0, 0);
        near(low, 0.0);
        near(high, 1.0);
    }

    #[test]
    fn quantiles_take_the_nearest_rank() {
        let values = [4.0, 1.0, 3.0, 2.0];
        for (q, expected) in [(0.0, 1.0), (0.5, 2.0), (0.75, 3.0), (0.95, 4.0), (1.0, 4.0)] {
            assert_eq!(quantile(&values, q), Some(expected), "{q}");
        }
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn gain_is_discounted_and_normalised() {
        // (3/1 + 1/log2(4)) / (3/1 + 1/log2(3))
        near(ndcg10(&[2, 0, 1], &[1, 2]), (3.0 + 0.5) / (3.0 + 1.0 / 3.0_f64.log2()));
        near(ndcg10(&[2, 1], &[1, 2]), 1.0);
        near(ndcg10(&[0; 20], &[2]), 0.0);
        near(ndcg10(&[], &[]), 0.0);
    }

    #[test]
    fn areas_and_false_accepts() {
        assert_eq!(auc(&[3.0, 2.0], &[1.0, 2.0]), Some(0.875));
        assert_eq!(auc(&[], &[1.0]), None);
        let right: Vec<f64> = (1..=100).map(f64::from).collect();
        // 95 of 100 are ≥ 6.
        assert_eq!(false_accepts_at_95(&right, &[5.5, 6.0, 0.0, 100.0]), Some(0.5));
    }

    #[test]
    fn calibration_compares_what_was_said_with_what_came_true() {
        let said = [(0.95, true), (0.95, true), (0.05, false), (0.05, true), (1.0, true)]
            .map(|(p, is_so)| (p, is_so, 2.0));
        let bins = reliability(&said);
        assert_eq!(bins.iter().map(|bin| bin.n).collect::<Vec<_>>(), [2, 3]);
        near(calibration_error(&bins).unwrap(), (0.45 * 2.0 + (1.0 - 2.9 / 3.0) * 3.0) / 5.0);
        assert_eq!(calibration_error(&[]), None);
    }
}
