//! How many uploads run at once, found by trying: additive increase, multiplicative decrease (Chiu and Jain, 1989). Pure.
//!
//! A home uplink says nowhere how much it carries. The limit grows by about one with every window of uploads without a
//! failure, and is halved by a failure. Failures of uploads that began before the last halving are news about the old
//! limit and do not halve it again, as in TCP (RFC 5681, section 3.2).

/// Fewest uploads at once: one that hangs must not hold up all others.
pub const LEAST: usize = 2;

/// Most uploads at once over all jobs.
pub const MOST: usize = 16;

/// What is tried first: as many as one job may run, so that a lone job on a good uplink does not wait for the limit.
const FIRST: usize = 8;

/// The limit.
#[derive(Debug, Clone)]
pub struct Aimd {
    limit: f64,
    halvings: u64,
}

/// When an upload began, in halvings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp(u64);

impl Default for Aimd {
    fn default() -> Self {
        Self { limit: FIRST as f64, halvings: 0 }
    }
}

impl Aimd {
    /// Uploads that may run at once.
    pub fn limit(&self) -> usize {
        self.limit as usize
    }

    /// For an upload that begins now.
    pub fn stamp(&self) -> Stamp {
        Stamp(self.halvings)
    }

    /// An upload succeeded while `running` of them ran, itself included. A limit that was not reached was not tried, and
    /// does not grow.
    pub fn succeeded(&mut self, running: usize) {
        if running >= self.limit() {
            self.limit = (self.limit + 1.0 / self.limit).min(MOST as f64);
        }
    }

    /// An upload timed out or failed.
    pub fn failed(&mut self, began: Stamp) {
        if began == self.stamp() {
            self.limit = (self.limit / 2.0).max(LEAST as f64);
            self.halvings += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_window_without_failures_adds_about_one_up_to_the_most() {
        let mut aimd = Aimd::default();
        for expected in 9..=MOST {
            for _ in 0..aimd.limit() + 1 {
                aimd.succeeded(aimd.limit());
            }
            assert_eq!(aimd.limit(), expected);
        }
        for _ in 0..1_000 {
            aimd.succeeded(MOST);
        }
        assert_eq!(aimd.limit(), MOST);
    }

    #[test]
    fn what_was_not_tried_does_not_raise_the_limit() {
        let mut aimd = Aimd::default();
        for _ in 0..1_000 {
            aimd.succeeded(3);
        }
        assert_eq!(aimd.limit(), FIRST);
    }

    #[test]
    fn one_outage_that_fails_a_whole_window_halves_once() {
        let mut aimd = Aimd::default();
        let window = [aimd.stamp(); FIRST];
        for began in window {
            aimd.failed(began);
        }
        assert_eq!(aimd.limit(), FIRST / 2);
        let next = aimd.stamp();
        aimd.failed(next);
        assert_eq!(aimd.limit(), FIRST / 4);
    }

    proptest! {
        #[test]
        fn the_limit_keeps_its_bounds_and_moves_the_right_way(outcomes in prop::collection::vec((any::<bool>(), 0_usize..24), 0..500)) {
            let mut aimd = Aimd::default();
            for (good, running) in outcomes {
                let (before, began) = (aimd.limit, aimd.stamp());
                if good {
                    aimd.succeeded(running);
                    prop_assert!(aimd.limit >= before && aimd.limit <= before + 0.5);
                } else {
                    aimd.failed(began);
                    prop_assert!(aimd.limit <= before && aimd.limit >= before / 2.0);
                }
                prop_assert!((LEAST..=MOST).contains(&aimd.limit()));
            }
        }
    }
}
