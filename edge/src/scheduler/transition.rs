//! The one place where a job changes its state. Drawn in `docs/job-states.md`.
//!
//! Every transition compares state and attempt first, has a reason, and is kept as the job's history. One that does not
//! fit changes nothing.

use serde::{Deserialize, Serialize};
use shared_protocol::{Attempt, JobFailure, JobOutcome, TimestampMs, WorkerId};

use super::ConnectionId;
use super::job::{Job, JobState};

/// Transitions kept for one job: enough for every budget to run out twice. Older ones give way, but never the first.
pub const MAX_HISTORY: usize = 64;

/// Why a job changed its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// A client submitted it.
    Submitted,
    /// A worker had an open slot.
    SlotOpen,
    /// The worker took the offer.
    Accepted,
    /// The worker's `ready` listed it: its accept was lost.
    ListedByWorker,
    /// The worker that was presumed lost came back with it, and nobody else had got it.
    KeptByWorker,
    /// The worker turned the offer down.
    Rejected,
    /// The worker did not answer the offer.
    OfferUnanswered,
    /// The worker's `ready` no longer listed it.
    NotListed,
    /// Nothing was heard of the worker for too long.
    WorkerSilent,
    /// The worker stopped it without having been asked to.
    StoppedByWorker,
    /// The attempt failed in a way that another one may not.
    RetryableFailure,
    /// The attempt failed in a way that another one would too.
    FinalFailure,
    /// The budget of retries is used up.
    RetriesUsedUp,
    /// The budget of lost workers is used up.
    WorkersUsedUp,
    /// The result was accepted.
    Completed,
    /// The result of an attempt that had been presumed lost was accepted.
    CompletedLate,
    /// A client or operator cancelled it.
    Cancelled,
    /// A cancelled job's worker did not confirm in time, or was lost.
    CancelUnconfirmed,
    /// An operator put it back.
    RetriedByOperator,
    /// An operator gave it up.
    DiscardedByOperator,
}

/// One change of state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Transition {
    /// When, by the scheduler's clock.
    pub at: TimestampMs,
    /// The state's name.
    pub to: String,
    /// The job's attempt afterwards.
    pub attempt: Attempt,
    /// Why.
    pub reason: Reason,
    /// The worker concerned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<WorkerId>,
}

/// A change of state that is asked for.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// queued → offered, with the next attempt.
    Offer {
        /// To whom.
        worker: WorkerId,
        /// Over which connection.
        connection: ConnectionId,
    },
    /// offered or queued → running, with the same attempt.
    Run {
        /// By whom.
        worker: WorkerId,
    },
    /// offered or running → queued.
    Return {
        /// Not to be started before.
        not_before: TimestampMs,
    },
    /// any live state → completed.
    Complete {
        /// What was made.
        outcome: Box<JobOutcome>,
    },
    /// any live state → failed.
    Fail {
        /// Why.
        failure: JobFailure,
    },
    /// any live state → cancelled.
    Cancel,
    /// offered or running → quarantined.
    Quarantine {
        /// What the workers were lost to.
        failure: JobFailure,
    },
    /// failed or quarantined → queued, with fresh budgets.
    Retry,
    /// quarantined → failed.
    Discard,
}

/// A step that does not fit the job's state and attempt. Nothing was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the step does not fit the job's state or attempt")]
pub struct Stale;

impl Job {
    /// Whether a step fits the current state and `attempt`.
    pub(super) fn fits(&self, attempt: Attempt, step: &Step) -> bool {
        let live = !self.state.is_ended();
        let current = attempt == self.attempt;
        let with_worker = matches!(self.state, JobState::Offered { .. } | JobState::Running { .. });
        match step {
            Step::Offer { .. } => current && matches!(self.state, JobState::Queued { .. }),
            Step::Run { worker } => {
                current
                    && match &self.state {
                        JobState::Offered { worker: holder, .. } => holder == worker,
                        JobState::Queued { .. } => attempt != Attempt::NONE,
                        _ => false,
                    }
            }
            Step::Return { .. } | Step::Quarantine { .. } => current && with_worker,
            Step::Complete { .. } => live && attempt != Attempt::NONE && attempt <= self.attempt,
            Step::Fail { .. } | Step::Cancel => current && live,
            Step::Retry => current && matches!(self.state, JobState::Failed | JobState::Quarantined),
            Step::Discard => current && matches!(self.state, JobState::Quarantined),
        }
    }

    /// Changes the state, if the step fits the current state and `attempt`.
    ///
    /// `attempt` is the one that the caller speaks of; only a completion may speak of an older one.
    ///
    /// # Errors
    /// [`Stale`]; nothing was changed then.
    pub(super) fn step(
        &mut self,
        now: TimestampMs,
        attempt: Attempt,
        step: Step,
        reason: Reason,
    ) -> Result<(), Stale> {
        if !self.fits(attempt, &step) {
            return Err(Stale);
        }
        let had = self.state.worker().cloned();
        self.enter(now, attempt, step);
        let worker = self.state.worker().cloned().or(had);
        self.record(Transition {
            at: now,
            to: self.state.name().to_owned(),
            attempt: self.attempt,
            reason,
            worker,
        });
        Ok(())
    }

    fn enter(&mut self, now: TimestampMs, attempt: Attempt, step: Step) {
        match step {
            Step::Offer { worker, connection } => {
                self.attempt = self.attempt.next();
                self.state = JobState::Offered { worker, connection, offered_at: now };
            }
            Step::Run { worker } => {
                self.state = JobState::Running { worker };
                self.started_at.get_or_insert(now);
            }
            Step::Return { not_before } => {
                self.state = JobState::Queued { not_before };
                self.progress = None;
            }
            Step::Complete { outcome } => {
                self.state = JobState::Completed;
                self.accepted = Some(attempt);
                self.outcome = Some(*outcome);
                self.failure = None;
                self.end(now);
            }
            Step::Fail { failure } => {
                self.state = JobState::Failed;
                self.failure = Some(failure);
                self.end(now);
            }
            Step::Cancel => {
                self.state = JobState::Cancelled;
                self.end(now);
            }
            Step::Quarantine { failure } => {
                self.state = JobState::Quarantined;
                self.failure = Some(failure);
                self.end(now);
            }
            Step::Retry => {
                self.state = JobState::Queued { not_before: now };
                self.ended_at = None;
                self.retries = 0;
                self.workers_lost = 0;
                self.cancel_requested = false;
                self.playlist.ended = false;
            }
            Step::Discard => self.state = JobState::Failed,
        }
    }

    fn end(&mut self, now: TimestampMs) {
        self.ended_at = Some(now);
        // A quarantined job may go on; its listeners wait with it.
        if !matches!(self.state, JobState::Quarantined) {
            self.playlist.end();
        }
    }

    fn record(&mut self, transition: Transition) {
        if self.history.len() >= MAX_HISTORY {
            self.history.remove(1);
        }
        self.history.push(transition);
    }
}
