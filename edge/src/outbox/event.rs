//! What is told to a backend, and under which names.

use std::fmt;

use serde::{Deserialize, Serialize};
use shared_protocol::{GenerationId, JobId, TenantId, TimestampMs};

/// Characters in the id of an event or of an endpoint.
pub const MAX_ID_LENGTH: usize = 64;

/// A text is no id of an event or an endpoint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("an id has 1 to {MAX_ID_LENGTH} characters of A-Z a-z 0-9 _ -")]
pub struct IdError;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(#[cfg_attr(feature = "schema", schemars(length(min = 1, max = 64), regex(pattern = "^[A-Za-z0-9_-]+$")))] String);

        impl $name {
            /// Checks a text and takes it as an id.
            ///
            /// # Errors
            /// [`IdError`] when it is empty, too long, or has another character. A full stop is refused because
            /// signatures use it as their separator.
            pub fn new(text: impl Into<String>) -> Result<Self, IdError> {
                let text = text.into();
                let safe = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-');
                if text.is_empty() || text.len() > MAX_ID_LENGTH || !text.bytes().all(safe) {
                    return Err(IdError);
                }
                Ok(Self(text))
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;
            fn try_from(text: String) -> Result<Self, IdError> {
                Self::new(text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id!(
    /// One event, such as `msg_...`: sent as `webhook-id`, the same with every retry and replay, so that a receiver
    /// can tell what it has seen before.
    EventId
);
id!(
    /// One place that wants to be told.
    EndpointId
);

impl EventId {
    /// The id of the event that has a number of its own, such as 128 random bits.
    pub fn from_number(number: u128) -> Self {
        Self(format!("msg_{number:032x}"))
    }
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum EventKind {
    /// It waits for a worker.
    #[serde(rename = "job.queued")]
    Queued,
    /// A worker has begun.
    #[serde(rename = "job.started")]
    Started,
    /// It is in another phase now, or a transfer has begun or ended.
    #[serde(rename = "job.phase")]
    PhaseChanged,
    /// How far it is within its phase.
    #[serde(rename = "job.progress")]
    Progress,
    /// Its first audio can be played.
    #[serde(rename = "job.playable")]
    Playable,
    /// Its restored audio is published.
    #[serde(rename = "job.completed")]
    Completed,
    /// It ended without a result.
    #[serde(rename = "job.failed")]
    Failed,
    /// It ended because somebody wanted it to.
    #[serde(rename = "job.cancelled")]
    Cancelled,
    /// Its stems are published.
    #[serde(rename = "job.stems")]
    Stems,
    /// Its quality has been scored.
    #[serde(rename = "job.quality")]
    Quality,
    /// The audio of a generation is there; its transcript is not yet.
    #[serde(rename = "generation.audio_ready")]
    AudioReady,
    /// A generation has all that it was to have.
    #[serde(rename = "generation.completed")]
    GenerationCompleted,
    /// A generation will not have all that it was to have.
    #[serde(rename = "generation.failed")]
    GenerationFailed,
    /// A generation ended because somebody wanted it to.
    #[serde(rename = "generation.cancelled")]
    GenerationCancelled,
    /// Nothing happened: somebody tries an endpoint out.
    #[serde(rename = "webhook.test")]
    Test,
}

impl EventKind {
    /// All that an endpoint can choose from.
    pub const ALL: [Self; 14] = [
        Self::Queued,
        Self::Started,
        Self::PhaseChanged,
        Self::Progress,
        Self::Playable,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
        Self::Stems,
        Self::Quality,
        Self::AudioReady,
        Self::GenerationCompleted,
        Self::GenerationFailed,
        Self::GenerationCancelled,
    ];

    /// The event's type in bodies, filters and rows.
    pub fn name(self) -> &'static str {
        match self {
            Self::Queued => "job.queued",
            Self::Started => "job.started",
            Self::PhaseChanged => "job.phase",
            Self::Progress => "job.progress",
            Self::Playable => "job.playable",
            Self::Completed => "job.completed",
            Self::Failed => "job.failed",
            Self::Cancelled => "job.cancelled",
            Self::Stems => "job.stems",
            Self::Quality => "job.quality",
            Self::AudioReady => "generation.audio_ready",
            Self::GenerationCompleted => "generation.completed",
            Self::GenerationFailed => "generation.failed",
            Self::GenerationCancelled => "generation.cancelled",
            Self::Test => "webhook.test",
        }
    }

    /// Whether the restore itself, or the whole generation, has ended with it. Stems and quality may still follow.
    pub fn is_terminal(self) -> bool {
        matches!(
            self,
            Self::Completed
                | Self::Failed
                | Self::Cancelled
                | Self::GenerationCompleted
                | Self::GenerationFailed
                | Self::GenerationCancelled
        )
    }

    /// Whether it is no news any more once the job has ended.
    pub fn is_passing(self) -> bool {
        matches!(self, Self::Progress | Self::PhaseChanged)
    }
}

/// Whom an event may be told to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Audience<'a> {
    /// Whose job it is.
    pub tenant: &'a TenantId,
    /// Whether the job belongs to a project, which is then told too.
    pub in_project: bool,
    /// Of the webhooks that are told of this tenant's jobs only, the one that is told of this job.
    pub only: Option<&'a EndpointId>,
}

/// Something that happened to a job.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Its name, fresh for each event.
    pub id: EventId,
    /// The job's owner.
    pub tenant: TenantId,
    /// The job.
    pub job_id: JobId,
    /// Whether the job belongs to a project.
    pub in_project: bool,
    /// The generation that the job was made for.
    pub generation: Option<GenerationId>,
    /// See [`Audience::only`].
    pub only: Option<EndpointId>,
    /// What happened.
    pub kind: EventKind,
    /// When it happened.
    pub at: TimestampMs,
    /// What there is to say about it.
    pub data: serde_json::Value,
}

impl Event {
    /// Whom it may be told to.
    pub fn audience(&self) -> Audience<'_> {
        Audience { tenant: &self.tenant, in_project: self.in_project, only: self.only.as_ref() }
    }

    /// The body that is sent and signed, in the form that Standard Webhooks recommends: `type`, `timestamp`, `data`.
    /// It is rendered once, when the event is published, and stored: all retries send the same bytes.
    pub fn body(&self) -> String {
        body(self.kind, self.at, &self.data)
    }
}

pub(super) fn body(kind: EventKind, at: TimestampMs, data: &serde_json::Value) -> String {
    serde_json::json!({ "type": kind.name(), "timestamp": rfc3339(at), "data": data }).to_string()
}

/// A time as RFC 3339 text in UTC, such as `2026-11-30T09:13:22.000Z`.
pub fn rfc3339(at: TimestampMs) -> String {
    let (seconds, milliseconds) = (at.0 / 1_000, at.0 % 1_000);
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Days since 0000-03-01, so that the leap day is the last one of its year (H. Hinnant, `civil_from_days`).
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milliseconds:03}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        // `date -u -d @SECONDS --iso-8601=seconds`
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (1_614_265_330, "2021-02-25T15:02:10.000Z"),
            (1_735_689_599, "2024-12-31T23:59:59.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(rfc3339(TimestampMs(seconds * 1_000)), text);
        }
    }

    #[test]
    fn an_events_name_is_the_same_in_rows_and_in_bodies() {
        for kind in EventKind::ALL.into_iter().chain([EventKind::Test]) {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
    }

    #[test]
    fn a_body_says_what_happened_and_when() {
        let event = Event {
            id: EventId::new("msg_1").unwrap(),
            tenant: TenantId::new("acme").unwrap(),
            job_id: JobId::new("job_1").unwrap(),
            in_project: false,
            generation: None,
            only: None,
            kind: EventKind::Completed,
            at: TimestampMs(1_614_265_330_042),
            data: serde_json::json!({ "jobId": "job_1" }),
        };
        let body: serde_json::Value = serde_json::from_str(&event.body()).unwrap();
        let expected = serde_json::json!({
            "type": "job.completed", "timestamp": "2021-02-25T15:02:10.042Z", "data": { "jobId": "job_1" },
        });
        assert_eq!(body, expected);
    }

    #[test]
    fn an_id_cannot_shift_the_fields_of_a_signature() {
        assert!(EventId::new("msg_1.1614265330").is_err());
        assert!(EventId::new("").is_err());
        assert!(serde_json::from_str::<EventId>("\"a b\"").is_err());
    }
}
