//! The operator's side, in the scheduler's object: every act is one turn, and its entry in the audit log is in the turn's
//! transaction.

use shared_protocol::JobId;
use worker::Result;

use super::scheduler_do::Scheduler;
use super::store::Store;
use super::webhooks_do::views;
use crate::api::admin::call::{Act, Actor, AdminCall};
use crate::api::admin::filter::{JobFilter, StateFilter};
use crate::api::admin::perform::{Rows, find, order, preview};
use crate::api::admin::request::{DEFAULT_TARGET, Page, PageOfJobs};
use crate::api::admin::view::{
    AdminJob, AuditList, JobSummary, JobSummaryList, QueueDetail, WorkerDetail, WorkerList,
};
use crate::api::call::{Refusal, Reply};
use crate::api::metrics::{self, Facts, RECENT_JOBS};
use crate::api::view::JobView;
use crate::api::webhooks::call::Scope;
use crate::scheduler::{AuditEntry, Job, Scheduler as Brain};

impl Rows for Store {
    type Error = worker::Error;

    fn job(&self, id: &JobId) -> Result<Option<Job>> {
        Self::job(self, id)
    }

    fn retryable(&self, filter: &JobFilter, limit: usize) -> Result<(Vec<Job>, usize)> {
        Self::retryable(self, filter, limit)
    }
}

impl Scheduler {
    /// Answers an operator.
    pub(super) async fn admin(&self, call: AdminCall) -> Result<Reply> {
        match call {
            AdminCall::Queue { target } => {
                reply(200, &self.drive.turn(|brain, now| QueueDetail::of(brain, now, target)).await?)
            }
            AdminCall::Metrics => self.metrics().await,
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
            AdminCall::Act { actor, act, reason } => self.act(actor, act, reason).await,
        }
    }

    /// Keeps entries about acts in other objects. They are told until it answers, so one may come again.
    pub(super) async fn audit(&self, entries: Vec<AuditEntry>) -> Result<Reply> {
        let store = self.drive.store();
        let keep = |brain: &mut Brain| -> Result<()> {
            for entry in entries {
                if store.audited(&entry.request_id)?.is_none() {
                    brain.audit(entry);
                }
            }
            Ok(())
        };
        self.drive.turn(|brain, _| keep(brain)).await??;
        Ok(Reply::Audited)
    }

    async fn metrics(&self) -> Result<Reply> {
        let store = self.drive.store();
        let (queue, workers, webhooks) = self
            .drive
            .turn_of_both(|brains, now| {
                let queue = QueueDetail::of(&brains.scheduler, now, DEFAULT_TARGET);
                Ok::<_, worker::Error>((
                    queue,
                    WorkerList::of(&brains.scheduler),
                    views(&brains.outbox, &Scope::Operator, store)?,
                ))
            })
            .await??;
        let filter = JobFilter { state: Some(StateFilter::Completed), ..JobFilter::default() };
        let page = Page { limit: RECENT_JOBS, before: None };
        let (jobs, _) = store.jobs_of_all(&filter, page)?;
        let recent: Vec<JobView> = jobs.iter().map(JobView::of).collect();
        let facts = Facts {
            queue: &queue,
            workers: &workers,
            webhooks: &webhooks,
            usage: &store.usage(),
            recent: &recent,
        };
        reply(200, &metrics::render(&facts))
    }

    async fn act(&self, actor: Actor, act: Act, reason: String) -> Result<Reply> {
        let store = self.drive.store();
        let outcome = self
            .drive
            .turn(|brain, now| {
                let earlier = store.audited(&actor.request_id)?;
                order(brain, now, store, earlier.as_ref(), &actor, &act, reason)
            })
            .await??;
        let done = match outcome {
            Ok(done) => done,
            Err(refusal) => return Ok(Reply::Refused(refusal)),
        };
        match act {
            Act::Pause { .. } | Act::Resume { .. } => {
                reply(200, &self.drive.turn(|brain, now| QueueDetail::of(brain, now, DEFAULT_TARGET)).await?)
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

fn reply(status: u16, document: &impl serde::Serialize) -> Result<Reply> {
    Ok(Reply::Admin { status, document: serde_json::to_value(document)? })
}
