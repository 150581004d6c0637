//! Where the time of a generation went: its intervals from the first request to the last, and how long any of them ran.

use serde::{Deserialize, Serialize};
use shared_protocol::{DurationMs, GenerationId, JobId, Sampler, TimestampMs};

use super::super::view::JobView;
use super::call::TimelineFacts;
use crate::outbox::{Callback, EventKind};
use crate::project::{Audio, Ending, TranscriptPart, UploadState};

/// Whose time it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "TimelineOwner"))]
#[serde(rename_all = "snake_case")]
pub enum Owner {
    /// The client's: until its recording is there.
    Client,
    /// The operator's recogniser's.
    Recognizer,
    /// The model's.
    Inference,
    /// Ours.
    Fleet,
}

/// Something that took time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "TimelineInterval"))]
#[serde(rename_all = "camelCase")]
pub struct Interval {
    /// What was done: `client_upload`, `transcription`, `dispatch`, `queue`, the worker's own phases, `completion`.
    pub phase: String,
    /// Whose time it is.
    pub owner: Owner,
    /// When it began.
    pub start_ms: TimestampMs,
    /// When it ended; now, while it runs.
    pub end_ms: TimestampMs,
}

/// How long something took.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "TimelinePhase"))]
#[serde(rename_all = "camelCase")]
pub struct PhaseTotal {
    /// What.
    pub phase: String,
    /// Whose time it is.
    pub owner: Owner,
    /// Time in which it ran; where it ran several times at once that time counts once.
    pub busy_ms: DurationMs,
}

/// Answer to `GET /v1/projects/{projectId}/generations/{generationId}/timeline`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TimelineView {
    /// The generation.
    pub generation_id: GenerationId,
    /// Its job.
    pub job_id: JobId,
    /// How it was restored.
    pub sampler: Sampler,
    /// Length of the recording.
    pub audio_seconds: Option<f64>,
    /// The earliest start.
    pub start_ms: TimestampMs,
    /// The latest end.
    pub end_ms: TimestampMs,
    /// In order of their starts. They overlap.
    pub intervals: Vec<Interval>,
    /// Each phase's time.
    pub totals: Vec<PhaseTotal>,
    /// Time in which anything ran at all: overlaps count once.
    pub covered_ms: DurationMs,
    /// Time in which neither client nor recogniser nor model worked: the part that a faster fleet could save.
    pub fleet_only_ms: DurationMs,
}

impl TimelineView {
    /// The timeline of a generation; `job` is as the scheduler has it, where it does, and `callbacks` are what webhooks were told of
    /// it.
    pub fn of(
        facts: &TimelineFacts,
        job: Option<&JobView>,
        callbacks: &[Callback],
        now: TimestampMs,
    ) -> Self {
        let mut intervals = project_intervals(facts, now);
        intervals.extend(job.into_iter().flat_map(|job| job_intervals(job, now)));
        if let Some(completion) = completion(facts) {
            intervals.push(completion);
        }
        intervals.extend(callbacks.iter().flat_map(|callback| callback_intervals(callback, facts)));
        intervals.retain(|interval| interval.end_ms >= interval.start_ms);
        intervals.sort_by_key(|interval| (interval.start_ms, interval.end_ms));
        let start_ms = intervals.iter().map(|interval| interval.start_ms).min().unwrap_or(now);
        let end_ms = intervals.iter().map(|interval| interval.end_ms).max().unwrap_or(now);
        let generation = &facts.generation;
        Self {
            generation_id: generation.id.clone(),
            job_id: generation.job_id.clone(),
            sampler: generation.request.sampler,
            audio_seconds: job.and_then(|job| job.audio_seconds),
            start_ms,
            end_ms,
            totals: totals(&intervals),
            covered_ms: covered(intervals.iter()),
            fleet_only_ms: fleet_only(&intervals),
            intervals,
        }
    }
}

fn interval(phase: &str, owner: Owner, start: TimestampMs, end: TimestampMs) -> Interval {
    Interval { phase: phase.to_owned(), owner, start_ms: start, end_ms: end }
}

fn project_intervals(facts: &TimelineFacts, now: TimestampMs) -> Vec<Interval> {
    let TimelineFacts { head, generation } = facts;
    let mut all = Vec::new();
    let uploaded_at = match head.upload.state {
        UploadState::Complete { at, .. } => Some(at),
        UploadState::Abandoned { .. } => None,
        UploadState::Pending | UploadState::Arrived { .. } => Some(now),
    };
    // Of a later generation the upload was over before.
    if let Some(at) = uploaded_at.filter(|at| *at >= generation.created_at || generation.sequence == 1) {
        all.push(interval("client_upload", Owner::Client, head.upload.announced_at, at));
    }
    let transcription = &head.transcription;
    let concerns = generation.transcript != TranscriptPart::NotNeeded;
    if let Some(start) = transcription.started_at.filter(|_| concerns) {
        let begins = uploaded_at.map_or(start, |at| start.max(at));
        all.push(interval("transcription", Owner::Recognizer, begins, transcription.ended_at.unwrap_or(now)));
    }
    let asked_at = uploaded_at.map_or(generation.created_at, |at| at.max(generation.created_at));
    match &generation.audio {
        Audio::Dispatching { since, .. } => all.push(interval("dispatch", Owner::Fleet, *since, now)),
        Audio::Restoring { since, .. } => all.push(interval("dispatch", Owner::Fleet, asked_at, *since)),
        Audio::Ready(ready) => all.push(interval("dispatch", Owner::Fleet, asked_at, ready.queued_at)),
        _ => {}
    }
    all
}

/// From the publication, as the scheduler knows it, to the generation's end, where nothing but us was waited for.
fn completion(facts: &TimelineFacts) -> Option<Interval> {
    let generation = &facts.generation;
    let ended_at = generation.ended_at.filter(|_| generation.ending == Some(Ending::Completed))?;
    let Audio::Ready(ready) = &generation.audio else { return None };
    let transcript_at = match generation.transcript {
        TranscriptPart::Ready { at, .. } => at,
        _ => TimestampMs(0),
    };
    Some(interval("completion", Owner::Fleet, ready.at.max(transcript_at), ended_at))
}

/// From the generation's news to the webhook's first call, and from there to its acknowledgement. What is told of the job alone is no
/// news of the generation.
fn callback_intervals(callback: &Callback, facts: &TimelineFacts) -> Vec<Interval> {
    use EventKind::{AudioReady, GenerationCancelled, GenerationCompleted, GenerationFailed};
    if !matches!(callback.kind, AudioReady | GenerationCompleted | GenerationFailed | GenerationCancelled) {
        return Vec::new();
    }
    let end = callback.acknowledged_at.unwrap_or(callback.ended_at);
    let mut all = vec![interval("callbacks", Owner::Client, callback.first_attempt_at, end)];
    if let Some(ended_at) = facts.generation.ended_at.filter(|_| callback.kind.is_terminal()) {
        all.push(interval("callback_dispatch", Owner::Fleet, ended_at, callback.first_attempt_at));
    }
    all
}

fn job_intervals(job: &JobView, now: TimestampMs) -> Vec<Interval> {
    let mut all = vec![interval(
        "queue",
        Owner::Fleet,
        job.created_at_ms,
        job.attempt_started_at_ms.or(job.ended_at_ms).unwrap_or(now),
    )];
    let Some(start) = job.attempt_started_at_ms else { return all };
    for timing in &job.timings {
        let owner = if timing.phase == "inference" { Owner::Inference } else { Owner::Fleet };
        all.push(interval(&timing.phase, owner, start + timing.start_ms, start + timing.end_ms));
    }
    // From the last thing that the worker told of to what the scheduler made of it.
    let last = job.timings.iter().map(|timing| start + timing.end_ms).max();
    if let (Some(last), Some(ended)) = (last, job.ended_at_ms) {
        all.push(interval("report", Owner::Fleet, last.min(ended), ended));
    }
    all
}

fn totals(intervals: &[Interval]) -> Vec<PhaseTotal> {
    let mut phases: Vec<(&str, Owner)> = Vec::new();
    for interval in intervals {
        if !phases.iter().any(|(phase, _)| *phase == interval.phase) {
            phases.push((&interval.phase, interval.owner));
        }
    }
    let total = |(phase, owner): (&str, Owner)| PhaseTotal {
        phase: phase.to_owned(),
        owner,
        busy_ms: covered(intervals.iter().filter(|interval| interval.phase == phase)),
    };
    phases.into_iter().map(total).collect()
}

/// Time in which at least one of the intervals ran.
pub fn covered<'a>(intervals: impl Iterator<Item = &'a Interval>) -> DurationMs {
    covered_spans(intervals.map(|interval| (interval.start_ms.0, interval.end_ms.0)).collect())
}

/// As [`covered`], of starts and ends in milliseconds.
pub fn covered_spans(mut spans: Vec<(u64, u64)>) -> DurationMs {
    spans.sort_unstable();
    let (mut total, mut reached) = (0, 0);
    for (start, end) in spans {
        let start = start.max(reached);
        if end > start {
            total += end - start;
            reached = end;
        }
    }
    DurationMs(total)
}

/// Time in which we worked and nobody else did.
fn fleet_only(intervals: &[Interval]) -> DurationMs {
    let all = covered(intervals.iter());
    let others = covered(intervals.iter().filter(|interval| interval.owner != Owner::Fleet));
    // All that is covered is covered by us alone or by others too.
    DurationMs(all.0.saturating_sub(others.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(phase: &str, owner: Owner, start: u64, end: u64) -> Interval {
        interval(phase, owner, TimestampMs(start), TimestampMs(end))
    }

    #[test]
    fn what_overlaps_is_not_counted_twice() {
        let intervals = [
            at("uploading", Owner::Fleet, 0, 10),
            at("uploading", Owner::Fleet, 5, 12),
            at("uploading", Owner::Fleet, 6, 7),
            at("inference", Owner::Inference, 8, 20),
            at("uploading", Owner::Fleet, 30, 40),
        ];
        assert_eq!(covered(intervals.iter()), DurationMs(30));
        assert_eq!(totals(&intervals).first().unwrap().busy_ms, DurationMs(22));
        assert_eq!(fleet_only(&intervals), DurationMs(18), "0 to 8 and 30 to 40");
    }
}
