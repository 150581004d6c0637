//! Which segments of a job a listener may be told of.
//!
//! The list only ever grows: a player that was told of a segment keeps finding it at the same place. When a later
//! attempt takes over, its segments follow on behind those that are already listed, because every attempt cuts the
//! recording at the same places.

use serde::{Deserialize, Serialize};
use shared_protocol::{Attempt, DurationMs, HlsSegment, TimestampMs};

/// Consecutive segments of one attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The attempt that stored them.
    pub attempt: Attempt,
    /// The sequence number of the first one.
    pub first: u32,
    /// Their lengths, in order.
    pub durations_ms: Vec<DurationMs>,
}

/// The segments listed for a job.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Playlist {
    /// In order of sequence numbers, without gaps.
    pub runs: Vec<Run>,
    /// Since when something can be played. In this row, because the job's own is not written for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listed_since: Option<TimestampMs>,
    /// No more will follow.
    pub ended: bool,
}

impl Playlist {
    /// How many segments are listed: the sequence number that comes next.
    pub fn len(&self) -> u32 {
        self.runs.iter().map(|run| run.durations_ms.len() as u32).sum()
    }

    /// Whether nothing can be played yet.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Length of the listed audio.
    pub fn duration(&self) -> DurationMs {
        DurationMs(self.runs.iter().flat_map(|run| &run.durations_ms).map(|d| d.0).sum())
    }

    /// Lists the segments of an attempt that follow on. Those that are listed already are passed over, and whatever comes behind
    /// a gap waits for an announcement without one. Says whether the list grew.
    pub fn extend(&mut self, attempt: Attempt, segments: &[HlsSegment]) -> bool {
        if self.ended {
            return false;
        }
        let mut next = self.len();
        let mut grew = false;
        for segment in segments {
            if segment.sequence != next {
                continue;
            }
            match self.runs.last_mut() {
                Some(run) if run.attempt == attempt => run.durations_ms.push(segment.duration_ms),
                _ => self.runs.push(Run { attempt, first: next, durations_ms: vec![segment.duration_ms] }),
            }
            next += 1;
            grew = true;
        }
        grew
    }

    /// Closes the list. Says whether that changed it.
    pub fn end(&mut self) -> bool {
        !std::mem::replace(&mut self.ended, true)
    }

    /// Whether a segment of an attempt is listed.
    pub fn lists(&self, attempt: Attempt, sequence: u32) -> bool {
        self.runs.iter().any(|run| {
            run.attempt == attempt
                && sequence >= run.first
                && sequence - run.first < run.durations_ms.len() as u32
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segments(range: std::ops::Range<u32>) -> Vec<HlsSegment> {
        range.map(|sequence| HlsSegment { sequence, duration_ms: DurationMs(2_000), size: 1 }).collect()
    }

    #[test]
    fn a_later_attempt_follows_on_behind_what_was_listed() {
        let mut list = Playlist::default();
        assert!(list.extend(Attempt(1), &segments(0..3)));
        assert!(!list.extend(Attempt(2), &segments(0..2)), "already listed from attempt 1");
        assert!(list.extend(Attempt(2), &segments(2..5)));
        assert_eq!(list.len(), 5);
        assert!(list.lists(Attempt(1), 2) && !list.lists(Attempt(2), 2) && list.lists(Attempt(2), 3));
        assert_eq!(list.duration(), DurationMs(10_000));
    }

    #[test]
    fn a_gap_is_never_listed_and_an_ended_list_never_grows() {
        let mut list = Playlist::default();
        assert!(!list.extend(Attempt(1), &segments(1..3)));
        assert!(list.extend(Attempt(1), &segments(0..3)));
        assert!(list.end() && !list.end());
        assert!(!list.extend(Attempt(1), &segments(3..4)));
        assert_eq!(list.len(), 3);
    }
}
