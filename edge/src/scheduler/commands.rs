//! What clients ask of the scheduler.

use shared_protocol::{
    Attempt, Cancel, CancelReason, DurationMs, JobId, SchedulerMessage, TenantId, TimestampMs,
};

use super::announcement::JobChange;
use super::job::{CANCEL_TIMEOUT, Job, JobRequest, JobState};
use super::transition::{Reason, Step};
use super::{Scheduler, Timer};

/// An idempotency key is remembered for so long.
pub const IDEMPOTENCY_WINDOW: DurationMs = DurationMs::from_secs(24 * 60 * 60);

/// A job to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewJob {
    /// A fresh id.
    pub id: JobId,
    /// Its owner.
    pub tenant: TenantId,
    /// What is asked for.
    pub request: JobRequest,
    /// The client's idempotency key.
    pub idempotency_key: Option<String>,
}

/// What the store has under the tenant's idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownKey {
    /// The job that was made under it.
    pub job_id: JobId,
    /// What was asked for then.
    pub request: JobRequest,
    /// When.
    pub created_at: TimestampMs,
}

/// A submitted job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Submitted {
    /// It is queued now.
    New(JobId),
    /// The key was used before for the very same request.
    Known(JobId),
}

/// Why a job is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SubmitError {
    /// The bound of live jobs is reached.
    #[error("the queue is full: {limit} jobs are waiting or running")]
    QueueFull {
        /// The bound.
        limit: usize,
    },
    /// The tenant's own bound is reached.
    #[error("the tenant's bound is reached: {limit} of its jobs are waiting or running")]
    TenantFull {
        /// The bound.
        limit: usize,
    },
    /// The key belongs to another request.
    #[error("the idempotency key was used before for another request, by job {job_id}")]
    IdempotencyMismatch {
        /// The job that was made under it.
        job_id: JobId,
    },
}

/// What came of a cancel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelOutcome {
    /// It was waiting, and has ended now.
    Cancelled,
    /// Its worker has been told; the job ends with the worker's answer, or without it after a bound.
    Requested,
    /// There is no such live job.
    NotLive,
}

impl Scheduler {
    /// Queues a job. `known` is what the store has under the same tenant's same idempotency key.
    ///
    /// # Errors
    /// [`SubmitError`]; nothing is changed then.
    pub fn submit(
        &mut self,
        now: TimestampMs,
        new: NewJob,
        known: Option<KnownKey>,
    ) -> Result<Submitted, SubmitError> {
        self.submit_within(now, new, known, None)
    }

    /// The same, of a tenant that may have no more than so many live jobs.
    ///
    /// # Errors
    /// [`SubmitError`]; nothing is changed then.
    pub fn submit_within(
        &mut self,
        now: TimestampMs,
        new: NewJob,
        known: Option<KnownKey>,
        tenants_limit: Option<usize>,
    ) -> Result<Submitted, SubmitError> {
        if let Some(known) = known.filter(|known| now - known.created_at < IDEMPOTENCY_WINDOW) {
            return if known.request == new.request {
                Ok(Submitted::Known(known.job_id))
            } else {
                Err(SubmitError::IdempotencyMismatch { job_id: known.job_id })
            };
        }
        if self.jobs.len() >= self.config.max_live_jobs {
            return Err(SubmitError::QueueFull { limit: self.config.max_live_jobs });
        }
        if let Some(limit) = tenants_limit
            && self.jobs.values().filter(|job| job.tenant == new.tenant).count() >= limit
        {
            return Err(SubmitError::TenantFull { limit });
        }
        let id = new.id.clone();
        self.last_sequence += 1;
        let mut job = Job::new(new.id, new.tenant, self.last_sequence, new.request, new.idempotency_key, now);
        job.virtual_start = self.queue.virtual_start(&job);
        match job.state {
            JobState::Queued { not_before } if not_before > now => {
                self.timers.set(Timer::JobMayStart(id.clone()), not_before);
            }
            _ => self.queue.insert(&job),
        }
        self.jobs.insert(id.clone(), job);
        self.save(&id);
        self.announce(now, &id, JobChange::Queued);
        self.dispatch(now);
        Ok(Submitted::New(id))
    }

    /// Takes a job that was withdrawn before anybody knew whether it had been taken: it is there, and cancelled, so that a
    /// submission of it that is still on its way finds it and starts nothing. No bound keeps it out.
    pub fn submit_withdrawn(&mut self, now: TimestampMs, new: NewJob) {
        let id = new.id.clone();
        self.last_sequence += 1;
        let job = Job::new(new.id, new.tenant, self.last_sequence, new.request, new.idempotency_key, now);
        self.jobs.insert(id.clone(), job);
        self.step(now, &id, Attempt::NONE, Step::Cancel, Reason::Cancelled);
    }

    /// Cancels a job, or asks its worker to.
    pub fn cancel(&mut self, now: TimestampMs, id: &JobId) -> CancelOutcome {
        let Some(job) = self.jobs.get_mut(id) else { return CancelOutcome::NotLive };
        let attempt = job.attempt;
        let Some(worker) = job.state.worker().cloned() else {
            self.step(now, id, attempt, Step::Cancel, Reason::Cancelled);
            return CancelOutcome::Cancelled;
        };
        if job.cancel_requested {
            return CancelOutcome::Requested;
        }
        job.cancel_requested = true;
        self.save(id);
        self.timers.set(Timer::CancelUnconfirmed(id.clone()), now + CANCEL_TIMEOUT);
        let cancel = Cancel { job_id: id.clone(), attempt, reason: CancelReason::Requested };
        self.send_to_worker(&worker, SchedulerMessage::Cancel(cancel));
        CancelOutcome::Requested
    }
}
