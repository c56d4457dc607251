//! How much work a check may take.
//!
//! The library checks to the end, and a schema of a few lines can make that
//! longer than a life, or deeper than the stack: 40 levels of `allOf: [next,
//! next]`. So it gets arguments that count how often they are looked at
//! (`counted`). What is spent is spent by unwinding: there is no other way out
//! of the library.

use std::cell::Cell;
use std::panic::AssertUnwindSafe;
use std::panic::catch_unwind;
use std::panic::resume_unwind;

/// Bytes of stack that a check may take: half of what a thread has.
const MAX_STACK: usize = 1 << 20;

/// What a check may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    /// Looks at a value, of some 0.2 µs each.
    pub(super) steps: u64,
    /// KiB of the largest pattern that a string may be matched with.
    pub(super) pattern_kib: u64,
    /// Bytes of the longest way to a value, which each problem holds.
    pub(super) path_bytes: u64,
}

/// Steps of noting a problem.
const STEPS_OF_PROBLEM: u64 = 256;

thread_local! {
    /// What the check on this thread has left, and where its stack began.
    static LEFT: Cell<Option<(Budget, usize)>> = const { Cell::new(None) };
}

/// What unwinds where nothing is left.
struct Spent;

/// Does something within a budget; `None` where that does not suffice.
pub(super) fn within<T>(budget: Budget, work: impl FnOnce() -> T) -> Option<T> {
    LEFT.set(Some((budget, here())));
    let done = catch_unwind(AssertUnwindSafe(work));
    LEFT.set(None);
    match done {
        Ok(done) => Some(done),
        Err(panic) if panic.is::<Spent>() => None,
        Err(panic) => resume_unwind(panic),
    }
}

/// Takes steps; free where nothing is checked.
pub(super) fn spend(steps: u64) {
    let Some((budget, stack)) = LEFT.get() else { return };
    let left = budget.steps.checked_sub(steps).filter(|_| here().abs_diff(stack) < MAX_STACK);
    match left {
        Some(steps) => LEFT.set(Some((Budget { steps, ..budget }, stack))),
        None => resume_unwind(Box::new(Spent)),
    }
}

/// Takes the steps of reading a text. Matching takes up to so many steps a byte
/// as its pattern has states, of which some 30 are a KiB.
pub(super) fn spend_on_text(n_bytes: usize) {
    let kib = LEFT.get().map_or(0, |(budget, _)| budget.pattern_kib);
    let n_bytes = n_bytes as u64;
    spend(1 + n_bytes / 64 + n_bytes.saturating_mul(kib) / 2);
}

/// Takes the steps of noting a problem: for the memory that it takes, with the
/// way to its value and to its rule, which is as long as the stack is deep.
pub(super) fn spend_on_problem() {
    let Some((budget, stack)) = LEFT.get() else { return };
    let depth = here().abs_diff(stack) as u64;
    spend(STEPS_OF_PROBLEM + budget.path_bytes / 16 + depth / 64);
}

/// Where on the stack we are.
#[inline(never)]
fn here() -> usize {
    let mark = 0_u8;
    std::ptr::from_ref(&mark).addr()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FEW: Budget = Budget { steps: 3, pattern_kib: 0, path_bytes: 0 };

    #[test]
    fn work_ends_with_its_steps_and_other_panics_go_on() {
        assert_eq!(within(FEW, || spend(3)), Some(()));
        assert_eq!(within(FEW, || spend(4)), None);
        spend(1 << 40);
        let panic = catch_unwind(|| within(FEW, || resume_unwind(Box::new("other"))));
        assert_eq!(*panic.unwrap_err().downcast::<&str>().unwrap(), "other");
        spend(1 << 40);
    }

    #[test]
    fn work_ends_with_its_stack() {
        fn deep(levels: u32) -> u64 {
            spend(1);
            let padding = std::hint::black_box([1_u8; 1_000]);
            if levels == 0 { 0 } else { deep(levels - 1) + u64::from(padding[7]) }
        }
        let budget = Budget { steps: 1 << 40, ..FEW };
        assert_eq!(within(budget, || deep(100)), Some(100));
        assert_eq!(within(budget, || deep(1_000_000)), None);
    }

    #[test]
    fn a_text_costs_by_its_length_and_the_patterns_for_it() {
        let check = |steps, pattern_kib| {
            within(Budget { steps, pattern_kib, ..FEW }, || spend_on_text(640)).is_some()
        };
        assert!(check(11, 0) && !check(10, 0));
        assert!(check(11 + 320, 1) && !check(10 + 320, 1));
    }

    #[test]
    fn a_problem_costs_by_the_way_to_it() {
        let n_problems = |path_bytes| {
            let mut n = 0;
            let budget = Budget { steps: 10_000, path_bytes, ..FEW };
            within(budget, || {
                (0..100).for_each(|_| {
                    spend_on_problem();
                    n += 1;
                })
            });
            n
        };
        assert!((30..=39).contains(&n_problems(0)), "{}", n_problems(0));
        assert!((1..=2).contains(&n_problems(64_000)), "{}", n_problems(64_000));
    }
}
