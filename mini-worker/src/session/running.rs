//! What the session knows of one attempt that runs here: how far it is, what the scheduler was told of it, and whether
//! it is being stopped.

use shared_protocol::limits::MAX_SEGMENTS_PER_PROGRESS;
use shared_protocol::{Attempt, DurationMs, HlsSegment, JobId, Phase, Progress, TimestampMs};

/// Progress within a phase goes out at most this often; phase changes and the first segment go at once.
const PROGRESS_INTERVAL: DurationMs = DurationMs(250);

/// How far an attempt is, as its pipeline reports it. Latest wins, but segments add up.
#[derive(Debug, Clone, PartialEq)]
pub struct ProgressUpdate {
    /// What is being done.
    pub phase: Phase,
    /// How much of the whole job is done, 0 to 1.
    pub fraction: f64,
    /// Length of the recording, once known.
    pub audio_seconds: Option<f64>,
    /// Segments stored since the last update, in order and without gaps.
    pub segments: Vec<HlsSegment>,
}

/// Why an attempt is being stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopCause {
    /// The scheduler cancelled it, or offered a newer attempt of the same job.
    Cancelled,
    /// The worker stops and hands its jobs back.
    HandBack,
}

#[derive(Debug, Default)]
pub(super) struct Running {
    latest: Option<(Phase, f64)>,
    audio_seconds: Option<f64>,
    segments: Vec<HlsSegment>,
    /// So many of `segments` were sent on this connection.
    announced: usize,
    unsent: bool,
    urgent: bool,
    last_sent: Option<TimestampMs>,
    pub stopping: Option<StopCause>,
}

impl Running {
    pub fn update(&mut self, update: ProgressUpdate) {
        let ProgressUpdate { phase, fraction, audio_seconds, segments } = update;
        let fraction = if fraction.is_finite() { fraction.clamp(0.0, 1.0) } else { 0.0 };
        self.urgent |= self.latest.is_none_or(|(before, _)| before != phase);
        self.urgent |= self.segments.is_empty() && !segments.is_empty();
        self.latest = Some((phase, fraction));
        self.audio_seconds = audio_seconds.or(self.audio_seconds);
        self.segments.extend(segments);
        self.unsent = true;
    }

    /// What is being done.
    pub fn phase(&self) -> Phase {
        self.latest.map_or(Phase::Downloading, |(phase, _)| phase)
    }

    /// A new connection: messages of the old one may be lost, so everything is announced again. A segment that the
    /// scheduler knows changes nothing there.
    pub fn start_over(&mut self) {
        self.announced = 0;
        self.unsent = self.latest.is_some();
        self.urgent = self.unsent;
    }

    /// When its progress is to be sent; none when there is nothing new.
    pub fn progress_due(&self) -> Option<TimestampMs> {
        match self.last_sent {
            _ if !self.unsent => None,
            Some(last) if !self.urgent => Some(last + PROGRESS_INTERVAL),
            _ => Some(TimestampMs(0)),
        }
    }

    /// The progress messages that are due, with all segments not announced yet.
    pub fn take_progress(&mut self, now: TimestampMs, job_id: &JobId, attempt: Attempt) -> Vec<Progress> {
        let (Some((phase, fraction)), Some(due)) = (self.latest, self.progress_due()) else {
            return Vec::new();
        };
        if due > now {
            return Vec::new();
        }
        let message = |segments: &[HlsSegment]| Progress {
            job_id: job_id.clone(),
            attempt,
            phase,
            fraction,
            audio_seconds: self.audio_seconds,
            segments: segments.to_vec(),
        };
        let fresh = &self.segments[self.announced..];
        let messages = if fresh.is_empty() {
            vec![message(&[])]
        } else {
            fresh.chunks(MAX_SEGMENTS_PER_PROGRESS).map(message).collect()
        };
        self.announced = self.segments.len();
        self.unsent = false;
        self.urgent = false;
        self.last_sent = Some(now);
        messages
    }
}
