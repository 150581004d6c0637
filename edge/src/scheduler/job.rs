//! A job, and the only transitions between its states. The machine is drawn in `docs/job-states.md`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use shared_protocol::{
    Attempt, DurationMs, FailureCode, GenerationId, JobFailure, JobId, JobOutcome, OutputKind, Phase,
    Priority, ProjectId, Sampler, Source, TenantId, TimestampMs, WorkerId,
};

use super::ConnectionId;
use super::playlist::Playlist;
use super::routing::Decision;
use super::transition::{Reason, Transition};
use crate::outbox::EndpointId;

/// Retries after failures of a kind that another attempt may not have.
pub const MAX_RETRIES: u32 = 3;

/// Workers that may be lost while they run a job, before the job itself is taken as the cause.
pub const MAX_WORKERS_LOST: u32 = 2;

/// Pause before the first retry; doubles with each.
pub const RETRY_BACKOFF: DurationMs = DurationMs(1_000);

/// A worker that does not confirm a cancel within this time is no longer waited for.
pub const CANCEL_TIMEOUT: DurationMs = DurationMs(15_000);

/// What a client asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobRequest {
    /// What to restore.
    pub source: Source,
    /// The upload's media type, as its client gave it.
    #[serde(default)]
    pub content_type: Option<String>,
    /// How.
    pub sampler: Sampler,
    /// What to leave behind.
    pub outputs: Vec<OutputKind>,
    /// Class in the queue.
    pub priority: Priority,
    /// The client's own notes, given back as they came.
    #[serde(default)]
    pub metadata: BTreeMap<String, String>,
    /// Not to be started before; at once when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<TimestampMs>,
    /// Labels that its worker has to have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// Length of the recording in seconds, when the client knows it; otherwise it is guessed from the upload's size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_seconds: Option<u32>,
    /// What it was made for, when that is more than itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<GenerationRef>,
    /// Of the webhooks that are told of this tenant's jobs only, the one that is told of this job; all of them when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub webhook: Option<EndpointId>,
}

/// The generation of a project that a job was made for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct GenerationRef {
    /// The project.
    pub project_id: ProjectId,
    /// The generation.
    pub generation_id: GenerationId,
    /// The version of the project's transcript that the restore may make use of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript_version: Option<u32>,
}

/// A version of a project's transcript.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TranscriptRef {
    /// The project.
    pub project_id: ProjectId,
    /// Which of its transcripts.
    pub version: u32,
}

impl JobRequest {
    /// The transcript that the restore may go by.
    pub fn transcript(&self) -> Option<TranscriptRef> {
        let generation = self.generation.as_ref()?;
        Some(TranscriptRef {
            project_id: generation.project_id.clone(),
            version: generation.transcript_version?,
        })
    }

    /// Length of the recording as far as anybody knows before it was decoded.
    pub fn expected_audio_seconds(&self) -> f64 {
        self.expected_seconds
            .map_or_else(|| self.source.guessed_audio_seconds(), f64::from)
            .clamp(1.0, MAX_EXPECTED_SECONDS)
    }
}

/// No guess goes beyond six hours.
pub const MAX_EXPECTED_SECONDS: f64 = 6.0 * 3600.0;

/// Where a job is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "state")]
pub enum JobState {
    /// Waits for a worker.
    #[serde(rename_all = "camelCase")]
    Queued {
        /// Not to be started before.
        not_before: TimestampMs,
    },
    /// Offered to a worker that has not answered.
    #[serde(rename_all = "camelCase")]
    Offered {
        /// To whom.
        worker: WorkerId,
        /// Over which connection.
        connection: ConnectionId,
        /// When.
        offered_at: TimestampMs,
    },
    /// Accepted by a worker.
    #[serde(rename_all = "camelCase")]
    Running {
        /// By whom.
        worker: WorkerId,
    },
    /// Ended: restored and published by the attempt that [`Job::accepted`] names.
    Completed,
    /// Ended: no attempt is left that could help.
    Failed,
    /// Ended at the client's or an operator's wish.
    Cancelled,
    /// Set aside: workers were lost while they ran it. An operator retries or discards it.
    Quarantined,
}

impl JobState {
    /// Whether nothing will change any more.
    pub fn is_ended(&self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled | Self::Quarantined)
    }

    /// The name in the API and in rows.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Queued { .. } => "queued",
            Self::Offered { .. } => "offered",
            Self::Running { .. } => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Quarantined => "quarantined",
        }
    }

    /// The worker that has it.
    pub fn worker(&self) -> Option<&WorkerId> {
        match self {
            Self::Offered { worker, .. } | Self::Running { worker } => Some(worker),
            _ => None,
        }
    }
}

/// A restore of one upload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Job {
    /// Its name.
    pub id: JobId,
    /// Its owner.
    pub tenant: TenantId,
    /// Its place in the order of submission.
    pub sequence: u64,
    /// Its place among the tenants of its class: see [`super::queue`]. Virtual milliseconds.
    #[serde(default)]
    pub virtual_start: u64,
    /// The decision that sent its latest attempt where it went.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// What was asked for.
    pub request: JobRequest,
    /// The client's idempotency key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// Where it is.
    #[serde(flatten)]
    pub state: JobState,
    /// The latest attempt that was offered.
    pub attempt: Attempt,
    /// The attempt whose result was accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<Attempt>,
    /// When it was submitted.
    pub created_at: TimestampMs,
    /// When a worker first accepted it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<TimestampMs>,
    /// When its first segment was listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_audio_at: Option<TimestampMs>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<TimestampMs>,
    /// Retryable failures so far.
    #[serde(default)]
    pub retries: u32,
    /// Workers lost while running it so far.
    #[serde(default)]
    pub workers_lost: u32,
    /// Somebody wants it to stop.
    #[serde(default)]
    pub cancel_requested: bool,
    /// Why it failed, or why its last attempt did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<JobFailure>,
    /// What the accepted attempt made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<JobOutcome>,
    /// Latest news of a running attempt. Not persisted with every message: a restored job shows it again with the next one.
    #[serde(skip)]
    pub progress: Option<JobProgress>,
    /// What can be played. A row of its own, because it changes at another rate.
    #[serde(skip)]
    pub playlist: Playlist,
    /// Every transition so far, oldest first; at most [`MAX_HISTORY`] of them.
    #[serde(default)]
    pub history: Vec<Transition>,
}

/// How far a running attempt is.
#[derive(Debug, Clone, PartialEq)]
pub struct JobProgress {
    /// What is being done.
    pub phase: Phase,
    /// 0 to 1.
    pub fraction: f64,
    /// Length of the recording, once known.
    pub audio_seconds: Option<f64>,
    /// When its phase or fraction was last announced.
    pub announced_at: TimestampMs,
}

/// What follows from a failed or lost attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterLoss {
    /// Back to the queue, not before that time.
    Requeue(TimestampMs),
    /// Another attempt would fail too, or the budget of retries is used up.
    Fail(Reason),
    /// The budget of lost workers is used up.
    Quarantine,
    /// It was to be cancelled anyway.
    Cancel,
}

impl Job {
    /// A new job, queued.
    pub fn new(
        id: JobId,
        tenant: TenantId,
        sequence: u64,
        request: JobRequest,
        idempotency_key: Option<String>,
        now: TimestampMs,
    ) -> Self {
        let not_before = request.not_before.map_or(now, |at| at.max(now));
        Self {
            id,
            tenant,
            sequence,
            virtual_start: 0,
            decision: None,
            request,
            idempotency_key,
            state: JobState::Queued { not_before },
            attempt: Attempt::NONE,
            accepted: None,
            created_at: now,
            started_at: None,
            first_audio_at: None,
            ended_at: None,
            retries: 0,
            workers_lost: 0,
            cancel_requested: false,
            failure: None,
            outcome: None,
            progress: None,
            playlist: Playlist::default(),
            history: vec![Transition {
                at: now,
                to: "queued".to_owned(),
                attempt: Attempt::NONE,
                reason: Reason::Submitted,
                worker: None,
            }],
        }
    }

    /// The worker that has it, or had it last.
    pub fn last_worker(&self) -> Option<&WorkerId> {
        let earlier = || self.history.iter().rev().find_map(|transition| transition.worker.as_ref());
        self.state.worker().or_else(earlier)
    }

    /// Whether this worker holds this very attempt.
    pub fn is_held(&self, worker: &WorkerId, attempt: Attempt) -> bool {
        self.attempt == attempt && self.state.worker() == Some(worker)
    }

    /// Whether this attempt runs on this worker.
    pub fn is_running(&self, worker: &WorkerId, attempt: Attempt) -> bool {
        self.is_held(worker, attempt) && matches!(self.state, JobState::Running { .. })
    }

    /// Charges a failure that a worker reported.
    pub(super) fn charge_failure(&mut self, failure: &JobFailure, now: TimestampMs) -> AfterLoss {
        if self.cancel_requested {
            return AfterLoss::Cancel;
        }
        if !failure.code.retryable() {
            return AfterLoss::Fail(Reason::FinalFailure);
        }
        if self.retries >= MAX_RETRIES {
            return AfterLoss::Fail(Reason::RetriesUsedUp);
        }
        let pause = DurationMs(RETRY_BACKOFF.0 << self.retries);
        self.retries += 1;
        AfterLoss::Requeue(now + pause)
    }

    /// Charges the loss of the worker that ran it.
    pub(super) fn charge_lost_worker(&mut self, now: TimestampMs) -> AfterLoss {
        if self.cancel_requested {
            return AfterLoss::Cancel;
        }
        self.workers_lost += 1;
        if self.workers_lost > MAX_WORKERS_LOST { AfterLoss::Quarantine } else { AfterLoss::Requeue(now) }
    }
}

/// What a job is told whose workers were lost too often.
pub(super) fn worker_lost_failure(count: u32) -> JobFailure {
    JobFailure::new(FailureCode::WorkerLost, format!("{count} workers were lost while they ran this job"))
}
