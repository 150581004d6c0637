//! What came of an errand.

use shared_protocol::{DurationMs, GenerationId, TimestampMs, Transcript};

use super::errand::Errand;
use super::generation::{Audio, Failure, TranscriptPart, UsageState};
use super::transcript::{TranscriptSource, TranscriptionState};
use super::upload::CompletedBy;
use super::{CANCEL_AGAIN_AFTER, Effect, EventName, JobNews, JobNewsState, Project};

/// What came of an errand.
#[derive(Debug, Clone, PartialEq)]
pub enum ErrandOutcome {
    /// It is done: for those that ask for nothing back.
    Done,
    /// Whoever was asked did not answer, or could not do it now.
    Unanswered {
        /// Asked again after this; after a pause that grows when absent.
        after: Option<DurationMs>,
        /// What is known of why.
        detail: String,
    },
    /// The scheduler says that it has not taken the job.
    NotTaken {
        /// Asked again after this; never when absent.
        after: Option<DurationMs>,
        /// Why.
        failure: Failure,
    },
    /// How the job is.
    Job(JobNews),
    /// The scheduler does not know the job.
    JobMissing,
    /// The upload is in storage, whole.
    UploadFound,
    /// The upload is not in storage.
    UploadMissing,
    /// The upload was put together in storage, and is not what was announced.
    UploadSpoilt,
    /// The recording's transcript.
    Transcribed(Transcript),
    /// There is no transcript this time.
    TranscriptionFailed {
        /// Why.
        failure: Failure,
        /// Whether another attempt may succeed.
        retryable: bool,
        /// Tried again after this, if at all.
        after: Option<DurationMs>,
    },
}

impl Project {
    /// Handles what came of an errand. That of one which is not waited for any more changes nothing.
    pub fn handle_errand(&mut self, now: TimestampMs, errand: &Errand, outcome: ErrandOutcome) {
        if let ErrandOutcome::Unanswered { after, detail } = outcome {
            self.note_trouble(errand, &detail);
            self.errands.retry(now, errand, after);
            self.settle(now);
            return;
        }
        match (errand, outcome) {
            (Errand::Register, ErrandOutcome::Done) => {
                self.head.registered = true;
                self.head_changed = true;
                self.errands.end(errand);
            }
            (Errand::CheckUpload, ErrandOutcome::UploadFound) => {
                if self.head.upload.complete(now, CompletedBy::Edge) {
                    self.head_changed = true;
                    self.tell(now, EventName::UploadCompleted, None);
                }
                self.errands.end(errand);
            }
            (Errand::CheckUpload, ErrandOutcome::UploadMissing) => {
                if self.head.upload.missed(now) {
                    self.tell(now, EventName::UploadAbandoned, None);
                }
                self.head_changed = true;
                self.errands.end(errand);
            }
            (Errand::CheckUpload, ErrandOutcome::UploadSpoilt) => {
                self.upload_is_spoilt(now);
                self.errands.end(errand);
            }
            (Errand::SweepUpload, ErrandOutcome::Done) => {
                if self.head.upload.swept() {
                    self.head_changed = true;
                }
                self.errands.end(errand);
            }
            (Errand::Transcribe(operation), outcome) => self.transcribed(now, *operation, outcome),
            (Errand::Dispatch(id), outcome) => self.dispatched(now, id, outcome),
            (Errand::Cancel(id), ErrandOutcome::Job(news)) => {
                if self.is_restoring(id) {
                    let is_live = news.state == JobNewsState::Live;
                    self.apply_job(now, id, &news);
                    if is_live {
                        self.errands.retry(now, errand, Some(CANCEL_AGAIN_AFTER));
                    }
                }
            }
            (Errand::Reconcile(id), ErrandOutcome::Job(news)) => {
                if self.is_restoring(id) {
                    self.apply_job(now, id, &news);
                }
                self.errands.end(errand);
            }
            (Errand::Cancel(id) | Errand::Reconcile(id), ErrandOutcome::JobMissing) => {
                if self.is_restoring(id) {
                    self.fail_audio(now, id, job_is_gone());
                }
                self.errands.end(errand);
            }
            (Errand::RecordUsage(id), ErrandOutcome::Done) => {
                if let Some(generation) = self.generations.get_mut(id)
                    && generation.usage == UsageState::Owed
                {
                    generation.usage = UsageState::Recorded;
                    self.changed.insert(id.clone());
                }
                self.errands.end(errand);
            }
            (Errand::Announce(sequence), ErrandOutcome::Done) => {
                if self.untold.remove(sequence) {
                    self.effects.push(Effect::Told(*sequence));
                }
                self.errands.end(errand);
            }
            // An answer to another question: asked again.
            _ => self.errands.retry(now, errand, None),
        }
        self.settle(now);
    }

    fn dispatched(&mut self, now: TimestampMs, id: &GenerationId, outcome: ErrandOutcome) {
        let errand = Errand::Dispatch(id.clone());
        let is_dispatching =
            self.generations.get(id).is_some_and(|g| matches!(g.audio, Audio::Dispatching { .. }));
        match outcome {
            _ if !is_dispatching => self.errands.end(&errand),
            ErrandOutcome::Job(news) => {
                self.apply_job(now, id, &news);
                self.errands.end(&errand);
            }
            ErrandOutcome::NotTaken { after: Some(after), failure } => {
                if let Some(generation) = self.generations.get_mut(id)
                    && let Audio::Dispatching { trouble, .. } = &mut generation.audio
                {
                    *trouble = Some(failure.message);
                    self.changed.insert(id.clone());
                }
                self.errands.retry(now, &errand, Some(after));
            }
            ErrandOutcome::NotTaken { after: None, failure } => {
                self.fail_audio(now, id, failure);
                self.errands.end(&errand);
            }
            _ => self.errands.retry(now, &errand, None),
        }
    }

    fn transcribed(&mut self, now: TimestampMs, operation: u32, outcome: ErrandOutcome) {
        let errand = Errand::Transcribe(operation);
        let transcription = &mut self.head.transcription;
        if transcription.operation != operation || !transcription.is_running() {
            // The client gave a transcript meanwhile, or asked for another one.
            self.errands.end(&errand);
            return;
        }
        self.head_changed = true;
        self.errands.end(&errand);
        match outcome {
            ErrandOutcome::Transcribed(transcript) => {
                transcription.end(now, TranscriptionState::Done);
                transcription.failure = None;
                self.add_transcript(now, TranscriptSource::Recognizer, transcript);
            }
            ErrandOutcome::TranscriptionFailed { failure, retryable, after } => {
                let is_over = if retryable {
                    transcription.attempt_failed(now, failure, after)
                } else {
                    transcription.failure = Some(failure);
                    transcription.end(now, TranscriptionState::Failed);
                    true
                };
                if is_over {
                    self.no_transcript(now);
                }
            }
            _ => {}
        }
    }

    /// Every generation that waits for a recogniser's transcript goes without one. Its audio is not touched by that.
    pub(super) fn no_transcript(&mut self, now: TimestampMs) {
        let Some(failure) = self.head.transcription.failure.clone() else { return };
        for generation in self.generations.values_mut() {
            if generation.transcript == TranscriptPart::Waiting
                && generation.request.transcript == super::TranscriptMode::Required
            {
                generation.transcript = TranscriptPart::Failed { at: now, failure: failure.clone() };
                self.changed.insert(generation.id.clone());
            }
        }
        self.tell(now, EventName::TranscriptionFailed, None);
    }

    fn is_restoring(&self, id: &GenerationId) -> bool {
        self.generations.get(id).is_some_and(|g| matches!(g.audio, Audio::Restoring { .. }))
    }

    fn fail_audio(&mut self, now: TimestampMs, id: &GenerationId, failure: Failure) {
        if let Some(generation) = self.generations.get_mut(id) {
            generation.audio = Audio::Failed { at: now, failure };
            self.changed.insert(id.clone());
        }
    }

    /// Shows why the scheduler does not take a job yet, once it is more than a hiccup.
    fn note_trouble(&mut self, errand: &Errand, detail: &str) {
        let Errand::Dispatch(id) = errand else { return };
        if self.errands.failures(errand) < 3 {
            return;
        }
        if let Some(generation) = self.generations.get_mut(id)
            && let Audio::Dispatching { trouble, .. } = &mut generation.audio
            && trouble.as_deref() != Some(detail)
        {
            *trouble = Some(detail.to_owned());
            self.changed.insert(id.clone());
        }
    }
}

fn job_is_gone() -> Failure {
    Failure {
        code: "job_missing".to_owned(),
        message: "the scheduler does not know the job any more".to_owned(),
        advice: "Ask for another generation. If it happens again, report it to the operator.".to_owned(),
    }
}
