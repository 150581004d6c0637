//! What the outbox wants done. The shell does all saves in one transaction, then the aborts, then the deliveries.

use shared_protocol::{DurationMs, TimestampMs};

use super::endpoint::Endpoint;
use super::event::{EndpointId, EventId};
use super::log::LogEntry;
use super::row::{Row, RowId};

/// Names one attempt of this instance of the outbox; never used again by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeliveryId(pub u64);

/// One thing to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Write a row and its body, in the place of the row of the same id if there is one.
    Insert {
        /// The row.
        row: Box<Row>,
        /// What is to be sent.
        body: String,
    },
    /// Write a row that exists anew; its body stays.
    Save(Box<Row>),
    /// Delete a row and its body: delivered, or overtaken by later news.
    Delete(RowId),
    /// Write an endpoint's row.
    SaveEndpoint(Box<Endpoint>),
    /// Delete an endpoint's row, all rows of its events, dead letters included, and its log.
    DeleteEndpoint(EndpointId),
    /// Write what came of an attempt, in the place of whatever is in its slot.
    Log(Box<LogEntry>),
    /// Cut the request of an attempt off. Its outcome is not waited for.
    Abort(DeliveryId),
    /// Send a row's body with POST, signed now by the endpoint's secrets, redirects not followed, and tell the outcome.
    Deliver(Box<Delivery>),
}

/// One attempt to deliver one event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Its name, to tell the outcome under.
    pub id: DeliveryId,
    /// The row that has the body.
    pub row: RowId,
    /// Where to: has the secrets, see [`super::Outbox::endpoint`].
    pub endpoint: EndpointId,
    /// Where to.
    pub url: String,
    /// Sent as `webhook-id`.
    pub event: EventId,
    /// When it was published.
    pub published_at: TimestampMs,
    /// From 1.
    pub attempt: u32,
    /// The request is cut off after this.
    pub timeout: DurationMs,
}

/// What came of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeliveryOutcome {
    /// The endpoint answered.
    Response {
        /// With this status.
        status: u16,
        /// And this `Retry-After`, see [`super::parse_retry_after`].
        retry_after: Option<DurationMs>,
    },
    /// It did not answer in time.
    TimedOut,
    /// No connection came about, or it broke.
    NotConnected {
        /// What the platform says.
        detail: String,
    },
}
