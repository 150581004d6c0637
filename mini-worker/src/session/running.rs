//! What the session knows of one attempt that runs here: how far it is, what the scheduler was told of it, and whether
//! it is being stopped.

use shared_protocol::limits::MAX_SEGMENTS_PER_PROGRESS;
use shared_protocol::{
    Assign, Attempt, DurationMs, HlsSegment, JobId, Phase, Progress, Sampler, SamplerSpeed, TimestampMs,
};

/// Progress within a phase goes out at most this often; phase changes and the first segment go at once.
const PROGRESS_INTERVAL: DurationMs = DurationMs(250);

/// Segments go out at most this often, but the first ones at once: each time is a row that the scheduler writes. It is half
/// a segment's length, and a listener has at least the first segment to hear meanwhile.
const ANNOUNCE_INTERVAL: DurationMs = DurationMs(2_000);

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

#[derive(Debug)]
pub(super) struct Running {
    sampler: Sampler,
    /// Until somebody has looked into the upload.
    guessed_audio_seconds: f64,
    latest: Option<(Phase, f64)>,
    audio_seconds: Option<f64>,
    segments: Vec<HlsSegment>,
    /// So many of `segments` were sent on this connection.
    announced: usize,
    last_announced: Option<TimestampMs>,
    unsent: bool,
    urgent: bool,
    last_sent: Option<TimestampMs>,
    pub stopping: Option<StopCause>,
}

impl Running {
    /// An attempt that was accepted just now.
    pub fn new(assign: &Assign) -> Self {
        Self {
            sampler: assign.sampler,
            guessed_audio_seconds: assign.source.guessed_audio_seconds(),
            latest: None,
            audio_seconds: None,
            segments: Vec::new(),
            announced: 0,
            last_announced: None,
            unsent: false,
            urgent: false,
            last_sent: None,
            stopping: None,
        }
    }

    /// Expected seconds of inference, as long as the model does not know of this attempt: it does when somebody has looked
    /// into the upload.
    pub fn inference_ahead(&self, speeds: &[SamplerSpeed]) -> f64 {
        if self.audio_seconds.is_some() || self.phase() >= Phase::Restoring {
            return 0.0;
        }
        let speed = speeds.iter().find(|speed| speed.sampler == self.sampler);
        speed.map_or(0.0, |speed| self.guessed_audio_seconds / speed.audio_seconds_per_second.max(0.01))
    }

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
        self.last_announced = None;
        self.unsent = self.latest.is_some();
        self.urgent = self.unsent;
    }

    /// When its progress is to be sent; none when there is nothing new.
    pub fn progress_due(&self) -> Option<TimestampMs> {
        let news = match self.last_sent {
            _ if !self.unsent => None,
            Some(last) if !self.urgent => Some(last + PROGRESS_INTERVAL),
            _ => Some(TimestampMs(0)),
        };
        news.into_iter().chain(self.announcement_due()).min()
    }

    /// When segments are to be announced; none when all were.
    fn announcement_due(&self) -> Option<TimestampMs> {
        let some_wait = self.announced < self.segments.len();
        some_wait.then(|| self.last_announced.map_or(TimestampMs(0), |last| last + ANNOUNCE_INTERVAL))
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
        let announcing = self.announcement_due().is_some_and(|due| due <= now);
        let messages = if announcing {
            self.segments[self.announced..].chunks(MAX_SEGMENTS_PER_PROGRESS).map(message).collect()
        } else {
            vec![message(&[])]
        };
        if announcing {
            self.announced = self.segments.len();
            self.last_announced = Some(now);
        }
        self.unsent = false;
        self.urgent = false;
        self.last_sent = Some(now);
        messages
    }
}
