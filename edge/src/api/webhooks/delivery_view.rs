//! What is seen of the attempts at a webhook.

use serde::Serialize;
use shared_protocol::{DurationMs, GenerationId, JobId, TimestampMs};

use crate::outbox::{AttemptOutcome, DeliveryFailure, EventId, EventKind, LogEntry};

/// One attempt to deliver one event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DeliveryView {
    /// The event's `webhook-id`.
    pub event_id: EventId,
    /// What happened.
    #[serde(rename = "type")]
    pub kind: EventKind,
    /// The job that it is about.
    pub job_id: JobId,
    /// The generation that the job was made for.
    pub generation_id: Option<GenerationId>,
    /// From 1.
    pub attempt: u32,
    /// When the event was published, or replayed.
    pub published_at_ms: TimestampMs,
    /// When the attempt began.
    pub at_ms: TimestampMs,
    /// How long it took.
    pub duration_ms: DurationMs,
    /// How it ended.
    pub outcome: DeliveryOutcomeName,
    /// What the backend answered, where it did.
    pub status: Option<u16>,
    /// How it failed, in words.
    pub failure: Option<String>,
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DeliveryOutcomeName {
    /// The backend took the event.
    Acknowledged,
    /// It answered something else than 2xx.
    Refused,
    /// It did not answer in time.
    TimedOut,
    /// No connection came about, or it broke.
    NotConnected,
    /// Nobody knows: the service was restarted meanwhile, or lost sight of it.
    Unknown,
}

impl DeliveryView {
    /// An entry of the log.
    pub fn of(entry: LogEntry) -> Self {
        let (outcome, status) = match &entry.outcome {
            AttemptOutcome::Acknowledged(status) => (DeliveryOutcomeName::Acknowledged, Some(*status)),
            AttemptOutcome::Failed(failure) => match failure {
                DeliveryFailure::Status { status } => (DeliveryOutcomeName::Refused, Some(*status)),
                DeliveryFailure::TimedOut => (DeliveryOutcomeName::TimedOut, None),
                DeliveryFailure::NotConnected { .. } => (DeliveryOutcomeName::NotConnected, None),
                DeliveryFailure::NoOutcome => (DeliveryOutcomeName::Unknown, None),
            },
        };
        let failure = match &entry.outcome {
            AttemptOutcome::Acknowledged(_) => None,
            AttemptOutcome::Failed(failure) => Some(failure.to_string()),
        };
        Self {
            event_id: entry.event,
            kind: entry.kind,
            job_id: entry.job_id,
            generation_id: entry.generation,
            attempt: entry.attempt,
            published_at_ms: entry.published_at,
            at_ms: entry.at,
            duration_ms: entry.duration,
            outcome,
            status,
            failure,
        }
    }
}

/// Answer to `GET .../webhooks/{webhookId}/deliveries`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DeliveryList {
    /// Newest first.
    pub deliveries: Vec<DeliveryView>,
    /// Where the next page starts, if there is one.
    pub next_cursor: Option<String>,
}

impl DeliveryList {
    /// A page of entries, of which the store gives one more than was asked for when there are more.
    pub fn of(mut entries: Vec<LogEntry>, limit: u32) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let has_more = entries.len() > limit;
        entries.truncate(limit);
        Self {
            next_cursor: entries.last().filter(|_| has_more).map(|entry| entry.sequence.to_string()),
            deliveries: entries.into_iter().map(DeliveryView::of).collect(),
        }
    }
}
