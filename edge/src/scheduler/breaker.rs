//! The circuit breaker: a worker that fails job after job takes the whole queue down with it, because a failure frees its
//! slot sooner than a success. So it is benched, for longer each time.

use serde::{Deserialize, Serialize};
use shared_protocol::{DurationMs, FailureCode};

/// Failures in a row after which a worker is benched.
pub const FAILURES_IN_A_ROW: u32 = 3;

/// The first bench; doubles with each until a job succeeds.
pub const FIRST_BENCH: DurationMs = DurationMs::from_secs(60);

/// The longest bench.
pub const LONGEST_BENCH: DurationMs = DurationMs::from_secs(30 * 60);

/// Counts a worker's failures since its last success.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Breaker {
    failures: u32,
    benches: u32,
}

impl Breaker {
    /// Failures in a row since the last success or bench.
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// Benches since the last success.
    pub fn benches(&self) -> u32 {
        self.benches
    }

    /// A job ended well.
    pub fn succeeded(&mut self) {
        *self = Self::default();
    }

    /// A job failed. Gives the bench when it is one too many. Faults of recordings say nothing about a worker.
    pub fn failed(&mut self, code: FailureCode) -> Option<DurationMs> {
        if !code.retryable() || code == FailureCode::WorkerStopping {
            return None;
        }
        self.failures += 1;
        if self.failures < FAILURES_IN_A_ROW {
            return None;
        }
        self.failures = 0;
        let bench = DurationMs((FIRST_BENCH.0 << self.benches.min(10)).min(LONGEST_BENCH.0));
        self.benches += 1;
        Some(bench)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_worker_is_benched_for_longer_each_time_and_a_success_forgives() {
        let mut breaker = Breaker::default();
        let bench = |breaker: &mut Breaker| {
            (0..FAILURES_IN_A_ROW)
                .filter_map(|_| breaker.failed(FailureCode::EngineFailed))
                .collect::<Vec<_>>()
        };
        assert_eq!(bench(&mut breaker), vec![DurationMs(60_000)]);
        assert_eq!(bench(&mut breaker), vec![DurationMs(120_000)]);
        breaker.succeeded();
        assert_eq!(bench(&mut breaker), vec![DurationMs(60_000)]);
    }

    #[test]
    fn bad_recordings_bench_nobody() {
        let mut breaker = Breaker::default();
        assert!((0..100).all(|_| breaker.failed(FailureCode::NotMedia).is_none()));
    }
}
