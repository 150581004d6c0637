//! A tenant's list of its projects. What a project is, its own object knows.

use serde::{Deserialize, Serialize};
use shared_protocol::{ProjectId, TimestampMs};

/// A project in its tenant's list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProjectEntry {
    /// Which.
    pub project_id: ProjectId,
    /// Its name, for people.
    pub name: String,
    /// When it was made.
    #[serde(rename = "createdAtMs")]
    pub created_at: TimestampMs,
}

/// A page of a tenant's projects, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProjectPage {
    /// The projects.
    pub projects: Vec<ProjectEntry>,
    /// Where the next page starts; nothing when this is the last one.
    pub next_cursor: Option<u64>,
}
