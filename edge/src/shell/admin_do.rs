//! The operator's side, in the scheduler's object: every act is one turn, and its entry in the audit log is in the turn's
//! transaction.

use shared_protocol::{JobId, TimestampMs};
use worker::Result;

use super::scheduler_do::Scheduler;
use super::store::Store;
use crate::api::ApiError;
use crate::api::admin::call::{Act, Actor, AdminCall, Bulk, BulkAct};
use crate::api::admin::request::PageOfJobs;
use crate::api::admin::view::{
    AdminJob, AuditList, BulkResult, JobSummary, JobSummaryList, QueueDetail, WorkerDetail, WorkerList,
};
use crate::api::call::{Refusal, Reply};
use crate::scheduler::{AuditEntry, AuditOutcome, CancelOutcome, Job, PauseNote, Reason, Scheduler as Brain};

/// What came of an act that was not refused.
struct Done {
    /// Whether anything was changed.
    changed: bool,
    /// Of an act on many jobs: which were changed, and what is left.
    bulk: Option<BulkResult>,
}

impl Done {
    fn changed(changed: bool) -> Self {
        Self { changed, bulk: None }
    }
}

impl Scheduler {
    /// Answers an operator.
    pub(super) async fn admin(&self, call: AdminCall) -> Result<Reply> {
        match call {
            AdminCall::Queue { target } => {
                reply(200, &self.drive.turn(|brain, now| QueueDetail::of(brain, now, target)).await?)
            }
            AdminCall::Usage => reply(200, &self.drive.store().usage()),
            AdminCall::Workers => reply(200, &self.drive.turn(|brain, _| WorkerList::of(brain)).await?),
            AdminCall::Jobs { page } => reply(200, &self.admin_jobs(&page).await?),
            AdminCall::Job { job_id } => self.admin_job(&job_id, 200).await,
            AdminCall::Audit { page } => {
                // Runs the migrations, should this be the object's first event.
                self.drive.turn(|_, _| ()).await?;
                let (entries, next) = self.drive.store().audit_log(page)?;
                reply(200, &AuditList { entries, next_cursor: next.map(|next| next.to_string()) })
            }
            AdminCall::Preview { bulk } => {
                let store = self.drive.store();
                let preview = self.drive.turn(|brain, _| preview(brain, store, &bulk)).await??;
                reply(200, &preview)
            }
            AdminCall::Webhooks { actor, order } => self.webhooks(actor, order).await,
            AdminCall::Act { actor, act, reason } => self.act(actor, act, reason).await,
        }
    }

    async fn act(&self, actor: Actor, act: Act, reason: String) -> Result<Reply> {
        let store = self.drive.store();
        let outcome = self
            .drive
            .turn(|brain, now| -> Result<std::result::Result<Done, Refusal>> {
                // A call is repeated when its answer was lost: what it did is not done twice.
                if let Some(done) = store.audited(&actor.request_id)?.and_then(|entry| done_before(&entry)) {
                    return Ok(Ok(done));
                }
                let outcome = if actor.may_act {
                    perform(brain, now, store, &act, &actor, &reason)?
                } else {
                    Err(Refusal::KeyReadOnly)
                };
                brain.audit(entry(&actor, &act, reason, now, &outcome));
                Ok(outcome)
            })
            .await??;
        let done = match outcome {
            Ok(done) => done,
            Err(refusal) => return Ok(Reply::Refused(refusal)),
        };
        match act {
            Act::Pause { .. } | Act::Resume { .. } => {
                let target = crate::api::admin::request::DEFAULT_TARGET;
                reply(200, &self.drive.turn(|brain, now| QueueDetail::of(brain, now, target)).await?)
            }
            Act::Drain { worker }
            | Act::Undrain { worker }
            | Act::Bench { worker, .. }
            | Act::Unbench { worker } => {
                reply(200, &self.drive.turn(|brain, _| WorkerDetail::of(brain, &worker)).await?)
            }
            Act::Cancel { job } => {
                let is_live = self.drive.turn(|brain, _| brain.job(&job).is_some()).await?;
                self.admin_job(&job, if is_live { 202 } else { 200 }).await
            }
            Act::Retry { job } | Act::Discard { job } => self.admin_job(&job, 200).await,
            Act::Bulk { .. } => reply(200, &done.bulk),
        }
    }

    async fn admin_job(&self, id: &JobId, status: u16) -> Result<Reply> {
        let store = self.drive.store();
        let found = self
            .drive
            .turn(|brain, now| -> Result<Option<AdminJob>> {
                let Some(job) = find(brain, store, id)? else { return Ok(None) };
                let follow_up = match brain.follow_up(id) {
                    Some(open) => Some(open.clone()),
                    None => store.follow_up(id)?,
                };
                Ok(Some(AdminJob::of(&job, brain.waiting_for(now, id), follow_up)))
            })
            .await??;
        found.map_or(Ok(Reply::Refused(Refusal::NotFound)), |job| reply(status, &job))
    }

    async fn admin_jobs(&self, page: &PageOfJobs) -> Result<JobSummaryList> {
        let store = self.drive.store();
        self.drive
            .turn(|brain, _| {
                let (jobs, next) = store.jobs_of_all(&page.filter, page.page)?;
                // Rows of live jobs lack their latest progress.
                let jobs = jobs.iter().map(|job| JobSummary::of(brain.job(&job.id).unwrap_or(job))).collect();
                Ok(JobSummaryList { jobs, next_cursor: next.map(|next| next.to_string()) })
            })
            .await?
    }
}

/// Does what is ordered, or says why not. The store is only read, and before anything is changed.
fn perform(
    brain: &mut Brain,
    now: TimestampMs,
    store: &Store,
    act: &Act,
    actor: &Actor,
    reason: &str,
) -> Result<std::result::Result<Done, Refusal>> {
    let drained = |brain: &Brain, worker| brain.control(worker).is_some_and(|control| control.drained);
    let benched =
        |brain: &Brain, worker| brain.control(worker).is_some_and(|control| control.benched_until.is_some());
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
            let was = drained(brain, worker);
            if !was {
                brain.drain(worker, reason);
            }
            Done::changed(!was)
        }
        Act::Undrain { worker } => {
            let was = drained(brain, worker);
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
            let was = benched(brain, worker);
            if was {
                brain.unbench(now, worker);
            }
            Done::changed(was)
        }
        Act::Cancel { job: id } => {
            let Some(job) = find(brain, store, id)? else { return Ok(Err(Refusal::NotFound)) };
            match brain.cancel(now, id) {
                CancelOutcome::Cancelled => Done::changed(true),
                CancelOutcome::Requested => Done::changed(!job.cancel_requested),
                CancelOutcome::NotLive if job.state.name() == "cancelled" => Done::changed(false),
                CancelOutcome::NotLive => {
                    return Ok(Err(Refusal::Ended { state: job.state.name().to_owned() }));
                }
            }
        }
        Act::Retry { job: id } => {
            let Some(job) = find(brain, store, id)? else { return Ok(Err(Refusal::NotFound)) };
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
            let Some(job) = find(brain, store, id)? else { return Ok(Err(Refusal::NotFound)) };
            if job.history.last().is_some_and(|last| last.reason == Reason::DiscardedByOperator) {
                return Ok(Ok(Done::changed(false)));
            }
            match brain.discard(now, job) {
                Ok(()) => Done::changed(true),
                Err(error) => return Ok(Err(error.into())),
            }
        }
        Act::Bulk { bulk } => {
            let result = perform_bulk(brain, now, store, bulk)?;
            Done { changed: result.changed > 0, bulk: Some(result) }
        }
    }))
}

fn perform_bulk(brain: &mut Brain, now: TimestampMs, store: &Store, bulk: &Bulk) -> Result<BulkResult> {
    let (jobs, total) = concerned(brain, store, bulk)?;
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

fn preview(brain: &Brain, store: &Store, bulk: &Bulk) -> Result<BulkResult> {
    let (jobs, total) = concerned(brain, store, bulk)?;
    Ok(BulkResult {
        dry_run: true,
        changed: jobs.len(),
        left: total.saturating_sub(jobs.len()),
        stopped: None,
        job_ids: jobs.into_iter().map(|job| job.id).collect(),
    })
}

/// The jobs that one call changes, oldest first, and how many there are in all.
fn concerned(brain: &Brain, store: &Store, bulk: &Bulk) -> Result<(Vec<Job>, usize)> {
    match bulk.verb {
        BulkAct::Cancel => {
            let matching = || brain.jobs().filter(|job| !job.cancel_requested && bulk.filter.matches(job));
            Ok((matching().take(bulk.limit).cloned().collect(), matching().count()))
        }
        BulkAct::Retry => store.retryable(&bulk.filter, bulk.limit),
    }
}

/// A job of any tenant: from memory while it is live, from its row when it has ended.
fn find(brain: &Brain, store: &Store, id: &JobId) -> Result<Option<Job>> {
    match brain.job(id) {
        Some(job) => Ok(Some(job.clone())),
        None => store.job(id),
    }
}

fn entry(
    actor: &Actor,
    act: &Act,
    reason: String,
    now: TimestampMs,
    outcome: &std::result::Result<Done, Refusal>,
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

/// What an earlier try of the same call did. One that was refused is tried again: it changed nothing.
fn done_before(entry: &AuditEntry) -> Option<Done> {
    let size = |count: Option<u64>| count.and_then(|count| usize::try_from(count).ok());
    let bulk = size(entry.changed).map(|changed| BulkResult {
        dry_run: false,
        changed,
        left: size(entry.left).unwrap_or(0),
        stopped: None,
        job_ids: Vec::new(),
    });
    let changed = entry.outcome == AuditOutcome::Done;
    (entry.outcome != AuditOutcome::Refused).then_some(Done { changed, bulk })
}

fn reply(status: u16, document: &impl serde::Serialize) -> Result<Reply> {
    Ok(Reply::Admin { status, document: serde_json::to_value(document)? })
}
