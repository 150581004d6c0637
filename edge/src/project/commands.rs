//! What clients ask of a project, and what the edge sees of its upload.

use shared_protocol::{GenerationId, TimestampMs, Transcript};

use super::generation::{Audio, Ending, Generation, TranscriptMode, TranscriptPart, UsageState};
use super::transcript::{MAX_VERSIONS, TranscriptSource, TranscriptionState};
use super::upload::{CompletedBy, StoredPart, UploadState};
use super::{Asked, EventName, MAX_GENERATIONS, NewGeneration, Project, Refusal};
use crate::digest;

impl Project {
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

    /// The client gives a transcript. It takes the place of earlier ones, and of one that is still being made. The latest version
    /// once more, because its answer was lost, is not a new one.
    ///
    /// # Errors
    /// [`Refusal::LimitReached`].
    pub fn put_transcript(&mut self, now: TimestampMs, transcript: Transcript) -> Result<u32, Refusal> {
        let given = digest::of_json(&transcript).ok();
        let latest = self.latest_transcript();
        let known = latest.filter(|latest| given.is_some() && latest.fingerprint == given);
        let known = known.map(|latest| latest.version);
        let limit = MAX_VERSIONS as usize;
        if known.is_none() && self.head.transcripts.len() >= limit {
            return Err(Refusal::LimitReached { what: "versions of the transcript".to_owned(), limit });
        }
        self.head_changed |= self.head.transcription.is_running();
        self.head.transcription.end(now, TranscriptionState::Superseded);
        let version = known.unwrap_or_else(|| self.add_transcript(now, TranscriptSource::Client, transcript));
        self.settle(now);
        Ok(version)
    }

    /// Has the recording transcribed, also once more. While a transcription is under way, that one is what was asked for.
    ///
    /// # Errors
    /// [`Refusal::TranscriptionNotConfigured`], [`Refusal::UploadAbandoned`], [`Refusal::LimitReached`].
    pub fn transcribe(&mut self, now: TimestampMs) -> Result<(), Refusal> {
        if !self.config.transcribes {
            return Err(Refusal::TranscriptionNotConfigured);
        }
        if matches!(self.head.upload.state, UploadState::Abandoned { .. }) {
            return Err(Refusal::UploadAbandoned);
        }
        let limit = MAX_VERSIONS as usize;
        if self.head.transcripts.len() >= limit {
            return Err(Refusal::LimitReached { what: "versions of the transcript".to_owned(), limit });
        }
        if !self.head.transcription.begin(now) {
            return Ok(());
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
}
