//! Where an attempt's time went: intervals since its start.

use std::time::Instant;

use shared_protocol::{DurationMs, PhaseTiming};

/// Two intervals of one phase with a shorter gap are told as one.
const MERGED_GAP: DurationMs = DurationMs(50);

/// Most intervals of one phase: an hour is 1,800 windows, and nobody reads them one by one.
const MAX_INTERVALS: usize = 16;

/// Counts from the attempt's start.
#[derive(Debug, Clone, Copy)]
pub struct AttemptClock(Instant);

impl AttemptClock {
    /// Starts now.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Since the start.
    pub fn now(&self) -> DurationMs {
        DurationMs(u64::try_from(self.0.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    /// From the attempt's start until now.
    pub fn interval_so_far(&self, phase: &str) -> PhaseTiming {
        self.interval_since(phase, DurationMs(0))
    }

    /// From `start` until now.
    pub fn interval_since(&self, phase: &str, start: DurationMs) -> PhaseTiming {
        PhaseTiming { phase: phase.into(), start_ms: start, end_ms: self.now() }
    }
}

/// The intervals of one phase, near ones merged.
#[derive(Debug, Default)]
pub struct Intervals(Vec<(DurationMs, DurationMs)>);

impl Intervals {
    /// Adds one that begins no earlier than those before.
    pub fn add(&mut self, start: DurationMs, end: DurationMs) {
        let full = self.0.len() >= MAX_INTERVALS;
        match self.0.last_mut() {
            Some(last) if full || start.0 <= last.1.0 + MERGED_GAP.0 => last.1 = last.1.max(end),
            _ => self.0.push((start, end)),
        }
    }

    /// As they are reported.
    pub fn timings(&self, phase: &str) -> Vec<PhaseTiming> {
        let timing = |&(start_ms, end_ms)| PhaseTiming { phase: phase.into(), start_ms, end_ms };
        self.0.iter().map(timing).collect()
    }
}

/// Joins the intervals of one phase that overlap, such as uploads of segments and of final files: no time is told twice.
pub fn without_overlaps(mut timings: Vec<PhaseTiming>) -> Vec<PhaseTiming> {
    timings.sort_by_key(|timing| timing.start_ms);
    let mut joined: Vec<PhaseTiming> = Vec::new();
    for timing in timings {
        let before = joined.iter_mut().rev().find(|before| before.phase == timing.phase);
        match before {
            Some(before) if timing.start_ms <= before.end_ms => {
                before.end_ms = before.end_ms.max(timing.end_ms)
            }
            _ => joined.push(timing),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_time_of_a_phase_is_told_twice() {
        let timing = |phase: &str, start: u64, end: u64| PhaseTiming {
            phase: phase.into(),
            start_ms: DurationMs(start),
            end_ms: DurationMs(end),
        };
        let told = vec![
            timing("inference", 5, 50),
            timing("uploading", 10, 40),
            timing("uploading", 60, 90),
            timing("uploading", 30, 55),
        ];
        let expected = [timing("inference", 5, 50), timing("uploading", 10, 55), timing("uploading", 60, 90)];
        assert_eq!(without_overlaps(told), expected);
    }

    #[test]
    fn near_intervals_are_one_and_there_are_never_too_many() {
        let mut intervals = Intervals::default();
        let ms = DurationMs;
        intervals.add(ms(0), ms(100));
        intervals.add(ms(150), ms(400));
        intervals.add(ms(1_000), ms(1_100));
        assert_eq!(intervals.0, [(ms(0), ms(400)), (ms(1_000), ms(1_100))]);
        for i in 0..1_000 {
            intervals.add(ms(2_000 * i), ms(2_000 * i + 10));
        }
        assert_eq!(intervals.0.len(), MAX_INTERVALS);
        assert_eq!(intervals.0.last().unwrap().1, ms(1_998_010));
    }
}
