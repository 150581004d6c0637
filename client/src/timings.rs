//! Where the time of a job went.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use shared_protocol::DurationMs;

use crate::jobs::Job;

/// One interval of an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Timing {
    /// What was done.
    pub phase: String,
    /// Since the attempt's start.
    pub start_ms: DurationMs,
    /// Since the attempt's start.
    pub end_ms: DurationMs,
}

impl Job {
    /// From queueing to the first playable audio, by the service's clock.
    pub fn time_to_first_audio(&self) -> Option<Duration> {
        self.first_audio_at_ms.map(|at| millis(at - self.created_at_ms))
    }

    /// From queueing to the start of the (last) attempt.
    pub fn queue_wait(&self) -> Option<Duration> {
        self.started_at_ms.map(|at| millis(at - self.created_at_ms))
    }

    /// Time spent in each phase, in order of first start; overlapping intervals of one phase count once.
    pub fn time_by_phase(&self) -> Vec<(String, Duration)> {
        let mut phases: Vec<(&str, Vec<(u64, u64)>)> = Vec::new();
        let mut timings: Vec<&Timing> = self.timings.iter().collect();
        timings.sort_by_key(|timing| timing.start_ms);
        for timing in timings {
            let interval = (timing.start_ms.0, timing.end_ms.0.max(timing.start_ms.0));
            match phases.iter_mut().find(|(phase, _)| *phase == timing.phase) {
                Some((_, intervals)) => intervals.push(interval),
                None => phases.push((&timing.phase, vec![interval])),
            }
        }
        phases.into_iter().map(|(phase, intervals)| (phase.to_owned(), covered(&intervals))).collect()
    }
}

/// Length of the union of intervals that are sorted by their start.
fn covered(intervals: &[(u64, u64)]) -> Duration {
    let mut total = 0;
    let mut covered_until = 0;
    for &(start, end) in intervals {
        total += end.saturating_sub(start.max(covered_until));
        covered_until = covered_until.max(end);
    }
    Duration::from_millis(total)
}

fn millis(duration: DurationMs) -> Duration {
    Duration::from_millis(duration.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_intervals_of_a_phase_count_once() {
        let job: Job = serde_json::from_str(
            r#"{"jobId":"job_1","state":"completed","createdAtMs":1000,"startedAtMs":1250,"firstAudioAtMs":3500,"timings":[
                {"phase":"inference","startMs":100,"endMs":500},{"phase":"uploading","startMs":200,"endMs":400},
                {"phase":"uploading","startMs":300,"endMs":600},{"phase":"uploading","startMs":900,"endMs":950}]}"#,
        )
        .expect("a job");
        assert_eq!(
            job.time_by_phase(),
            [
                ("inference".to_owned(), Duration::from_millis(400)),
                ("uploading".to_owned(), Duration::from_millis(450))
            ]
        );
        assert_eq!(job.time_to_first_audio(), Some(Duration::from_millis(2500)));
        assert_eq!(job.queue_wait(), Some(Duration::from_millis(250)));
    }
}
