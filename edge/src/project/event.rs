//! What happened to a project: a numbered log, which listeners follow and which webhooks are told of.

use serde::{Deserialize, Serialize};
use shared_protocol::{GenerationId, TimestampMs};

use crate::outbox::EventKind;

/// Events that are kept for listeners who were away. Older ones are deleted: whoever missed them reads the state.
pub const KEPT_EVENTS: u64 = 1_000;

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ProjectEventName"))]
pub enum EventName {
    /// The upload is there.
    #[serde(rename = "upload.completed")]
    UploadCompleted,
    /// The upload was given up.
    #[serde(rename = "upload.abandoned")]
    UploadAbandoned,
    /// There is a new version of the transcript.
    #[serde(rename = "transcript.updated")]
    TranscriptUpdated,
    /// There will be no transcript of the recogniser's.
    #[serde(rename = "transcription.failed")]
    TranscriptionFailed,
    /// A generation was asked for.
    #[serde(rename = "generation.created")]
    Created,
    /// The scheduler has its job.
    #[serde(rename = "generation.queued")]
    Queued,
    /// A worker has begun.
    #[serde(rename = "generation.started")]
    Started,
    /// Its first audio can be played.
    #[serde(rename = "generation.playable")]
    Playable,
    /// Its audio is there.
    #[serde(rename = "generation.audio_ready")]
    AudioReady,
    /// It has all that it was to have.
    #[serde(rename = "generation.completed")]
    Completed,
    /// Something of it failed.
    #[serde(rename = "generation.failed")]
    Failed,
    /// It was cancelled.
    #[serde(rename = "generation.cancelled")]
    Cancelled,
    /// Its stems are there, or will not come.
    #[serde(rename = "generation.stems")]
    Stems,
    /// Its quality was scored.
    #[serde(rename = "generation.quality")]
    Quality,
}

impl EventName {
    /// All of them.
    pub const ALL: [Self; 14] = [
        Self::UploadCompleted,
        Self::UploadAbandoned,
        Self::TranscriptUpdated,
        Self::TranscriptionFailed,
        Self::Created,
        Self::Queued,
        Self::Started,
        Self::Playable,
        Self::AudioReady,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
        Self::Stems,
        Self::Quality,
    ];

    /// The name as listeners see it.
    pub fn name(self) -> &'static str {
        match self {
            Self::UploadCompleted => "upload.completed",
            Self::UploadAbandoned => "upload.abandoned",
            Self::TranscriptUpdated => "transcript.updated",
            Self::TranscriptionFailed => "transcription.failed",
            Self::Created => "generation.created",
            Self::Queued => "generation.queued",
            Self::Started => "generation.started",
            Self::Playable => "generation.playable",
            Self::AudioReady => "generation.audio_ready",
            Self::Completed => "generation.completed",
            Self::Failed => "generation.failed",
            Self::Cancelled => "generation.cancelled",
            Self::Stems => "generation.stems",
            Self::Quality => "generation.quality",
        }
    }

    /// What webhooks are told of it, when they are. Of the rest they hear by the events of the job.
    pub fn webhook(self) -> Option<EventKind> {
        match self {
            Self::AudioReady => Some(EventKind::AudioReady),
            Self::Completed => Some(EventKind::GenerationCompleted),
            Self::Failed => Some(EventKind::GenerationFailed),
            Self::Cancelled => Some(EventKind::GenerationCancelled),
            _ => None,
        }
    }
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProjectEvent {
    /// Its number, from 1.
    pub sequence: u64,
    /// When.
    pub at: TimestampMs,
    /// What.
    pub name: EventName,
    /// To which generation, if to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<GenerationId>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_has_one_name_in_rows_in_streams_and_in_webhooks() {
        for name in EventName::ALL {
            assert_eq!(serde_json::to_value(name).unwrap(), name.name());
            if let Some(kind) = name.webhook() {
                assert_eq!(kind.name(), name.name());
            }
        }
    }
}
