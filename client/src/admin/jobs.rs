//! Jobs of all tenants, as an operator sees them.

use serde::{Deserialize, Serialize};
use shared_protocol::{JobId, TimestampMs};

use crate::jobs::Job;
use crate::wire::null_as_default;

/// Which jobs; whatever is absent is not asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct JobFilter {
    /// Whose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// A state, or `live` or `ended`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// With which worker: the one that has it, or had it last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
}

impl JobFilter {
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&'static str, &str)> {
        [("tenant", &self.tenant), ("state", &self.state), ("worker", &self.worker)]
            .into_iter()
            .filter_map(|(name, value)| Some((name, value.as_deref()?)))
    }
}

/// One page of jobs, newest first.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JobSummaryPage {
    /// The jobs.
    pub jobs: Vec<JobSummary>,
    /// Where the next page begins; none after the last.
    pub next_cursor: Option<String>,
}

/// A job in a list.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JobSummary {
    /// Its id.
    pub job_id: JobId,
    /// Its owner.
    pub tenant: String,
    /// The recording's name.
    #[serde(default, deserialize_with = "null_as_default")]
    pub name: String,
    /// Where it is in its life.
    pub state: String,
    /// Tries so far.
    #[serde(default, deserialize_with = "null_as_default")]
    pub attempt: u32,
    /// Who has it, or had it last.
    pub worker: Option<String>,
    /// When it was queued.
    pub created_at_ms: TimestampMs,
    /// 0 to 1.
    #[serde(default, deserialize_with = "null_as_default")]
    pub progress: f64,
    /// Code of its failure, or of its last attempt's.
    pub failure: Option<String>,
    /// Whatever else the service says.
    #[serde(flatten)]
    pub other: serde_json::Map<String, serde_json::Value>,
}

/// A job whole.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AdminJob {
    /// Its owner.
    pub tenant: String,
    /// As its owner sees it.
    pub job: Job,
    /// What it has used of its budgets.
    pub budgets: Budgets,
    /// What it waits for.
    pub waiting: Option<Waiting>,
    /// The decision that sent its latest attempt where it went.
    pub decision: Option<Decision>,
    /// Every change of state, oldest first.
    #[serde(default, deserialize_with = "null_as_default")]
    pub history: Vec<Transition>,
    /// Whatever else the service says.
    #[serde(flatten)]
    pub other: serde_json::Map<String, serde_json::Value>,
}

/// What a job has used of its budgets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Budgets {
    /// Retryable failures so far.
    pub retries: u32,
    /// How many it may have.
    pub max_retries: u32,
    /// Workers lost while they ran it.
    pub workers_lost: u32,
    /// How many it may have.
    pub max_workers_lost: u32,
}

/// What a queued job waits for.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Waiting {
    /// `its_time`, `resume`, `tenants_resume`, `any_worker`, `fitting_worker`, `held_back_workers` or `open_slot`.
    pub waits_for: String,
    /// Not to be started before.
    pub not_before_ms: TimestampMs,
    /// Jobs that start before it, as the queue is now.
    pub jobs_ahead: Option<u64>,
    /// Connected workers with its sampler and labels.
    pub fitting_workers: u64,
    /// Of these, those that are not held back.
    pub available_workers: u64,
}

/// Why an attempt went where it went.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    /// Which estimate decided: `earliest_finish` or `earliest_start`.
    pub policy: String,
    /// Who got it.
    pub chosen: String,
    /// What decided at last: `only_candidate`, `soonest`, `worker_priority` or `longest_idle`.
    pub decided_by: String,
    /// How many could have taken it.
    pub considered: u64,
    /// The best of them, the soonest first.
    pub candidates: Vec<Candidate>,
}

/// What was expected of one worker.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Candidate {
    /// Who.
    pub worker: String,
    /// Seconds until the inference starts.
    pub start_seconds: f64,
    /// Seconds until everything is published.
    pub finish_seconds: f64,
    /// Its operator's preference.
    pub priority: i32,
}

/// One change of a job's state.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Transition {
    /// When.
    pub at_ms: TimestampMs,
    /// To which state.
    pub to: String,
    /// The job's attempt afterwards.
    pub attempt: u32,
    /// Why.
    pub reason: String,
    /// The worker concerned.
    pub worker: Option<String>,
}

/// What can be done to a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobAct {
    /// End it.
    Cancel,
    /// Put a failed or quarantined one back, with fresh budgets.
    Retry,
    /// Give a quarantined one up.
    Discard,
}

impl JobAct {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Cancel => "cancel",
            Self::Retry => "retry",
            Self::Discard => "discard",
        }
    }
}

/// What can be done to many jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BulkAct {
    /// End them.
    Cancel,
    /// Put them back.
    Retry,
}

impl BulkAct {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Cancel => "cancel",
            Self::Retry => "retry",
        }
    }
}

/// An act on many jobs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BulkRequest {
    /// Which.
    #[serde(flatten)]
    pub filter: JobFilter,
    /// Every job is meant, no filter was forgotten.
    pub all: bool,
    /// Only say which.
    pub dry_run: bool,
    /// Why.
    pub reason: String,
}

/// What came of an act on many jobs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BulkResult {
    /// Nothing was changed.
    pub dry_run: bool,
    /// Jobs that were changed; in a dry run, those that one call would change.
    pub changed: u64,
    /// Jobs that are left for another call.
    pub left: u64,
    /// Why it ended early: the code of an error.
    pub stopped: Option<String>,
    /// The jobs that were changed, or would be.
    #[serde(default, deserialize_with = "null_as_default")]
    pub job_ids: Vec<JobId>,
}
