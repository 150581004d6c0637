//! The inference thread: owns the engine and the sessions' state, and restores one window after the other.

use super::channel::Channel;
use super::engine::{Engine, EngineError};
use super::handle::{Readiness, RestoreSpec, Restored};
use super::queue::{Claim, Queue, Scheduling};
use super::sampler::repeated_seconds;
use super::speed::{Speed, Speeds};
use super::{InferenceError, Planar, SAMPLE_RATE};
use shared_protocol::Sampler;
use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::oneshot;

/// Length of the warm-up's windows, samples: 2 s, what jobs send.
const WARM_UP_SAMPLES: usize = 2 * SAMPLE_RATE as usize;

/// Where the answer to a window goes.
pub(super) type Reply = oneshot::Sender<Result<Restored, InferenceError>>;

/// What handles ask of the thread.
pub(super) enum Command {
    /// Make a session.
    Open { spec: RestoreSpec, reply: oneshot::Sender<Result<u64, InferenceError>> },
    /// Restore a window of a session, or its rest.
    Work { session: u64, work: Work, asked: Instant, reply: Reply },
    /// Free a session.
    Close { session: u64 },
    /// End the thread.
    Stop,
}

/// What is to be done for a session.
pub(super) enum Work {
    /// Restore these samples.
    Window(Planar),
    /// The recording has ended: restore what is held back.
    Rest,
}

/// Figures that handles read without asking.
#[derive(Debug, Default)]
pub(super) struct Shared {
    backlog: AtomicU64,
    flash_factor: AtomicU64,
    pro_factor: AtomicU64,
    waiting: AtomicU64,
    windows: AtomicU64,
    busy_microseconds: AtomicU64,
}

impl Shared {
    pub(super) fn backlog_seconds(&self) -> f64 {
        f64::from_bits(self.backlog.load(Ordering::Relaxed))
    }

    pub(super) fn real_time_factor(&self, sampler: Sampler) -> f64 {
        f64::from_bits(self.factor(sampler).load(Ordering::Relaxed))
    }

    fn factor(&self, sampler: Sampler) -> &AtomicU64 {
        match sampler {
            Sampler::Flash => &self.flash_factor,
            Sampler::Pro => &self.pro_factor,
        }
    }

    pub(super) fn waiting(&self) -> u64 {
        self.waiting.load(Ordering::Relaxed)
    }

    pub(super) fn windows(&self) -> u64 {
        self.windows.load(Ordering::Relaxed)
    }

    pub(super) fn busy(&self) -> Duration {
        Duration::from_micros(self.busy_microseconds.load(Ordering::Relaxed))
    }

    fn worked(&self, time: Duration) {
        let microseconds = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.busy_microseconds.fetch_add(microseconds, Ordering::Relaxed);
        self.windows.fetch_add(1, Ordering::Relaxed);
    }
}

struct Session<S> {
    spec: RestoreSpec,
    /// `None` after a failure.
    channels: Option<Vec<Channel<S>>>,
    /// Samples of each channel so far, and whether there will be more.
    taken: u64,
    finished: bool,
    /// Whether samples were given back: then somebody can listen.
    heard: bool,
    waiting: Option<Waiting>,
}

struct Waiting {
    work: Work,
    asked: Instant,
    reply: Reply,
}

impl<S> Session<S> {
    /// Seconds of audio, all channels together, that are still to come; `None` when that is unknown.
    fn audio_left(&self) -> Option<f64> {
        if self.finished || self.channels.is_none() {
            return Some(0.0);
        }
        let expected = self.spec.expected_samples?;
        let here = match &self.waiting {
            Some(Waiting { work: Work::Window(window), .. }) => samples(window),
            _ => 0,
        };
        let left = audio_seconds(expected.saturating_sub(self.taken).max(here), self.spec.channels);
        Some(left + self.audio_repeated())
    }

    /// What is restored twice, as long as that is still to come.
    fn audio_repeated(&self) -> f64 {
        if self.heard {
            return 0.0;
        }
        repeated_seconds(self.spec.sampler) * self.spec.channels as f64
    }

    /// The part of it that is known for certain: the window that waits.
    fn audio_waiting(&self) -> f64 {
        match &self.waiting {
            Some(Waiting { work: Work::Window(window), .. }) => audio_seconds(samples(window), window.len()),
            _ => 0.0,
        }
    }
}

fn samples(window: &Planar) -> u64 {
    window.first().map_or(0, Vec::len) as u64
}

fn audio_seconds(samples: u64, channels: usize) -> f64 {
    samples as f64 * channels as f64 / f64::from(SAMPLE_RATE)
}

/// The thread's body.
pub(super) fn run<E: Engine>(
    load: impl Fn() -> Result<E, EngineError>,
    (front_end, scheduling): (bool, Scheduling),
    inbox: UnboundedReceiver<Command>,
    shared: &Shared,
    ready: oneshot::Sender<Result<Readiness, InferenceError>>,
) {
    match Worker::start(load, front_end, scheduling, shared) {
        Ok((worker, readiness)) => {
            // When nobody waits for readiness any more, the inbox is closed as well and the loop ends.
            if ready.send(Ok(readiness)).is_ok() {
                worker.serve(inbox);
            }
        }
        Err(error) => {
            if ready.send(Err(error)).is_err() {
                tracing::debug!("inference could not start, and nobody waits for it any more");
            }
        }
    }
}

struct Worker<'a, E: Engine, L> {
    load: L,
    /// `None` after a crash, until it could be loaded again.
    engine: Option<E>,
    front_end: bool,
    sessions: BTreeMap<u64, Session<E::Stream>>,
    opened: u64,
    queue: Queue,
    speeds: Speeds,
    started: Instant,
    shared: &'a Shared,
}

impl<'a, E: Engine, L: Fn() -> Result<E, EngineError>> Worker<'a, E, L> {
    fn start(
        load: L,
        front_end: bool,
        scheduling: Scheduling,
        shared: &'a Shared,
    ) -> Result<(Self, Readiness), InferenceError> {
        let begin = Instant::now();
        let mut engine = guarded(&load)??;
        let loaded = begin.elapsed();
        let speeds = guarded(|| warm_up(&mut engine))??;
        let readiness = Readiness {
            engine: engine.name().to_owned(),
            load: loaded,
            warm_up: begin.elapsed() - loaded,
            real_time_factor: speeds.flash.real_time_factor(),
            pro_real_time_factor: speeds.pro.real_time_factor(),
            memory_bytes: engine.memory_bytes(),
        };
        let worker = Self {
            load,
            engine: Some(engine),
            front_end,
            sessions: BTreeMap::new(),
            opened: 0,
            queue: Queue::new(scheduling),
            speeds,
            started: begin,
            shared,
        };
        worker.publish();
        Ok((worker, readiness))
    }

    fn serve(mut self, mut inbox: UnboundedReceiver<Command>) {
        loop {
            // Everything that was asked meanwhile takes part in the choice of the next window.
            let command = if !self.queue.has_next() {
                inbox.blocking_recv()
            } else {
                match inbox.try_recv() {
                    Ok(command) => Some(command),
                    Err(TryRecvError::Disconnected) => None,
                    Err(TryRecvError::Empty) => {
                        self.restore_next();
                        continue;
                    }
                }
            };
            match command {
                Some(Command::Open { spec, reply }) => self.open(spec, reply),
                Some(Command::Work { session, work, asked, reply }) => {
                    self.enqueue(session, Waiting { work, asked, reply });
                }
                Some(Command::Close { session }) => {
                    self.queue.leave(session);
                    self.sessions.remove(&session);
                }
                Some(Command::Stop) | None => return,
            }
            self.publish();
        }
    }

    fn open(&mut self, spec: RestoreSpec, reply: oneshot::Sender<Result<u64, InferenceError>>) {
        let answer = self.engine().map(|_| ());
        let session = self.opened;
        let answer = answer.map(|()| session);
        let front_end = self.front_end;
        if let (Ok(_), Some(engine)) = (&answer, &self.engine) {
            let open = |_| {
                let channel = Channel::open(engine, spec.sampler, front_end);
                match &spec.transcript {
                    Some(transcript) => channel.conditioned_by(Arc::clone(transcript)),
                    None => channel,
                }
            };
            let channels = (0..spec.channels).map(open).collect();
            let opened = Session {
                spec,
                channels: Some(channels),
                taken: 0,
                finished: false,
                heard: false,
                waiting: None,
            };
            self.sessions.insert(session, opened);
            self.opened += 1;
        }
        // Whoever hears the answer finds its work in the backlog.
        self.publish();
        if reply.send(answer).is_err() {
            self.sessions.remove(&session);
        }
    }

    fn enqueue(&mut self, id: u64, waiting: Waiting) {
        let Some(session) = self.sessions.get_mut(&id).filter(|session| session.channels.is_some()) else {
            answer(waiting.reply, Err(InferenceError::Broken));
            return;
        };
        session.waiting = Some(waiting);
        let factor = self.speeds.real_time_factor(session.spec.sampler);
        let left = session.audio_left().map_or(f64::INFINITY, |audio| audio * factor);
        let environment_rank = session.spec.environment_rank;
        let claim = Claim { environment_rank, heard: session.heard, remaining_seconds: left };
        self.queue.push(id, claim, self.started.elapsed());
    }

    fn restore_next(&mut self) {
        let Some(id) = self.queue.pop(self.started.elapsed()) else { return };
        let Some(mut session) = self.sessions.remove(&id) else { return };
        if let (Some(Waiting { work, asked, reply }), Some(channels)) =
            (session.waiting.take(), session.channels.take())
        {
            // Nobody waits any more: the window is lost and with it the session, so the work can be saved.
            let result = if reply.is_closed() {
                None
            } else {
                Some(self.restore(work, channels, asked, &mut session))
            };
            if session.finished || session.channels.is_none() {
                self.queue.leave(id);
            }
            self.sessions.insert(id, session);
            self.publish();
            if let Some(result) = result {
                answer(reply, result);
            }
        }
    }

    /// Restores a window of all channels. The channels go back into the session only when all went well.
    fn restore(
        &mut self,
        work: Work,
        mut channels: Vec<Channel<E::Stream>>,
        asked: Instant,
        session: &mut Session<E::Stream>,
    ) -> Result<Restored, InferenceError> {
        let begin = Instant::now();
        let engine = self.engine()?;
        let taken = if let Work::Window(window) = &work { samples(window) } else { 0 };
        session.finished = matches!(work, Work::Rest);
        let result: Result<Result<Planar, EngineError>, _> = guarded(|| match work {
            Work::Window(window) => channels
                .iter_mut()
                .zip(window)
                .map(|(channel, samples)| channel.restore(engine, samples))
                .collect(),
            Work::Rest => channels.iter_mut().map(|channel| channel.finish(engine)).collect(),
        });
        let audio = match result {
            Ok(audio) => audio?,
            Err(panicked) => {
                // Whatever the panic left behind is not to be trusted.
                self.engine = None;
                return Err(panicked);
            }
        };
        let computed = begin.elapsed();
        session.taken += taken;
        let heard_before = session.heard;
        session.heard |= audio.iter().any(|channel| !channel.is_empty());
        self.shared.worked(computed);
        // Until something was heard, windows were only held or held ones were restored along: no measure of speed.
        if heard_before {
            self.speeds.observe(session.spec.sampler, computed, audio_seconds(taken, channels.len()));
        }
        session.channels = Some(channels);
        Ok(Restored { audio, waited: begin.duration_since(asked), computed })
    }

    /// The engine, loaded again after a crash.
    fn engine(&mut self) -> Result<&mut E, InferenceError> {
        let engine = match self.engine.take() {
            Some(engine) => engine,
            None => guarded(&self.load)??,
        };
        Ok(self.engine.insert(engine))
    }

    fn publish(&self) {
        let work = |session: &Session<E::Stream>| {
            let audio = session.audio_left().unwrap_or_else(|| session.audio_waiting());
            audio * self.speeds.real_time_factor(session.spec.sampler)
        };
        let work: f64 = self.sessions.values().map(work).sum();
        self.shared.backlog.store(work.to_bits(), Ordering::Relaxed);
        for sampler in [Sampler::Flash, Sampler::Pro] {
            let factor = self.speeds.real_time_factor(sampler);
            self.shared.factor(sampler).store(factor.to_bits(), Ordering::Relaxed);
        }
        self.shared.waiting.store(self.queue.len() as u64, Ordering::Relaxed);
    }
}

fn answer(reply: Reply, result: Result<Restored, InferenceError>) {
    if reply.send(result).is_err() {
        tracing::debug!("a window's answer came after its session was dropped");
    }
}

/// Runs the model on the shapes that jobs have: the first windows make it take its memory (at the very first the front end
/// holds a second back), the third is measured, and the end of a recording has its own shapes. `pro` uses the same shapes, so
/// that one window before the measured one is enough.
fn warm_up<E: Engine>(engine: &mut E) -> Result<Speeds, EngineError> {
    let noise = quiet_noise();
    let mut channel = Channel::open_under_way(engine, Sampler::Flash);
    channel.restore(engine, noise.clone())?;
    let flash = measure(engine, &mut channel, &noise)?;
    channel.finish(engine)?;
    let mut channel = Channel::open_under_way(engine, Sampler::Pro);
    Ok(Speeds { flash, pro: measure(engine, &mut channel, &noise)? })
}

/// Measures the second of two windows.
fn measure<E: Engine>(
    engine: &mut E,
    channel: &mut Channel<E::Stream>,
    noise: &[f32],
) -> Result<Speed, EngineError> {
    channel.restore(engine, noise.to_vec())?;
    let begin = Instant::now();
    channel.restore(engine, noise.to_vec())?;
    let work = begin.elapsed().max(Duration::from_nanos(1));
    Ok(Speed::measured(work, WARM_UP_SAMPLES as f64 / f64::from(SAMPLE_RATE)))
}

/// Noise of about -37 dBFS, the same at every start (a linear congruential generator, Numerical Recipes' constants).
fn quiet_noise() -> Vec<f32> {
    let mut state = 1u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..WARM_UP_SAMPLES).map(|_| 0.025 * next()).collect()
}

/// Turns a panic into an error.
fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, InferenceError> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| InferenceError::Panicked(message(&*panic)))
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}
