//! What clients get of projects and generations.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use shared_protocol::{ProjectId, TimestampMs, UploadId};

use super::super::view::PutInstruction;
pub use super::generation_view::{
    AudioView, GenerationList, GenerationView, ProgressView, TranscriptPartView, TranscriptTaken,
    TranscriptView,
};
use crate::project::{
    CompletedBy, EventName, Failure, Head, Project, ProjectEvent, TranscriptSource, TranscriptVersion,
    TranscriptionState, Upload, UploadState, UploadWay,
};

/// A project.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ProjectView {
    /// Its name.
    pub project_id: ProjectId,
    /// The recording's name.
    pub name: String,
    /// When it was made.
    pub created_at_ms: TimestampMs,
    /// The client's own notes.
    pub metadata: BTreeMap<String, String>,
    /// Language of the recording, as the client said it.
    pub language: Option<String>,
    /// Its recording.
    pub upload: UploadView,
    /// The latest version of its transcript.
    pub transcript: Option<TranscriptVersionView>,
    /// The latest request that a recogniser makes one.
    pub transcription: TranscriptionView,
    /// How many generations it has.
    pub generations: u32,
    /// The number of its latest event.
    pub last_event: u64,
}

/// The recording of a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ProjectUpload"))]
#[serde(rename_all = "camelCase")]
pub struct UploadView {
    /// Its name.
    pub upload_id: UploadId,
    /// `pending`, `arrived` (nobody has said yet that it is complete), `complete` or `abandoned`.
    pub state: UploadStateView,
    /// Bytes.
    pub size: u64,
    /// Media type.
    pub content_type: String,
    /// When it was known to be complete.
    pub completed_at_ms: Option<TimestampMs>,
    /// Who said so: the client, or the edge's own look.
    pub completed_by: Option<CompletedBy>,
    /// Of an upload in parts: bytes of each part but the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part_size: Option<u64>,
    /// Of an upload in parts: the numbers of those that arrived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<Vec<u16>>,
}

/// Where an upload is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ProjectUploadState"))]
#[serde(rename_all = "snake_case")]
pub enum UploadStateView {
    /// On its way, or not yet sent.
    Pending,
    /// Seen by the edge.
    Arrived,
    /// There.
    Complete,
    /// Given up.
    Abandoned,
}

impl UploadView {
    /// An upload as its owner sees it.
    pub fn of(upload: &Upload) -> Self {
        let (state, completed_at_ms, completed_by) = match upload.state {
            UploadState::Pending => (UploadStateView::Pending, None, None),
            UploadState::Arrived { .. } => (UploadStateView::Arrived, None, None),
            UploadState::Complete { at, by } => (UploadStateView::Complete, Some(at), Some(by)),
            UploadState::Abandoned { .. } => (UploadStateView::Abandoned, None, None),
        };
        let (part_size, parts) = match &upload.way {
            UploadWay::Direct => (None, None),
            UploadWay::Multipart { part_size, parts, .. } => {
                (Some(*part_size), Some(parts.keys().copied().collect()))
            }
        };
        Self {
            upload_id: upload.upload_id.clone(),
            state,
            size: upload.size,
            content_type: upload.content_type.clone(),
            completed_at_ms,
            completed_by,
            part_size,
            parts,
        }
    }
}

/// A version of a transcript, without its words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TranscriptVersionView {
    /// From 1.
    pub version: u32,
    /// Who made it.
    pub source: TranscriptSource,
    /// Since when it is there.
    pub at_ms: TimestampMs,
    /// Words with times in it.
    pub words: u32,
    /// Its language.
    pub language: Option<String>,
}

impl TranscriptVersionView {
    /// A version as its owner sees it.
    pub fn of(version: &TranscriptVersion) -> Self {
        Self {
            version: version.version,
            source: version.source,
            at_ms: version.at,
            words: version.words,
            language: version.language.clone(),
        }
    }
}

/// A request that a recogniser makes a transcript.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TranscriptionView {
    /// `none`, `running`, `done`, `failed`, or `superseded` by a transcript of the client's.
    pub state: TranscriptionState,
    /// When it began.
    pub started_at_ms: Option<TimestampMs>,
    /// When it ended.
    pub ended_at_ms: Option<TimestampMs>,
    /// Failed attempts.
    pub failures: u32,
    /// Why it failed, or why its last attempt did.
    pub failure: Option<Failure>,
}

impl ProjectView {
    /// A project as its owner sees it.
    pub fn of(project: &Project) -> Self {
        let Head { id, created_at, metadata, language, upload, transcription, last_event, .. } =
            project.head();
        Self {
            project_id: id.clone(),
            name: upload.name.clone(),
            created_at_ms: *created_at,
            metadata: metadata.clone(),
            language: language.clone(),
            upload: UploadView::of(upload),
            transcript: project.latest_transcript().map(TranscriptVersionView::of),
            transcription: TranscriptionView {
                state: transcription.state,
                started_at_ms: transcription.started_at,
                ended_at_ms: transcription.ended_at,
                failures: transcription.failures,
                failure: transcription.failure.clone(),
            },
            generations: u32::try_from(project.generations().count()).unwrap_or(u32::MAX),
            last_event: *last_event,
        }
    }
}

/// Answer to `POST /v1/projects`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ProjectCreated {
    /// The project.
    pub project: ProjectView,
    /// How to put its recording; absent once that is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub put: Option<PutInstruction>,
    /// Of an upload in parts: how to put each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parts: Option<PartsInstruction>,
    /// Until when the ticket works. `GET` the project's upload for another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at_ms: Option<TimestampMs>,
}

/// Requests to make: one for each part, in any order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PartsInstruction {
    /// `PUT`.
    pub method: &'static str,
    /// Relative to the API; `{part}` stands for the part's number, from 1.
    pub url: String,
    /// To send unchanged.
    pub headers: BTreeMap<&'static str, String>,
    /// Bytes of each part but the last.
    pub part_size: u64,
    /// How many parts there are.
    pub count: u32,
    /// The numbers of those that are missing.
    pub missing: Vec<u16>,
}

/// Answer to a part that was put.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PartPut {
    /// Its number, from 1.
    pub part: u16,
    /// Bytes.
    pub size: u64,
}

/// A page of a tenant's projects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ProjectList {
    /// Newest first.
    pub projects: Vec<ProjectEntryView>,
    /// Where the next page starts, if there is one.
    pub next_cursor: Option<String>,
}

/// A project in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ProjectEntryView {
    /// Its name.
    pub project_id: ProjectId,
    /// The recording's name.
    pub name: String,
    /// When it was made.
    pub created_at_ms: TimestampMs,
}

/// An event as listeners get it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct EventView {
    /// Its number: what `Last-Event-ID` and `after` name.
    pub sequence: u64,
    /// What happened.
    #[serde(rename = "type")]
    pub name: EventName,
    /// When.
    pub at_ms: TimestampMs,
    /// To which project.
    pub project_id: ProjectId,
    /// The generation as it was then, if it happened to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<GenerationView>,
    /// The project as it was then, if it happened to no generation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<Box<ProjectView>>,
}

impl EventView {
    /// An event with what it is about, as that is at the end of the event's turn.
    pub fn of(project: &Project, event: &ProjectEvent) -> Self {
        let id = &project.head().id;
        let generation = event.generation.as_ref().and_then(|id| project.generation(id));
        Self {
            sequence: event.sequence,
            name: event.name,
            at_ms: event.at,
            project_id: id.clone(),
            generation: generation.map(|generation| GenerationView::of(id, generation)),
            project: generation.is_none().then(|| Box::new(ProjectView::of(project))),
        }
    }
}

/// Answer to `GET /v1/projects/{projectId}/events` as JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct EventList {
    /// In their order.
    pub events: Vec<EventView>,
    /// What to ask with next, as `after`.
    pub last_event: u64,
    /// Events between `after` and the first one here are not kept any more.
    pub gap: bool,
}
