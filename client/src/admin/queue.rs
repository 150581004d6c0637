//! The queue as an operator sees it.

use serde::{Deserialize, Serialize};
use shared_protocol::TimestampMs;

use crate::wire::null_as_default;

/// The queue as a whole.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Queue {
    /// Which deployment this is.
    pub environment: String,
    /// Live jobs by state.
    pub counts: Counts,
    /// Live jobs at most.
    pub limit: u64,
    /// Nothing is offered to anybody.
    pub paused: bool,
    /// Tenants of whom nothing is offered.
    #[serde(default, deserialize_with = "null_as_default")]
    pub paused_tenants: Vec<String>,
    /// Who paused what, when and why.
    #[serde(default, deserialize_with = "null_as_default")]
    pub pauses: Vec<Pause>,
    /// Jobs that wait for a time of their own.
    #[serde(default, deserialize_with = "null_as_default")]
    pub scheduled: u64,
    /// How long the longest waiting job has waited.
    #[serde(default, deserialize_with = "null_as_default")]
    pub oldest_wait_ms: u64,
    /// Seconds until the waiting jobs are done with, were they shared out evenly; none without workers.
    pub seconds_to_drain: Option<f64>,
    /// The time within which waiting jobs shall start.
    pub target_seconds: Option<u64>,
    /// Waiting jobs that are expected to start later than that.
    #[serde(default, deserialize_with = "null_as_default")]
    pub late_jobs: u64,
    /// Workers like those that are there that would bring it to zero.
    #[serde(default, deserialize_with = "null_as_default")]
    pub workers_wanted: u64,
    /// Connected workers that take new jobs.
    #[serde(default, deserialize_with = "null_as_default")]
    pub available_workers: u64,
    /// Live jobs by tenant, those with the most waiting ones first.
    #[serde(default, deserialize_with = "null_as_default")]
    pub tenants: Vec<TenantCounts>,
    /// Whatever a newer service says beyond this.
    #[serde(flatten)]
    pub other: serde_json::Map<String, serde_json::Value>,
}

/// Live jobs by state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// Waiting.
    pub queued: u64,
    /// Offered to a worker.
    pub offered: u64,
    /// Running.
    pub running: u64,
}

/// Who paused something, when and why.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Pause {
    /// Of whom nothing is offered; of anybody when absent.
    pub tenant: Option<String>,
    /// Since when.
    pub at_ms: TimestampMs,
    /// The name of the operator's key.
    pub key_id: String,
    /// In the operator's words.
    #[serde(default)]
    pub reason: String,
}

/// A tenant's live jobs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TenantCounts {
    /// Who.
    pub tenant: String,
    /// Waiting.
    pub queued: u64,
    /// With a worker.
    pub with_workers: u64,
}
