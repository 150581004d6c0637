//! What operators get. Made from the scheduler's own types, in camelCase.

use std::collections::BTreeMap;

use serde::Serialize;
use shared_protocol::{
    Attempt, BootId, DurationMs, FailureCode, JobId, LinkReport, Phase, Priority, Sampler, SamplerSpeed,
    TenantId, TimestampMs, WorkerId,
};

use super::super::view::JobView;
use crate::scheduler::{
    AuditEntry, Decision, FollowUp, Job, JobState, MAX_RETRIES, MAX_WORKERS_LOST, PauseNote, QueueStatistics,
    Scheduler, Waiting, Worker, WorkerControl,
};

/// Tenants that are listed with the queue: those with the most waiting jobs.
const MAX_TENANTS: usize = 50;

/// Answer to `GET /v1/admin/queue`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct QueueDetail {
    /// The environment's name.
    pub environment: String,
    /// Live jobs at most.
    pub limit: usize,
    /// Nothing is offered to anybody.
    pub paused: bool,
    /// Tenants of whom nothing is offered.
    pub paused_tenants: Vec<TenantId>,
    /// Who paused what, when and why.
    pub pauses: Vec<PauseNote>,
    /// The figures.
    #[serde(flatten)]
    pub statistics: QueueStatistics,
    /// The time within which waiting jobs shall start, for the hint.
    pub target_seconds: u64,
    /// Connected workers that take new jobs.
    pub available_workers: usize,
    /// Live jobs by tenant, those with the most waiting ones first.
    pub tenants: Vec<TenantCounts>,
}

/// A tenant's live jobs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TenantCounts {
    /// Who.
    pub tenant: TenantId,
    /// Waiting.
    pub queued: usize,
    /// With a worker.
    pub with_workers: usize,
}

impl QueueDetail {
    /// The queue as it is.
    pub fn of(scheduler: &Scheduler, now: TimestampMs, target: DurationMs) -> Self {
        let mut tenants: BTreeMap<&TenantId, (usize, usize)> = BTreeMap::new();
        for job in scheduler.jobs() {
            let counts = tenants.entry(&job.tenant).or_default();
            match job.state.worker() {
                None => counts.0 += 1,
                Some(_) => counts.1 += 1,
            }
        }
        let mut tenants: Vec<TenantCounts> = tenants
            .into_iter()
            .map(|(tenant, (queued, with_workers))| TenantCounts {
                tenant: tenant.clone(),
                queued,
                with_workers,
            })
            .collect();
        tenants.sort_by_key(|counts| std::cmp::Reverse(counts.queued));
        tenants.truncate(MAX_TENANTS);
        let meta = scheduler.meta();
        Self {
            environment: scheduler.config().environment.clone(),
            limit: scheduler.config().max_live_jobs,
            paused: meta.paused,
            paused_tenants: meta.paused_tenants.into_iter().collect(),
            pauses: meta.pause_notes,
            statistics: scheduler.statistics(now, target),
            target_seconds: target.0 / 1000,
            available_workers: scheduler
                .workers()
                .filter(|worker| worker.connection.is_some() && !worker.is_held_back())
                .count(),
            tenants,
        }
    }
}

/// Answer to `GET /v1/admin/workers`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorkerList {
    /// By name.
    pub workers: Vec<WorkerDetail>,
}

/// All that is known of a worker.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkerDetail {
    /// Its name.
    pub worker_id: WorkerId,
    /// Whether it has a connection.
    pub connected: bool,
    /// Nothing new is offered to it: for a reason below, or by its own wish.
    pub held_back: bool,
    /// An operator drained it.
    pub drained: bool,
    /// It is offered nothing until then.
    pub benched_until_ms: Option<TimestampMs>,
    /// Why it is drained or benched.
    pub reason: String,
    /// What it said; nothing of a worker that is not known any more.
    #[serde(flatten)]
    pub report: Option<WorkerReport>,
    /// The jobs that it has.
    pub jobs: Vec<HeldJob>,
}

/// What a worker said, and what follows from it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkerReport {
    /// Its last sign of life.
    pub last_seen_at_ms: TimestampMs,
    /// The run of its process.
    pub boot_id: BootId,
    /// Its program's version.
    pub version: String,
    /// What runs its model.
    pub engine: String,
    /// Jobs at once at most.
    pub slots: u32,
    /// Jobs that it can still take.
    pub open_slots: u32,
    /// It takes nothing new by its own wish.
    pub draining: bool,
    /// Its operator's labels.
    pub labels: Vec<String>,
    /// Its operator's preference among equals.
    pub priority: i32,
    /// Samplers that it offers.
    pub samplers: Vec<Sampler>,
    /// How fast it is with each.
    pub speeds: Vec<SamplerSpeed>,
    /// Seconds until an inference that is queued now would start.
    pub backlog_seconds: f64,
    /// Its connection, as it measured it.
    pub link: LinkReport,
    /// Since when it was offered nothing.
    pub idle_since_ms: TimestampMs,
    /// Failures in a row since its last success or bench.
    pub failures_in_a_row: u32,
    /// Benches since its last success; each is longer than the one before.
    pub benches_in_a_row: u32,
}

/// A job that a worker has.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HeldJob {
    /// Its name.
    pub job_id: JobId,
    /// Its owner.
    pub tenant: TenantId,
    /// `offered` or `running`.
    pub state: String,
    /// Which attempt.
    pub attempt: Attempt,
    /// When a worker first accepted it.
    pub started_at_ms: Option<TimestampMs>,
    /// What is being done.
    pub phase: Option<Phase>,
    /// 0 to 1.
    pub progress: f64,
}

impl HeldJob {
    fn of(job: &Job) -> Self {
        Self {
            job_id: job.id.clone(),
            tenant: job.tenant.clone(),
            state: job.state.name().to_owned(),
            attempt: job.attempt,
            started_at_ms: job.started_at,
            phase: job.progress.as_ref().map(|progress| progress.phase),
            progress: job.progress.as_ref().map_or(0.0, |progress| progress.fraction),
        }
    }
}

impl WorkerDetail {
    fn new(worker_id: WorkerId, control: Option<&WorkerControl>) -> Self {
        let drained = control.is_some_and(|control| control.drained);
        let benched_until_ms = control.and_then(|control| control.benched_until);
        Self {
            worker_id,
            connected: false,
            held_back: drained || benched_until_ms.is_some(),
            drained,
            benched_until_ms,
            reason: control.map(|control| control.reason.clone()).unwrap_or_default(),
            report: None,
            jobs: Vec::new(),
        }
    }

    fn known(worker: &Worker) -> Self {
        let snapshot = &worker.snapshot;
        let report = WorkerReport {
            last_seen_at_ms: worker.last_seen,
            boot_id: snapshot.boot_id.clone(),
            version: snapshot.version.clone(),
            engine: snapshot.engine.clone(),
            slots: snapshot.slots,
            open_slots: snapshot.open_slots,
            draining: snapshot.draining,
            labels: snapshot.labels.clone(),
            priority: snapshot.priority,
            samplers: snapshot.samplers.clone(),
            speeds: snapshot.speeds.clone(),
            backlog_seconds: worker.backlog_seconds(),
            link: snapshot.link,
            idle_since_ms: snapshot.idle_since,
            failures_in_a_row: worker.breaker.failures(),
            benches_in_a_row: worker.breaker.benches(),
        };
        Self {
            connected: worker.connection.is_some(),
            held_back: worker.is_held_back(),
            report: Some(report),
            ..Self::new(snapshot.worker_id.clone(), worker.control.as_ref())
        }
    }

    /// One worker; one that nobody knows is shown as such, since what operators decide holds for it too.
    pub fn of(scheduler: &Scheduler, worker_id: &WorkerId) -> Self {
        let known = WorkerList::of(scheduler).workers.into_iter().find(|one| one.worker_id == *worker_id);
        known.unwrap_or_else(|| Self::new(worker_id.clone(), None))
    }
}

impl WorkerList {
    /// Every worker that is known, or about whom something was decided.
    pub fn of(scheduler: &Scheduler) -> Self {
        let mut workers: BTreeMap<WorkerId, WorkerDetail> = scheduler
            .controls()
            .map(|control| {
                (control.worker_id.clone(), WorkerDetail::new(control.worker_id.clone(), Some(control)))
            })
            .collect();
        for worker in scheduler.workers() {
            workers.insert(worker.snapshot.worker_id.clone(), WorkerDetail::known(worker));
        }
        for job in scheduler.jobs() {
            if let Some(detail) = job.state.worker().and_then(|worker| workers.get_mut(worker)) {
                detail.jobs.push(HeldJob::of(job));
            }
        }
        Self { workers: workers.into_values().collect() }
    }
}

/// Answer to `GET /v1/admin/jobs`.
#[derive(Debug, Clone, PartialEq, Serialize)]
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
#[serde(rename_all = "camelCase")]
pub struct JobSummary {
    /// Its name.
    pub job_id: JobId,
    /// Its owner.
    pub tenant: TenantId,
    /// The recording's name.
    pub name: String,
    /// As in the client's view.
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
#[serde(rename_all = "camelCase")]
pub struct HistoryEntry {
    /// When.
    pub at_ms: TimestampMs,
    /// To which state.
    pub to: String,
    /// The job's attempt afterwards.
    pub attempt: Attempt,
    /// Why.
    pub reason: crate::scheduler::Reason,
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

/// Answer to `GET /v1/admin/audit`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditList {
    /// Newest first.
    pub entries: Vec<AuditEntry>,
    /// Where the next page starts, if there is one.
    pub next_cursor: Option<String>,
}
