//! One thread scores one recording after the other, whenever nothing else wants the processor.

use super::excerpt::at_rate;
use super::{ScoreError, Scorer};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, SemaphorePermit, mpsc, oneshot};

/// Recordings in memory: one is being scored, the next one read. Each is two excerpts of 6 MB at most.
const IN_MEMORY: usize = 2;

/// Seconds from one scored stretch to the next: about DNSMOS's own length, so that each moment is heard once.
const HOP_SECONDS: usize = 9;

/// The thread. Clones are handles to the same one; it ends when all of them are gone.
#[derive(Debug, Clone)]
pub struct Desk {
    orders: mpsc::Sender<Order>,
    turns: Arc<Semaphore>,
    name: Arc<str>,
}

/// What was found when the model was loaded.
#[derive(Debug, Clone)]
pub struct DeskReadiness {
    /// The model's name.
    pub name: String,
    /// Time to load it.
    pub load: Duration,
    /// Time of its first run, on its real shape.
    pub warm_up: Duration,
}

/// Excerpts of a recording, mixed to one channel, at 48 kHz, both of the same stretch of time.
#[derive(Debug)]
pub struct Pair {
    /// As it came.
    pub original: Vec<f32>,
    /// As it was restored.
    pub restored: Vec<f32>,
}

/// What the model thinks of a pair, 1 (bad) to 5 (excellent).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Opinion {
    /// Of the original.
    pub original: f64,
    /// Of the restored recording.
    pub restored: f64,
}

#[derive(Debug)]
struct Order {
    pair: Pair,
    reply: oneshot::Sender<Result<Opinion, ScoreError>>,
}

impl Desk {
    /// Starts the thread, loads the model in it and runs it once. `load` runs in the thread.
    ///
    /// # Errors
    /// When the model cannot be loaded or does not run.
    pub async fn start(
        load: impl FnOnce() -> Result<Scorer, ScoreError> + Send + 'static,
    ) -> Result<(Self, DeskReadiness), ScoreError> {
        let (orders, inbox) = mpsc::channel(IN_MEMORY);
        let (ready, readiness) = oneshot::channel();
        let run = move || {
            match prepare(load) {
                Ok((scorer, found)) => {
                    // Not before: the worker waits for this thread to be ready.
                    lower_priority();
                    // Whoever asked may be gone; then so are the orders.
                    ready.send(Ok(found)).unwrap_or_default();
                    serve(scorer, inbox);
                }
                Err(error) => ready.send(Err(error)).unwrap_or_default(),
            }
        };
        std::thread::Builder::new()
            .name("scorer".to_owned())
            .spawn(run)
            .map_err(|error| ScoreError::Run(format!("no thread could be started: {error}")))?;
        let readiness = readiness.await.map_err(|_| ScoreError::Stopped)??;
        let turns = Arc::new(Semaphore::new(IN_MEMORY));
        Ok((Self { orders, turns, name: readiness.name.as_str().into() }, readiness))
    }

    /// The model's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Waits for the turn to read a recording and have it scored; it ends with the value.
    pub async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        // Nobody closes it.
        self.turns.acquire().await.ok()
    }

    /// Scores a pair, best after [`Self::turn`]. Dropping the call takes it out of the line.
    ///
    /// # Errors
    /// When the model fails.
    pub async fn score(&self, pair: Pair) -> Result<Opinion, ScoreError> {
        let (reply, answer) = oneshot::channel();
        self.orders.send(Order { pair, reply }).await.map_err(|_| ScoreError::Stopped)?;
        answer.await.map_err(|_| ScoreError::Stopped)?
    }
}

fn prepare(load: impl FnOnce() -> Result<Scorer, ScoreError>) -> Result<(Scorer, DeskReadiness), ScoreError> {
    let started = Instant::now();
    let mut scorer = load()?;
    let load = started.elapsed();
    let started = Instant::now();
    scorer.overall(&vec![0.0; scorer.model().stretch], HOP_SECONDS)?;
    let found = DeskReadiness { name: scorer.model().name.clone(), load, warm_up: started.elapsed() };
    Ok((scorer, found))
}

fn serve(mut scorer: Scorer, mut inbox: mpsc::Receiver<Order>) {
    while let Some(Order { pair, reply }) = inbox.blocking_recv() {
        if reply.is_closed() {
            continue;
        }
        let rate = scorer.model().sample_rate;
        let mut one = |excerpt| scorer.overall(&at_rate(excerpt, rate), HOP_SECONDS);
        let opinion =
            one(pair.original).and_then(|original| Ok(Opinion { original, restored: one(pair.restored)? }));
        // Nobody may be waiting any more.
        reply.send(opinion).unwrap_or_default();
    }
}

/// The calling thread yields to everything else. That it could not be told so is no reason not to score.
fn lower_priority() {
    // On Linux niceness is each thread's own (sched(7)); 19 is the lowest.
    #[cfg(target_os = "linux")]
    rustix::process::nice(19)
        .map_or_else(|error| tracing::warn!(%error, "the scorer runs with full priority"), |_| ());
    #[cfg(target_os = "macos")]
    {
        // SAFETY: sets a property of the calling thread; no pointer is passed.
        let refused = unsafe { libc::pthread_set_qos_class_self_np(libc::qos_class_t::QOS_CLASS_UTILITY, 0) };
        if refused != 0 {
            tracing::warn!(code = refused, "the scorer runs with full priority");
        }
    }
}
