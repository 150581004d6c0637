//! What is kept of an event for one endpoint until it is delivered, and how rows are written.
//!
//! The body is a column of its own: it is written once with a new row and read by the shell when it is sent, so that
//! neither memory nor rewritten rows hold it.

use serde::{Deserialize, Serialize};
use shared_protocol::{GenerationId, JobId, TimestampMs};

use super::endpoint::Endpoint;
use super::event::{EndpointId, EventId, EventKind};
use super::log::LogEntry;

/// Names a row and gives its place: rows of one job go to one endpoint in the order of their ids.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct RowId(pub u64);

/// One event on its way to one endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    /// Its place.
    pub id: RowId,
    /// Where to.
    pub endpoint: EndpointId,
    /// The event.
    pub event: EventId,
    /// The job that it is about.
    pub job_id: JobId,
    /// The generation that the job was made for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<GenerationId>,
    /// What happened.
    pub kind: EventKind,
    /// When it was published, or replayed: its age counts from here.
    pub queued_at: TimestampMs,
    /// Not to be sent before.
    pub due: TimestampMs,
    /// Failed attempts so far.
    #[serde(default)]
    pub attempts: u32,
    /// How the latest attempt failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<DeliveryFailure>,
    /// Set when it was given up: it stays as a row only, to be looked at and replayed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dead: Option<DeadLetter>,
}

/// How an attempt failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "camelCase", tag = "failure")]
pub enum DeliveryFailure {
    /// Another status than 2xx. Redirects count among them: they are not followed.
    #[error("the endpoint answered {status}")]
    Status {
        /// Which.
        status: u16,
    },
    /// No answer in time.
    #[error("the endpoint did not answer within {} s", super::DELIVERY_TIMEOUT.0 / 1_000)]
    TimedOut,
    /// No connection.
    #[error("no connection to the endpoint: {detail}")]
    NotConnected {
        /// What the platform says.
        detail: String,
    },
    /// Nobody knows: the attempt's lease ended.
    #[error("the attempt had no outcome")]
    NoOutcome,
}

/// Why and when an event was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeadLetter {
    /// When.
    pub at: TimestampMs,
    /// Why.
    pub reason: DeadReason,
}

/// Why an event was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum DeadReason {
    /// Too many attempts, or too old.
    Undeliverable,
    /// Too many events wait for this endpoint, and it was the oldest that could be spared.
    Overflow,
}

/// A row in the store cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error(
    "a row of the outbox ({what}) is not what this version knows; was it written by a newer one? {source}"
)]
pub struct CodecError {
    what: &'static str,
    source: serde_json::Error,
}

fn encode<T: Serialize>(what: &'static str, value: &T) -> Result<String, CodecError> {
    serde_json::to_string(value).map_err(|source| CodecError { what, source })
}

fn decode<'a, T: Deserialize<'a>>(what: &'static str, text: &'a str) -> Result<T, CodecError> {
    serde_json::from_str(text).map_err(|source| CodecError { what, source })
}

impl Row {
    /// The row as JSON, without the event's body.
    ///
    /// # Errors
    /// [`CodecError`].
    pub fn encode(&self) -> Result<String, CodecError> {
        encode("event", self)
    }

    /// Reads what [`Row::encode`] wrote, in this version or an older one.
    ///
    /// # Errors
    /// [`CodecError`].
    pub fn decode(text: &str) -> Result<Self, CodecError> {
        decode("event", text)
    }
}

impl LogEntry {
    /// The entry as JSON.
    ///
    /// # Errors
    /// [`CodecError`].
    pub fn encode(&self) -> Result<String, CodecError> {
        encode("attempt", self)
    }

    /// Reads what [`LogEntry::encode`] wrote, in this version or an older one.
    ///
    /// # Errors
    /// [`CodecError`].
    pub fn decode(text: &str) -> Result<Self, CodecError> {
        decode("attempt", text)
    }
}

impl Endpoint {
    /// The endpoint as JSON. **It holds the secrets**: for the store only, never for an API's answer.
    ///
    /// # Errors
    /// [`CodecError`].
    pub fn encode(&self) -> Result<String, CodecError> {
        encode("endpoint", self)
    }

    /// Reads what [`Endpoint::encode`] wrote, in this version or an older one.
    ///
    /// # Errors
    /// [`CodecError`].
    pub fn decode(text: &str) -> Result<Self, CodecError> {
        decode("endpoint", text)
    }
}

#[cfg(test)]
mod tests {
    use super::super::signature::Secret;
    use super::*;
    use shared_protocol::TenantId;

    fn row() -> Row {
        Row {
            id: RowId(7),
            endpoint: EndpointId::new("ep_1").unwrap(),
            event: EventId::new("msg_1").unwrap(),
            job_id: JobId::new("job_1").unwrap(),
            generation: None,
            kind: EventKind::Started,
            queued_at: TimestampMs(10),
            due: TimestampMs(20),
            attempts: 0,
            failure: None,
            dead: None,
        }
    }

    #[test]
    fn rows_come_back_as_they_were() {
        let failures = [
            None,
            Some(DeliveryFailure::Status { status: 503 }),
            Some(DeliveryFailure::TimedOut),
            Some(DeliveryFailure::NotConnected { detail: "refused \"x\"".into() }),
            Some(DeliveryFailure::NoOutcome),
        ];
        let deaths = [None, Some(DeadReason::Undeliverable), Some(DeadReason::Overflow)];
        for (n, failure) in failures.into_iter().enumerate() {
            for reason in deaths {
                let dead = reason.map(|reason| DeadLetter { at: TimestampMs(30), reason });
                let row = Row { attempts: n as u32, failure: failure.clone(), dead, ..row() };
                assert_eq!(Row::decode(&row.encode().unwrap()).unwrap(), row);
            }
        }
    }

    #[test]
    fn the_first_written_form_stays_readable() {
        let text = r#"{"id":7,"endpoint":"ep_1","event":"msg_1","jobId":"job_1","kind":"job.started","queuedAt":10,"due":20}"#;
        assert_eq!(Row::decode(text).unwrap(), row());
        let text = r#"{"id":"ep_1","url":"https://example.com/","secrets":["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],"enabled":true}"#;
        assert!(Endpoint::decode(text).unwrap().enabled);
    }

    #[test]
    fn a_row_that_cannot_be_read_says_so() {
        let error = Row::decode(r#"{"id":7}"#).unwrap_err().to_string();
        assert!(error.contains("outbox") && error.contains("endpoint"), "{error}");
    }

    #[test]
    fn endpoints_come_back_as_they_were() {
        let plain = Endpoint {
            id: EndpointId::new("ep_1").unwrap(),
            tenant: None,
            url: "https://example.com/".into(),
            secrets: vec![Secret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap()],
            enabled: true,
            gone_at: None,
            kinds: None,
        };
        let full = Endpoint {
            tenant: Some(TenantId::new("acme").unwrap()),
            enabled: false,
            gone_at: Some(TimestampMs(9)),
            kinds: Some([EventKind::Completed, EventKind::Stems].into()),
            ..plain.clone()
        };
        for endpoint in [plain, full] {
            assert_eq!(Endpoint::decode(&endpoint.encode().unwrap()).unwrap(), endpoint);
        }
    }
}
