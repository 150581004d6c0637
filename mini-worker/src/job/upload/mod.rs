//! The worker's uploads: one limit and one line for all jobs, and what they tell about the connection.
//!
//! ```text
//! job ── place ─> line (playback, files, stems) ── as many as the limit allows ─> PUT ─> limit, measured connection
//! ```

pub mod aimd;
pub mod link_meter;
pub mod queue;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use shared_protocol::LinkReport;
use shared_protocol::limits::{MAX_BODY_BYTES, PART_BYTES};
use tokio::sync::oneshot;

use aimd::{Aimd, Stamp};
use link_meter::{LinkMeter, Mark};
use queue::{Place, Queue};

pub use queue::Class;

/// How large objects travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UploadSizes {
    /// Larger ones go in parts.
    pub single_put_bytes: u64,
    /// Bytes of each part but the last one.
    pub part_bytes: u64,
}

impl Default for UploadSizes {
    fn default() -> Self {
        Self { single_put_bytes: MAX_BODY_BYTES, part_bytes: PART_BYTES }
    }
}

/// The uploads of all jobs. Clones are handles to the same ones.
#[derive(Debug, Clone, Default)]
pub struct Uploader(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    sizes: UploadSizes,
    started: Instant,
}

impl Default for Shared {
    fn default() -> Self {
        Self { state: Mutex::default(), sizes: UploadSizes::default(), started: Instant::now() }
    }
}

#[derive(Debug, Default)]
struct State {
    limit: Limit,
    queue: Queue,
    meter: LinkMeter,
    /// Whom to tell that it may run.
    waiting: BTreeMap<Place, oneshot::Sender<()>>,
}

/// How the number of uploads at once is found.
#[derive(Debug)]
enum Limit {
    Adaptive(Aimd),
    Fixed(usize),
}

impl Default for Limit {
    fn default() -> Self {
        Self::Adaptive(Aimd::default())
    }
}

impl Limit {
    fn now(&self) -> usize {
        match self {
            Self::Adaptive(aimd) => aimd.limit(),
            Self::Fixed(limit) => *limit,
        }
    }
}

/// What runs and waits, for the operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UploadGauges {
    /// Uploads that may run at once.
    pub limit: usize,
    /// Uploads that run.
    pub running: usize,
    /// Uploads that wait.
    pub waiting: usize,
}

impl Uploader {
    /// Objects of other sizes go in one request.
    pub fn with_sizes(sizes: UploadSizes) -> Self {
        Self(Arc::new(Shared { sizes, ..Shared::default() }))
    }

    /// With a limit that never changes, to compare with.
    pub fn with_fixed_limit(limit: usize) -> Self {
        let uploader = Self::default();
        uploader.state().limit = Limit::Fixed(limit);
        uploader
    }

    /// The uploads of one attempt.
    pub fn open_job(&self, environment_rank: u8) -> JobUploads {
        let number = self.state().queue.open_job(environment_rank);
        JobUploads(Arc::new(OpenJob { uploader: self.clone(), number }))
    }

    /// What runs and waits.
    pub fn gauges(&self) -> UploadGauges {
        let state = self.state();
        UploadGauges {
            limit: state.limit.now(),
            running: state.queue.running(),
            waiting: state.queue.waiting(),
        }
    }

    /// The connection, once something was moved over it.
    pub fn link_report(&self) -> Option<LinkReport> {
        self.state().meter.report()
    }

    fn now(&self) -> f64 {
        self.0.started.elapsed().as_secs_f64()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it is held; if something did, numbers are all that could be off.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Lets as many run as may.
    fn start_waiting(&mut self) {
        while let Some(place) = self.queue.start_next(self.limit.now()) {
            if let Some(waiting) = self.waiting.remove(&place) {
                // One that was dropped meanwhile gives its place back by itself.
                waiting.send(()).unwrap_or_default();
            }
        }
    }
}

/// The uploads of one attempt. Clones are handles to the same ones.
#[derive(Debug, Clone)]
pub struct JobUploads(Arc<OpenJob>);

#[derive(Debug)]
struct OpenJob {
    uploader: Uploader,
    number: u64,
}

impl Drop for OpenJob {
    fn drop(&mut self) {
        self.uploader.state().queue.close_job(self.number);
    }
}

impl JobUploads {
    /// How large objects travel.
    pub fn sizes(&self) -> UploadSizes {
        self.0.uploader.0.sizes
    }

    /// A place in the line for one object; all its tries have the same.
    pub fn place(&self, class: Class) -> Place {
        self.0.uploader.state().queue.place(self.0.number, class)
    }

    /// Waits for the turn of one try with so many bytes.
    pub async fn turn(&self, place: Place, bytes: u64) -> Turn {
        let uploader = &self.0.uploader;
        let (sender, started) = oneshot::channel();
        // From here on, dropping the turn gives the place back, whether it waits or runs.
        let mut turn = Turn { uploads: self.clone(), place, bytes, running: None, outcome: None };
        {
            let mut state = uploader.state();
            state.queue.wait(place);
            state.waiting.insert(place, sender);
            state.start_waiting();
        }
        // The sender goes away only after it has sent, or with the turn.
        started.await.unwrap_or_default();
        let now = uploader.now();
        let mut state = uploader.state();
        let stamp = match &state.limit {
            Limit::Adaptive(aimd) => Some(aimd.stamp()),
            Limit::Fixed(_) => None,
        };
        turn.running = Some((state.meter.begin_upload(now, bytes), stamp));
        turn
    }

    /// The first bytes of a download of so many are there.
    pub fn downloading(&self, bytes: u64) -> Downloading {
        let uploader = &self.0.uploader;
        let mark = uploader.state().meter.begin_download(uploader.now(), bytes);
        Downloading { uploads: self.clone(), mark, bytes: None }
    }
}

/// The right to upload now. Dropping it gives it back and says nothing about the connection.
#[derive(Debug)]
pub struct Turn {
    uploads: JobUploads,
    place: Place,
    bytes: u64,
    running: Option<(Mark, Option<Stamp>)>,
    outcome: Option<Outcome>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Succeeded,
    Failed,
}

impl Turn {
    /// The object is stored.
    pub fn succeeded(mut self) {
        self.outcome = Some(Outcome::Succeeded);
    }

    /// The try timed out or failed for a reason that fewer uploads at once may remove.
    pub fn failed(mut self) {
        self.outcome = Some(Outcome::Failed);
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let uploader = &self.uploads.0.uploader;
        let now = uploader.now();
        let mut state = uploader.state();
        state.waiting.remove(&self.place);
        if let Some((mark, stamp)) = self.running {
            let stored = (self.outcome == Some(Outcome::Succeeded)).then_some(self.bytes);
            state.meter.end_upload(now, mark, stored);
            let running = state.queue.running();
            if let (Limit::Adaptive(aimd), Some(stamp)) = (&mut state.limit, stamp) {
                match self.outcome {
                    Some(Outcome::Succeeded) => aimd.succeeded(stamp, running),
                    Some(Outcome::Failed) => aimd.failed(stamp),
                    None => {}
                }
            }
        }
        state.queue.leave(self.place);
        state.start_waiting();
    }
}

/// A download that is being measured. Dropping it measures nothing.
#[derive(Debug)]
pub struct Downloading {
    uploads: JobUploads,
    mark: Mark,
    bytes: Option<u64>,
}

impl Downloading {
    /// All of it is there.
    pub fn succeeded(mut self, bytes: u64) {
        self.bytes = Some(bytes);
    }
}

impl Drop for Downloading {
    fn drop(&mut self) {
        let uploader = &self.uploads.0.uploader;
        uploader.state().meter.end_download(uploader.now(), self.mark, self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_turn_comes_when_another_one_ends_and_a_dropped_wait_gives_its_place_back() {
        let uploader = Uploader::with_fixed_limit(1);
        let (job, other) = (uploader.open_job(0), uploader.open_job(0));
        let first = job.turn(job.place(Class::Stem), 10).await;
        let mut file = Box::pin(job.turn(job.place(Class::File), 10));
        let mut playback = Box::pin(other.turn(other.place(Class::Playback), 10));
        let mut dropped = Box::pin(other.turn(other.place(Class::Playback), 10));
        for waiting in [&mut file, &mut dropped, &mut playback] {
            assert!(futures_util::poll!(waiting).is_pending());
        }
        assert_eq!(uploader.gauges(), UploadGauges { limit: 1, running: 1, waiting: 3 });
        drop(dropped);
        first.succeeded();
        assert!(futures_util::poll!(&mut file).is_pending(), "playback goes first");
        playback.await.failed();
        drop(file.await);
        assert_eq!(uploader.gauges(), UploadGauges { limit: 1, running: 0, waiting: 0 });
    }

    #[tokio::test]
    async fn failures_in_a_row_narrow_the_limit_and_cancelled_uploads_do_not() {
        let uploader = Uploader::default();
        let job = uploader.open_job(0);
        let before = uploader.gauges().limit;
        for _ in 0..20 {
            drop(job.turn(job.place(Class::File), 10).await);
        }
        assert_eq!(uploader.gauges().limit, before);
        for _ in 0..6 {
            job.turn(job.place(Class::File), 10).await.failed();
        }
        assert_eq!(uploader.gauges().limit, before / 2);
    }
}
