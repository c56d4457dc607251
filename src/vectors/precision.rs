//! f32 → what is stored: f16 halves, int8 quarters the bytes of a matrix.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::{Numbers, Rows};

/// How the numbers of vectors are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// As the model gave them; the only one with the paper's scores.
    #[default]
    F32,
    /// Half the bytes; a number changes by 2⁻¹¹ of itself at most.
    F16,
    /// A quarter of the bytes, and four a row; a number changes by 1/254 of
    /// the largest of its row at most, before the row gets norm 1 again.
    Int8,
}

/// A matrix in the form in which it is stored.
#[derive(Clone, Debug, PartialEq)]
pub enum Packed<'a> {
    /// See [`Numbers::F32`].
    F32(Cow<'a, [f32]>),
    /// See [`Numbers::F16`].
    F16(Vec<u16>),
    /// See [`Numbers::Int8`].
    Int8 {
        /// `[n_rows × dim]`.
        codes: Vec<i8>,
        /// `[n_rows]`.
        scales: Vec<f32>,
    },
}

impl<'a> Packed<'a> {
    /// Packs unit and zero rows of `dim` numbers.
    #[must_use]
    pub fn new(numbers: &'a [f32], dim: usize, precision: Precision) -> Self {
        match precision {
            Precision::F32 => Self::F32(Cow::Borrowed(numbers)),
            Precision::F16 => Self::F16(numbers.iter().map(|number| narrowed(*number)).collect()),
            Precision::Int8 => {
                let mut codes = Vec::with_capacity(numbers.len());
                let mut scales = Vec::with_capacity(numbers.len() / dim);
                for row in numbers.chunks(dim) {
                    scales.push(quantise(row, &mut codes));
                }
                Self::Int8 { codes, scales }
            }
        }
    }

    /// The matrix, to be read; `None` for another `dim` than it was packed with.
    #[must_use]
    pub fn rows(&self, dim: usize) -> Option<Rows<'_>> {
        let numbers = match self {
            Self::F32(numbers) => Numbers::F32(numbers),
            Self::F16(bits) => Numbers::F16(bits),
            Self::Int8 { codes, scales } => Numbers::Int8 { codes, scales },
        };
        Rows::new(dim, numbers)
    }
}

/// Bits of the nearest binary16, ties to even.
///
/// Numbers beyond its range, which no unit vector holds, come out wrong.
pub(super) fn narrowed(number: f32) -> u16 {
    const TWO_TO_MINUS_112: f32 = f32::from_bits((127 - 112) << 23);
    let bits = (number.abs() * TWO_TO_MINUS_112).to_bits();
    let rounded = (bits + 0x0fff + (bits >> 13 & 1)) >> 13;
    let sign = number.to_bits() >> 16 & 0x8000;
    u16::try_from(sign | rounded).unwrap_or(0x7c00)
}

/// Appends the codes of a row and returns its scale: the one that gives norm 1,
/// so that rounding turns a vector but does not stretch it; 0 for a zero row.
#[expect(clippy::cast_possible_truncation, reason = "the quotient is in [-127, 127]")]
pub fn quantise(row: &[f32], codes: &mut Vec<i8>) -> f32 {
    let largest = row.iter().fold(0.0_f32, |largest, number| largest.max(number.abs()));
    let step = if largest > 0.0 { 127.0 / largest } else { 0.0 };
    let start = codes.len();
    codes.extend(row.iter().map(|number| (number * step).round() as i8));
    let squares = codes[start..].iter().map(|code| f32::from(*code) * f32::from(*code));
    let norm = squares.sum::<f32>().sqrt();
    if norm > 0.0 { norm.recip() } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::vectors::dot::widened;

    fn unit(mut row: Vec<f32>) -> Vec<f32> {
        let norm = row.iter().map(|number| number * number).sum::<f32>().sqrt();
        row.iter_mut().for_each(|number| *number /= norm);
        row
    }

    fn vector() -> impl Strategy<Value = Vec<f32>> {
        prop::collection::vec(-1.0_f32..1.0, 48)
            .prop_filter("has a norm", |row| row.iter().any(|number| number.abs() > 0.1))
            .prop_map(unit)
    }

    proptest! {
        #[test]
        fn a_packed_row_is_near_the_row(row in vector(), query in vector()) {
            let exact: f32 = row.iter().zip(&query).map(|(a, b)| a * b).sum();
            let largest = row.iter().fold(0.0_f32, |largest, number| largest.max(number.abs()));
            let root = 48.0_f32.sqrt();
            for (precision, of_number, of_cosine) in [
                (Precision::F32, 0.0, 1e-6),
                (Precision::F16, 2.0_f32.powi(-12), 2.0_f32.powi(-11)),
                (Precision::Int8, largest / 254.0 * (1.0 + root), 2.0 * root * largest / 254.0),
            ] {
                let packed = Packed::new(&row, 48, precision);
                let rows = packed.rows(48).unwrap();
                for (a, b) in row.iter().zip(rows.to_f32(0)) {
                    prop_assert!((a - b).abs() <= of_number, "{precision:?}: {a} became {b}");
                }
                let cosine = rows.cosine(0, &query);
                prop_assert!((cosine - exact).abs() <= of_cosine, "{precision:?}: {cosine}, {exact}");
                let norm = rows.to_f32(0).iter().map(|number| number * number).sum::<f32>();
                prop_assert!((norm - 1.0).abs() < 1e-3, "{precision:?}: norm {norm}");
            }
        }
    }

    #[test]
    fn every_finite_binary16_survives() {
        for bits in (0..=u16::MAX).filter(|bits| bits & 0x7c00 != 0x7c00) {
            assert_eq!(narrowed(widened(bits)), bits);
        }
        // 1 + 2⁻¹¹ lies between two, as does 1 + 3·2⁻¹¹; the even one is taken.
        assert_eq!(narrowed(1.0 + 2.0_f32.powi(-11)), 0x3c00);
        assert_eq!(narrowed(1.0 + 3.0 * 2.0_f32.powi(-11)), 0x3c02);
    }

    #[test]
    fn a_zero_row_stays_zero_and_odd_lengths_are_refused() {
        for precision in [Precision::F32, Precision::F16, Precision::Int8] {
            let packed = Packed::new(&[0.0; 6], 3, precision);
            let rows = packed.rows(3).unwrap();
            assert_eq!((rows.n_rows(), rows.cosine(1, &[1.0; 3])), (2, 0.0));
            assert_eq!(rows.to_f32(0), [0.0; 3]);
            assert!(packed.rows(4).is_none() && packed.rows(0).is_none());
        }
    }
}
