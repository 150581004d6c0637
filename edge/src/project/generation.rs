//! A generation: one restore that a product asked for, and the join of its audio and its transcript.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use shared_protocol::{
    Attempt, GenerationId, JobId, OutputKind, PhaseTiming, Priority, Sampler, TimestampMs,
};

use crate::outbox::EndpointId;

/// Whether a transcript belongs to what was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TranscriptMode {
    /// No: complete with the audio.
    #[default]
    None,
    /// The client gives it, before or later: complete with both.
    Given,
    /// Made by the operator's recogniser, unless the client gives one: complete with both.
    Required,
}

/// What a client asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GenerationRequest {
    /// How.
    pub sampler: Sampler,
    /// Whether with a transcript.
    pub transcript: TranscriptMode,
    /// What to leave behind.
    pub outputs: Vec<OutputKind>,
    /// Class in the queue.
    pub priority: Priority,
    /// Of the tenant's webhooks, the one that is told; all of them when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub webhook: Option<EndpointId>,
    /// The client's own notes.
    #[serde(default)]
    pub metadata: BTreeMap<String, String>,
    /// Length of the recording in seconds, as far as the client knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_seconds: Option<u32>,
}

/// Why something failed: a stable code, and a text that says what to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "GenerationFailure"))]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// Stable name.
    pub code: String,
    /// What happened.
    pub message: String,
    /// What to do.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub advice: String,
}

/// Where a generation's audio is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "state")]
pub enum Audio {
    /// Waits for the upload.
    WaitingForUpload,
    /// The scheduler is asked to take the job; whether it has is not known.
    #[serde(rename_all = "camelCase")]
    Dispatching {
        /// Since when.
        since: TimestampMs,
        /// It may have the job: it was asked at least once.
        #[serde(default)]
        asked: bool,
        /// Why it was not taken the last time.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        trouble: Option<String>,
    },
    /// The scheduler has the job.
    #[serde(rename_all = "camelCase")]
    Restoring {
        /// Since when.
        since: TimestampMs,
        /// When a worker began.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        started_at: Option<TimestampMs>,
        /// When something could be heard first.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        first_audio_at: Option<TimestampMs>,
        /// When the scheduler said something about it last.
        heard_at: TimestampMs,
    },
    /// Restored and published.
    #[serde(rename_all = "camelCase")]
    Ready(ReadyAudio),
    /// There is none.
    #[serde(rename_all = "camelCase")]
    Failed {
        /// When that was known.
        at: TimestampMs,
        /// Why.
        failure: Failure,
    },
    /// There is none, as somebody wanted.
    #[serde(rename_all = "camelCase")]
    Cancelled {
        /// When that was known.
        at: TimestampMs,
    },
}

/// Audio that is there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadyAudio {
    /// Since when.
    pub at: TimestampMs,
    /// When the scheduler had the job.
    pub queued_at: TimestampMs,
    /// When a worker began.
    #[serde(default)]
    pub started_at: Option<TimestampMs>,
    /// When something could be heard first.
    #[serde(default)]
    pub first_audio_at: Option<TimestampMs>,
    /// Length of the recording.
    pub audio_seconds: f64,
    /// The attempt that made it.
    pub attempt: Attempt,
    /// Where its time went, since the attempt's start.
    #[serde(default)]
    pub timings: Vec<PhaseTiming>,
}

/// Where a generation's transcript is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "state")]
pub enum TranscriptPart {
    /// None was asked for.
    NotNeeded,
    /// It may still come.
    Waiting,
    /// It is there. Until the generation is complete a later version takes its place.
    #[serde(rename_all = "camelCase")]
    Ready {
        /// Which.
        version: u32,
        /// Since when.
        at: TimestampMs,
    },
    /// There will be none, unless the client gives one.
    #[serde(rename_all = "camelCase")]
    Failed {
        /// When that was known.
        at: TimestampMs,
        /// Why.
        failure: Failure,
    },
}

/// How a generation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Ending {
    /// It has all that it was to have. Final.
    Completed,
    /// Something of it failed. Final, unless that comes after all: an operator puts the job back, the client gives a transcript.
    Failed,
    /// Somebody wanted it to end. Final.
    Cancelled,
}

/// Whether a generation's usage is in the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum UsageState {
    /// Nothing was used.
    None,
    /// The ledger is asked to take it; whether it has is not known.
    Owed,
    /// It is there, once.
    Recorded,
}

/// One restore that a product asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Generation {
    /// Its name.
    pub id: GenerationId,
    /// Its place in the project, from 1.
    pub sequence: u64,
    /// When it was asked for.
    pub created_at: TimestampMs,
    /// The client's key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// What was asked for.
    pub request: GenerationRequest,
    /// The one job that it may have: the key under which it is dispatched, however often.
    pub job_id: JobId,
    /// The version of the transcript that the restore may make use of: the one that was there when the job was dispatched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditioned_on: Option<u32>,
    /// Its audio.
    pub audio: Audio,
    /// Its transcript.
    pub transcript: TranscriptPart,
    /// Somebody wants it to end.
    #[serde(default)]
    pub cancel_requested_at: Option<TimestampMs>,
    /// How it ended.
    #[serde(default)]
    pub ending: Option<Ending>,
    /// When it ended.
    #[serde(default)]
    pub ended_at: Option<TimestampMs>,
    /// Its usage.
    pub usage: UsageState,
    /// The number of the scheduler's latest news of its job: an earlier one that arrives late changes nothing.
    #[serde(default)]
    pub news_sequence: u64,
}

/// What became of a generation when its parts were looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Joined {
    /// Something is missing still.
    NotYet,
    /// It has ended just now.
    Ended(Ending),
}

impl Generation {
    /// Whether it will not change any more by itself.
    pub fn has_ended(&self) -> bool {
        self.ending.is_some()
    }

    /// Whether nothing can change it any more.
    pub fn is_final(&self) -> bool {
        matches!(self.ending, Some(Ending::Completed | Ending::Cancelled))
    }

    /// The name of its state in the API.
    pub fn state(&self) -> &'static str {
        match self.ending {
            Some(Ending::Completed) => return "completed",
            Some(Ending::Failed) => return "failed",
            Some(Ending::Cancelled) => return "cancelled",
            None => {}
        }
        if self.cancel_requested_at.is_some() {
            return "cancelling";
        }
        match self.audio {
            Audio::WaitingForUpload => "waiting_for_upload",
            Audio::Dispatching { .. } => "dispatching",
            Audio::Restoring { started_at: None, .. } => "queued",
            Audio::Restoring { .. } => "restoring",
            Audio::Ready(_) => "audio_ready",
            Audio::Failed { .. } => "failed",
            Audio::Cancelled { .. } => "cancelled",
        }
    }

    /// The failure that it ended with: the audio's, or else the transcript's.
    pub fn failure(&self) -> Option<&Failure> {
        match (&self.audio, &self.transcript) {
            (Audio::Failed { failure, .. }, _) | (_, TranscriptPart::Failed { failure, .. }) => Some(failure),
            _ => None,
        }
    }

    /// Whether the transcript of a version may still become its own.
    pub fn takes_transcript(&self) -> bool {
        !self.is_final() && self.transcript != TranscriptPart::NotNeeded
    }

    /// The join: it is complete exactly when its audio and its transcript are. Called after whatever may have changed a part.
    pub fn join(&mut self, now: TimestampMs) -> Joined {
        if self.is_final() {
            return Joined::NotYet;
        }
        let ending = match (&self.audio, &self.transcript) {
            (Audio::Cancelled { .. }, _) => Ending::Cancelled,
            // Nothing but a transcript was still to come when somebody wanted it to end.
            (Audio::Ready(_), TranscriptPart::Waiting) if self.cancel_requested_at.is_some() => {
                Ending::Cancelled
            }
            (Audio::Failed { .. }, _) | (Audio::Ready(_), TranscriptPart::Failed { .. }) => Ending::Failed,
            (Audio::Ready(_), TranscriptPart::NotNeeded | TranscriptPart::Ready { .. }) => Ending::Completed,
            _ => return self.reopen(),
        };
        if self.ending == Some(ending) {
            return Joined::NotYet;
        }
        self.ending = Some(ending);
        self.ended_at = Some(now);
        Joined::Ended(ending)
    }

    /// What had failed is on its way again.
    fn reopen(&mut self) -> Joined {
        self.ending = None;
        self.ended_at = None;
        Joined::NotYet
    }
}
