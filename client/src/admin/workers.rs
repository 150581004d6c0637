//! Workers as an operator sees them.

use serde::{Deserialize, Serialize};
use shared_protocol::TimestampMs;

use crate::wire::null_as_default;

/// What can be done to a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkerAct {
    /// Let it finish what it has, and offer it nothing new.
    Drain,
    /// End a drain.
    Undrain,
    /// Offer it nothing for a while; the service's own time without one.
    Bench {
        /// For how long.
        seconds: Option<u64>,
    },
    /// End a bench.
    Unbench,
}

impl WorkerAct {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Drain => "drain",
            Self::Undrain => "undrain",
            Self::Bench { .. } => "bench",
            Self::Unbench => "unbench",
        }
    }
}

/// Every worker that is known, or about whom something was decided.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct WorkerList {
    /// By name.
    pub workers: Vec<Worker>,
}

/// All that is known of a worker. What it said itself is absent when it is not known any more.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Worker {
    /// Its name.
    pub worker_id: String,
    /// Whether it has a connection.
    pub connected: bool,
    /// Nothing new is offered to it.
    #[serde(default, deserialize_with = "null_as_default")]
    pub held_back: bool,
    /// An operator drained it.
    #[serde(default, deserialize_with = "null_as_default")]
    pub drained: bool,
    /// It is offered nothing until then.
    pub benched_until_ms: Option<TimestampMs>,
    /// Why it is drained or benched.
    #[serde(default, deserialize_with = "null_as_default")]
    pub reason: String,
    /// It takes nothing new by its own wish.
    #[serde(default, deserialize_with = "null_as_default")]
    pub draining: bool,
    /// Its last sign of life.
    pub last_seen_at_ms: Option<TimestampMs>,
    /// Its program's version.
    pub version: Option<String>,
    /// What runs its model.
    pub engine: Option<String>,
    /// Jobs at once at most.
    pub slots: Option<u32>,
    /// Jobs that it can still take.
    pub open_slots: Option<u32>,
    /// Its operator's labels.
    #[serde(default, deserialize_with = "null_as_default")]
    pub labels: Vec<String>,
    /// Its operator's preference among equals.
    pub priority: Option<i32>,
    /// Seconds until an inference that is queued now would start.
    pub backlog_seconds: Option<f64>,
    /// Its connection, as it measured it.
    pub link: Option<Link>,
    /// Failures in a row since its last success or bench.
    pub failures_in_a_row: Option<u32>,
    /// The jobs that it has.
    #[serde(default, deserialize_with = "null_as_default")]
    pub jobs: Vec<HeldJob>,
    /// Whatever a newer service says beyond this.
    #[serde(flatten)]
    pub other: serde_json::Map<String, serde_json::Value>,
}

/// A worker's connection, as it measured it.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Link {
    /// From the service.
    pub download_bytes_per_second: f64,
    /// To the service.
    pub upload_bytes_per_second: f64,
    /// What a request takes whatever its size.
    pub request_seconds: f64,
    /// Whatever a newer service says beyond this.
    #[serde(flatten)]
    pub other: serde_json::Map<String, serde_json::Value>,
}

/// A job that a worker has.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HeldJob {
    /// Its id.
    pub job_id: String,
    /// Its owner.
    pub tenant: String,
    /// `offered` or `running`.
    pub state: String,
    /// What is being done.
    pub phase: Option<String>,
    /// 0 to 1.
    #[serde(default, deserialize_with = "null_as_default")]
    pub progress: f64,
    /// Whatever a newer service says beyond this.
    #[serde(flatten)]
    pub other: serde_json::Map<String, serde_json::Value>,
}
