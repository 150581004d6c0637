//! What follows from the state: which generations go on or end, and what is asked of others.

use std::collections::BTreeMap;

use shared_protocol::{GenerationId, TimestampMs, Transcript};

use super::errand::{self, Errand};
use super::generation::{Audio, Ending, Failure, Joined, TranscriptMode, TranscriptPart, UsageState};
use super::transcript::{TranscriptSource, TranscriptVersion, TranscriptionState};
use super::upload::UploadState;
use super::{Effect, EventName, Head, Project, ProjectEvent, RECONCILE_AFTER};
use crate::digest;

impl Project {
    pub(super) fn add_transcript(
        &mut self,
        now: TimestampMs,
        source: TranscriptSource,
        transcript: Transcript,
    ) -> u32 {
        let version = self.head.transcripts.last().map_or(1, |last| last.version + 1);
        self.head.transcripts.push(TranscriptVersion {
            version,
            source,
            at: now,
            words: u32::try_from(transcript.words.len()).unwrap_or(u32::MAX),
            language: transcript.language.clone(),
            fingerprint: digest::of_json(&transcript).ok(),
        });
        self.head_changed = true;
        self.effects.push(Effect::SaveTranscript { version, transcript });
        self.tell(now, EventName::TranscriptUpdated, None);
        version
    }

    pub(super) fn tell(&mut self, now: TimestampMs, name: EventName, generation: Option<&GenerationId>) {
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
    pub(super) fn settle(&mut self, now: TimestampMs) {
        if self.head.transcription.is_running()
            && matches!(self.head.upload.state, UploadState::Abandoned { .. })
        {
            self.head.transcription.failure = Some(upload_abandoned());
            self.head.transcription.end(now, TranscriptionState::Failed);
            self.head_changed = true;
            self.no_transcript(now);
        }
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
                generation.audio = Audio::Failed { at, failure: upload_abandoned() };
            }
        }
        if let Some(latest) = latest.filter(|_| generation.takes_transcript()) {
            generation.transcript = TranscriptPart::Ready { version: latest.version, at: latest.at };
        }
        let joined = generation.join(now);
        if *generation != before {
            self.changed.insert(id.clone());
        }
        if let Joined::Ended(ending) = joined {
            let name = match ending {
                Ending::Completed => EventName::Completed,
                Ending::Failed => EventName::Failed,
                Ending::Cancelled => EventName::Cancelled,
            };
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

/// Why a recording that never came is neither restored nor transcribed.
fn upload_abandoned() -> Failure {
    Failure {
        code: "upload_abandoned".to_owned(),
        message: "the recording did not arrive in time".to_owned(),
        advice: "Make a new project and put its content.".to_owned(),
    }
}
