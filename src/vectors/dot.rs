//! Dot products of rows with queries: one kernel a precision.
//!
//! Plain loops over sixteen sums, which the compiler turns into SIMD, compiled
//! for AVX2 too where the processor has it. A row is loaded once for all
//! queries, whose sums do not wait for each other. What they and others take
//! stands in `eval/reports/performance.md`. Without fused operations, which cost forty
//! times as much where the processor has none, every processor gives the same
//! bits, and so does a query alone or beside others.

use multiversion::multiversion;

/// Sums side by side: two AVX2 registers, or four of SSE2 and NEON.
const LANES: usize = 16;

/// Dot products of rows, `[n × dim]`, with each of `N` queries, `[dim]`, into
/// `[n]` a query.
#[multiversion(targets("x86_64+avx2"))]
pub(super) fn f32<const N: usize>(
    rows: &[f32],
    queries: [&[f32]; N],
    products: &mut [&mut [f32]; N],
) {
    each(rows, queries, products, |a| a);
}

/// The same over bits of binary16.
#[multiversion(targets("x86_64+avx2"))]
pub(super) fn f16<const N: usize>(
    rows: &[u16],
    queries: [&[f32]; N],
    products: &mut [&mut [f32]; N],
) {
    each(rows, queries, products, widened);
}

/// The same over codes; the caller multiplies by their scales.
#[multiversion(targets("x86_64+avx2"))]
pub(super) fn int8<const N: usize>(
    rows: &[i8],
    queries: [&[f32]; N],
    products: &mut [&mut [f32]; N],
) {
    each(rows, queries, products, f32::from);
}

/// Inlined always: only so is it compiled for what the caller is compiled for.
#[inline(always)]
#[expect(clippy::inline_always, reason = "said above")]
fn each<T: Copy, const N: usize>(
    rows: &[T],
    queries: [&[f32]; N],
    products: &mut [&mut [f32]; N],
    number: impl Fn(T) -> f32 + Copy,
) {
    let dim = queries[0].len();
    for (n, row) in rows.chunks_exact(dim).enumerate() {
        let sums = sums(row, queries, number);
        for q in 0..N {
            products[q][n] = sums[q];
        }
    }
}

/// One row with all queries. By indices: chains of iterators over arrays of
/// arrays stay calls, which nothing makes SIMD of.
#[inline(always)]
#[expect(clippy::inline_always, reason = "said above")]
fn sums<T: Copy, const N: usize>(
    row: &[T],
    queries: [&[f32]; N],
    number: impl Fn(T) -> f32,
) -> [f32; N] {
    let n_chunks = row.len() / LANES;
    let (chunks, end) = row.as_chunks::<LANES>();
    let mut query_chunks = [&[][..]; N];
    for q in 0..N {
        query_chunks[q] = &queries[q].as_chunks::<LANES>().0[..n_chunks];
    }
    let mut lanes = [[0.0_f32; LANES]; N];
    for (n, chunk) in chunks.iter().enumerate() {
        for q in 0..N {
            let (query, before) = (&query_chunks[q][n], lanes[q]);
            for k in 0..LANES {
                lanes[q][k] = before[k] + number(chunk[k]) * query[k];
            }
        }
    }
    let mut sums = [0.0; N];
    for q in 0..N {
        let query_end = queries[q].as_chunks::<LANES>().1;
        let end: f32 = end.iter().zip(query_end).map(|(a, b)| number(*a) * b).sum();
        sums[q] = lanes[q].iter().sum::<f32>() + end;
    }
    sums
}

/// Σ row·query of codes with a query in 2⁻¹⁵, exactly.
///
/// A unit query keeps the sum far below 2³¹: 2¹⁵ times the norm of the codes
/// at most.
#[multiversion(targets("x86_64+avx2"))]
pub(super) fn codes_with(row: &[i8], query: &[i16]) -> i32 {
    row.iter().zip(query).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum()
}

/// Σ a·b of two rows of codes, rounded once.
#[multiversion(targets("x86_64+avx2"))]
#[expect(clippy::cast_precision_loss, reason = "said above")]
pub(super) fn codes(a: &[i8], b: &[i8]) -> f32 {
    let sum: i32 = a.iter().zip(b).map(|(a, b)| i32::from(i16::from(*a) * i16::from(*b))).sum();
    sum as f32
}

/// The number that finite bits of binary16 stand for, exactly.
///
/// Moves exponent and fraction to their places in binary32 and corrects the
/// bias of the exponent, 127 instead of 15, by one product; this serves
/// subnormal numbers too, and SIMD.
#[inline]
pub(super) fn widened(bits: u16) -> f32 {
    const TWO_TO_112: f32 = f32::from_bits((127 + 112) << 23);
    let number = f32::from_bits(u32::from(bits & 0x7fff) << 13) * TWO_TO_112;
    f32::from_bits(number.to_bits() | u32::from(bits & 0x8000) << 16)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Kernel<T, const N: usize> = fn(&[T], [&[f32]; N], &mut [&mut [f32]; N]);

    /// Of two equal rows, so that the second is found too, with a query alone
    /// and beside another.
    fn product<T: Copy>(one: Kernel<T, 1>, two: Kernel<T, 2>, row: &[T], query: &[f32]) -> f32 {
        let rows = [row, row].concat();
        let other: Vec<f32> = query.iter().map(|number| 1.0 - number).collect();
        let (mut alone, mut beside, mut others) = ([0.0; 2], [0.0; 2], [0.0; 2]);
        one(&rows, [query], &mut [&mut alone]);
        two(&rows, [&other, query], &mut [&mut others, &mut beside]);
        for product in [alone[1], beside[0], beside[1]] {
            assert_eq!(product.to_bits(), alone[0].to_bits());
        }
        alone[0]
    }

    fn check(row: &[f32], query: &[f32], found: f32) {
        let exact: f64 = row.iter().zip(query).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
        assert!((f64::from(found) - exact).abs() < 1e-4, "{found}, expected {exact}");
    }

    proptest! {
        #[test]
        fn kernels_agree_with_f64(
            pairs in prop::collection::vec((-64_i8..=64, -1.0_f32..1.0), 1..100)
        ) {
            let codes_of: Vec<i8> = pairs.iter().map(|pair| pair.0).collect();
            let query: Vec<f32> = pairs.iter().map(|pair| pair.1).collect();
            // Multiples of 1/64 are exact in binary16.
            let row: Vec<f32> = codes_of.iter().map(|code| f32::from(*code) / 64.0).collect();
            check(&row, &query, product(super::f32, super::f32, &row, &query));
            check(&row, &query, product(int8, int8, &codes_of, &query) / 64.0);
            let bits: Vec<u16> = row.iter().map(|a| crate::vectors::precision::narrowed(*a)).collect();
            check(&row, &query, product(f16, f16, &bits, &query));
            check(&row, &row, codes(&codes_of, &codes_of) / 4096.0);
            let whole: Vec<i16> = codes_of.iter().map(|code| 256 * i16::from(*code)).collect();
            let sum = f64::from(codes_with(&codes_of, &whole)) / 256.0;
            assert_eq!(sum.to_bits(), f64::from(codes(&codes_of, &codes_of)).to_bits());
        }
    }

    #[test]
    fn bits_of_binary16_widen_as_the_standard_says() {
        for (bits, number) in [
            (0x0000, 0.0),
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x7bff, 65_504.0),
            (0x0400, 2.0_f32.powi(-14)),
            (0x0001, 2.0_f32.powi(-24)),
            (0x83ff, -1_023.0 * 2.0_f32.powi(-24)),
        ] {
            assert_eq!(widened(bits).to_bits(), number.to_bits(), "{bits:#x}");
        }
    }
}
