//! The k best of many, in order, in one pass.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// The `k` first items by `order`, sorted; `k > n` returns n.
///
/// `order` says `Less` for the better item and must be total; O(n log k) time,
/// O(k) memory.
#[must_use]
pub fn top_k<T>(
    items: impl IntoIterator<Item = T>,
    k: usize,
    order: impl Fn(&T, &T) -> Ordering + Copy,
) -> Vec<T> {
    if k == 0 {
        // An item may cost something.
        return Vec::new();
    }
    let mut best = Best::new(k, order);
    for item in items {
        best.offer(item);
    }
    best.into_sorted()
}

/// The `k` highest scores and their rows: what [`top_k`] finds by [`higher`]
/// among those above negative infinity.
pub(super) fn top_rows(scores: &[f32], k: usize) -> Vec<(f32, usize)> {
    top_rows_above(scores, k, f32::NEG_INFINITY)
}

/// The same among the scores above `floor`.
///
/// SIMD passes over blocks without a score above the worst one kept; an equal
/// one has the higher row.
pub(super) fn top_rows_above(scores: &[f32], k: usize, floor: f32) -> Vec<(f32, usize)> {
    let mut best = Best::new(k, higher);
    if k == 0 {
        return Vec::new();
    }
    for (block, first) in scores.chunks(BLOCK).zip((0..).step_by(BLOCK)) {
        let bar = best.worst().map_or(floor, |worst| worst.0);
        if block.iter().fold(false, |is_high, score| is_high | (*score > bar)) {
            let scored = block.iter().copied().zip(first..);
            scored.filter(|(score, _)| *score > bar).for_each(|scored| best.offer(scored));
        }
    }
    best.into_sorted()
}

/// Scores that are looked at together.
const BLOCK: usize = 32;

/// Higher score first, then the lower row.
pub(super) fn higher(a: &(f32, usize), b: &(f32, usize)) -> Ordering {
    b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
}

/// The best of the items offered so far, `k` at most.
struct Best<T, F> {
    kept: BinaryHeap<Worst<T, F>>,
    k: usize,
    order: F,
}

impl<T, F: Fn(&T, &T) -> Ordering + Copy> Best<T, F> {
    fn new(k: usize, order: F) -> Self {
        Self { kept: BinaryHeap::new(), k, order }
    }

    /// What the next item must beat, once there are `k`.
    fn worst(&self) -> Option<&T> {
        let is_full = self.kept.len() == self.k;
        self.kept.peek().filter(|_| is_full).map(|worst| &worst.item)
    }

    fn offer(&mut self, item: T) {
        if self.kept.len() < self.k {
            self.kept.push(Worst { item, order: self.order });
        } else if let Some(mut worst) = self.kept.peek_mut()
            && (self.order)(&item, &worst.item) == Ordering::Less
        {
            worst.item = item;
        }
    }

    fn into_sorted(self) -> Vec<T> {
        self.kept.into_sorted_vec().into_iter().map(|kept| kept.item).collect()
    }
}

/// Heap entry; the heap's maximum is the worst item kept.
struct Worst<T, F> {
    item: T,
    order: F,
}

impl<T, F: Fn(&T, &T) -> Ordering> Ord for Worst<T, F> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.order)(&self.item, &other.item)
    }
}

impl<T, F: Fn(&T, &T) -> Ordering> PartialOrd for Worst<T, F> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T, F: Fn(&T, &T) -> Ordering> PartialEq for Worst<T, F> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T, F: Fn(&T, &T) -> Ordering> Eq for Worst<T, F> {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn better(a: &(f32, u32), b: &(f32, u32)) -> Ordering {
        b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
    }

    proptest! {
        #[test]
        fn equals_a_full_sort(scores in prop::collection::vec(-3i8..3, 0..200), k in 0usize..30) {
            let items: Vec<(f32, u32)> =
                scores.iter().zip(0..).map(|(&score, id)| (f32::from(score), id)).collect();
            let mut sorted = items.clone();
            sorted.sort_by(better);
            sorted.truncate(k);
            prop_assert_eq!(top_k(items, k, better), sorted);
        }

        #[test]
        fn rows_are_those_of_a_full_sort(
            scores in prop::collection::vec(0u8..50, 0..300),
            k in 0usize..30,
        ) {
            let scores: Vec<f32> = scores.into_iter().map(f32::from).collect();
            let rows = scores.iter().copied().zip(0..);
            prop_assert_eq!(top_rows(&scores, k), top_k(rows.clone(), k, higher));
            let above = rows.filter(|(score, _)| *score > 9.0);
            prop_assert_eq!(top_rows_above(&scores, k, 9.0), top_k(above, k, higher));
        }
    }

    #[test]
    fn none_of_many_looks_at_none() {
        let items = std::iter::repeat_with(|| -> (f32, u32) { panic!("looked at") });
        assert_eq!(top_k(items.take(3), 0, better), []);
    }
}
