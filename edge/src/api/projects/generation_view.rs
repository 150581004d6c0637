//! What clients get of generations and of transcripts' words.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use shared_protocol::{
    GenerationId, JobId, OutputKind, Phase, Priority, ProjectId, Sampler, TimestampMs, Transcript,
};

use super::super::view::JobView;
use crate::outbox::EndpointId;
use crate::project::{Audio, Failure, Generation, TranscriptMode, TranscriptPart};

/// A generation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct GenerationView {
    /// Its name.
    pub generation_id: GenerationId,
    /// Its project.
    pub project_id: ProjectId,
    /// Its one job, whose files and playback are its own.
    pub job_id: JobId,
    /// `waiting_for_upload`, `dispatching`, `queued`, `restoring`, `audio_ready` (its transcript is still missing), `cancelling`,
    /// `completed`, `failed` or `cancelled`.
    pub state: String,
    /// When it was asked for.
    pub created_at_ms: TimestampMs,
    /// When it ended.
    pub ended_at_ms: Option<TimestampMs>,
    /// How.
    pub sampler: Sampler,
    /// What it leaves behind.
    pub outputs: Vec<OutputKind>,
    /// Class in the queue.
    pub priority: Priority,
    /// The webhook that is told.
    pub webhook_id: Option<EndpointId>,
    /// The client's own notes.
    pub metadata: BTreeMap<String, String>,
    /// Its audio.
    pub audio: AudioView,
    /// Its transcript.
    pub transcript: TranscriptPartView,
    /// Why it failed.
    pub failure: Option<Failure>,
    /// How far its restore is, while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<ProgressView>,
}

/// The audio of a generation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AudioView {
    /// `waiting_for_upload`, `dispatching`, `queued`, `restoring`, `ready`, `failed` or `cancelled`.
    pub state: String,
    /// When a worker began.
    pub started_at_ms: Option<TimestampMs>,
    /// When something could be heard first.
    pub first_audio_at_ms: Option<TimestampMs>,
    /// Since when it is there.
    pub ready_at_ms: Option<TimestampMs>,
    /// Length of the recording: what is charged.
    pub audio_seconds: Option<f64>,
    /// The version of the transcript that the restore could make use of.
    pub conditioned_on: Option<u32>,
    /// Why the scheduler has not taken its job yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
}

/// The transcript of a generation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TranscriptPartView {
    /// What was asked for.
    pub mode: TranscriptMode,
    /// `not_needed`, `waiting`, `ready` or `failed`.
    pub state: String,
    /// Which version, once it is ready. While the generation is not complete a later one takes its place.
    pub version: Option<u32>,
}

/// How far a restore is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ProgressView {
    /// What is being done.
    pub phase: Option<Phase>,
    /// 0 to 1.
    pub fraction: f64,
    /// Length of what can be played.
    pub published_seconds: f64,
    /// Length of the recording.
    pub audio_seconds: Option<f64>,
}

impl ProgressView {
    /// How far a job is.
    pub fn of(job: &JobView) -> Self {
        Self {
            phase: job.phase,
            fraction: job.progress,
            published_seconds: job.published_seconds,
            audio_seconds: job.audio_seconds,
        }
    }
}

impl GenerationView {
    /// A generation as its owner sees it.
    pub fn of(project: &ProjectId, generation: &Generation) -> Self {
        let request = &generation.request;
        let state = generation.state();
        Self {
            generation_id: generation.id.clone(),
            project_id: project.clone(),
            job_id: generation.job_id.clone(),
            state: state.to_owned(),
            created_at_ms: generation.created_at,
            ended_at_ms: generation.ended_at,
            sampler: request.sampler,
            outputs: request.outputs.clone(),
            priority: request.priority,
            webhook_id: request.webhook.clone(),
            metadata: request.metadata.clone(),
            audio: AudioView::of(generation),
            transcript: TranscriptPartView::of(generation),
            failure: generation.failure().filter(|_| state == "failed").cloned(),
            progress: None,
        }
    }
}

impl AudioView {
    fn of(generation: &Generation) -> Self {
        let mut view = Self {
            state: String::new(),
            started_at_ms: None,
            first_audio_at_ms: None,
            ready_at_ms: None,
            audio_seconds: None,
            conditioned_on: generation.conditioned_on,
            trouble: None,
        };
        let state = match &generation.audio {
            Audio::WaitingForUpload => "waiting_for_upload",
            Audio::Dispatching { trouble, .. } => {
                view.trouble.clone_from(trouble);
                "dispatching"
            }
            Audio::Restoring { started_at, first_audio_at, .. } => {
                (view.started_at_ms, view.first_audio_at_ms) = (*started_at, *first_audio_at);
                if started_at.is_some() { "restoring" } else { "queued" }
            }
            Audio::Ready(ready) => {
                (view.started_at_ms, view.first_audio_at_ms) = (ready.started_at, ready.first_audio_at);
                (view.ready_at_ms, view.audio_seconds) = (Some(ready.at), Some(ready.audio_seconds));
                "ready"
            }
            Audio::Failed { .. } => "failed",
            Audio::Cancelled { .. } => "cancelled",
        };
        view.state = state.to_owned();
        view
    }
}

impl TranscriptPartView {
    fn of(generation: &Generation) -> Self {
        let (state, version) = match &generation.transcript {
            TranscriptPart::NotNeeded => ("not_needed", None),
            TranscriptPart::Waiting => ("waiting", None),
            TranscriptPart::Ready { version, .. } => ("ready", Some(*version)),
            TranscriptPart::Failed { .. } => ("failed", None),
        };
        Self { mode: generation.request.transcript, state: state.to_owned(), version }
    }
}

/// Answer to `GET /v1/projects/{projectId}/transcript`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TranscriptView {
    /// Which version, from 1.
    pub version: u32,
    /// The transcript.
    #[serde(flatten)]
    pub transcript: Transcript,
}

/// Answer to a transcript that was put.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TranscriptTaken {
    /// Which version it is, from 1.
    pub version: u32,
}

/// A page of a project's generations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct GenerationList {
    /// Newest first.
    pub generations: Vec<GenerationView>,
    /// Where the next page starts, if there is one.
    pub next_cursor: Option<String>,
}
