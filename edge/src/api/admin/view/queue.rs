//! The queue, as operators see it.

use std::collections::BTreeMap;

use serde::Serialize;
use shared_protocol::{DurationMs, TenantId, TimestampMs};

use crate::scheduler::{PauseNote, QueueStatistics, Scheduler};

/// Tenants that are listed with the queue: those with the most waiting jobs.
const MAX_TENANTS: usize = 50;

/// Answer to `GET /v1/admin/queue`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
