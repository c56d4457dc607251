//! A ranking → the probability that one of its first tools fulfils the request.
//!
//! Owns the formula. A logistic regression over four signals of the ranked
//! list; its numbers belong to an embedding model (`models/manifest.toml`) or
//! to a catalogue (`eval calibrate`). Pure.

use serde::{Deserialize, Serialize};

/// The numbers of the formula; what each signal is worth.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// Log-odds with all signals 0.
    pub intercept: f32,
    /// Of [`Signals::similarity`].
    pub similarity: f32,
    /// Of [`Signals::margin`].
    pub margin: f32,
    /// Of [`Signals::coverage`].
    pub coverage: f32,
    /// Of [`Signals::contradiction`].
    pub contradiction: f32,
    /// Confidence under which the answer is "no tool fits", in [0, 1].
    pub floor: f32,
}

/// What a ranked list says about itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Signals {
    /// Mean of `s_tool` and `s_joint` of the best tool, in [0, 1].
    pub similarity: f32,
    /// Score of the best tool less that of the fourth, in [0, 1].
    pub margin: f32,
    /// How much of the request the best tool says, and how much of its name
    /// was asked for, in [0, 1]; rare words count more.
    pub coverage: f32,
    /// 1 if the best tool does something else than was asked for, else 0.
    pub contradiction: f32,
}

impl Signals {
    /// In the order of the numbers of a [`Calibration`].
    #[must_use]
    pub fn as_array(&self) -> [f32; 4] {
        [self.similarity, self.margin, self.coverage, self.contradiction]
    }
}

impl Calibration {
    /// The probability, in (0, 1).
    #[must_use]
    pub fn confidence(&self, signals: &Signals) -> f32 {
        let weights = [self.similarity, self.margin, self.coverage, self.contradiction];
        let sum: f32 = weights.iter().zip(signals.as_array()).map(|(w, signal)| w * signal).sum();
        1.0 / (1.0 + (-(self.intercept + sum)).exp())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BGE: Calibration = Calibration {
        intercept: -10.89,
        similarity: 9.29,
        margin: 10.06,
        coverage: 4.80,
        contradiction: -3.83,
        floor: 0.02,
    };

    #[test]
    fn it_is_the_logistic_function() {
        // By numpy from these signals.
        for (signals, expected) in [
            ([0.893_08, 0.239_02, 0.616_37, 0.0], 0.9410),
            ([0.747, 0.306_89, 0.486_12, 0.0], 0.8131),
            ([0.853_39, 0.299_68, 0.540_03, 0.0], 0.9337),
        ] {
            let [similarity, margin, coverage, contradiction] = signals;
            let signals = Signals { similarity, margin, coverage, contradiction };
            let found = BGE.confidence(&signals);
            assert!((found - expected).abs() < 2e-3, "{found}, expected {expected}");
        }
    }

    #[test]
    fn more_of_the_good_is_better() {
        let some = Signals { similarity: 0.8, margin: 0.1, coverage: 0.4, contradiction: 0.0 };
        let at = |signals: Signals| BGE.confidence(&signals);
        assert!(at(Signals { margin: 0.2, ..some }) > at(some));
        assert!(at(Signals { coverage: 0.5, ..some }) > at(some));
        assert!(at(Signals { contradiction: 1.0, ..some }) < at(some));
    }
}
