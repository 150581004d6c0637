//! What an operator's act does, and what the audit log says of it. Pure: rows are handed in.

use shared_protocol::{JobId, TimestampMs};

use super::call::{Act, Actor, Bulk, BulkAct};
use super::filter::JobFilter;
use super::view::BulkResult;
use crate::api::ApiError;
use crate::api::call::Refusal;
use crate::scheduler::{
    AuditEntry, AuditOutcome, CancelOutcome, Job, JobState, PauseNote, Reason, Scheduler, WorkerControl,
};

/// The rows of jobs that have ended.
pub trait Rows {
    /// Why they cannot be read.
    type Error;

    /// A job.
    ///
    /// # Errors
    /// It cannot be read.
    fn job(&self, id: &JobId) -> Result<Option<Job>, Self::Error>;

    /// Failed and quarantined jobs that are meant, the oldest first, and how many there are in all.
    ///
    /// # Errors
    /// They cannot be read.
    fn retryable(&self, filter: &JobFilter, limit: usize) -> Result<(Vec<Job>, usize), Self::Error>;
}

/// What came of an act that was not refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    /// Whether anything was changed.
    pub changed: bool,
    /// Of an act on many jobs: which were changed, and what is left.
    pub bulk: Option<BulkResult>,
}

impl Done {
    fn changed(changed: bool) -> Self {
        Self { changed, bulk: None }
    }

    /// What an earlier try of the same call did. One that was refused is tried again: it changed nothing.
    fn before(entry: &AuditEntry) -> Option<Self> {
        let size = |count: Option<u64>| count.and_then(|count| usize::try_from(count).ok());
        let bulk = size(entry.changed).map(|changed| BulkResult {
            dry_run: false,
            changed,
            left: size(entry.left).unwrap_or(0),
            stopped: None,
            job_ids: Vec::new(),
        });
        let changed = entry.outcome == AuditOutcome::Done;
        (entry.outcome != AuditOutcome::Refused).then_some(Self { changed, bulk })
    }
}

/// Does what is ordered, or says why not, and has it written down either way. `earlier` is the entry of the same request, if
/// its call was repeated because its answer was lost: what it did is not done twice.
///
/// # Errors
/// The rows cannot be read; nothing was changed then.
pub fn order<R: Rows>(
    brain: &mut Scheduler,
    now: TimestampMs,
    rows: &R,
    earlier: Option<&AuditEntry>,
    actor: &Actor,
    act: &Act,
    reason: String,
) -> Result<Result<Done, Refusal>, R::Error> {
    if let Some(done) = earlier.and_then(Done::before) {
        return Ok(Ok(done));
    }
    let outcome = if actor.may_act {
        perform(brain, now, rows, act, actor, &reason)?
    } else {
        Err(Refusal::KeyReadOnly)
    };
    brain.audit(entry(actor, act, reason, now, &outcome));
    Ok(outcome)
}

/// The rows are only read, and before anything is changed.
fn perform<R: Rows>(
    brain: &mut Scheduler,
    now: TimestampMs,
    rows: &R,
    act: &Act,
    actor: &Actor,
    reason: &str,
) -> Result<Result<Done, Refusal>, R::Error> {
    let drained = |control: Option<&WorkerControl>| control.is_some_and(|control| control.drained);
    let benched =
        |control: Option<&WorkerControl>| control.is_some_and(|control| control.benched_until.is_some());
    Ok(Ok(match act {
        Act::Pause { tenant } => {
            let was = brain.is_paused(tenant.as_ref());
            if !was {
                brain.pause_with_note(PauseNote {
                    tenant: tenant.clone(),
                    at: now,
                    key_id: actor.key_id.clone(),
                    reason: reason.to_owned(),
                });
            }
            Done::changed(!was)
        }
        Act::Resume { tenant } => {
            let was = brain.is_paused(tenant.as_ref());
            if was {
                brain.resume(now, tenant.as_ref());
            }
            Done::changed(was)
        }
        Act::Drain { worker } => {
            let was = drained(brain.control(worker));
            if !was {
                brain.drain(worker, reason);
            }
            Done::changed(!was)
        }
        Act::Undrain { worker } => {
            let was = drained(brain.control(worker));
            if was {
                brain.undrain(now, worker);
            }
            Done::changed(was)
        }
        Act::Bench { worker, time } => {
            brain.bench(now, worker, *time, reason);
            Done::changed(true)
        }
        Act::Unbench { worker } => {
            let was = benched(brain.control(worker));
            if was {
                brain.unbench(now, worker);
            }
            Done::changed(was)
        }
        Act::Cancel { job: id } => {
            let Some(job) = find(brain, rows, id)? else { return Ok(Err(Refusal::NotFound)) };
            match brain.cancel(now, id) {
                CancelOutcome::Cancelled => Done::changed(true),
                CancelOutcome::Requested => Done::changed(!job.cancel_requested),
                CancelOutcome::NotLive if job.state == JobState::Cancelled => Done::changed(false),
                CancelOutcome::NotLive => {
                    return Ok(Err(Refusal::Ended { state: job.state.name().to_owned() }));
                }
            }
        }
        Act::Retry { job: id } => {
            let Some(job) = find(brain, rows, id)? else { return Ok(Err(Refusal::NotFound)) };
            let put_back = |job: &Job| job.history.iter().any(|t| t.reason == Reason::RetriedByOperator);
            if !job.state.is_ended() && put_back(&job) {
                return Ok(Ok(Done::changed(false)));
            }
            match brain.retry(now, job) {
                Ok(()) => Done::changed(true),
                Err(error) => return Ok(Err(error.into())),
            }
        }
        Act::Discard { job: id } => {
            let Some(job) = find(brain, rows, id)? else { return Ok(Err(Refusal::NotFound)) };
            if job.history.last().is_some_and(|last| last.reason == Reason::DiscardedByOperator) {
                return Ok(Ok(Done::changed(false)));
            }
            match brain.discard(now, job) {
                Ok(()) => Done::changed(true),
                Err(error) => return Ok(Err(error.into())),
            }
        }
        Act::Bulk { bulk } => {
            let result = perform_bulk(brain, now, rows, bulk)?;
            Done { changed: result.changed > 0, bulk: Some(result) }
        }
    }))
}

fn perform_bulk<R: Rows>(
    brain: &mut Scheduler,
    now: TimestampMs,
    rows: &R,
    bulk: &Bulk,
) -> Result<BulkResult, R::Error> {
    let (jobs, total) = concerned(brain, rows, bulk)?;
    let mut result =
        BulkResult { dry_run: false, changed: 0, left: total, stopped: None, job_ids: Vec::new() };
    for job in jobs {
        let id = job.id.clone();
        match bulk.verb {
            BulkAct::Cancel => {
                brain.cancel(now, &id);
            }
            BulkAct::Retry => {
                if let Err(error) = brain.retry(now, job) {
                    let refusal = ApiError::from(Refusal::from(error));
                    result.stopped = Some(refusal.row().code.to_owned());
                    break;
                }
            }
        }
        result.job_ids.push(id);
    }
    result.changed = result.job_ids.len();
    result.left = total.saturating_sub(result.changed);
    Ok(result)
}

/// What an act on many jobs would change.
///
/// # Errors
/// The rows cannot be read.
pub fn preview<R: Rows>(brain: &Scheduler, rows: &R, bulk: &Bulk) -> Result<BulkResult, R::Error> {
    let (jobs, total) = concerned(brain, rows, bulk)?;
    Ok(BulkResult {
        dry_run: true,
        changed: jobs.len(),
        left: total.saturating_sub(jobs.len()),
        stopped: None,
        job_ids: jobs.into_iter().map(|job| job.id).collect(),
    })
}

/// The jobs that one call changes, oldest first, and how many there are in all.
fn concerned<R: Rows>(brain: &Scheduler, rows: &R, bulk: &Bulk) -> Result<(Vec<Job>, usize), R::Error> {
    match bulk.verb {
        BulkAct::Cancel => {
            let matching = || brain.jobs().filter(|job| !job.cancel_requested && bulk.filter.matches(job));
            Ok((matching().take(bulk.limit).cloned().collect(), matching().count()))
        }
        BulkAct::Retry => rows.retryable(&bulk.filter, bulk.limit),
    }
}

/// A job of any tenant: from memory while it is live, from its row when it has ended.
///
/// # Errors
/// The rows cannot be read.
pub fn find<R: Rows>(brain: &Scheduler, rows: &R, id: &JobId) -> Result<Option<Job>, R::Error> {
    match brain.job(id) {
        Some(job) => Ok(Some(job.clone())),
        None => rows.job(id),
    }
}

fn entry(
    actor: &Actor,
    act: &Act,
    reason: String,
    now: TimestampMs,
    outcome: &Result<Done, Refusal>,
) -> AuditEntry {
    let (kind, refusal) = match outcome {
        Ok(done) if done.changed => (AuditOutcome::Done, None),
        Ok(_) => (AuditOutcome::Unchanged, None),
        Err(refusal) => (AuditOutcome::Refused, Some(ApiError::from(refusal.clone()).row().code.to_owned())),
    };
    let bulk = outcome.as_ref().ok().and_then(|done| done.bulk.as_ref());
    AuditEntry {
        request_id: actor.request_id.clone(),
        at: now,
        key_id: actor.key_id.clone(),
        action: act.action().to_owned(),
        target: act.target(),
        reason,
        outcome: kind,
        refusal,
        changed: bulk.map(|bulk| bulk.changed as u64),
        left: bulk.map(|bulk| bulk.left as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::{Config, Effect};
    use shared_protocol::WorkerId;
    use std::convert::Infallible;

    /// No job has ended.
    struct NoRows;

    impl Rows for NoRows {
        type Error = Infallible;

        fn job(&self, _: &JobId) -> Result<Option<Job>, Infallible> {
            Ok(None)
        }

        fn retryable(&self, _: &JobFilter, _: usize) -> Result<(Vec<Job>, usize), Infallible> {
            Ok((Vec::new(), 0))
        }
    }

    fn drain() -> Act {
        Act::Drain { worker: WorkerId::new("mini-1").unwrap() }
    }

    fn send(brain: &mut Scheduler, may_act: bool, earlier: Option<&AuditEntry>) -> Result<Done, Refusal> {
        let actor = Actor { key_id: "ops".into(), may_act, request_id: "req_1".into() };
        let Ok(outcome) = order(brain, TimestampMs(5), &NoRows, earlier, &actor, &drain(), "hot".into());
        outcome
    }

    fn entries(brain: &mut Scheduler) -> Vec<AuditEntry> {
        std::iter::from_fn(|| brain.poll_effect())
            .filter_map(|effect| if let Effect::SaveAudit(entry) = effect { Some(*entry) } else { None })
            .collect()
    }

    #[test]
    fn a_call_that_is_repeated_is_done_and_written_down_once() {
        let mut brain = Scheduler::new(Config::default());
        assert_eq!(send(&mut brain, true, None), Ok(Done::changed(true)));
        let written = entries(&mut brain);
        let worker = WorkerId::new("mini-1").unwrap();
        brain.undrain(TimestampMs(6), &worker);
        assert_eq!(send(&mut brain, true, written.first()), Ok(Done::changed(true)));
        assert!(brain.control(&worker).is_none(), "what came after it is not undone by the repetition");
        assert_eq!((written.len(), entries(&mut brain).len()), (1, 0));
    }

    #[test]
    fn a_reading_key_changes_nothing_and_is_written_down() {
        let mut brain = Scheduler::new(Config::default());
        assert_eq!(send(&mut brain, false, None), Err(Refusal::KeyReadOnly));
        assert_eq!(brain.controls().count(), 0);
        let written = entries(&mut brain);
        assert_eq!(written.len(), 1);
        assert_eq!(
            (written[0].outcome, written[0].refusal.as_deref(), written[0].target.as_deref()),
            (AuditOutcome::Refused, Some("key_read_only"), Some("mini-1"))
        );
        // Should it have been repeated: a refusal is found anew.
        assert_eq!(send(&mut brain, true, written.first()), Ok(Done::changed(true)));
    }

    #[test]
    fn what_holds_already_is_no_change_and_no_error() {
        let mut brain = Scheduler::new(Config::default());
        send(&mut brain, true, None).unwrap();
        assert_eq!(send(&mut brain, true, None), Ok(Done::changed(false)));
        let outcomes: Vec<AuditOutcome> = entries(&mut brain).iter().map(|entry| entry.outcome).collect();
        assert_eq!(outcomes, [AuditOutcome::Done, AuditOutcome::Unchanged]);
    }
}
