//! What an operator wants to know of the queue at a glance.

use serde::Serialize;
use shared_protocol::{DurationMs, TimestampMs};

use super::job::JobState;
use super::{Scheduler, Worker};

/// How many live jobs there are in each state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// Waiting, those included that may not start yet.
    pub queued: usize,
    /// Offered and unanswered.
    pub offered: usize,
    /// Accepted.
    pub running: usize,
}

/// The queue as a whole.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct QueueStatistics {
    /// Live jobs by state.
    pub counts: Counts,
    /// Jobs that wait for a time of their own.
    pub scheduled: usize,
    /// How long the longest waiting job has waited.
    pub oldest_wait_ms: DurationMs,
    /// Seconds of inference that all waiting jobs together are expected to take on the workers that are there, were they shared
    /// out evenly; none without workers.
    pub seconds_to_drain: Option<f64>,
    /// Waiting jobs that are expected to start later than the target.
    pub late_jobs: usize,
    /// Workers like those that are there that would bring it to zero.
    pub workers_wanted: usize,
}

impl Scheduler {
    /// How many live jobs there are.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for job in self.jobs.values() {
            match job.state {
                JobState::Queued { .. } => counts.queued += 1,
                JobState::Offered { .. } => counts.offered += 1,
                JobState::Running { .. } => counts.running += 1,
                JobState::Completed | JobState::Failed | JobState::Cancelled | JobState::Quarantined => {}
            }
        }
        counts
    }

    /// The queue as a whole, and how many workers it would take for every job to start within `target`. Cost: one pass over
    /// the waiting jobs.
    pub fn statistics(&self, now: TimestampMs, target: DurationMs) -> QueueStatistics {
        let counts = self.counts();
        let able: Vec<&Worker> =
            self.fleet.iter().filter(|w| w.connection.is_some() && !w.is_held_back()).collect();
        let backlog: f64 = able.iter().map(|worker| worker.backlog_seconds()).sum();
        let work = |job: &super::Job| match able.first() {
            Some(worker) => worker.inference_seconds(&job.request),
            None => job.request.expected_audio_seconds() / super::fleet::ASSUMED_SPEED,
        };
        let workers = able.len() as f64;
        let (mut ahead, mut late) = (backlog, 0);
        for id in self.queue.candidates(now) {
            let Some(job) = self.jobs.get(id) else { continue };
            if workers == 0.0 || ahead / workers > target.as_secs_f64() {
                late += 1;
            }
            ahead += work(job);
        }
        let wanted = (ahead / target.as_secs_f64().max(1.0)).ceil() as usize;
        QueueStatistics {
            counts,
            scheduled: counts.queued.saturating_sub(self.queue.len()),
            oldest_wait_ms: self.queue.oldest().map_or(DurationMs(0), |since| now - since),
            seconds_to_drain: (workers > 0.0).then(|| ahead / workers),
            late_jobs: late,
            workers_wanted: if late == 0 { able.len() } else { wanted.max(able.len() + 1) },
        }
    }
}
