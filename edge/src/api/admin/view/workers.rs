//! Workers, as operators see them.

use std::collections::BTreeMap;

use serde::Serialize;
use shared_protocol::{
    Attempt, BootId, JobId, LinkReport, Phase, Sampler, SamplerSpeed, TenantId, TimestampMs, WorkerId,
};

use crate::scheduler::{Job, Scheduler, Worker, WorkerControl};

/// Answer to `GET /v1/admin/workers`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkerList {
    /// By name.
    pub workers: Vec<WorkerDetail>,
}

/// All that is known of a worker.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
