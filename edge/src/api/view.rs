//! What clients get: answers in camelCase, made from the scheduler's own types.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use shared_protocol::{
    Attempt, FailureCode, GenerationId, JobFailure, JobId, JobOutcome, OutputKind, Phase, PhaseTiming,
    Priority, ProjectId, PublishedFile, QualityScores, Sampler, TenantId, TimestampMs, UploadId, WorkerId,
};

use super::stems::StemsView;
use crate::scheduler::{Job, JobState, Reason, Scheduler, Transition};

/// A job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct JobView {
    /// Its name.
    pub job_id: JobId,
    /// What it restores.
    pub upload_id: UploadId,
    /// The recording's name.
    pub name: String,
    /// `queued`, `offered`, `running`, `completed`, `failed`, `quarantined` or `cancelled`.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = crate::api::admin::filter::names_of_states())))]
    pub state: String,
    /// The latest attempt, or the one whose result was taken.
    pub attempt: Attempt,
    /// How.
    pub sampler: Sampler,
    /// Class in the queue.
    pub priority: Priority,
    /// What it leaves behind.
    pub outputs: Vec<OutputKind>,
    /// When it was submitted.
    pub created_at_ms: TimestampMs,
    /// When a worker first accepted it.
    pub started_at_ms: Option<TimestampMs>,
    /// When the attempt that runs, or that made the result, was accepted by its worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt_started_at_ms: Option<TimestampMs>,
    /// When it ended.
    pub ended_at_ms: Option<TimestampMs>,
    /// Who has it, or had it last.
    pub worker: Option<WorkerId>,
    /// What is being done.
    pub phase: Option<Phase>,
    /// 0 to 1.
    pub progress: f64,
    /// Length of the recording.
    pub audio_seconds: Option<f64>,
    /// Length of what can be played.
    pub published_seconds: f64,
    /// When the first segment was listed.
    pub first_audio_at_ms: Option<TimestampMs>,
    /// A cancel was asked for and is not confirmed.
    pub cancel_requested: bool,
    /// Why it failed, or why its last attempt did.
    pub failure: Option<FailureView>,
    /// Where the time went.
    pub timings: Vec<PhaseTiming>,
    /// Seconds of the model's work per second of audio.
    pub real_time_factor: Option<f64>,
    /// The client's own notes.
    pub metadata: BTreeMap<String, String>,
    /// Not to be started before, as its client asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_after: Option<TimestampMs>,
    /// Labels that its worker has to have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// Length of the recording in seconds, as its client announced it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_seconds: Option<u32>,
    /// The project that it was made for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<ProjectId>,
    /// The generation that it was made for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation_id: Option<GenerationId>,
}

/// A failure with what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FailureView {
    /// The stable code.
    pub code: FailureCode,
    /// What happened.
    pub message: String,
    /// What to do.
    pub advice: String,
    /// Whether another attempt could help.
    pub retryable: bool,
}

impl FailureView {
    /// A failure as its job's owner sees it.
    pub fn of(failure: &JobFailure) -> Self {
        Self {
            code: failure.code,
            message: failure.message.clone(),
            advice: failure.code.advice().to_owned(),
            retryable: failure.code.retryable(),
        }
    }
}

impl JobView {
    /// A job as its owner sees it.
    pub fn of(job: &Job) -> Self {
        let progress = job.progress.as_ref();
        let outcome = job.outcome.as_ref();
        Self {
            job_id: job.id.clone(),
            upload_id: job.request.source.upload_id.clone(),
            name: job.request.source.name.clone(),
            state: job.state.name().to_owned(),
            attempt: job.accepted.unwrap_or(job.attempt),
            sampler: job.request.sampler,
            priority: job.request.priority,
            outputs: job.request.outputs.clone(),
            created_at_ms: job.created_at,
            started_at_ms: job.started_at,
            attempt_started_at_ms: attempt_started_at(job),
            ended_at_ms: job.ended_at,
            worker: job.last_worker().cloned(),
            phase: progress.map(|p| p.phase),
            progress: if job.state == JobState::Completed {
                1.0
            } else {
                progress.map_or(0.0, |p| p.fraction)
            },
            audio_seconds: outcome.map(|o| o.audio_seconds).or(progress.and_then(|p| p.audio_seconds)),
            published_seconds: job.playlist.duration().as_secs_f64(),
            first_audio_at_ms: job.first_audio_at,
            cancel_requested: job.cancel_requested && !job.state.is_ended(),
            failure: job.failure.as_ref().map(FailureView::of),
            timings: outcome.map(|o| o.timings.clone()).unwrap_or_default(),
            real_time_factor: outcome.map(|o| o.real_time_factor),
            metadata: job.request.metadata.clone(),
            start_after: job.request.not_before,
            labels: job.request.labels.clone(),
            expected_seconds: job.request.expected_seconds,
            project_id: job.request.generation.as_ref().map(|of| of.project_id.clone()),
            generation_id: job.request.generation.as_ref().map(|of| of.generation_id.clone()),
        }
    }
}

/// When the attempt that runs, or that made the result, was accepted.
fn attempt_started_at(job: &Job) -> Option<TimestampMs> {
    let attempt = job.accepted.unwrap_or(job.attempt);
    let took = |step: &&Transition| {
        let reasons = [Reason::Accepted, Reason::ListedByWorker, Reason::KeptByWorker];
        step.attempt == attempt && reasons.contains(&step.reason)
    };
    job.history.iter().find(took).map(|step| step.at)
}

/// Answer to `GET /v1/jobs`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct JobList {
    /// Newest first.
    pub jobs: Vec<JobView>,
    /// Where the next page starts, if there is one.
    pub next_cursor: Option<String>,
}

/// Answer to `POST /v1/uploads`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct UploadCreated {
    /// Its name.
    pub upload_id: UploadId,
    /// How to put the content.
    pub put: PutInstruction,
    /// Until when.
    pub expires_at_ms: TimestampMs,
}

/// A request to make.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PutInstruction {
    /// `PUT`.
    pub method: &'static str,
    /// Relative to the API.
    pub url: String,
    /// To send unchanged.
    pub headers: BTreeMap<&'static str, String>,
}

/// Answer to a content that was put.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct UploadStored {
    /// Which.
    pub upload_id: UploadId,
    /// Bytes.
    pub size: u64,
    /// As storage names this content.
    pub etag: String,
}

/// Answer to `GET /v1/uploads/{uploadId}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct UploadView {
    /// Which.
    pub upload_id: UploadId,
    /// The recording's name.
    pub name: String,
    /// Bytes.
    pub size: u64,
    /// Media type.
    pub content_type: String,
    /// When the content was complete.
    pub uploaded_at_ms: TimestampMs,
}

/// A final file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FileView {
    /// Its name.
    pub name: String,
    /// Which output it is.
    pub kind: OutputKind,
    /// Bytes.
    pub size: u64,
    /// Media type.
    pub content_type: String,
    /// SHA-256 in hex.
    pub sha256: String,
    /// Where to get it.
    pub url: String,
}

/// Answer to `GET /v1/jobs/{jobId}/files`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileList {
    /// Of the attempt whose result was taken.
    pub files: Vec<FileView>,
    /// Where they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stems: Option<StemsView>,
    /// Once the recording was scored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quality: Option<QualityScores>,
}

impl FileList {
    /// Where the URLs of a job's final files start.
    pub fn base(job: &JobId) -> String {
        format!("/v1/jobs/{job}/files/")
    }

    /// The final files of an outcome; `base` is where their URLs start.
    pub fn of(files: &[PublishedFile], base: &str) -> Self {
        let view = |file: &PublishedFile| FileView {
            name: file.name.clone(),
            kind: file.kind,
            size: file.size,
            content_type: file.content_type.clone(),
            sha256: file.sha256.clone(),
            url: format!("{base}{}", file.name),
        };
        Self { files: files.iter().map(view).collect(), stems: None, quality: None }
    }
}

/// Answer to `POST /v1/jobs/{jobId}/playback`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PlaybackCreated {
    /// For players.
    pub url: String,
    /// For people.
    pub page: String,
    /// Until when.
    pub expires_at_ms: TimestampMs,
}

/// Answer to `GET /v1/play/{ticket}/state`: what a listener may know.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PlayStateView {
    /// The recording's name.
    pub name: String,
    /// The job's state.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = crate::api::admin::filter::names_of_states())))]
    pub state: String,
    /// What is being done.
    pub phase: Option<Phase>,
    /// 0 to 1.
    pub progress: f64,
    /// Length of the recording.
    pub audio_seconds: Option<f64>,
    /// Length of what can be played.
    pub published_seconds: f64,
    /// Whether the job makes a playlist.
    pub streams: bool,
    /// Whether something can be played by it already.
    pub playable: bool,
    /// Why it failed.
    pub failure: Option<FailureView>,
    /// Final files, with URLs relative to this one.
    pub files: Vec<FileView>,
}

impl PlayStateView {
    /// A job as somebody with its link sees it.
    pub fn of(job: JobView, outcome: Option<&JobOutcome>) -> Self {
        Self {
            name: job.name,
            streams: job.outputs.contains(&OutputKind::Hls),
            playable: job.published_seconds > 0.0,
            // That of an attempt which is followed by another one is no listener's business.
            failure: job.failure.filter(|_| matches!(job.state.as_str(), "failed" | "quarantined")),
            state: job.state,
            phase: job.phase,
            progress: job.progress,
            audio_seconds: job.audio_seconds,
            published_seconds: job.published_seconds,
            files: FileList::of(outcome.map(|o| o.files.as_slice()).unwrap_or_default(), "files/").files,
        }
    }
}

/// Answer to `GET /v1/health`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Health {
    /// Always, or there is no answer.
    pub ok: bool,
    /// The environment's name.
    pub environment: String,
    /// The edge's version.
    pub version: &'static str,
    /// The deployment's id, where the platform says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deployment: Option<String>,
}

/// Answer to `GET /v1/status`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StatusView {
    /// The environment's name.
    pub environment: String,
    /// Live jobs.
    pub queue: QueueView,
    /// Workers that are connected, or away for a short time.
    pub workers: Vec<WorkerView>,
}

/// Live jobs by state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QueueView {
    /// Waiting.
    pub queued: usize,
    /// Offered and unanswered.
    pub offered: usize,
    /// Accepted.
    pub running: usize,
    /// The bound of all together.
    pub limit: usize,
}

/// What the scheduler's object used since it was last made, by what the platform bills and bounds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct UsageView {
    /// When it was made.
    pub since_ms: TimestampMs,
    /// Requests to it, the upgrades of sockets included.
    pub requests: u64,
    /// Frames from workers. Twenty are billed as one request.
    pub frames_in: u64,
    /// Frames to workers. Not billed.
    pub frames_out: u64,
    /// Times that its alarm went off. Each is billed as a request.
    pub alarms: u64,
    /// Times that its alarm was set. Each is billed as a row written.
    pub alarms_set: u64,
    /// Rows that statements read, those of indexes included.
    pub rows_read: u64,
    /// Rows that statements wrote, those of indexes included.
    pub rows_written: u64,
    /// Size of the database.
    pub database_bytes: u64,
    /// Memory of the Wasm instance, which only grows. The platform's bound of 128 MB is on this and what JavaScript holds.
    pub memory_bytes: u64,
}

/// A worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct WorkerView {
    /// Its name.
    pub worker_id: WorkerId,
    /// Whether it has a connection.
    pub connected: bool,
    /// Its program's version.
    pub version: String,
    /// What runs its model.
    pub engine: String,
    /// Jobs at once at most.
    pub slots: u32,
    /// Jobs that it can still take.
    pub open_slots: u32,
    /// What it has of the asking tenant's: offered and accepted jobs.
    pub running: Vec<JobId>,
    /// Seconds of inference before it.
    pub backlog_seconds: f64,
    /// Its last sign of life.
    pub last_seen_at_ms: TimestampMs,
    /// It takes nothing new.
    pub draining: bool,
    /// Samplers that it offers.
    pub samplers: Vec<Sampler>,
}

impl StatusView {
    /// The scheduler's state, as one tenant may see it: what is going on is no secret, whose jobs they are is.
    pub fn of(scheduler: &Scheduler, tenant: &TenantId) -> Self {
        let counts = scheduler.counts();
        let workers = scheduler.workers().map(|worker| {
            let snapshot = &worker.snapshot;
            WorkerView {
                worker_id: snapshot.worker_id.clone(),
                connected: worker.connection.is_some(),
                version: snapshot.version.clone(),
                engine: snapshot.engine.clone(),
                slots: snapshot.slots,
                open_slots: snapshot.open_slots,
                running: scheduler
                    .held_by(&snapshot.worker_id)
                    .filter(|job| job.tenant == *tenant)
                    .map(|job| job.id.clone())
                    .collect(),
                backlog_seconds: snapshot.backlog_seconds,
                last_seen_at_ms: worker.last_seen,
                draining: snapshot.draining,
                samplers: snapshot.samplers.clone(),
            }
        });
        Self {
            environment: scheduler.config().environment.clone(),
            queue: QueueView {
                queued: counts.queued,
                offered: counts.offered,
                running: counts.running,
                limit: scheduler.config().max_live_jobs,
            },
            workers: workers.collect(),
        }
    }
}
