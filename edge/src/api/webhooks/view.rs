//! What is seen of webhooks. Never their secrets.

use std::collections::BTreeSet;

use serde::Serialize;
use shared_protocol::{JobId, TenantId, TimestampMs};

use crate::outbox::{DeadReason, Endpoint, EndpointId, EventId, EventKind, LaneStatus, Outbox, Row, RowId};

/// A webhook and how it is doing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct WebhookView {
    /// Its name.
    pub webhook_id: EndpointId,
    /// Whose jobs it is told of; everybody's when there is none.
    pub tenant: Option<TenantId>,
    /// Where to.
    pub url: String,
    /// What it is told; everything when there is no list.
    pub events: Option<BTreeSet<EventKind>>,
    /// Whether anything is sent.
    pub enabled: bool,
    /// It answered 410 Gone and was disabled for that.
    pub gone_at_ms: Option<TimestampMs>,
    /// How many secrets sign: two while they are rotated.
    pub secrets: usize,
    /// Whether this environment's policy lets its URL be called.
    pub allowed: bool,
    /// Events that wait or are being sent.
    pub waiting: usize,
    /// Of these, being sent now.
    pub in_flight: usize,
    /// Whether its latest attempt was answered, whatever the answer.
    pub responsive: bool,
    /// It asked for a pause until then.
    pub held_until_ms: Option<TimestampMs>,
    /// Events that could not be delivered and are kept.
    pub dead_letters: u64,
    /// What became of events since the scheduler's last restart.
    pub counters: CountersView,
}

/// What became of the events of one webhook since the scheduler's last restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CountersView {
    /// Acknowledged.
    pub delivered: u64,
    /// Attempts that failed.
    pub failed_attempts: u64,
    /// Progress that took the place of earlier progress.
    pub coalesced: u64,
    /// Progress and phases that later news made worthless.
    pub overtaken: u64,
    /// Given up for their attempts or age.
    pub undeliverable: u64,
    /// Given up because too many waited.
    pub overflowed: u64,
}

impl WebhookView {
    /// One webhook of an outbox. `dead_letters` is how many the store has.
    pub fn of(outbox: &Outbox, endpoint: &Endpoint, dead_letters: u64) -> Option<Self> {
        let LaneStatus { waiting, in_flight, allowed, responsive, held_until, counters } =
            outbox.status(&endpoint.id)?;
        Some(Self {
            webhook_id: endpoint.id.clone(),
            tenant: endpoint.tenant.clone(),
            url: endpoint.url.clone(),
            events: endpoint.kinds.clone(),
            enabled: endpoint.enabled,
            gone_at_ms: endpoint.gone_at,
            secrets: endpoint.secrets.len(),
            allowed,
            waiting,
            in_flight,
            responsive,
            held_until_ms: held_until,
            dead_letters,
            counters: CountersView {
                delivered: counters.delivered,
                failed_attempts: counters.failed_attempts,
                coalesced: counters.coalesced,
                overtaken: counters.overtaken,
                undeliverable: counters.undeliverable,
                overflowed: counters.overflowed,
            },
        })
    }
}

/// Answer where a secret was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WebhookWithSecret {
    /// The webhook, as the scheduler's object shows it.
    #[cfg_attr(feature = "schema", schemars(with = "WebhookView"))]
    pub webhook: serde_json::Value,
    /// Signs what is sent to it. Shown here and never again.
    pub secret: String,
}

/// Answer to `GET /v1/admin/webhooks` and `GET /v1/webhooks`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WebhookList {
    /// In order of their ids, which is that of their making.
    pub webhooks: Vec<WebhookView>,
}

/// Answer where nothing is left to show but the name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct WebhookDeleted {
    /// Which.
    pub webhook_id: EndpointId,
}

/// Answer to a test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TestSent {
    /// The event's `webhook-id`.
    pub event_id: EventId,
}

/// Answer to a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Replayed {
    /// Dead letters that wait to be sent again.
    pub replayed: u64,
    /// Dead letters that are left for another call.
    pub left: u64,
}

/// An event that could not be delivered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DeadLetterView {
    /// Its name, for a replay.
    pub dead_letter_id: RowId,
    /// The event's `webhook-id`.
    pub event_id: EventId,
    /// What happened.
    #[serde(rename = "type")]
    pub kind: EventKind,
    /// The job that it is about.
    pub job_id: JobId,
    /// When it was published, or replayed last.
    pub queued_at_ms: TimestampMs,
    /// When it was given up.
    pub given_up_at_ms: Option<TimestampMs>,
    /// Why.
    pub reason: Option<DeadReason>,
    /// Attempts to deliver it.
    pub attempts: u32,
    /// How the last one failed.
    pub failure: Option<String>,
}

impl DeadLetterView {
    /// A row that was given up.
    pub fn of(row: &Row) -> Self {
        Self {
            dead_letter_id: row.id,
            event_id: row.event.clone(),
            kind: row.kind,
            job_id: row.job_id.clone(),
            queued_at_ms: row.queued_at,
            given_up_at_ms: row.dead.map(|dead| dead.at),
            reason: row.dead.map(|dead| dead.reason),
            attempts: row.attempts,
            failure: row.failure.as_ref().map(ToString::to_string),
        }
    }
}

/// Answer to `GET .../webhooks/{webhookId}/dead-letters`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DeadLetterList {
    /// Newest first.
    pub dead_letters: Vec<DeadLetterView>,
    /// Where the next page starts, if there is one.
    pub next_cursor: Option<String>,
}

impl DeadLetterList {
    /// A page of rows, of which the store gives one more than was asked for when there are more.
    pub fn of(mut rows: Vec<Row>, limit: u32) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let has_more = rows.len() > limit;
        rows.truncate(limit);
        Self {
            next_cursor: rows.last().filter(|_| has_more).map(|row| row.id.0.to_string()),
            dead_letters: rows.iter().map(DeadLetterView::of).collect(),
        }
    }
}
