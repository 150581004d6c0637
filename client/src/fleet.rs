//! The service as a whole: its queue, its workers, its health.

use reqwest::Method;
use serde::{Deserialize, Serialize};
use shared_protocol::TimestampMs;

use crate::errors::Error;
use crate::http::{Call, Client};
use crate::wire::null_as_default;

/// Queue and workers.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FleetStatus {
    /// Which deployment this is.
    pub environment: String,
    /// The live jobs.
    pub queue: QueueStatus,
    /// The workers that are known.
    #[serde(default, deserialize_with = "null_as_default")]
    pub workers: Vec<WorkerStatus>,
    /// Whatever a newer service says beyond this.
    #[serde(flatten)]
    pub other: serde_json::Map<String, serde_json::Value>,
}

/// How many jobs are in which state.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct QueueStatus {
    /// Waiting for a worker.
    pub queued: u64,
    /// Offered to a worker.
    pub offered: u64,
    /// Running.
    pub running: u64,
    /// How many live jobs the service takes.
    pub limit: u64,
    /// Whatever a newer service says beyond this.
    #[serde(flatten)]
    pub other: serde_json::Map<String, serde_json::Value>,
}

/// One worker.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkerStatus {
    /// Its name.
    pub worker_id: String,
    /// Whether its link is up.
    pub connected: bool,
    /// Its release.
    pub version: Option<String>,
    /// Jobs that it can run at once.
    pub slots: Option<u32>,
    /// How many more it can take.
    pub open_slots: Option<u32>,
    /// Ids of the jobs that it runs.
    #[serde(default, deserialize_with = "null_as_default")]
    pub running: Vec<String>,
    /// Seconds of model work that wait on it.
    pub backlog_seconds: Option<f64>,
    /// When it was last heard.
    pub last_seen_at_ms: Option<TimestampMs>,
    /// Whether it finishes what it has and takes nothing new.
    #[serde(default, deserialize_with = "null_as_default")]
    pub draining: bool,
    /// What it can do.
    #[serde(default, deserialize_with = "null_as_default")]
    pub samplers: Vec<String>,
    /// What runs its model.
    pub engine: Option<String>,
    /// Whatever a newer service says beyond this.
    #[serde(flatten)]
    pub other: serde_json::Map<String, serde_json::Value>,
}

/// A sign of life.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Health {
    /// Whether it serves.
    pub ok: bool,
    /// Which deployment this is.
    pub environment: Option<String>,
    /// Its release.
    pub version: Option<String>,
}

impl Client {
    /// Queue and workers.
    pub async fn status(&self) -> Result<FleetStatus, Error> {
        self.call(&Call::new(Method::GET, self.resource(&["status"]))).await?.json()
    }

    /// A sign of life, once and without repeating.
    pub async fn health(&self) -> Result<Health, Error> {
        self.call_once(&Call::new(Method::GET, self.resource(&["health"]))).await?.json()
    }
}
