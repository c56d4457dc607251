//! Unit vectors in rows: how they are stored, their cosines, their neighbours.
//!
//! Owns the precisions and the one place where dot products are computed.
//! Pure: slices in, numbers out. Must not know what a row stands for.

mod dot;
mod graph;
mod precision;

pub use graph::{Graph, Lists};
pub use precision::{Packed, Precision, quantise};

use std::ops::Range;

/// A matrix of unit vectors, `[n_rows × dim]`; an absent vector is a zero row.
///
/// A cosine is a dot product, in [-1, 1]; with a zero row it is 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rows<'a> {
    dim: usize,
    numbers: Numbers<'a>,
}

/// The numbers of a matrix, row after row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Numbers<'a> {
    /// As the model gave them.
    F32(&'a [f32]),
    /// Bits of IEEE 754 binary16, finite.
    F16(&'a [u16]),
    /// A row is its codes times its scale.
    Int8 {
        /// `[n_rows × dim]`.
        codes: &'a [i8],
        /// `[n_rows]`; makes the norm of a row 1.
        scales: &'a [f32],
    },
}

impl<'a> Rows<'a> {
    /// `None` unless there are `dim` numbers a row, and a scale a row.
    #[must_use]
    pub fn new(dim: usize, numbers: Numbers<'a>) -> Option<Self> {
        let n_numbers = match numbers {
            Numbers::F32(numbers) => numbers.len(),
            Numbers::F16(bits) => bits.len(),
            Numbers::Int8 { codes, scales } => {
                if codes.len() != scales.len() * dim {
                    return None;
                }
                codes.len()
            }
        };
        (dim > 0 && n_numbers.is_multiple_of(dim)).then_some(Self { dim, numbers })
    }

    /// How many there are.
    #[must_use]
    pub fn n_rows(&self) -> usize {
        match self.numbers {
            Numbers::F32(numbers) => numbers.len() / self.dim,
            Numbers::F16(bits) => bits.len() / self.dim,
            Numbers::Int8 { scales, .. } => scales.len(),
        }
    }

    /// Numbers a row.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Cosine of one row with `query`, `[dim]`.
    #[must_use]
    pub fn cosine(&self, row: usize, query: &[f32]) -> f32 {
        let mut cosine = [0.0];
        self.cosines_of(row..row + 1, [query], &mut [&mut cosine]);
        cosine[0]
    }

    /// Cosines of all rows with each of `queries`, `[n_rows]` each: one pass
    /// over the rows.
    #[must_use]
    pub fn cosines<const N: usize>(&self, queries: [&[f32]; N]) -> [Vec<f32>; N] {
        let mut all = [const { Vec::new() }; N];
        for cosines in &mut all {
            cosines.resize(self.n_rows(), 0.0);
        }
        self.cosines_of(0..self.n_rows(), queries, &mut all.each_mut().map(Vec::as_mut_slice));
        all
    }

    fn cosines_of<const N: usize>(
        &self,
        rows: Range<usize>,
        queries: [&[f32]; N],
        cosines: &mut [&mut [f32]; N],
    ) {
        let queries = queries.map(|query| &query[..self.dim]);
        let at = rows.start * self.dim..rows.end * self.dim;
        match self.numbers {
            Numbers::F32(numbers) => dot::f32(&numbers[at], queries, cosines),
            Numbers::F16(bits) => dot::f16(&bits[at], queries, cosines),
            Numbers::Int8 { codes, scales } => {
                dot::int8(&codes[at], queries, cosines);
                for cosines in cosines {
                    for (cosine, scale) in cosines.iter_mut().zip(&scales[rows.clone()]) {
                        *cosine *= scale;
                    }
                }
            }
        }
    }

    /// A row as numbers, `[dim]`.
    #[must_use]
    pub fn to_f32(&self, row: usize) -> Vec<f32> {
        let at = row * self.dim..(row + 1) * self.dim;
        match self.numbers {
            Numbers::F32(numbers) => numbers[at].to_vec(),
            Numbers::F16(bits) => bits[at].iter().map(|bits| dot::widened(*bits)).collect(),
            Numbers::Int8 { codes, scales } => {
                codes[at].iter().map(|code| scales[row] * f32::from(*code)).collect()
            }
        }
    }

    /// Length of a row: 1, 0 where the vector is absent, or wrong.
    #[must_use]
    pub fn norm(&self, row: usize) -> f32 {
        let squares = |number: f32| number * number;
        let at = row * self.dim..(row + 1) * self.dim;
        match self.numbers {
            Numbers::F32(numbers) => numbers[at].iter().copied().map(squares).sum::<f32>().sqrt(),
            _ => self.to_f32(row).into_iter().map(squares).sum::<f32>().sqrt(),
        }
    }

    /// Begins to load a row that is asked for soon.
    ///
    /// Reads one number of every cache line and waits for none of them, so that
    /// the misses of many rows overlap.
    fn touch(&self, row: usize) {
        let at = row * self.dim..(row + 1) * self.dim;
        if let Numbers::Int8 { codes, .. } = self.numbers {
            let lines = codes[at].chunks(CACHE_LINE_BYTES);
            std::hint::black_box(lines.fold(0, |mixed, line| mixed ^ line[0]));
        }
    }

    /// Cosine of a row of codes with a query from [`rounded`].
    ///
    /// 0 for the other precisions, as of two rows of codes.
    #[expect(clippy::cast_precision_loss, reason = "a sum is rounded once")]
    fn cosine_with(&self, row: usize, query: &[i16]) -> f32 {
        let Numbers::Int8 { codes, scales } = self.numbers else { return 0.0 };
        let codes = &codes[row * self.dim..(row + 1) * self.dim];
        scales[row] / ROUNDED_ONE * dot::codes_with(codes, query) as f32
    }

    /// Cosine of two rows of codes.
    ///
    /// 0 for the other precisions: only codes are compared with each other.
    #[must_use]
    pub fn cosine_of_codes(&self, a: usize, b: usize) -> f32 {
        let Numbers::Int8 { codes, scales } = self.numbers else { return 0.0 };
        let row = |row: usize| &codes[row * self.dim..(row + 1) * self.dim];
        scales[a] * scales[b] * dot::codes(row(a), row(b))
    }
}

/// A unit vector in whole numbers: `[dim]`, each within 2⁻¹⁶ of its number.
#[expect(clippy::cast_possible_truncation, reason = "numbers of a unit vector are in [-1, 1]")]
fn rounded(query: &[f32]) -> Vec<i16> {
    query.iter().map(|number| (number * ROUNDED_ONE).round() as i16).collect()
}

/// What 1 becomes.
const ROUNDED_ONE: f32 = 32_767.0;

const CACHE_LINE_BYTES: usize = 64;
