//! What the stateless Worker and the scheduler's outbox ask of a project's object, and its answers. One JSON body each way.

use serde::{Deserialize, Serialize};
use shared_protocol::{GenerationId, JobId, ProjectId, TenantId, Transcript};

use super::super::error::ApiError;
use super::super::view::{FailureView, JobView};
use super::view::{EventView, GenerationList, GenerationView, ProgressView, ProjectView};
use crate::project::{
    EventName, Failure, GenerationRequest, Head, JobNews, JobNewsState, Refusal, StoredPart, Upload,
};

/// A question of the tenant's, or of somebody with one of its tickets.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProjectCall {
    /// Who asks. A project answers its own tenant only.
    pub tenant: TenantId,
    /// What.
    pub question: Question,
}

/// A question.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "question")]
pub enum Question {
    /// Make the project, unless it is there.
    Create(Box<Head>),
    /// The project.
    Get,
    /// How its upload is.
    Upload,
    /// The content of the upload was stored.
    Arrived,
    /// A part of the upload was stored.
    PartArrived {
        /// Its number, from 1.
        number: u16,
        /// The part.
        part: StoredPart,
    },
    /// The client says that its upload is complete, and storage has it.
    CompleteUpload,
    /// The upload was put together, and is not what was announced.
    UploadIsSpoilt,
    /// A version of the transcript; the latest when absent.
    Transcript {
        /// Which.
        version: Option<u32>,
    },
    /// The client gives a transcript.
    PutTranscript {
        /// Its words.
        transcript: Transcript,
    },
    /// Have it transcribed.
    Transcribe,
    /// Ask for a generation.
    #[serde(rename_all = "camelCase")]
    Generate {
        /// A fresh id.
        id: GenerationId,
        /// A fresh id.
        job_id: JobId,
        /// What is wanted.
        request: Box<GenerationRequest>,
        /// The client's key.
        idempotency_key: Option<String>,
        /// Nothing new is admitted now: only what was asked for before under the same key is answered.
        only_known: bool,
    },
    /// Its generations.
    Generations {
        /// How many at most.
        limit: u32,
        /// Only those before this place.
        before: Option<u64>,
    },
    /// One generation.
    Generation {
        /// Which.
        id: GenerationId,
    },
    /// Cancel a generation.
    Cancel {
        /// Which.
        id: GenerationId,
    },
    /// What happened after an event, and how far its restores are.
    Watch {
        /// The number of the last event that the listener has; nothing when it has none.
        after: Option<u64>,
    },
    /// What the timeline of a generation is made of.
    Timeline {
        /// Which.
        id: GenerationId,
    },
}

/// An answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "answer")]
pub enum Answer {
    /// The project, and whether it was made just now.
    Project {
        /// The project.
        project: Box<ProjectView>,
        /// It is new.
        new: bool,
    },
    /// The upload.
    Upload {
        /// The project.
        project: Box<ProjectView>,
        /// Its upload.
        upload: Box<Upload>,
    },
    /// A transcript.
    Transcript {
        /// Which version.
        version: u32,
        /// Its words.
        transcript: Transcript,
    },
    /// A transcript was taken.
    TranscriptTaken {
        /// As this version.
        version: u32,
    },
    /// A generation, and whether it was made just now.
    Generation {
        /// The generation.
        generation: Box<GenerationView>,
        /// It is new.
        new: bool,
    },
    /// Generations.
    Generations(GenerationList),
    /// What happened.
    Watched(Box<Watched>),
    /// What a timeline is made of.
    Timeline(Box<TimelineFacts>),
    /// Done.
    Done,
    /// Nothing was changed.
    Refused(Refusal),
}

/// What happened after an event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Watched {
    /// The events, in their order; a bounded number of them.
    pub events: Vec<EventView>,
    /// The number of the last event here, or of the latest one when there is none here.
    pub last: u64,
    /// Events between the listener's last and the first one here are not kept any more.
    pub gap: bool,
    /// How far the restores are that run.
    pub progress: Vec<(GenerationId, ProgressView)>,
}

/// What a timeline is made of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TimelineFacts {
    /// All but the generations.
    pub head: Head,
    /// The generation.
    pub generation: crate::project::Generation,
}

/// What the scheduler's outbox tells a project.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Told {
    /// Numbers the scheduler's news.
    pub sequence: u64,
    /// The event's body, as webhooks get it.
    pub event: serde_json::Value,
}

/// What of an event's body a project needs to know.
#[derive(Debug, Clone, Deserialize)]
pub struct ToldEvent {
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// What it says.
    pub data: ToldData,
}

/// See [`ToldEvent`].
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToldData {
    /// The job.
    pub job_id: JobId,
    /// The project of its generation.
    pub project_id: ProjectId,
    /// The job, of events that have it.
    #[serde(default)]
    pub job: Option<JobView>,
}

impl ToldEvent {
    /// What follows on a completed job, if it is that.
    pub fn follow_up(&self) -> Option<EventName> {
        match self.kind.as_str() {
            "job.stems" => Some(EventName::Stems),
            "job.quality" => Some(EventName::Quality),
            _ => None,
        }
    }
}

impl JobNews {
    /// What a job's view says to a generation.
    pub fn of(job: &JobView) -> Self {
        let state = match job.state.as_str() {
            "completed" => JobNewsState::Completed,
            "failed" | "quarantined" => JobNewsState::Failed,
            "cancelled" => JobNewsState::Cancelled,
            _ => JobNewsState::Live,
        };
        Self {
            job_id: job.job_id.clone(),
            state,
            created_at: job.created_at_ms,
            started_at: job.started_at_ms,
            first_audio_at: job.first_audio_at_ms,
            audio_seconds: job.audio_seconds,
            attempt: job.attempt,
            timings: job.timings.clone(),
            failure: job.failure.as_ref().map(Failure::of),
        }
    }
}

impl Failure {
    /// The failure of a job.
    fn of(failure: &FailureView) -> Self {
        let code = serde_json::to_value(failure.code).ok();
        Self {
            code: code
                .and_then(|code| code.as_str().map(str::to_owned))
                .unwrap_or_else(|| "internal".to_owned()),
            message: failure.message.clone(),
            advice: failure.advice.clone(),
        }
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::ProjectNotFound => Self::ProjectNotFound,
            Refusal::GenerationNotFound => Self::GenerationNotFound,
            Refusal::TranscriptNotFound => Self::TranscriptNotFound,
            Refusal::KeyReused { by } => Self::IdempotencyMismatch { by },
            Refusal::UploadAbandoned => Self::UploadAbandoned,
            Refusal::UploadIncomplete => Self::UploadIncomplete,
            Refusal::UploadNotInParts => Self::UploadNotInParts,
            Refusal::GenerationEnded { state } => Self::GenerationEnded { state },
            Refusal::LimitReached { what, limit } => Self::LimitReached { what, limit },
            Refusal::TranscriptionNotConfigured => Self::TranscriptionNotConfigured,
        }
    }
}
