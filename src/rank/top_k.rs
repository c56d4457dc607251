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
        return Vec::new();
    }
    let mut kept: BinaryHeap<Worst<T, _>> = BinaryHeap::new();
    for item in items {
        if kept.len() < k {
            kept.push(Worst { item, order });
        } else if let Some(mut worst) = kept.peek_mut()
            && order(&item, &worst.item) == Ordering::Less
        {
            worst.item = item;
        }
    }
    kept.into_sorted_vec().into_iter().map(|kept| kept.item).collect()
}

/// Higher score first, then the lower row.
pub(super) fn higher(a: &(f32, usize), b: &(f32, usize)) -> Ordering {
    b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
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
    }
}
