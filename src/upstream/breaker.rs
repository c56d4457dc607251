//! When a server that fails may be tried again.
//!
//! Owns the circuit breaker of one server. Pure: the caller tells the time.

use std::time::Duration;
use std::time::Instant;

/// The first rest; each failure in a row doubles it.
const FIRST_REST: Duration = Duration::from_secs(2);

/// The longest rest, and the one after a server asked for a login.
const LONGEST_REST: Duration = Duration::from_secs(60);

/// Failures in a row, and until when the server is left alone.
#[derive(Debug, Default)]
pub(super) struct Breaker {
    n_failures: u32,
    rest: Option<(Instant, String)>,
}

impl Breaker {
    /// How long the server still rests, and why; `None` if it may be tried.
    pub(super) fn rest(&self, now: Instant) -> Option<(Duration, &str)> {
        let (until, reason) = self.rest.as_ref()?;
        let left = until.saturating_duration_since(now);
        (!left.is_zero()).then_some((left, reason))
    }

    /// It works: what was before is forgiven.
    pub(super) fn succeeded(&mut self) {
        *self = Self::default();
    }

    /// It failed, and rests: 2, 4, 8 … 60 s.
    pub(super) fn failed(&mut self, now: Instant, reason: String) {
        let rest = FIRST_REST.saturating_mul(1 << self.n_failures.min(10));
        self.n_failures = self.n_failures.saturating_add(1);
        self.rest = Some((now + rest.min(LONGEST_REST), reason));
    }

    /// It cannot work before somebody has done something.
    pub(super) fn is_hopeless(&mut self, now: Instant, reason: String) {
        self.rest = Some((now + LONGEST_REST, reason));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rests_grow_end_and_are_forgiven() {
        let start = Instant::now();
        let mut breaker = Breaker::default();
        assert_eq!(breaker.rest(start), None);
        let mut rests = Vec::new();
        for _ in 0..7 {
            breaker.failed(start, "why".to_owned());
            rests.push(breaker.rest(start).unwrap().0.as_secs());
        }
        assert_eq!(rests, [2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(breaker.rest(start + LONGEST_REST), None);
        breaker.succeeded();
        breaker.failed(start, "again".to_owned());
        assert_eq!(breaker.rest(start), Some((FIRST_REST, "again")));
    }

    #[test]
    fn a_server_that_crashes_is_started_five_times_in_a_minute() {
        let start = Instant::now();
        let mut breaker = Breaker::default();
        let starts = (0..600).map(|tenth| start + Duration::from_millis(100 * tenth));
        let mut n_starts = 0;
        for now in starts {
            if breaker.rest(now).is_none() {
                n_starts += 1;
                breaker.failed(now, String::new());
            }
        }
        assert_eq!(n_starts, 5);
    }
}
