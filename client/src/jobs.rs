//! Jobs: create, read, list, cancel.

use std::collections::BTreeMap;

use reqwest::Method;
use reqwest::header::{HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};
use shared_protocol::{JobId, OutputKind, Phase, Priority, Sampler, TimestampMs, UploadId};

use crate::errors::Error;
use crate::http::{Call, Client};
use crate::timings::Timing;
use crate::wire::null_as_default;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// What to restore, and how. Everything but the upload has a default of the service.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NewJob {
    /// The recording.
    pub upload_id: UploadId,
    /// How it is restored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampler: Option<Sampler>,
    /// What the job leaves behind; empty for the service's default, which is everything.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<OutputKind>,
    /// Its class in the queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// Texts of the caller's own, given back with the job.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
    /// Not to be started before; at most 30 days ahead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_after: Option<TimestampMs>,
    /// Labels that its worker has to have.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// Length of the recording in seconds, when it is known; otherwise the service guesses it from the size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_seconds: Option<u32>,
    /// Makes creating the job repeatable: the same key gives the same job. Up to 128 visible ASCII characters.
    #[serde(skip)]
    pub idempotency_key: String,
}

impl NewJob {
    /// A job with the service's defaults and a key of its own.
    pub fn of_upload(upload_id: &UploadId) -> Self {
        NewJob {
            upload_id: upload_id.clone(),
            sampler: None,
            outputs: Vec::new(),
            priority: None,
            metadata: BTreeMap::new(),
            start_after: None,
            labels: Vec::new(),
            expected_seconds: None,
            idempotency_key: uuid::Uuid::now_v7().to_string(),
        }
    }
}

/// A job as the service describes it.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Job {
    /// Its id.
    pub job_id: JobId,
    /// The recording that it restores.
    pub upload_id: Option<UploadId>,
    /// The recording's name.
    #[serde(default, deserialize_with = "null_as_default")]
    pub name: String,
    /// Where it is in its life.
    pub state: JobState,
    /// Tries so far.
    #[serde(default, deserialize_with = "null_as_default")]
    pub attempt: u32,
    /// How it is restored.
    pub sampler: Option<String>,
    /// Its class in the queue.
    pub priority: Option<String>,
    /// What it leaves behind.
    #[serde(default, deserialize_with = "null_as_default")]
    pub outputs: Vec<String>,
    /// When it was queued.
    pub created_at_ms: TimestampMs,
    /// When its attempt began.
    pub started_at_ms: Option<TimestampMs>,
    /// When it ended.
    pub ended_at_ms: Option<TimestampMs>,
    /// Which worker has it, or had it last.
    pub worker: Option<String>,
    /// Whether its worker was told to stop.
    #[serde(default, deserialize_with = "null_as_default")]
    pub cancel_requested: bool,
    /// What that worker does for it.
    pub phase: Option<JobPhase>,
    /// 0 to 1, within the whole job.
    pub progress: Option<f64>,
    /// Length of the recording, once it is known.
    pub audio_seconds: Option<f64>,
    /// Seconds of restored audio that can be played.
    pub published_seconds: Option<f64>,
    /// When the first of it could be played.
    pub first_audio_at_ms: Option<TimestampMs>,
    /// Why it failed.
    pub failure: Option<Failure>,
    /// Where the time went: intervals since the attempt's start, which may overlap.
    #[serde(default, deserialize_with = "null_as_default")]
    pub timings: Vec<Timing>,
    /// Seconds of the model's work per second of audio.
    pub real_time_factor: Option<f64>,
    /// Not to be started before, if that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_after: Option<TimestampMs>,
    /// Labels that its worker has to have.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// Whatever a newer service says beyond this.
    #[serde(flatten)]
    pub other: serde_json::Map<String, serde_json::Value>,
}

impl Job {
    /// Whether some of the restored audio can be played.
    pub fn is_playable(&self) -> bool {
        self.first_audio_at_ms.is_some() || self.published_seconds.is_some_and(|seconds| seconds > 0.0)
    }
}

/// Where a job is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// Waits for a worker.
    Queued,
    /// Offered to a worker.
    Offered,
    /// A worker restores it.
    Running,
    /// Its files are there.
    Completed,
    /// It will not be tried again.
    Failed,
    /// Workers were lost while they ran it: nothing happens until an operator decides.
    Quarantined,
    /// Somebody cancelled it.
    Cancelled,
    /// A state of a newer service; not an end, as far as is known.
    #[serde(other)]
    Unknown,
}

impl JobState {
    /// Whether the job will not change any more.
    pub fn has_ended(self) -> bool {
        matches!(self, JobState::Completed | JobState::Failed | JobState::Cancelled)
    }

    /// Whether waiting for it makes no sense: it has ended, or it is for an operator to decide.
    pub fn is_settled(self) -> bool {
        self.has_ended() || self == JobState::Quarantined
    }

    /// The state in words.
    pub fn label(self) -> &'static str {
        match self {
            JobState::Queued => "queued",
            JobState::Offered => "offered",
            JobState::Running => "running",
            JobState::Completed => "completed",
            JobState::Failed => "failed",
            JobState::Quarantined => "quarantined",
            JobState::Cancelled => "cancelled",
            JobState::Unknown => "unknown",
        }
    }
}

/// What a worker does for a job; a newer service may know more phases.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum JobPhase {
    /// A phase of this release.
    Known(Phase),
    /// The name of another.
    Other(String),
}

impl JobPhase {
    /// The phase in words.
    pub fn label(&self) -> String {
        match self {
            JobPhase::Known(Phase::Downloading) => "downloading".to_owned(),
            JobPhase::Known(Phase::PreparingAudio) => "preparing audio".to_owned(),
            JobPhase::Known(Phase::Restoring) => "restoring".to_owned(),
            JobPhase::Known(Phase::Publishing) => "publishing".to_owned(),
            JobPhase::Other(name) => name.replace('_', " "),
        }
    }
}

/// Why a job failed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// Stable code.
    pub code: String,
    /// What happened.
    #[serde(default, deserialize_with = "null_as_default")]
    pub message: String,
    /// What to do about it.
    pub advice: Option<String>,
    /// Whether another job with the same recording may succeed.
    #[serde(default, deserialize_with = "null_as_default")]
    pub retryable: bool,
}

/// Which jobs to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobFilter {
    /// All of them.
    All,
    /// Those that have not ended.
    Live,
    /// Those that have.
    Ended,
}

/// One page of jobs, newest first.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JobPage {
    /// The jobs.
    pub jobs: Vec<Job>,
    /// Where the next page begins; none after the last.
    pub next_cursor: Option<String>,
}

impl Client {
    /// Queues a job, once however often it has to be sent.
    pub async fn create_job(&self, job: &NewJob) -> Result<Job, Error> {
        let key = HeaderValue::from_str(&job.idempotency_key)
            .map_err(|_| self.unexpected("an idempotency key has invisible characters".to_owned()))?;
        let call = Call::new(Method::POST, self.resource(&["jobs"])).json(job).header(IDEMPOTENCY_KEY, key);
        self.call(&call).await?.json()
    }

    /// Reads a job.
    pub async fn job(&self, job_id: &JobId) -> Result<Job, Error> {
        self.call(&self.job_call(job_id)).await?.json()
    }

    /// One page of at most `limit` jobs.
    pub async fn jobs(&self, filter: JobFilter, limit: u32, cursor: Option<&str>) -> Result<JobPage, Error> {
        let mut url = self.resource(&["jobs"]);
        url.query_pairs_mut().append_pair("limit", &limit.to_string());
        match filter {
            JobFilter::All => {}
            JobFilter::Live => drop(url.query_pairs_mut().append_pair("state", "live")),
            JobFilter::Ended => drop(url.query_pairs_mut().append_pair("state", "ended")),
        }
        if let Some(cursor) = cursor {
            url.query_pairs_mut().append_pair("cursor", cursor);
        }
        self.call(&Call::new(Method::GET, url)).await?.json()
    }

    /// Asks for a job's end. A running job ends a moment later; see the state of the answer.
    pub async fn cancel_job(&self, job_id: &JobId) -> Result<Job, Error> {
        let url = self.resource(&["jobs", job_id.as_str(), "cancel"]);
        self.call(&Call::new(Method::POST, url)).await?.json()
    }

    pub(crate) fn job_call(&self, job_id: &JobId) -> Call {
        Call::new(Method::GET, self.resource(&["jobs", job_id.as_str()]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_newer_service_says_is_kept() {
        let text = r#"{"jobId":"job_1","uploadId":"upl_1","name":"talk.mp3","state":"hibernating","createdAtMs":1000,
            "phase":"polishing","outputs":null,"timings":null,"newField":7}"#;
        let job: Job = serde_json::from_str(text).expect("a job");
        assert_eq!((job.state, job.state.has_ended()), (JobState::Unknown, false));
        assert_eq!(job.phase, Some(JobPhase::Other("polishing".to_owned())));
        let again = serde_json::to_value(&job).expect("json");
        assert_eq!((&again["newField"], &again["phase"]), (&7.into(), &"polishing".into()));
    }
}
