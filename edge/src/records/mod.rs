//! Rows and other bytes that outlive a process: one codec for each kind, with a round-trip test under each.
//!
//! Two releases read each other's rows: fields are only ever added, with a default.

pub mod audit_row;
pub mod control_row;
pub mod follow_up_row;
pub mod job_row;
pub mod meta_row;
pub mod playlist_row;
pub mod socket_attachment;
pub mod tenant_rows;
pub mod turn_rows;
pub mod upload_metadata;

/// A row that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the {kind} cannot be read: {reason}")]
pub struct RowError {
    /// Which kind.
    pub kind: &'static str,
    /// The parser's words.
    pub reason: String,
}

impl RowError {
    fn new(kind: &'static str, reason: impl ToString) -> Self {
        Self { kind, reason: reason.to_string() }
    }
}
