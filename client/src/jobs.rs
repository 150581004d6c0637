//! Jobs: create, read, list, wait for, cancel.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use reqwest::header::{ETAG, HeaderName, HeaderValue, IF_NONE_MATCH};
use reqwest::{Method, StatusCode};
use serde::{Deserialize, Serialize};
use shared_protocol::{DurationMs, JobId, OutputKind, Phase, Priority, Sampler, TimestampMs, UploadId};

use crate::errors::{Error, ErrorKind};
use crate::http::{Call, Client};
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
    /// Which worker runs it.
    pub worker: Option<String>,
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
    /// Whatever a newer service says beyond this.
    #[serde(flatten)]
    pub other: serde_json::Map<String, serde_json::Value>,
}

impl Job {
    /// Whether some of the restored audio can be played.
    pub fn is_playable(&self) -> bool {
        self.first_audio_at_ms.is_some() || self.published_seconds.is_some_and(|seconds| seconds > 0.0)
    }

    /// From queueing to the first playable audio, by the service's clock.
    pub fn time_to_first_audio(&self) -> Option<Duration> {
        self.first_audio_at_ms.map(|at| millis(at - self.created_at_ms))
    }

    /// From queueing to the start of the (last) attempt.
    pub fn queue_wait(&self) -> Option<Duration> {
        self.started_at_ms.map(|at| millis(at - self.created_at_ms))
    }

    /// Time spent in each phase, in order of first start; overlapping intervals of one phase count once.
    pub fn time_by_phase(&self) -> Vec<(String, Duration)> {
        let mut phases: Vec<(&str, Vec<(u64, u64)>)> = Vec::new();
        let mut timings: Vec<&Timing> = self.timings.iter().collect();
        timings.sort_by_key(|timing| timing.start_ms);
        for timing in timings {
            let interval = (timing.start_ms.0, timing.end_ms.0.max(timing.start_ms.0));
            match phases.iter_mut().find(|(phase, _)| *phase == timing.phase) {
                Some((_, intervals)) => intervals.push(interval),
                None => phases.push((&timing.phase, vec![interval])),
            }
        }
        phases.into_iter().map(|(phase, intervals)| (phase.to_owned(), covered(&intervals))).collect()
    }
}

/// Length of the union of intervals that are sorted by their start.
fn covered(intervals: &[(u64, u64)]) -> Duration {
    let mut total = 0;
    let mut covered_until = 0;
    for &(start, end) in intervals {
        total += end.saturating_sub(start.max(covered_until));
        covered_until = covered_until.max(end);
    }
    Duration::from_millis(total)
}

fn millis(duration: DurationMs) -> Duration {
    Duration::from_millis(duration.0)
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

    /// The state in words.
    pub fn label(self) -> &'static str {
        match self {
            JobState::Queued => "queued",
            JobState::Offered => "offered",
            JobState::Running => "running",
            JobState::Completed => "completed",
            JobState::Failed => "failed",
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

/// One interval of an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Timing {
    /// What was done.
    pub phase: String,
    /// Since the attempt's start.
    pub start_ms: DurationMs,
    /// Since the attempt's start.
    pub end_ms: DurationMs,
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

/// How to wait for a job.
#[derive(Debug, Clone, Copy)]
pub struct WaitOptions {
    /// Pause between two looks at the beginning, when first audio is near.
    pub first_interval: Duration,
    /// Pause between two looks at a long job.
    pub last_interval: Duration,
    /// How long the service may be away before waiting is given up. The job itself goes on.
    pub patience: Duration,
}

impl Default for WaitOptions {
    fn default() -> Self {
        WaitOptions {
            first_interval: Duration::from_millis(250),
            last_interval: Duration::from_secs(1),
            patience: Duration::from_secs(180),
        }
    }
}

impl WaitOptions {
    /// A twentieth of the time waited so far, between the two bounds: reaches 1 s after 20 s.
    fn interval(&self, waited: Duration) -> Duration {
        (waited / 20).max(self.first_interval).min(self.last_interval.max(self.first_interval))
    }
}

/// What happens while a job is watched.
#[derive(Debug)]
pub enum WatchEvent {
    /// The job as it is now; the first look at it, and then every change.
    Changed(Box<Job>),
    /// The service does not answer; watching goes on.
    Away {
        /// For how long already.
        since: Duration,
        /// What it said or did not say last.
        reason: Error,
    },
    /// It answers again.
    Back {
        /// How long it was away.
        after: Duration,
    },
}

/// Looks at one job until it has ended; made by [`Client::watch`].
#[derive(Debug)]
pub struct JobWatch {
    client: Client,
    job_id: JobId,
    options: WaitOptions,
    started: Instant,
    pause: Duration,
    last: Option<(Job, Option<HeaderValue>)>,
    /// Whether `last` has not been given out yet.
    unseen: bool,
    away_since: Option<Instant>,
}

impl JobWatch {
    /// Waits for the next event. Dropping the future loses nothing. After a job's end the caller stops asking.
    ///
    /// # Errors
    /// When there is no such job, the key is refused, or the service was away for longer than
    /// [`WaitOptions::patience`].
    pub async fn next(&mut self) -> Result<WatchEvent, Error> {
        loop {
            if let (true, Some((job, _))) = (self.unseen, &self.last) {
                self.unseen = false;
                return Ok(WatchEvent::Changed(Box::new(job.clone())));
            }
            tokio::time::sleep(self.pause).await;
            self.pause = self.options.interval(self.started.elapsed());
            match self.look().await {
                Ok(()) => {
                    if let Some(since) = self.away_since.take() {
                        return Ok(WatchEvent::Back { after: since.elapsed() });
                    }
                }
                Err(error) if error.kind() == ErrorKind::Unavailable => {
                    let since = *self.away_since.get_or_insert_with(Instant::now);
                    if since.elapsed() >= self.options.patience {
                        return Err(error);
                    }
                    let asked = error.retry_after().unwrap_or_default().min(self.options.patience);
                    self.pause = self.options.last_interval.max(asked);
                    return Ok(WatchEvent::Away { since: since.elapsed(), reason: error });
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// One look at the job; the answer may be that it has not changed.
    async fn look(&mut self) -> Result<(), Error> {
        let mut call = self.client.job_call(&self.job_id);
        if let Some((_, Some(etag))) = &self.last {
            call = call.header(IF_NONE_MATCH, etag.clone());
        }
        let answer = self.client.call_once(&call).await?;
        if answer.status == StatusCode::NOT_MODIFIED {
            return Ok(());
        }
        let job: Job = answer.json()?;
        self.unseen |= self.last.as_ref().is_none_or(|(before, _)| *before != job);
        self.last = Some((job, answer.headers.get(ETAG).cloned()));
        Ok(())
    }
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

    /// Watches a job. A service that is away is waited for.
    pub fn watch(&self, job_id: &JobId, options: WaitOptions) -> JobWatch {
        JobWatch {
            client: self.clone(),
            job_id: job_id.clone(),
            options,
            started: Instant::now(),
            pause: Duration::ZERO,
            last: None,
            unseen: false,
            away_since: None,
        }
    }

    /// Waits until a job has ended and returns it, however it ended.
    pub async fn wait(&self, job_id: &JobId, options: WaitOptions) -> Result<Job, Error> {
        let mut watch = self.watch(job_id, options);
        loop {
            if let WatchEvent::Changed(job) = watch.next().await?
                && job.state.has_ended()
            {
                return Ok(*job);
            }
        }
    }

    fn job_call(&self, job_id: &JobId) -> Call {
        Call::new(Method::GET, self.resource(&["jobs", job_id.as_str()]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(timings: &str) -> Job {
        let text = format!(
            r#"{{"jobId":"job_1","uploadId":"upl_1","name":"talk.mp3","state":"completed","createdAtMs":1000,
                "startedAtMs":1250,"firstAudioAtMs":3500,"phase":"polishing","outputs":null,"newField":7,"timings":{timings}}}"#
        );
        serde_json::from_str(&text).expect("a job")
    }

    #[test]
    fn overlapping_intervals_of_a_phase_count_once() {
        let job = job(
            r#"[{"phase":"inference","startMs":100,"endMs":500},{"phase":"uploading","startMs":200,"endMs":400},
                {"phase":"uploading","startMs":300,"endMs":600},{"phase":"uploading","startMs":900,"endMs":950}]"#,
        );
        assert_eq!(
            job.time_by_phase(),
            [
                ("inference".to_owned(), Duration::from_millis(400)),
                ("uploading".to_owned(), Duration::from_millis(450))
            ]
        );
        assert_eq!(job.time_to_first_audio(), Some(Duration::from_millis(2500)));
        assert_eq!(job.queue_wait(), Some(Duration::from_millis(250)));
    }

    #[test]
    fn what_a_newer_service_says_is_kept() {
        let job = job("null");
        assert_eq!(job.phase, Some(JobPhase::Other("polishing".to_owned())));
        let again = serde_json::to_value(&job).expect("json");
        assert_eq!(again["newField"], 7);
        assert_eq!(serde_json::from_str::<JobState>("\"hibernating\"").expect("state"), JobState::Unknown);
    }

    #[test]
    fn looks_start_quick_and_slow_down_to_one_a_second() {
        let options = WaitOptions::default();
        let at = |seconds: u64| options.interval(Duration::from_secs(seconds)).as_millis();
        assert_eq!([at(0), at(5), at(10), at(20), at(3600)], [250, 250, 500, 1000, 1000]);
    }
}
