//! What the scheduler says of the job of a generation.

use serde::{Deserialize, Serialize};
use shared_protocol::{Attempt, GenerationId, JobId, PhaseTiming, TimestampMs};

use super::generation::{Audio, Failure, ReadyAudio, UsageState};
use super::{EventName, Project};

/// How a job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum JobNewsState {
    /// It waits, or runs.
    Live,
    /// Its audio is published.
    Completed,
    /// It has none, and gets none unless an operator puts it back.
    Failed,
    /// It was cancelled.
    Cancelled,
}

/// A job, as far as a generation needs to know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobNews {
    /// Which.
    pub job_id: JobId,
    /// How it is.
    pub state: JobNewsState,
    /// When the scheduler had it.
    pub created_at: TimestampMs,
    /// When a worker began.
    pub started_at: Option<TimestampMs>,
    /// When something could be heard first.
    pub first_audio_at: Option<TimestampMs>,
    /// Length of the recording.
    pub audio_seconds: Option<f64>,
    /// The attempt that made the result.
    pub attempt: Attempt,
    /// Where its time went.
    pub timings: Vec<PhaseTiming>,
    /// Why it failed.
    pub failure: Option<Failure>,
}

impl Project {
    /// Handles an event of a job. `sequence` numbers the scheduler's news: one that arrives after a later one changes nothing.
    pub fn handle_job(&mut self, now: TimestampMs, news: &JobNews, sequence: u64) {
        let Some(generation) = self.generations.values_mut().find(|g| g.job_id == news.job_id) else {
            return;
        };
        if sequence <= generation.news_sequence {
            return;
        }
        generation.news_sequence = sequence;
        let id = generation.id.clone();
        self.changed.insert(id.clone());
        self.apply_job(now, &id, news);
        self.settle(now);
    }

    /// Something followed on a job: its stems, or its quality.
    pub fn handle_follow_up(&mut self, now: TimestampMs, job_id: &JobId, name: EventName, sequence: u64) {
        let Some(generation) = self.generations.values_mut().find(|g| g.job_id == *job_id) else { return };
        if sequence <= generation.news_sequence {
            return;
        }
        generation.news_sequence = sequence;
        let id = generation.id.clone();
        self.changed.insert(id.clone());
        self.tell(now, name, Some(&id));
        self.settle(now);
    }

    /// Takes over how the job is. What has ended well stays so.
    pub(super) fn apply_job(&mut self, now: TimestampMs, id: &GenerationId, news: &JobNews) {
        let Some(generation) = self.generations.get_mut(id) else { return };
        let (was_started, was_playable) = match &generation.audio {
            Audio::Ready(_) | Audio::Cancelled { .. } | Audio::WaitingForUpload => return,
            Audio::Restoring { started_at, first_audio_at, .. } => {
                (started_at.is_some(), first_audio_at.is_some())
            }
            Audio::Dispatching { .. } | Audio::Failed { .. } => (false, false),
        };
        let was_queued = matches!(generation.audio, Audio::Restoring { .. });
        let mut names = Vec::new();
        if !was_queued {
            names.push(EventName::Queued);
        }
        if news.started_at.is_some() && !was_started {
            names.push(EventName::Started);
        }
        if news.first_audio_at.is_some() && !was_playable {
            names.push(EventName::Playable);
        }
        match news.state {
            JobNewsState::Live => {
                generation.audio = Audio::Restoring {
                    since: news.created_at,
                    started_at: news.started_at,
                    first_audio_at: news.first_audio_at,
                    heard_at: now,
                };
            }
            JobNewsState::Completed => {
                names.push(EventName::AudioReady);
                generation.audio = Audio::Ready(ReadyAudio {
                    at: now,
                    queued_at: news.created_at,
                    started_at: news.started_at,
                    first_audio_at: news.first_audio_at,
                    audio_seconds: news.audio_seconds.unwrap_or(0.0),
                    attempt: news.attempt,
                    timings: news.timings.clone(),
                });
                if generation.usage == UsageState::None {
                    generation.usage = UsageState::Owed;
                }
            }
            JobNewsState::Failed => {
                let failure = news.failure.clone().unwrap_or_else(|| Failure {
                    code: "internal".to_owned(),
                    message: "the job failed".to_owned(),
                    advice: String::new(),
                });
                generation.audio = Audio::Failed { at: now, failure };
            }
            JobNewsState::Cancelled => generation.audio = Audio::Cancelled { at: now },
        }
        self.changed.insert(id.clone());
        for name in names {
            self.tell(now, name, Some(id));
        }
    }
}
