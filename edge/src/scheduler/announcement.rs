//! What is told about jobs to whoever listens, such as backends with a webhook.

use shared_protocol::{DurationMs, JobId, Phase, TimestampMs};

use super::follow_up::FollowUp;
use super::job::{Job, JobProgress, JobState};
use super::{Effect, Scheduler};

/// Progress within a phase is announced at most this often for one job: workers report it up to four times a second, and
/// each announcement costs every listener a request and the store rows.
pub const PROGRESS_INTERVAL: DurationMs = DurationMs::from_secs(5);

/// Something that happened to a job.
#[derive(Debug, Clone, PartialEq)]
pub struct Announcement {
    /// When.
    pub at: TimestampMs,
    /// What.
    pub news: News,
}

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub enum News {
    /// The job itself changed.
    Job {
        /// How.
        change: JobChange,
        /// The job as it was then.
        job: Box<Job>,
    },
    /// Stems followed on it, or will not.
    Stems(Box<FollowUp>),
    /// Its quality was scored.
    Quality(Box<FollowUp>),
}

/// How a job changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobChange {
    /// It waits for a worker: it is new, its attempt came to nothing, or an operator put it back.
    Queued,
    /// A worker runs it.
    Started,
    /// It is in another phase.
    PhaseChanged,
    /// It got further within its phase.
    Progressed,
    /// Its first audio can be played.
    Playable,
    /// It has a result.
    Completed,
    /// It has none and gets none, unless an operator puts it back.
    Failed,
    /// It was cancelled.
    Cancelled,
}

impl JobChange {
    /// What listeners are told of a transition. Offers are between scheduler and worker: one that comes to nothing is no news.
    pub(super) fn between(before: &JobState, after: &JobState) -> Option<Self> {
        match (before, after) {
            (_, JobState::Offered { .. }) | (JobState::Offered { .. }, JobState::Queued { .. }) => None,
            (_, JobState::Queued { .. }) => Some(Self::Queued),
            (_, JobState::Running { .. }) => Some(Self::Started),
            (_, JobState::Completed) => Some(Self::Completed),
            (_, JobState::Failed | JobState::Quarantined) => Some(Self::Failed),
            (_, JobState::Cancelled) => Some(Self::Cancelled),
        }
    }

    /// What listeners are told of a report, given the one before it.
    pub(super) fn of_report(earlier: Option<&JobProgress>, phase: Phase, now: TimestampMs) -> Option<Self> {
        match earlier {
            Some(earlier) if earlier.phase == phase => {
                (now - earlier.announced_at >= PROGRESS_INTERVAL).then_some(Self::Progressed)
            }
            _ => Some(Self::PhaseChanged),
        }
    }
}

impl Scheduler {
    /// Says whether anybody listens. While nobody does no announcement is made, and nothing is copied for one.
    pub fn set_listened_to(&mut self, listened_to: bool) {
        self.listened_to = listened_to;
    }

    /// Announces a change of a live job.
    pub(super) fn announce(&mut self, now: TimestampMs, id: &JobId, change: JobChange) {
        if self.listened_to
            && let Some(job) = self.jobs.get(id)
        {
            self.announce_job(now, change, job.clone());
        }
    }

    /// Announces a change of a job that may have ended.
    pub(super) fn announce_job(&mut self, now: TimestampMs, change: JobChange, job: Job) {
        self.announce_news(now, News::Job { change, job: Box::new(job) });
    }

    pub(super) fn announce_news(&mut self, now: TimestampMs, news: News) {
        if self.listened_to {
            self.effects.push_back(Effect::Announce(Announcement { at: now, news }));
        }
    }
}
