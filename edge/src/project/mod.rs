//! A project's brain: one recording, its transcripts, and the generations that products ask for. A pure state machine.
//!
//! **Usage: call a command or a `handle_*`, then [`Project::take_effects`]: save all of them in one transaction, then run the
//! errands, each of which has its outcome told by [`Project::handle_errand`]; then ask [`Project::next_deadline`] for when
//! [`Project::handle_deadline`] is due.** Nothing in here knows a clock or a network.
//!
//! - A generation has one job, whose id it is given at birth. The scheduler is asked to take that job until it answers, and takes it
//!   once: an uncertain dispatch never runs twice.
//! - It is complete exactly when its audio and its transcript are ([`Generation::join`]).
//! - Its usage is owed from when its audio is there until the ledger has taken it, once.
//! - What others are asked follows from the state ([`errand`]): a restart in between asks again.

mod commands;
pub mod errand;
mod event;
mod generation;
mod job_news;
mod outcome;
mod settle;
mod transcript;
mod upload;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use shared_protocol::{
    DurationMs, GenerationId, JobId, ProjectId, Source, TenantId, TimestampMs, Transcript, UploadId,
};

use crate::scheduler::{GenerationRef, JobRequest};
use errand::{Errand, Errands};
pub use event::{EventName, KEPT_EVENTS, ProjectEvent};
pub use generation::{
    Audio, Ending, Failure, Generation, GenerationRequest, Joined, ReadyAudio, TranscriptMode,
    TranscriptPart, UsageState,
};
pub use job_news::{JobNews, JobNewsState};
pub use outcome::ErrandOutcome;
pub use transcript::{
    MAX_ATTEMPTS, MAX_VERSIONS, TranscriptSource, TranscriptVersion, Transcription, TranscriptionState,
};
pub use upload::{
    ABANDONED_AFTER, BACKUP_CHECK_AFTER, CompletedBy, StoredPart, Upload, UploadState, UploadWay,
};

/// Generations of one project.
pub const MAX_GENERATIONS: usize = 200;

/// When nothing was heard of a job for so long, the scheduler is asked.
pub const RECONCILE_AFTER: DurationMs = DurationMs::from_secs(10 * 60);

/// A job that is to be cancelled is asked for again after this, until it has ended.
pub const CANCEL_AGAIN_AFTER: DurationMs = DurationMs::from_secs(30);

/// What an operator sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectConfig {
    /// Whether there is an endpoint that transcribes.
    pub transcribes: bool,
    /// For how long one request to it may take.
    pub transcription_lease: DurationMs,
}

/// What is known of a project but its generations and the words of its transcripts. One row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Head {
    /// Its name.
    pub id: ProjectId,
    /// Its owner.
    pub tenant: TenantId,
    /// When it was made.
    pub created_at: TimestampMs,
    /// The client's own notes.
    #[serde(default)]
    pub metadata: BTreeMap<String, String>,
    /// Language of the recording, as a hint for the recogniser.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// The request that made it, to tell a repeated one from another one under the same key.
    pub fingerprint: String,
    /// It is in its tenant's list.
    #[serde(default)]
    pub registered: bool,
    /// Its recording.
    pub upload: Upload,
    /// The versions of its transcript, oldest first.
    #[serde(default)]
    pub transcripts: Vec<TranscriptVersion>,
    /// The latest request for a transcript.
    #[serde(default)]
    pub transcription: Transcription,
    /// The number of the latest event.
    #[serde(default)]
    pub last_event: u64,
}

/// Why a command changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "refusal")]
pub enum Refusal {
    /// No such project of this tenant.
    ProjectNotFound,
    /// No such generation.
    GenerationNotFound,
    /// No such version.
    TranscriptNotFound,
    /// The key was used for another request.
    KeyReused {
        /// By what.
        by: String,
    },
    /// The upload was given up.
    UploadAbandoned,
    /// The upload is not there.
    UploadIncomplete,
    /// The upload does not come in parts.
    UploadNotInParts,
    /// It has ended.
    GenerationEnded {
        /// How.
        state: String,
    },
    /// There are so many already.
    LimitReached {
        /// Of what.
        what: String,
        /// How many.
        limit: usize,
    },
    /// The operator has set no endpoint that transcribes.
    TranscriptionNotConfigured,
}

/// What is to be done after a turn. Saves come first.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Write [`Project::head`].
    SaveHead,
    /// Write a generation.
    SaveGeneration(GenerationId),
    /// Write a version of the transcript.
    SaveTranscript {
        /// Which.
        version: u32,
        /// Its words.
        transcript: Transcript,
    },
    /// Write an event; it is one to be told when [`EventName::webhook`] says so.
    Append(ProjectEvent),
    /// An event was told.
    Told(u64),
    /// Ask somebody.
    Run(Errand),
}

/// What a project is restored from.
#[derive(Debug, Clone)]
pub struct Restored {
    /// Its row.
    pub head: Head,
    /// Its generations.
    pub generations: Vec<Generation>,
    /// Events that were not told yet.
    pub untold: Vec<u64>,
}

/// What a generation is made of.
#[derive(Debug, Clone)]
pub struct NewGeneration {
    /// A fresh id.
    pub id: GenerationId,
    /// A fresh id.
    pub job_id: JobId,
    /// What is wanted.
    pub request: GenerationRequest,
    /// The client's key.
    pub idempotency_key: Option<String>,
}

/// A generation that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// It is new.
    New(GenerationId),
    /// The key was used for the same before.
    Known(GenerationId),
}

/// A project.
#[derive(Debug, Clone)]
pub struct Project {
    config: ProjectConfig,
    head: Head,
    generations: BTreeMap<GenerationId, Generation>,
    untold: BTreeSet<u64>,
    errands: Errands,
    head_changed: bool,
    changed: BTreeSet<GenerationId>,
    effects: Vec<Effect>,
}

impl Project {
    /// A new project.
    pub fn new(config: ProjectConfig, now: TimestampMs, head: Head) -> Self {
        let mut project = Self::empty(config, head);
        project.head_changed = true;
        project.settle(now);
        project
    }

    /// A project as it was. Whatever was asked of others is asked again.
    pub fn restore(config: ProjectConfig, now: TimestampMs, restored: Restored) -> Self {
        let mut project = Self::empty(config, restored.head);
        project.generations =
            restored.generations.into_iter().map(|generation| (generation.id.clone(), generation)).collect();
        project.untold = restored.untold.into_iter().collect();
        project.settle(now);
        project
    }

    fn empty(config: ProjectConfig, head: Head) -> Self {
        Self {
            config,
            head,
            generations: BTreeMap::new(),
            untold: BTreeSet::new(),
            errands: Errands::default(),
            head_changed: false,
            changed: BTreeSet::new(),
            effects: Vec::new(),
        }
    }

    // Getters

    /// All but its generations.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// A generation.
    pub fn generation(&self, id: &GenerationId) -> Option<&Generation> {
        self.generations.get(id)
    }

    /// All generations, in no particular order.
    pub fn generations(&self) -> impl Iterator<Item = &Generation> {
        self.generations.values()
    }

    /// The latest version of the transcript.
    pub fn latest_transcript(&self) -> Option<&TranscriptVersion> {
        self.head.transcripts.last()
    }

    /// What the scheduler is asked to take for a generation, and whether it is to take it as cancelled.
    pub fn job_request(&self, id: &GenerationId) -> Option<(JobId, JobRequest, bool)> {
        let generation = self.generations.get(id)?;
        let GenerationRequest { sampler, outputs, priority, webhook, metadata, expected_seconds, .. } =
            generation.request.clone();
        let Upload { upload_id, name, size, content_type, .. } = self.head.upload.clone();
        let request = JobRequest {
            source: Source { upload_id, name, size },
            content_type: Some(content_type),
            sampler,
            outputs,
            priority,
            metadata,
            not_before: None,
            labels: Vec::new(),
            expected_seconds,
            generation: Some(GenerationRef {
                project_id: self.head.id.clone(),
                generation_id: id.clone(),
                transcript_version: generation.conditioned_on,
            }),
            webhook,
        };
        Some((generation.job_id.clone(), request, generation.cancel_requested_at.is_some()))
    }

    // Polls

    /// What is to be done after a turn: what is to be saved, then what is to be asked of others.
    pub fn take_effects(&mut self) -> Vec<Effect> {
        let (errands, mut saves): (Vec<Effect>, Vec<Effect>) = std::mem::take(&mut self.effects)
            .into_iter()
            .partition(|effect| matches!(effect, Effect::Run(_)));
        if std::mem::take(&mut self.head_changed) {
            saves.push(Effect::SaveHead);
        }
        saves.extend(std::mem::take(&mut self.changed).into_iter().map(Effect::SaveGeneration));
        saves.extend(errands);
        saves
    }

    /// When [`Project::handle_deadline`] is due.
    pub fn next_deadline(&self) -> Option<TimestampMs> {
        self.errands.next_deadline()
    }

    /// Runs whatever is due.
    pub fn handle_deadline(&mut self, now: TimestampMs) {
        self.settle(now);
    }
}

/// The upload that a new project announces.
pub fn announced(
    now: TimestampMs,
    upload_id: UploadId,
    name: String,
    size: u64,
    content_type: String,
) -> Upload {
    Upload {
        upload_id,
        name,
        size,
        content_type,
        sha256: None,
        way: UploadWay::Direct,
        state: UploadState::Pending,
        announced_at: now,
        last_news_at: now,
    }
}
