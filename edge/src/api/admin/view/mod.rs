//! What operators get. Made from the scheduler's own types, in camelCase.

mod jobs;
mod queue;
mod workers;

use serde::Serialize;

use crate::scheduler::AuditEntry;

pub use jobs::{AdminJob, Budgets, BulkResult, HistoryEntry, JobSummary, JobSummaryList};
pub use queue::{QueueDetail, TenantCounts};
pub use workers::{HeldJob, WorkerDetail, WorkerList, WorkerReport};

/// Answer to `GET /v1/admin/audit`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AuditList {
    /// Newest first.
    pub entries: Vec<AuditEntry>,
    /// Where the next page starts, if there is one.
    pub next_cursor: Option<String>,
}
