//! What a scheduler says.

use serde::{Deserialize, Serialize};

use crate::{Attempt, DurationMs, JobId, MessageId, OutputKind, ProtocolVersion, Sampler, Source};

/// A message from the scheduler. `type` names the kind on the wire.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type")]
pub enum SchedulerMessage {
    /// The answer to `hello`.
    #[serde(rename = "welcome")]
    Welcome(Welcome),
    /// The answer to `ping`.
    #[serde(rename = "pong")]
    Pong(Pong),
    /// An offer: accept or reject it.
    #[serde(rename = "job.assign")]
    Assign(Assign),
    /// Stop this attempt. Answered with `job.cancelled`, or with the terminal message that was quicker.
    #[serde(rename = "job.cancel")]
    Cancel(Cancel),
    /// A terminal message is stored: forget it.
    #[serde(rename = "ack")]
    Ack(Ack),
    /// Something that was sent could not be handled. The link lives on unless the socket is closed too.
    #[serde(rename = "error")]
    Error(ProtocolError),
}

/// What this scheduler understands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Welcome {
    /// The protocol's version that it speaks.
    pub protocol: ProtocolVersion,
    /// The environment's name, such as `production`.
    pub environment: String,
    /// The optional message types that it handles, such as `job.quality`. A worker sends no others of them.
    pub capabilities: Vec<String>,
    /// How often the worker has to ping.
    pub ping_interval_ms: DurationMs,
}

/// The answer to a ping.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Pong {
    /// The ping's.
    pub sequence: u64,
}

/// An offered attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Assign {
    /// The job.
    pub job_id: JobId,
    /// The attempt: the fencing token of everything done for it.
    pub attempt: Attempt,
    /// How to restore.
    pub sampler: Sampler,
    /// What to leave behind.
    pub outputs: Vec<OutputKind>,
    /// What to restore.
    pub source: Source,
    /// The signed right to read the upload and to put objects below this attempt's prefix.
    pub ticket: String,
    /// There is a transcript to go by, of this version: the worker fetches it with the ticket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript_version: Option<u32>,
}

/// Why an attempt has to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CancelReason {
    /// The client or an operator asked for it.
    Requested,
    /// The scheduler no longer waits for this attempt: another one took its place, or the job has ended.
    Superseded,
    /// A reason of a newer release.
    #[serde(other)]
    Unknown,
}

/// Stop an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Cancel {
    /// The job.
    pub job_id: JobId,
    /// The attempt.
    pub attempt: Attempt,
    /// Why.
    pub reason: CancelReason,
}

/// A terminal message is durable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Ack {
    /// Which one.
    pub message_id: MessageId,
}

/// Something could not be handled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ProtocolError {
    /// A stable code: `unknown_type`, `malformed`, `too_large`, `hello_expected`, `version_mismatch`.
    pub code: String,
    /// For people.
    pub message: String,
    /// The type of the message that caused it, when it could be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regarding: Option<String>,
}

impl SchedulerMessage {
    /// The name on the wire.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Welcome(_) => "welcome",
            Self::Pong(_) => "pong",
            Self::Assign(_) => "job.assign",
            Self::Cancel(_) => "job.cancel",
            Self::Ack(_) => "ack",
            Self::Error(_) => "error",
        }
    }
}
