//! The versions of a project's transcript, and the request that has one made.

use serde::{Deserialize, Serialize};

use shared_protocol::{DurationMs, TimestampMs};

use super::generation::Failure;

/// Attempts at one transcription before it is given up.
pub const MAX_ATTEMPTS: u32 = 6;

/// Versions of one project's transcript.
pub const MAX_VERSIONS: u32 = 100;

/// Where a version comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum TranscriptSource {
    /// The client gave it.
    Client,
    /// A recogniser made it.
    Recognizer,
}

/// One version. Its words are in the store only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TranscriptVersion {
    /// From 1.
    pub version: u32,
    /// Where it comes from.
    pub source: TranscriptSource,
    /// Since when it is there.
    pub at: TimestampMs,
    /// Words with times in it.
    pub words: u32,
    /// Language, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// What it says, to tell a repeated one from an edit: SHA-256 of it as JSON, in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
}

/// The latest request that a recogniser transcribes the recording.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Transcription {
    /// Counts the requests: an outcome of an earlier one changes nothing.
    pub operation: u32,
    /// Where it is.
    pub state: TranscriptionState,
    /// Failed attempts of this request.
    #[serde(default)]
    pub failures: u32,
    /// Not tried again before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<TimestampMs>,
    /// When it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<TimestampMs>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<TimestampMs>,
    /// Why it failed, or why its last attempt did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
}

/// Where a transcription is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum TranscriptionState {
    /// Nobody asked for one.
    #[default]
    None,
    /// Waits for the upload, or is under way.
    Running,
    /// Its transcript is a version of the project's.
    Done,
    /// It failed.
    Failed,
    /// The client gave a transcript before it was done: its result is not wanted any more.
    Superseded,
}

impl Transcription {
    /// Whether a result is waited for.
    pub fn is_running(&self) -> bool {
        self.state == TranscriptionState::Running
    }

    /// Begins a new request, unless one is under way.
    pub fn begin(&mut self, now: TimestampMs) -> bool {
        if self.is_running() {
            return false;
        }
        *self = Self {
            operation: self.operation + 1,
            state: TranscriptionState::Running,
            started_at: Some(now),
            ..Self::default()
        };
        true
    }

    /// Ends the request that is under way.
    pub fn end(&mut self, now: TimestampMs, state: TranscriptionState) {
        if self.is_running() {
            self.state = state;
            self.ended_at = Some(now);
            self.retry_at = None;
        }
    }

    /// An attempt came to nothing. Says whether that was the last one.
    pub fn attempt_failed(&mut self, now: TimestampMs, failure: Failure, after: Option<DurationMs>) -> bool {
        self.failures += 1;
        self.failure = Some(failure);
        if self.failures >= MAX_ATTEMPTS {
            self.end(now, TranscriptionState::Failed);
            return true;
        }
        // 2, 4, 8, 16, 32 s: a recogniser that restarts is back within a minute.
        let pause = after.unwrap_or(DurationMs::from_secs(1 << self.failures));
        self.retry_at = Some(now + pause);
        false
    }
}
