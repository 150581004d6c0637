//! Who did what: one entry for every act of an operator, kept in the transaction of its effect.

use serde::{Deserialize, Serialize};
use shared_protocol::TimestampMs;

use super::{Effect, Scheduler};

/// What came of an act.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AuditOutcome {
    /// It changed something.
    Done,
    /// It held already.
    Unchanged,
    /// It was refused; nothing was changed.
    Refused,
}

/// One act of an operator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AuditEntry {
    /// The request, as its answer and the logs name it. Unique.
    pub request_id: String,
    /// When, by the clock of the object that did it.
    #[serde(rename = "atMs")]
    pub at: TimestampMs,
    /// The name of the operator's key.
    pub key_id: String,
    /// What was done, such as `worker.drain`.
    pub action: String,
    /// To whom; nothing when it concerns all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Why, in the operator's words.
    #[serde(default)]
    pub reason: String,
    /// What came of it.
    pub outcome: AuditOutcome,
    /// Why it was refused: the code of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
    /// Jobs that it changed, when it was for many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<u64>,
    /// Jobs that it would have concerned too and that are left for another call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<u64>,
}

impl Scheduler {
    /// Keeps an entry in this turn's transaction. It never changes what the scheduler does.
    pub fn audit(&mut self, entry: AuditEntry) {
        self.effects.push_back(Effect::SaveAudit(Box::new(entry)));
    }
}
