//! Jobs of all tenants, as operators see them.

use serde::Serialize;
use shared_protocol::{Attempt, FailureCode, JobId, Priority, Sampler, TenantId, TimestampMs, WorkerId};

use crate::api::view::JobView;
use crate::scheduler::{Decision, FollowUp, Job, JobState, MAX_RETRIES, MAX_WORKERS_LOST, Reason, Waiting};

/// Answer to `GET /v1/admin/jobs`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct JobSummaryList {
    /// Newest first.
    pub jobs: Vec<JobSummary>,
    /// Where the next page starts, if there is one. A page may hold fewer jobs than were asked for, or none, and still have
    /// a next one: each call looks at a bounded number of rows.
    pub next_cursor: Option<String>,
}

/// A job in a list of all tenants' jobs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct JobSummary {
    /// Its name.
    pub job_id: JobId,
    /// Its owner.
    pub tenant: TenantId,
    /// The recording's name.
    pub name: String,
    /// As in the client's view.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = crate::api::admin::filter::names_of_states())))]
    pub state: String,
    /// The latest attempt.
    pub attempt: Attempt,
    /// Class in the queue.
    pub priority: Priority,
    /// How.
    pub sampler: Sampler,
    /// Who has it, or had it last.
    pub worker: Option<WorkerId>,
    /// When it was submitted.
    pub created_at_ms: TimestampMs,
    /// When a worker first accepted it.
    pub started_at_ms: Option<TimestampMs>,
    /// When it ended.
    pub ended_at_ms: Option<TimestampMs>,
    /// 0 to 1.
    pub progress: f64,
    /// A cancel was asked for and is not confirmed.
    pub cancel_requested: bool,
    /// Why it failed, or why its last attempt did.
    pub failure: Option<FailureCode>,
}

impl JobSummary {
    /// A job in a list.
    pub fn of(job: &Job) -> Self {
        let done = job.state == JobState::Completed;
        Self {
            job_id: job.id.clone(),
            tenant: job.tenant.clone(),
            name: job.request.source.name.clone(),
            state: job.state.name().to_owned(),
            attempt: job.attempt,
            priority: job.request.priority,
            sampler: job.request.sampler,
            worker: job.last_worker().cloned(),
            created_at_ms: job.created_at,
            started_at_ms: job.started_at,
            ended_at_ms: job.ended_at,
            progress: if done { 1.0 } else { job.progress.as_ref().map_or(0.0, |p| p.fraction) },
            cancel_requested: job.cancel_requested && !job.state.is_ended(),
            failure: job.failure.as_ref().map(|failure| failure.code),
        }
    }
}

/// Answer to `GET /v1/admin/jobs/{jobId}`: a job whole.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AdminJob {
    /// Its owner.
    pub tenant: TenantId,
    /// As its owner sees it.
    pub job: JobView,
    /// The client's idempotency key.
    pub idempotency_key: Option<String>,
    /// What is left of its budgets.
    pub budgets: Budgets,
    /// What it waits for.
    pub waiting: Option<Waiting>,
    /// The decision that sent its latest attempt where it went.
    pub decision: Option<Decision>,
    /// Every change of state, oldest first.
    pub history: Vec<HistoryEntry>,
    /// What followed on its completion.
    pub follow_up: Option<FollowUp>,
}

/// What a job has used of its budgets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Budgets {
    /// Retryable failures so far.
    pub retries: u32,
    /// How many it may have.
    pub max_retries: u32,
    /// Workers lost while they ran it.
    pub workers_lost: u32,
    /// How many it may have; one more, and it is quarantined.
    pub max_workers_lost: u32,
}

/// One change of a job's state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct HistoryEntry {
    /// When.
    pub at_ms: TimestampMs,
    /// To which state.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = crate::api::admin::filter::names_of_states())))]
    pub to: String,
    /// The job's attempt afterwards.
    pub attempt: Attempt,
    /// Why.
    pub reason: Reason,
    /// The worker concerned.
    pub worker: Option<WorkerId>,
}

impl AdminJob {
    /// A job whole.
    pub fn of(job: &Job, waiting: Option<Waiting>, follow_up: Option<FollowUp>) -> Self {
        let history = job.history.iter().map(|transition| HistoryEntry {
            at_ms: transition.at,
            to: transition.to.clone(),
            attempt: transition.attempt,
            reason: transition.reason,
            worker: transition.worker.clone(),
        });
        Self {
            tenant: job.tenant.clone(),
            job: JobView::of(job),
            idempotency_key: job.idempotency_key.clone(),
            budgets: Budgets {
                retries: job.retries,
                max_retries: MAX_RETRIES,
                workers_lost: job.workers_lost,
                max_workers_lost: MAX_WORKERS_LOST,
            },
            waiting,
            decision: job.decision.clone(),
            history: history.collect(),
            follow_up,
        }
    }
}

/// Answer to a bulk act, and to its dry run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct BulkResult {
    /// Nothing was changed.
    pub dry_run: bool,
    /// Jobs that were changed; in a dry run, those that would be.
    pub changed: usize,
    /// Jobs that are left for another call.
    pub left: usize,
    /// Why it ended early: the code of an error.
    pub stopped: Option<String>,
    /// The jobs that were changed, or would be.
    pub job_ids: Vec<JobId>,
}
