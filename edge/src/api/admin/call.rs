//! What the stateless Worker asks of the scheduler's object for an operator.

use serde::{Deserialize, Serialize};
use shared_protocol::{DurationMs, JobId, TenantId, WorkerId};

use super::filter::JobFilter;
use super::request::{Page, PageOfJobs};

/// Who acts: the holder of an operator's key, in one request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Actor {
    /// The key's name.
    pub key_id: String,
    /// Whether the key allows more than looking.
    pub may_act: bool,
    /// The request, as its answer names it.
    pub request_id: String,
}

/// A question, or an order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "admin")]
pub enum AdminCall {
    /// The page for Prometheus.
    Metrics,
    /// What the scheduler's object has used.
    Usage,
    /// The queue's statistics.
    Queue {
        /// Waiting jobs shall start within that time.
        target: DurationMs,
    },
    /// All that is known of the workers.
    Workers,
    /// Jobs of all tenants.
    Jobs {
        /// Which.
        page: PageOfJobs,
    },
    /// One job whole.
    #[serde(rename_all = "camelCase")]
    Job {
        /// Which.
        job_id: JobId,
    },
    /// Who did what.
    Audit {
        /// Which entries.
        page: Page,
    },
    /// The jobs that an act would change.
    Preview {
        /// What would be done.
        bulk: Bulk,
    },
    /// Do something.
    Act {
        /// Who.
        actor: Actor,
        /// What.
        act: Act,
        /// Why, in the operator's words.
        reason: String,
    },
}

/// Something that an operator does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "act")]
pub enum Act {
    /// Offer nothing more.
    Pause {
        /// Of whom; of anybody when absent.
        tenant: Option<TenantId>,
    },
    /// Offer again.
    Resume {
        /// Of whom; ends the pause of everything when absent.
        tenant: Option<TenantId>,
    },
    /// Let a worker finish what it has.
    Drain {
        /// Whom.
        worker: WorkerId,
    },
    /// End a drain.
    Undrain {
        /// Whose.
        worker: WorkerId,
    },
    /// Offer a worker nothing for a while.
    Bench {
        /// Whom.
        worker: WorkerId,
        /// For how long.
        time: DurationMs,
    },
    /// End a bench.
    Unbench {
        /// Whose.
        worker: WorkerId,
    },
    /// End a job.
    Cancel {
        /// Which.
        job: JobId,
    },
    /// Put a failed or quarantined job back.
    Retry {
        /// Which.
        job: JobId,
    },
    /// Give a quarantined job up.
    Discard {
        /// Which.
        job: JobId,
    },
    /// Any of the above for many jobs.
    Bulk {
        /// What.
        bulk: Bulk,
    },
}

/// An act on all jobs of a kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Bulk {
    /// What is done to each.
    pub verb: BulkAct,
    /// Which jobs.
    pub filter: JobFilter,
    /// How many at most in one call.
    pub limit: usize,
}

/// What can be done to many jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BulkAct {
    /// End them.
    Cancel,
    /// Put them back.
    Retry,
}

impl Act {
    /// Its name in the audit log.
    pub fn action(&self) -> &'static str {
        match self {
            Self::Pause { .. } => "queue.pause",
            Self::Resume { .. } => "queue.resume",
            Self::Drain { .. } => "worker.drain",
            Self::Undrain { .. } => "worker.undrain",
            Self::Bench { .. } => "worker.bench",
            Self::Unbench { .. } => "worker.unbench",
            Self::Cancel { .. } => "job.cancel",
            Self::Retry { .. } => "job.retry",
            Self::Discard { .. } => "job.discard",
            Self::Bulk { bulk } => match bulk.verb {
                BulkAct::Cancel => "jobs.cancel",
                BulkAct::Retry => "jobs.retry",
            },
        }
    }

    /// Whom or what it concerns, in the audit log.
    pub fn target(&self) -> Option<String> {
        match self {
            Self::Pause { tenant } | Self::Resume { tenant } => tenant.as_ref().map(ToString::to_string),
            Self::Drain { worker }
            | Self::Undrain { worker }
            | Self::Bench { worker, .. }
            | Self::Unbench { worker } => Some(worker.to_string()),
            Self::Cancel { job } | Self::Retry { job } | Self::Discard { job } => Some(job.to_string()),
            Self::Bulk { bulk } => Some(bulk.filter.words()),
        }
    }
}
