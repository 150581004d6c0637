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

pub mod errand;
mod event;
mod generation;
mod job_news;
mod outcome;
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
    /// A transcription is under way.
    TranscriptionRuns,
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

    // Commands

    /// The edge has seen the upload's content arrive.
    pub fn handle_arrived(&mut self, now: TimestampMs) {
        if self.head.upload.arrived(now) {
            self.head_changed = true;
        }
        self.settle(now);
    }

    /// A part of the upload arrived.
    ///
    /// # Errors
    /// [`Refusal::UploadAbandoned`], [`Refusal::UploadNotInParts`].
    pub fn part_arrived(&mut self, now: TimestampMs, number: u16, part: StoredPart) -> Result<(), Refusal> {
        if self.head.upload.is_complete() {
            // A part that is sent once more because its answer was lost.
            return Ok(());
        }
        if !self.head.upload.is_open() {
            return Err(Refusal::UploadAbandoned);
        }
        if !self.head.upload.part_arrived(now, number, part) {
            return Err(Refusal::UploadNotInParts);
        }
        self.head_changed = true;
        self.settle(now);
        Ok(())
    }

    /// The upload's content is there.
    ///
    /// # Errors
    /// [`Refusal::UploadAbandoned`].
    pub fn complete_upload(&mut self, now: TimestampMs, by: CompletedBy) -> Result<(), Refusal> {
        if self.head.upload.is_complete() {
            return Ok(());
        }
        if !self.head.upload.complete(now, by) {
            return Err(Refusal::UploadAbandoned);
        }
        self.head_changed = true;
        self.tell(now, EventName::UploadCompleted, None);
        self.settle(now);
        Ok(())
    }

    /// The upload was put together, and is not what was announced.
    pub fn upload_is_spoilt(&mut self, now: TimestampMs) {
        if self.head.upload.give_up(now) {
            self.head_changed = true;
            self.tell(now, EventName::UploadAbandoned, None);
        }
        self.settle(now);
    }

    /// The client gives a transcript. It takes the place of earlier ones, and of one that is still being made.
    ///
    /// # Errors
    /// [`Refusal::LimitReached`].
    pub fn put_transcript(&mut self, now: TimestampMs, transcript: Transcript) -> Result<u32, Refusal> {
        let limit = MAX_VERSIONS as usize;
        if self.head.transcripts.len() >= limit {
            return Err(Refusal::LimitReached { what: "versions of the transcript".to_owned(), limit });
        }
        self.head.transcription.end(now, TranscriptionState::Superseded);
        let version = self.add_transcript(now, TranscriptSource::Client, transcript);
        self.settle(now);
        Ok(version)
    }

    /// Has the recording transcribed, also once more.
    ///
    /// # Errors
    /// [`Refusal::TranscriptionNotConfigured`], [`Refusal::TranscriptionRuns`], [`Refusal::LimitReached`].
    pub fn transcribe(&mut self, now: TimestampMs) -> Result<(), Refusal> {
        if !self.config.transcribes {
            return Err(Refusal::TranscriptionNotConfigured);
        }
        let limit = MAX_VERSIONS as usize;
        if self.head.transcripts.len() >= limit {
            return Err(Refusal::LimitReached { what: "versions of the transcript".to_owned(), limit });
        }
        if !self.head.transcription.begin(now) {
            return Err(Refusal::TranscriptionRuns);
        }
        self.head_changed = true;
        for generation in self.generations.values_mut() {
            let has_failed = matches!(generation.transcript, TranscriptPart::Failed { .. });
            if has_failed && generation.takes_transcript() {
                generation.transcript = TranscriptPart::Waiting;
                self.changed.insert(generation.id.clone());
            }
        }
        self.settle(now);
        Ok(())
    }

    /// The generation that was asked for before under the same key.
    ///
    /// # Errors
    /// [`Refusal::GenerationNotFound`], [`Refusal::KeyReused`].
    pub fn known(&self, new: &NewGeneration) -> Result<&GenerationId, Refusal> {
        let key = new.idempotency_key.as_ref().ok_or(Refusal::GenerationNotFound)?;
        let earlier = self.generations.values().find(|earlier| earlier.idempotency_key.as_ref() == Some(key));
        let earlier = earlier.ok_or(Refusal::GenerationNotFound)?;
        if earlier.request == new.request {
            Ok(&earlier.id)
        } else {
            Err(Refusal::KeyReused { by: format!("generation {}", earlier.id) })
        }
    }

    /// A generation is wanted.
    ///
    /// # Errors
    /// [`Refusal::KeyReused`], [`Refusal::UploadAbandoned`], [`Refusal::LimitReached`],
    /// [`Refusal::TranscriptionNotConfigured`].
    pub fn generate(&mut self, now: TimestampMs, new: NewGeneration) -> Result<Asked, Refusal> {
        if self.generations.contains_key(&new.id) {
            return Ok(Asked::New(new.id));
        }
        match self.known(&new) {
            Ok(id) => return Ok(Asked::Known(id.clone())),
            Err(Refusal::GenerationNotFound) => {}
            Err(refusal) => return Err(refusal),
        }
        if matches!(self.head.upload.state, UploadState::Abandoned { .. }) {
            return Err(Refusal::UploadAbandoned);
        }
        if self.generations.len() >= MAX_GENERATIONS {
            return Err(Refusal::LimitReached {
                what: "generations of one project".to_owned(),
                limit: MAX_GENERATIONS,
            });
        }
        let has_transcript = self.latest_transcript().is_some();
        if new.request.transcript == TranscriptMode::Required && !has_transcript {
            if !self.config.transcribes {
                return Err(Refusal::TranscriptionNotConfigured);
            }
            if self.head.transcription.begin(now) {
                self.head_changed = true;
            }
        }
        let transcript = match new.request.transcript {
            TranscriptMode::None => TranscriptPart::NotNeeded,
            TranscriptMode::Given | TranscriptMode::Required => TranscriptPart::Waiting,
        };
        let generation = Generation {
            id: new.id.clone(),
            sequence: self.generations.len() as u64 + 1,
            created_at: now,
            idempotency_key: new.idempotency_key,
            request: new.request,
            job_id: new.job_id,
            conditioned_on: None,
            audio: Audio::WaitingForUpload,
            transcript,
            cancel_requested_at: None,
            ending: None,
            ended_at: None,
            usage: UsageState::None,
            news_sequence: 0,
        };
        self.changed.insert(new.id.clone());
        self.generations.insert(new.id.clone(), generation);
        self.tell(now, EventName::Created, Some(&new.id));
        self.settle(now);
        Ok(Asked::New(new.id))
    }

    /// A generation is wanted no more. Where the scheduler may have its job, it ends when the scheduler says so.
    ///
    /// # Errors
    /// [`Refusal::GenerationNotFound`], [`Refusal::GenerationEnded`].
    pub fn cancel(&mut self, now: TimestampMs, id: &GenerationId) -> Result<(), Refusal> {
        let generation = self.generations.get_mut(id).ok_or(Refusal::GenerationNotFound)?;
        match generation.ending {
            Some(Ending::Cancelled) => return Ok(()),
            Some(_) => return Err(Refusal::GenerationEnded { state: generation.state().to_owned() }),
            None => {}
        }
        if generation.cancel_requested_at.is_none() {
            generation.cancel_requested_at = Some(now);
            if matches!(generation.audio, Audio::WaitingForUpload | Audio::Dispatching { asked: false, .. }) {
                generation.audio = Audio::Cancelled { at: now };
            }
            self.changed.insert(id.clone());
        }
        self.settle(now);
        Ok(())
    }

    // What follows from the state

    fn add_transcript(&mut self, now: TimestampMs, source: TranscriptSource, transcript: Transcript) -> u32 {
        let version = self.head.transcripts.last().map_or(1, |last| last.version + 1);
        self.head.transcripts.push(TranscriptVersion {
            version,
            source,
            at: now,
            words: u32::try_from(transcript.words.len()).unwrap_or(u32::MAX),
            language: transcript.language.clone(),
        });
        self.head_changed = true;
        self.effects.push(Effect::SaveTranscript { version, transcript });
        self.tell(now, EventName::TranscriptUpdated, None);
        version
    }

    fn tell(&mut self, now: TimestampMs, name: EventName, generation: Option<&GenerationId>) {
        self.head.last_event += 1;
        self.head_changed = true;
        let event =
            ProjectEvent { sequence: self.head.last_event, at: now, name, generation: generation.cloned() };
        if name.webhook().is_some() {
            self.untold.insert(event.sequence);
        }
        self.effects.push(Effect::Append(event));
    }

    /// Draws the consequences of whatever has changed, and runs the errands that are due.
    fn settle(&mut self, now: TimestampMs) {
        let ids: Vec<GenerationId> = self.generations.keys().cloned().collect();
        for id in &ids {
            self.settle_generation(now, id);
        }
        self.errands.sync(self.wanted());
        let transcription_lease = self.config.transcription_lease;
        let lease = |errand: &Errand| match errand {
            Errand::Transcribe(_) => transcription_lease,
            _ => errand::LEASE,
        };
        for errand in self.errands.take_due(now, lease) {
            if let Errand::Dispatch(id) = &errand
                && let Some(generation) = self.generations.get_mut(id)
                && let Audio::Dispatching { asked, .. } = &mut generation.audio
                && !*asked
            {
                // From now on nobody knows whether the scheduler has it.
                *asked = true;
                self.changed.insert(id.clone());
            }
            self.effects.push(Effect::Run(errand));
        }
    }

    fn settle_generation(&mut self, now: TimestampMs, id: &GenerationId) {
        let latest = self.head.transcripts.last().cloned();
        let upload = &self.head.upload;
        let Some(generation) = self.generations.get_mut(id) else { return };
        let before = generation.clone();
        if generation.audio == Audio::WaitingForUpload {
            if upload.is_complete() {
                generation.conditioned_on = latest
                    .as_ref()
                    .filter(|latest| {
                        latest.words > 0 && generation.request.transcript != TranscriptMode::None
                    })
                    .map(|latest| latest.version);
                generation.audio = Audio::Dispatching { since: now, asked: false, trouble: None };
            } else if let UploadState::Abandoned { at, .. } = upload.state {
                let failure = Failure {
                    code: "upload_abandoned".to_owned(),
                    message: "the recording did not arrive in time".to_owned(),
                    advice: "Make a new project and put its content.".to_owned(),
                };
                generation.audio = Audio::Failed { at, failure };
            }
        }
        if let Some(latest) = latest.filter(|_| generation.takes_transcript()) {
            generation.transcript = TranscriptPart::Ready { version: latest.version, at: latest.at };
        }
        let joined = generation.join(now);
        let is_ready = |audio: &Audio| matches!(audio, Audio::Ready(_));
        if *generation != before {
            self.changed.insert(id.clone());
        }
        if let Joined::Ended(ending) = joined {
            let name = match ending {
                Ending::Completed => EventName::Completed,
                Ending::Failed => EventName::Failed,
                Ending::Cancelled => EventName::Cancelled,
            };
            debug_assert!(ending != Ending::Completed || is_ready(&before.audio));
            self.tell(now, name, Some(id));
        }
    }

    /// What the state asks of others, and not before when.
    fn wanted(&self) -> BTreeMap<Errand, TimestampMs> {
        let now = TimestampMs(0);
        let mut wanted = BTreeMap::new();
        let Head { upload, transcription, registered, .. } = &self.head;
        if !registered {
            wanted.insert(Errand::Register, now);
        }
        if let Some(at) = upload.check_at() {
            wanted.insert(Errand::CheckUpload, at);
        }
        if matches!(upload.state, UploadState::Abandoned { swept: false, .. }) {
            wanted.insert(Errand::SweepUpload, now);
        }
        if transcription.is_running() && upload.is_complete() {
            wanted.insert(Errand::Transcribe(transcription.operation), transcription.retry_at.unwrap_or(now));
        }
        if let Some(first) = self.untold.first() {
            wanted.insert(Errand::Announce(*first), now);
        }
        for (id, generation) in &self.generations {
            match &generation.audio {
                Audio::Dispatching { .. } => {
                    wanted.insert(Errand::Dispatch(id.clone()), now);
                }
                Audio::Restoring { heard_at, .. } => {
                    if let Some(at) = generation.cancel_requested_at {
                        wanted.insert(Errand::Cancel(id.clone()), at);
                    }
                    wanted.insert(Errand::Reconcile(id.clone()), *heard_at + RECONCILE_AFTER);
                }
                _ => {}
            }
            if generation.usage == UsageState::Owed {
                wanted.insert(Errand::RecordUsage(id.clone()), now);
            }
        }
        wanted
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
