//! How many uploads run at once, found by trying: additive increase, multiplicative decrease (Chiu and Jain, 1989). Pure.
//!
//! A home uplink says nowhere how much it carries. The limit grows while uploads succeed, by one with each at first and by
//! about one with every window later (slow start and congestion avoidance, RFC 5681, section 3.1), and is halved when
//! uploads fail *more often than usual*. Some uplinks and servers fail at random, however little they have to do: halving
//! at each of those failures would only waste them, and TCP is known for it (Mathis et al., 1997). What is usual is learned
//! where the load cannot be the reason: well below the limit that failed last. What is more than usual is found by a cumulative
//! sum (Page, 1954), which takes many failures at once, or a few too many for long enough.
//!
//! Failures of uploads that began before the last halving are news about the old limit and count for nothing, as in TCP
//! (RFC 5681, section 3.2).

/// Fewest uploads at once: one that hangs must not hold up all others.
pub const LEAST: usize = 2;

/// Most uploads at once over all jobs.
pub const MOST: usize = 16;

/// What is tried first: as many as one job may run, so that a lone job on a good uplink does not wait for the limit.
const FIRST: usize = 8;

/// The share of uploads that is taken to fail anyway before anything was learned, and the most that is believed to: whatever
/// fails more often than that had better be asked for less.
const FIRST_USUAL_SHARE: f64 = 0.1;
const MOST_USUAL_SHARE: f64 = 0.3;

/// Weight of an upload in the usual share: the last 25 or so count.
const USUAL_WEIGHT: f64 = 0.04;

/// The usual share is learned up to this part of the limit that was halved last.
const LEARNED_BELOW: f64 = 0.7;

/// A share that is so much above the usual one is still put down to chance.
const MARGIN: f64 = 0.1;

/// So many failures above the usual share and the margin are too many: six in a row, or 7 of 15 where one in ten is usual.
/// With 15 % of random failures that happens once in two thousand uploads, with 30 % six times in a thousand.
const TOO_MANY: f64 = 4.0;

/// Above so many the limit does not grow.
const SUSPICIOUS: f64 = 0.5;

/// The limit.
#[derive(Debug, Clone)]
pub struct Aimd {
    limit: f64,
    halvings: u64,
    /// The limit that was halved last.
    failed_at: Option<f64>,
    usual_share: f64,
    /// Failures above what is usual, since there were none.
    excess: f64,
}

/// When an upload began, in halvings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp(u64);

impl Default for Aimd {
    fn default() -> Self {
        Self {
            limit: FIRST as f64,
            halvings: 0,
            failed_at: None,
            usual_share: FIRST_USUAL_SHARE,
            excess: 0.0,
        }
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
    pub fn succeeded(&mut self, began: Stamp, running: usize) {
        if began != self.stamp() {
            return;
        }
        self.count(0.0);
        if running >= self.limit() && self.excess <= SUSPICIOUS {
            let more = if self.failed_at.is_some() { 1.0 / self.limit } else { 1.0 };
            self.limit = (self.limit + more).min(MOST as f64);
        }
    }

    /// An upload timed out or failed.
    pub fn failed(&mut self, began: Stamp) {
        if began != self.stamp() {
            return;
        }
        self.count(1.0);
        if self.excess >= TOO_MANY {
            self.failed_at = Some(self.limit);
            self.limit = (self.limit / 2.0).max(LEAST as f64);
            self.halvings += 1;
            self.excess = 0.0;
        }
    }

    fn count(&mut self, failures: f64) {
        self.excess = (self.excess + failures - self.usual_share - MARGIN).max(0.0);
        if self.failed_at.is_none_or(|limit| self.limit <= LEARNED_BELOW * limit) {
            let learned = self.usual_share + USUAL_WEIGHT * (failures - self.usual_share);
            self.usual_share = learned.min(MOST_USUAL_SHARE);
        }
    }
}

#[cfg(test)]
mod emulated_line;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fail(aimd: &mut Aimd, times: usize) {
        let began = aimd.stamp();
        (0..times).for_each(|_| aimd.failed(began));
    }

    fn succeed(aimd: &mut Aimd, times: usize) {
        (0..times).for_each(|_| aimd.succeeded(aimd.stamp(), MOST));
    }

    #[test]
    fn the_limit_doubles_in_its_first_window_and_adds_one_with_each_after_it_was_too_high() {
        let mut aimd = Aimd::default();
        succeed(&mut aimd, FIRST);
        assert_eq!(aimd.limit(), MOST);
        fail(&mut aimd, MOST);
        for expected in MOST / 2 + 1..=MOST {
            let window = aimd.limit() + 1;
            succeed(&mut aimd, window);
            assert_eq!(aimd.limit(), expected);
        }
        succeed(&mut aimd, 1_000);
        assert_eq!(aimd.limit(), MOST);
    }

    #[test]
    fn what_was_not_tried_does_not_raise_the_limit() {
        let mut aimd = Aimd::default();
        for _ in 0..1_000 {
            aimd.succeeded(aimd.stamp(), 3);
        }
        assert_eq!(aimd.limit(), FIRST);
    }

    #[test]
    fn one_outage_that_fails_a_whole_window_halves_once() {
        let mut aimd = Aimd::default();
        fail(&mut aimd, FIRST);
        assert_eq!(aimd.limit(), FIRST / 2, "what began before the halving is news about the old limit");
        fail(&mut aimd, 2 * FIRST);
        assert_eq!(aimd.limit(), LEAST, "what began after it is not");
    }

    #[test]
    fn a_failure_now_and_then_is_no_reason_and_two_in_three_are() {
        let mut aimd = Aimd::default();
        for _ in 0..200 {
            succeed(&mut aimd, 6);
            fail(&mut aimd, 1);
        }
        assert_eq!(aimd.limit(), MOST);
        for _ in 0..6 {
            succeed(&mut aimd, 1);
            fail(&mut aimd, 2);
        }
        assert_eq!(aimd.limit(), MOST / 2);
    }

    proptest! {
        #[test]
        fn the_limit_keeps_its_bounds_and_moves_the_right_way(
            outcomes in prop::collection::vec((any::<bool>(), 0_usize..24, 0_u64..3), 0..500),
        ) {
            let mut aimd = Aimd::default();
            for (good, running, age) in outcomes {
                let (before, began) = (aimd.limit, Stamp(aimd.halvings.saturating_sub(age)));
                if good {
                    aimd.succeeded(began, running);
                    prop_assert!(aimd.limit >= before && aimd.limit <= before + 1.0);
                } else {
                    aimd.failed(began);
                    prop_assert!(aimd.limit <= before && aimd.limit >= before / 2.0);
                }
                prop_assert!((LEAST..=MOST).contains(&aimd.limit()));
                prop_assert!((0.0..=MOST_USUAL_SHARE).contains(&aimd.usual_share) && aimd.excess < TOO_MANY);
            }
        }
    }
}
