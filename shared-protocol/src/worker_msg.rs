//! What a worker says.

use serde::{Deserialize, Serialize};

use crate::{
    Attempt, BootId, FailureCode, HlsSegment, JobFailure, JobId, JobOutcome, MessageId, Phase,
    ProtocolVersion, QualityScores, RejectReason, Sampler, StemFile, WorkerId,
};

/// A message from a worker. `type` names the kind on the wire.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type")]
pub enum WorkerMessage {
    /// First on every connection.
    #[serde(rename = "hello")]
    Hello(Hello),
    /// How many more jobs can be taken, and what runs. After every `welcome`, when the open slots changed, with every tenth ping, and with one when the connection changed notably.
    #[serde(rename = "ready")]
    Ready(Ready),
    /// A sign of life, with the backlog.
    #[serde(rename = "ping")]
    Ping(Ping),
    /// The offered job runs from now.
    #[serde(rename = "job.accept")]
    Accept(Accept),
    /// The offered job is turned down.
    #[serde(rename = "job.reject")]
    Reject(Reject),
    /// How far a running job is, and what of it can be played by now.
    #[serde(rename = "job.progress")]
    Progress(Progress),
    /// Terminal: restored and published.
    #[serde(rename = "job.complete")]
    Complete(Complete),
    /// Terminal: this attempt failed.
    #[serde(rename = "job.failed")]
    Failed(Failed),
    /// Terminal: this attempt was cancelled and has stopped.
    #[serde(rename = "job.cancelled")]
    Cancelled(Cancelled),
    /// The stems of a completed job.
    #[serde(rename = "job.stems")]
    Stems(Stems),
    /// The scores of a completed job. Only to a scheduler whose `welcome` lists it.
    #[serde(rename = "job.quality")]
    Quality(Quality),
}

/// Who a worker is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Hello {
    /// The protocol's version that the worker speaks.
    pub protocol: ProtocolVersion,
    /// The worker's name.
    pub worker_id: WorkerId,
    /// This run of its process.
    pub boot_id: BootId,
    /// The program's version, for people.
    pub version: String,
    /// Jobs that it runs at once at most.
    pub slots: u32,
    /// Samplers that it offers.
    pub samplers: Vec<Sampler>,
    /// What really runs the model, such as `onnx-cpu`, for people.
    #[serde(default)]
    pub engine: String,
    /// Its operator's labels: a job can ask for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// Its operator's preference among workers that are equally good for a job; higher first.
    #[serde(default)]
    pub priority: i32,
}

/// How fast a worker is, as it measured it itself.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SamplerSpeed {
    /// With which sampler.
    pub sampler: Sampler,
    /// Seconds of audio that a second of inference restores.
    pub audio_seconds_per_second: f64,
}

/// A worker's connection, as it measured it itself.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct LinkReport {
    /// Bytes per second from storage.
    pub download_bytes_per_second: f64,
    /// Bytes per second to storage, all uploads together.
    pub upload_bytes_per_second: f64,
    /// Seconds that a PUT costs beyond its bytes.
    pub request_seconds: f64,
}

impl Default for LinkReport {
    /// A home connection that has not been measured yet: 10 MB/s down, 5 MB/s up, 0.2 s for each PUT.
    fn default() -> Self {
        Self { download_bytes_per_second: 10.0e6, upload_bytes_per_second: 5.0e6, request_seconds: 0.2 }
    }
}

impl LinkReport {
    /// The report with every figure in a range that can be reckoned with.
    #[must_use]
    pub fn sane(self) -> Self {
        let rate =
            |rate: f64, otherwise: f64| if rate.is_finite() { rate.clamp(1.0e3, 1.0e10) } else { otherwise };
        let default = Self::default();
        let request = self.request_seconds;
        Self {
            download_bytes_per_second: rate(
                self.download_bytes_per_second,
                default.download_bytes_per_second,
            ),
            upload_bytes_per_second: rate(self.upload_bytes_per_second, default.upload_bytes_per_second),
            request_seconds: if request.is_finite() {
                request.clamp(0.0, 60.0)
            } else {
                default.request_seconds
            },
        }
    }
}

/// An attempt that a worker still runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RunningAttempt {
    /// The job.
    pub job_id: JobId,
    /// The try at it.
    pub attempt: Attempt,
}

/// What a worker can take and what it has got. The scheduler re-queues any accepted job that is not listed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Ready {
    /// How many more jobs it can take now.
    pub slots: u32,
    /// What it still runs for this scheduler.
    pub job_ids: Vec<RunningAttempt>,
    /// Seconds of inference left: the running restore's remaining ones and the expected ones of those that wait.
    #[serde(default)]
    pub backlog_seconds: f64,
    /// It finishes what it has and takes nothing new.
    #[serde(default)]
    pub draining: bool,
    /// How fast it is with each of its samplers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub speeds: Vec<SamplerSpeed>,
    /// Its connection, once measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkReport>,
}

/// A sign of life.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Ping {
    /// Counts up on one connection; the `pong` repeats it.
    pub sequence: u64,
    /// See [`Ready::backlog_seconds`].
    #[serde(default)]
    pub backlog_seconds: f64,
}

/// An offer was taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Accept {
    /// The job.
    pub job_id: JobId,
    /// The offered attempt.
    pub attempt: Attempt,
}

/// An offer was turned down; the scheduler takes it as zero open slots until the next `ready`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Reject {
    /// The job.
    pub job_id: JobId,
    /// The offered attempt.
    pub attempt: Attempt,
    /// Why.
    pub reason: RejectReason,
}

/// How far an attempt is. Latest wins, but segments add up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// The job.
    pub job_id: JobId,
    /// The attempt.
    pub attempt: Attempt,
    /// What is being done.
    pub phase: Phase,
    /// How much of the whole job is done, 0 to 1.
    pub fraction: f64,
    /// Length of the recording, once known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audio_seconds: Option<f64>,
    /// Segments stored since the last progress, in order and without gaps. One that was announced before changes nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub segments: Vec<HlsSegment>,
}

/// An attempt ended well. Repeated after every reconnect until acknowledged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Complete {
    /// The same at every replay.
    pub message_id: MessageId,
    /// The job.
    pub job_id: JobId,
    /// The attempt.
    pub attempt: Attempt,
    /// All HLS segments, so that a lost progress message takes none of them away.
    #[serde(default)]
    pub segments: Vec<HlsSegment>,
    /// What was made.
    pub outcome: JobOutcome,
}

/// An attempt failed. Repeated after every reconnect until acknowledged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Failed {
    /// The same at every replay.
    pub message_id: MessageId,
    /// The job.
    pub job_id: JobId,
    /// The attempt.
    pub attempt: Attempt,
    /// Why.
    pub failure: JobFailure,
}

/// An attempt was cancelled. Repeated after every reconnect until acknowledged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Cancelled {
    /// The same at every replay.
    pub message_id: MessageId,
    /// The job.
    pub job_id: JobId,
    /// The attempt.
    pub attempt: Attempt,
}

/// Stems of a completed attempt are stored, or will not come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Stems {
    /// The same at every replay.
    pub message_id: MessageId,
    /// The job.
    pub job_id: JobId,
    /// The completed attempt.
    pub attempt: Attempt,
    /// What was stored.
    pub files: Vec<StemFile>,
    /// Why they will not come. A stem failure never fails the restore.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<JobFailure>,
}

/// Scores of a completed attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Quality {
    /// The same at every replay.
    pub message_id: MessageId,
    /// The job.
    pub job_id: JobId,
    /// The scores.
    pub scores: QualityScores,
}

impl WorkerMessage {
    /// The id under which a terminal message is acknowledged, when it is one.
    pub fn message_id(&self) -> Option<&MessageId> {
        self.terminal().map(|(message_id, _)| message_id)
    }

    /// The id of a terminal message, and the job that it is about; none for the others.
    pub fn terminal(&self) -> Option<(&MessageId, &JobId)> {
        match self {
            Self::Complete(m) => Some((&m.message_id, &m.job_id)),
            Self::Failed(m) => Some((&m.message_id, &m.job_id)),
            Self::Cancelled(m) => Some((&m.message_id, &m.job_id)),
            Self::Stems(m) => Some((&m.message_id, &m.job_id)),
            Self::Quality(m) => Some((&m.message_id, &m.job_id)),
            Self::Hello(_)
            | Self::Ready(_)
            | Self::Ping(_)
            | Self::Accept(_)
            | Self::Reject(_)
            | Self::Progress(_) => None,
        }
    }

    /// The name on the wire.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Hello(_) => "hello",
            Self::Ready(_) => "ready",
            Self::Ping(_) => "ping",
            Self::Accept(_) => "job.accept",
            Self::Reject(_) => "job.reject",
            Self::Progress(_) => "job.progress",
            Self::Complete(_) => "job.complete",
            Self::Failed(_) => "job.failed",
            Self::Cancelled(_) => "job.cancelled",
            Self::Stems(_) => "job.stems",
            Self::Quality(_) => "job.quality",
        }
    }
}

impl JobFailure {
    /// A failure with its text cut to what a message may hold.
    pub fn new(code: FailureCode, message: impl Into<String>) -> Self {
        let mut message: String = message.into();
        if let Some((end, _)) = message.char_indices().nth(crate::limits::MAX_TEXT_LENGTH) {
            message.truncate(end);
        }
        Self { code, message }
    }
}
