//! Projects: one recording with its transcripts and the generations asked of it.

use std::collections::BTreeMap;

use reqwest::Method;
use reqwest::header::{HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};
use shared_protocol::{
    GenerationId, JobId, OutputKind, Priority, ProjectId, Sampler, TimestampMs, Transcript, UploadId,
};

use crate::errors::Error;
use crate::http::{Call, Client};
use crate::jobs::Failure;
use crate::source::Source;
use crate::transfer::Progress;
use crate::uploads::Put;
use crate::wire::null_as_default;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// A recording to make a project of.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NewProject {
    /// The recording's name.
    pub name: String,
    /// Its bytes.
    pub size: u64,
    /// Its media type.
    pub content_type: String,
    /// SHA-256 of its bytes in hex.
    pub sha256: String,
    /// Texts of the caller's own, given back with the project.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
    /// Language of the recording, such as `en`: a hint for the recogniser.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// Have it come in parts though it would fit into one request.
    pub in_parts: bool,
    /// Makes creating it repeatable: the same key gives the same project. Up to 128 visible ASCII characters.
    #[serde(skip)]
    pub idempotency_key: String,
}

impl NewProject {
    /// A project of a recording on this machine, with a key of its own.
    pub fn of(source: &Source) -> Self {
        NewProject {
            name: source.name.clone(),
            size: source.size,
            content_type: source.content_type.to_owned(),
            sha256: source.sha256.clone(),
            metadata: BTreeMap::new(),
            language: None,
            in_parts: false,
            idempotency_key: uuid::Uuid::now_v7().to_string(),
        }
    }
}

/// A project as the service describes it.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Project {
    /// Its id.
    pub project_id: ProjectId,
    /// The recording's name.
    pub name: String,
    /// When it was made.
    pub created_at_ms: TimestampMs,
    /// Its recording.
    pub upload: ProjectUpload,
    /// The latest version of its transcript.
    pub transcript: Option<TranscriptVersion>,
    /// Whatever else the service says.
    #[serde(flatten)]
    pub other: serde_json::Map<String, serde_json::Value>,
}

/// The recording of a project.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProjectUpload {
    /// Its id, of which jobs can be made too.
    pub upload_id: UploadId,
    /// `pending`, `arrived`, `complete` or `abandoned`.
    pub state: String,
    /// Bytes.
    pub size: u64,
    /// Whatever else the service says.
    #[serde(flatten)]
    pub other: serde_json::Map<String, serde_json::Value>,
}

/// A version of a transcript, without its words.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TranscriptVersion {
    /// From 1.
    pub version: u32,
    /// `client` or `recognizer`.
    pub source: String,
    /// Words with times in it.
    pub words: u32,
    /// Whatever else the service says.
    #[serde(flatten)]
    pub other: serde_json::Map<String, serde_json::Value>,
}

/// A project with how to put its recording.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Announced {
    pub project: Project,
    #[serde(default)]
    pub put: Option<Put>,
    #[serde(default)]
    pub parts: Option<Parts>,
}

/// How to put a recording in parts.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Parts {
    pub method: String,
    pub url: String,
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    pub part_size: u64,
    pub missing: Vec<u16>,
}

impl Parts {
    /// How to put one of them.
    fn put(&self, number: u16) -> Put {
        Put {
            method: self.method.clone(),
            url: self.url.replace("{part}", &number.to_string()),
            headers: self.headers.clone(),
        }
    }
}

/// Whether a transcript belongs to what is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TranscriptMode {
    /// No.
    #[default]
    None,
    /// The caller gives it.
    Given,
    /// The operator's recogniser makes it, unless the caller gives one.
    Required,
}

/// A restore to ask for. Everything has a default of the service.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NewGeneration {
    /// How.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampler: Option<Sampler>,
    /// Whether with a transcript.
    pub transcript: TranscriptMode,
    /// What to leave behind; empty for the service's default.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<OutputKind>,
    /// Class in the queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// Of the tenant's webhooks, the one that is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub webhook_id: Option<String>,
    /// Texts of the caller's own.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
    /// Length of the recording in seconds, when it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_seconds: Option<u32>,
    /// Makes asking repeatable: the same key gives the same generation.
    #[serde(skip)]
    pub idempotency_key: String,
}

impl Default for NewGeneration {
    fn default() -> Self {
        NewGeneration {
            sampler: None,
            transcript: TranscriptMode::None,
            outputs: Vec::new(),
            priority: None,
            webhook_id: None,
            metadata: BTreeMap::new(),
            expected_seconds: None,
            idempotency_key: uuid::Uuid::now_v7().to_string(),
        }
    }
}

/// A generation as the service describes it.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Generation {
    /// Its id.
    pub generation_id: GenerationId,
    /// Its project.
    pub project_id: ProjectId,
    /// Its job: files and playback are the job's.
    pub job_id: JobId,
    /// `waiting_for_upload`, `dispatching`, `queued`, `restoring`, `audio_ready`, `cancelling`, `completed`, `failed`, `cancelled`.
    pub state: String,
    /// Its audio.
    pub audio: GenerationAudio,
    /// Its transcript.
    pub transcript: GenerationTranscript,
    /// Why it failed.
    pub failure: Option<Failure>,
    /// How far its restore is.
    pub progress: Option<GenerationProgress>,
    /// Whatever else the service says.
    #[serde(flatten)]
    pub other: serde_json::Map<String, serde_json::Value>,
}

impl Generation {
    /// Whether nothing more will happen by itself.
    pub fn has_ended(&self) -> bool {
        matches!(self.state.as_str(), "completed" | "failed" | "cancelled")
    }
}

/// The audio of a generation.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GenerationAudio {
    /// `waiting_for_upload`, `dispatching`, `queued`, `restoring`, `ready`, `failed` or `cancelled`.
    pub state: String,
    /// Length of the recording.
    pub audio_seconds: Option<f64>,
    /// Whatever else the service says.
    #[serde(flatten)]
    pub other: serde_json::Map<String, serde_json::Value>,
}

/// The transcript of a generation.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GenerationTranscript {
    /// `not_needed`, `waiting`, `ready` or `failed`.
    pub state: String,
    /// Which version.
    pub version: Option<u32>,
    /// Whatever else the service says.
    #[serde(flatten)]
    pub other: serde_json::Map<String, serde_json::Value>,
}

/// How far a restore is.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GenerationProgress {
    /// What is being done.
    pub phase: Option<String>,
    /// 0 to 1.
    #[serde(default, deserialize_with = "null_as_default")]
    pub fraction: f64,
    /// Seconds of restored audio that can be played.
    #[serde(default, deserialize_with = "null_as_default")]
    pub published_seconds: f64,
    /// Length of the recording.
    pub audio_seconds: Option<f64>,
}

/// A page of projects, newest first.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProjectPage {
    /// The projects.
    pub projects: Vec<ProjectEntry>,
    /// Where the next page begins; none after the last.
    pub next_cursor: Option<String>,
}

/// A project in a list.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProjectEntry {
    /// Its id.
    pub project_id: ProjectId,
    /// The recording's name.
    pub name: String,
    /// When it was made.
    pub created_at_ms: TimestampMs,
}

/// A page of generations, newest first.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GenerationPage {
    /// The generations.
    pub generations: Vec<Generation>,
    /// Where the next page begins; none after the last.
    pub next_cursor: Option<String>,
}

/// Answer to a transcript that was given.
#[derive(Deserialize)]
struct TakenAs {
    version: u32,
}

impl Client {
    /// Makes a project, once however often it has to be sent. Its recording is still to be put: [`Client::put_recording`].
    pub async fn create_project(&self, new: &NewProject) -> Result<Project, Error> {
        let call = Call::new(Method::POST, self.resource(&["projects"])).json(new);
        let announced: Announced = self.call(&self.keyed(call, &new.idempotency_key)?).await?.json()?;
        Ok(announced.project)
    }

    /// Puts a project's recording, or what is missing of it: called once more after a broken connection, or by another process, it
    /// goes on where it was. `on_progress` gets the bytes that are there. Ends when the service has said that all of it is.
    pub async fn put_recording(
        &self,
        project: &ProjectId,
        source: &Source,
        mut on_progress: impl FnMut(Progress),
    ) -> Result<Project, Error> {
        loop {
            match self.put_what_is_missing(project, source, &mut on_progress).await {
                // A slow line can use a ticket up.
                Err(error) if error.is_problem("ticket_expired") => {}
                Err(error) => return Err(error),
                Ok(()) => break,
            }
        }
        let url = self.resource(&["projects", project.as_str(), "upload", "complete"]);
        self.call(&Call::new(Method::POST, url)).await?.json()
    }

    async fn put_what_is_missing(
        &self,
        project: &ProjectId,
        source: &Source,
        on_progress: &mut impl FnMut(Progress),
    ) -> Result<(), Error> {
        let url = self.resource(&["projects", project.as_str(), "upload"]);
        let announced: Announced = self.call(&Call::new(Method::GET, url)).await?.json()?;
        if let Some(put) = &announced.put {
            return self.put_span(source, put, 0, source.size, on_progress).await;
        }
        let Some(parts) = &announced.parts else { return Ok(()) };
        let total = source.size;
        let bytes_of = |number: u16| {
            let start = u64::from(number.saturating_sub(1)) * parts.part_size;
            (start, total.saturating_sub(start).min(parts.part_size))
        };
        let missing: u64 = parts.missing.iter().map(|number| bytes_of(*number).1).sum();
        let mut there = total.saturating_sub(missing);
        for number in &parts.missing {
            let (start, bytes) = bytes_of(*number);
            let mut of_part =
                |progress: Progress| on_progress(Progress { bytes: there + progress.bytes, total });
            self.put_span(source, &parts.put(*number), start, bytes, &mut of_part).await?;
            there += bytes;
        }
        Ok(())
    }

    /// Reads a project.
    pub async fn project(&self, project: &ProjectId) -> Result<Project, Error> {
        self.call(&Call::new(Method::GET, self.resource(&["projects", project.as_str()]))).await?.json()
    }

    /// One page of at most `limit` projects.
    pub async fn projects(&self, limit: u32, cursor: Option<&str>) -> Result<ProjectPage, Error> {
        self.call(&Call::new(Method::GET, paged(self.resource(&["projects"]), limit, cursor))).await?.json()
    }

    /// Gives a transcript. Returns its version.
    pub async fn put_transcript(&self, project: &ProjectId, transcript: &Transcript) -> Result<u32, Error> {
        let url = self.resource(&["projects", project.as_str(), "transcript"]);
        let taken: TakenAs = self.call(&Call::new(Method::PUT, url).json(transcript)).await?.json()?;
        Ok(taken.version)
    }

    /// Reads a transcript; the latest version when none is named.
    pub async fn transcript(&self, project: &ProjectId, version: Option<u32>) -> Result<Transcript, Error> {
        let mut url = self.resource(&["projects", project.as_str(), "transcript"]);
        if let Some(version) = version {
            url.query_pairs_mut().append_pair("version", &version.to_string());
        }
        self.call(&Call::new(Method::GET, url)).await?.json()
    }

    /// Has the recording transcribed, also once more.
    pub async fn transcribe(&self, project: &ProjectId) -> Result<Project, Error> {
        let url = self.resource(&["projects", project.as_str(), "transcription"]);
        self.call(&Call::new(Method::POST, url)).await?.json()
    }

    /// Asks for a generation, once however often it has to be sent.
    pub async fn generate(&self, project: &ProjectId, new: &NewGeneration) -> Result<Generation, Error> {
        let url = self.resource(&["projects", project.as_str(), "generations"]);
        let call = Call::new(Method::POST, url).json(new);
        self.call(&self.keyed(call, &new.idempotency_key)?).await?.json()
    }

    /// Reads a generation.
    pub async fn generation(&self, project: &ProjectId, id: &GenerationId) -> Result<Generation, Error> {
        let url = self.resource(&["projects", project.as_str(), "generations", id.as_str()]);
        self.call(&Call::new(Method::GET, url)).await?.json()
    }

    /// One page of at most `limit` generations.
    pub async fn generations(
        &self,
        project: &ProjectId,
        limit: u32,
        cursor: Option<&str>,
    ) -> Result<GenerationPage, Error> {
        let url = self.resource(&["projects", project.as_str(), "generations"]);
        self.call(&Call::new(Method::GET, paged(url, limit, cursor))).await?.json()
    }

    /// Asks for a generation's end. One whose job runs ends a moment later.
    pub async fn cancel_generation(
        &self,
        project: &ProjectId,
        id: &GenerationId,
    ) -> Result<Generation, Error> {
        let url = self.resource(&["projects", project.as_str(), "generations", id.as_str(), "cancel"]);
        self.call(&Call::new(Method::POST, url)).await?.json()
    }

    /// Where the time of a generation went, as the service says it.
    pub async fn timeline(&self, project: &ProjectId, id: &GenerationId) -> Result<serde_json::Value, Error> {
        let url = self.resource(&["projects", project.as_str(), "generations", id.as_str(), "timeline"]);
        self.call(&Call::new(Method::GET, url)).await?.json()
    }

    fn keyed(&self, call: Call, key: &str) -> Result<Call, Error> {
        let key = HeaderValue::from_str(key)
            .map_err(|_| self.unexpected("an idempotency key has invisible characters".to_owned()))?;
        Ok(call.header(IDEMPOTENCY_KEY, key))
    }
}

fn paged(mut url: url::Url, limit: u32, cursor: Option<&str>) -> url::Url {
    url.query_pairs_mut().append_pair("limit", &limit.to_string());
    if let Some(cursor) = cursor {
        url.query_pairs_mut().append_pair("cursor", cursor);
    }
    url
}
