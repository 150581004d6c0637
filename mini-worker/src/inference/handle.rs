//! What the rest of the worker holds of inference: handles whose calls are answered by the inference thread.

use super::engine::Engine;
#[cfg(any(target_os = "macos", feature = "mlx"))]
use super::mlx::MlxEngine;
use super::onnx::OnnxEngine;
use super::queue::Scheduling;
use super::selection::{EngineKind, Provider, Selection};
use super::thread::{Command, Reply, Shared, Work, run};
use super::{EngineError, InferenceError, Planar};
use crate::storage::Bundle;
use crate::transcript::Transcript;
use shared_protocol::Sampler;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};

/// The inference thread. Clones are handles to the same one; it ends when all handles and sessions are gone.
#[derive(Clone)]
pub struct Inference {
    commands: mpsc::UnboundedSender<Command>,
    shared: Arc<Shared>,
    thread: Arc<Mutex<Option<JoinHandle<()>>>>,
}

/// How to run inference.
#[derive(Debug, Clone)]
pub struct InferenceConfig {
    /// Threads that one operation of the model may use. One is best when several jobs run: decoding, encoding and
    /// uploading need the other cores.
    pub threads: usize,
    /// Whether recordings are brought into shape for the model (see [`super::front_end`]). Off only to compare the bare
    /// model with its reference.
    pub front_end: bool,
    /// Who is next at the model.
    pub scheduling: Scheduling,
    /// Which engine runs, and on what.
    pub selection: Selection,
}

impl Default for InferenceConfig {
    fn default() -> Self {
        Self {
            threads: 1,
            front_end: true,
            scheduling: Scheduling::default(),
            selection: Selection::default(),
        }
    }
}

/// What was found when the model was loaded.
#[derive(Debug, Clone)]
pub struct Readiness {
    /// Model, revision and runtime.
    pub engine: String,
    /// Time to load the model.
    pub load: Duration,
    /// Time to warm it up.
    pub warm_up: Duration,
    /// Seconds of work per second of audio of one channel with the sampler `flash`, measured at the warm-up.
    pub real_time_factor: f64,
    /// The same with the sampler `pro`.
    pub pro_real_time_factor: f64,
    /// Bytes that the engine's runtime holds after the warm-up, if it keeps count of them.
    pub memory_bytes: Option<u64>,
}

/// What a job says when it asks for restoration.
#[derive(Debug, Clone)]
pub struct RestoreSpec {
    /// 0 is production; larger numbers wait for smaller ones.
    pub environment_rank: u8,
    /// How to restore.
    pub sampler: Sampler,
    /// When words are spoken, if that is known.
    pub transcript: Option<Arc<Transcript>>,
    /// Number of channels; each is restored for itself.
    pub channels: usize,
    /// Length of each channel in samples, when it is known. Decides the order among jobs and the expected backlog.
    pub expected_samples: Option<u64>,
}

/// Restored samples, and how long they took.
#[derive(Debug)]
pub struct Restored {
    /// As many channels as the session has, all of one length, possibly zero.
    pub audio: Planar,
    /// Time in the queue.
    pub waited: Duration,
    /// Time in the model.
    pub computed: Duration,
}

/// The restoration of one recording, window by window. Dropping it cancels what it has waiting and frees its state.
pub struct RestoreSession {
    commands: mpsc::UnboundedSender<Command>,
    session: u64,
    channels: usize,
    state: SessionState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SessionState {
    Open,
    /// A window's answer is being waited for. Found at the start of a call, it means that an earlier call was dropped.
    InFlight,
    Finished,
}

impl Inference {
    /// Starts the thread, loads the model into the selected engine and warms it up on windows of the size that jobs use.
    pub async fn start(bundle: Bundle, config: InferenceConfig) -> Result<(Self, Readiness), InferenceError> {
        let threads = config.threads;
        let provider = config.selection.provider().map_err(EngineError::from)?;
        match config.selection.engine {
            EngineKind::Onnx => {
                Self::start_engine(config, move || OnnxEngine::load_on(&bundle, provider, threads)).await
            }
            EngineKind::Mlx => Self::start_mlx(bundle, config, provider).await,
        }
    }

    #[cfg(any(target_os = "macos", feature = "mlx"))]
    async fn start_mlx(
        bundle: Bundle,
        config: InferenceConfig,
        provider: Provider,
    ) -> Result<(Self, Readiness), InferenceError> {
        let precision = config.selection.precision;
        Self::start_engine(config, move || MlxEngine::load(&bundle, provider, precision)).await
    }

    #[cfg(not(any(target_os = "macos", feature = "mlx")))]
    async fn start_mlx(
        _: Bundle,
        _: InferenceConfig,
        _: Provider,
    ) -> Result<(Self, Readiness), InferenceError> {
        Err(EngineError::from(super::selection::SelectionError::NoMlx).into())
    }

    /// The same with any engine; `load` runs in the thread, and again after a crash. How many threads it uses is its own
    /// affair.
    pub async fn start_engine<E: Engine + 'static>(
        config: InferenceConfig,
        load: impl Fn() -> Result<E, EngineError> + Send + 'static,
    ) -> Result<(Self, Readiness), InferenceError> {
        let (commands, inbox) = mpsc::unbounded_channel();
        let (ready, readiness) = oneshot::channel();
        let shared = Arc::new(Shared::default());
        let thread = std::thread::Builder::new()
            .name("inference".to_owned())
            .spawn({
                let shared = Arc::clone(&shared);
                move || run(load, (config.front_end, config.scheduling), inbox, &shared, ready)
            })
            .map_err(InferenceError::Thread)?;
        let readiness = readiness.await.map_err(|_| InferenceError::Stopped)??;
        Ok((Self { commands, shared, thread: Arc::new(Mutex::new(Some(thread))) }, readiness))
    }

    /// Opens the restoration of a recording.
    pub async fn open(&self, spec: RestoreSpec) -> Result<RestoreSession, InferenceError> {
        if spec.channels == 0 {
            return Err(InferenceError::NoChannels);
        }
        let channels = spec.channels;
        let (reply, answer) = oneshot::channel();
        self.commands.send(Command::Open { spec, reply }).map_err(|_| InferenceError::Stopped)?;
        let session = answer.await.map_err(|_| InferenceError::Stopped)??;
        Ok(RestoreSession { commands: self.commands.clone(), session, channels, state: SessionState::Open })
    }

    /// Expected seconds of work left: the running window and everything that open sessions announced.
    pub fn backlog_seconds(&self) -> f64 {
        self.shared.backlog_seconds()
    }

    /// Seconds of work per second of audio of one channel, corrected while running.
    pub fn real_time_factor(&self, sampler: Sampler) -> f64 {
        self.shared.real_time_factor(sampler)
    }

    /// Windows that wait for the model.
    pub fn windows_waiting(&self) -> u64 {
        self.shared.waiting()
    }

    /// Windows restored since the start, and how long the model worked at them.
    pub fn windows_restored(&self) -> (u64, Duration) {
        (self.shared.windows(), self.shared.busy())
    }

    /// Ends the thread after the window that it is at, and waits for that. Sessions that are still open get
    /// [`InferenceError::Stopped`].
    pub async fn stop(self) {
        // The thread may have ended already.
        self.commands.send(Command::Stop).unwrap_or_default();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let joined = tokio::task::spawn_blocking(move || thread.join()).await;
            if !matches!(joined, Ok(Ok(()))) {
                tracing::error!("the inference thread ended by a panic");
            }
        }
    }
}

impl RestoreSession {
    /// Restores the next window, of any length from one sample on, and gives back what is finished so far. At first
    /// that is less than what was put in: the model and the front end look ahead.
    ///
    /// Do not drop the call before its answer: the window would be lost, and later calls get
    /// [`InferenceError::Broken`].
    pub async fn restore(&mut self, window: Planar) -> Result<Restored, InferenceError> {
        self.check(&window)?;
        self.ask(Work::Window(window), SessionState::Open).await
    }

    /// Restores the rest. Afterwards as many samples have been given back as were put in.
    pub async fn finish(&mut self) -> Result<Restored, InferenceError> {
        self.ask(Work::Rest, SessionState::Finished).await
    }

    fn check(&self, window: &Planar) -> Result<(), InferenceError> {
        let length = window.first().map_or(0, Vec::len);
        let fits = window.len() == self.channels && length > 0 && window.iter().all(|c| c.len() == length);
        if fits {
            return Ok(());
        }
        let lengths: Vec<_> = window.iter().map(Vec::len).collect();
        Err(InferenceError::Window {
            channels: self.channels,
            found: format!("found {} channels of lengths {lengths:?}", window.len()),
        })
    }

    async fn ask(&mut self, work: Work, then: SessionState) -> Result<Restored, InferenceError> {
        match self.state {
            SessionState::Open => {}
            SessionState::InFlight => return Err(InferenceError::Broken),
            SessionState::Finished => return Err(InferenceError::Finished),
        }
        self.state = SessionState::InFlight;
        let (reply, answer): (Reply, _) = oneshot::channel();
        let asked = Instant::now();
        self.commands
            .send(Command::Work { session: self.session, work, asked, reply })
            .map_err(|_| InferenceError::Stopped)?;
        // After an error the state stays as it is: the stream has a gap that nothing can fill.
        let restored = answer.await.map_err(|_| InferenceError::Stopped)??;
        self.state = then;
        Ok(restored)
    }
}

impl Drop for RestoreSession {
    fn drop(&mut self) {
        // When the thread has ended there is nothing to free.
        self.commands.send(Command::Close { session: self.session }).unwrap_or_default();
    }
}
