//! The scheduler's brain: a pure state machine.
//!
//! **Usage: call one of `handle_*` or a command (`submit`, `cancel`), then drain [`Scheduler::poll_effect`] until it is
//! empty, do the effects (saves in one transaction, then the sends), then ask [`Scheduler::next_deadline`] for when
//! [`Scheduler::handle_deadline`] is due.** Nothing in here knows a clock, a socket or a store.

mod commands;
mod dispatch;
mod effect;
mod fleet;
mod invariants;
mod job;
mod messages;
mod playlist;
mod queue;
mod routing;
mod timeouts;
mod timer;

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use shared_protocol::{
    JobId, SchedulerMessage, TimestampMs, WorkerId,
    limits::{LIVENESS_TIMEOUT, OFFER_TIMEOUT, RECONNECT_GRACE},
};

pub use commands::{CancelOutcome, KnownKey, NewJob, SubmitError, Submitted};
pub use effect::{CloseReason, Effect, Offer};
pub use fleet::{Worker, WorkerSnapshot};
pub use job::{
    AfterLoss, CANCEL_TIMEOUT, Job, JobProgress, JobRequest, JobState, MAX_RETRIES, MAX_WORKERS_LOST,
    RETRY_BACKOFF,
};
pub use playlist::{Playlist, Run};
pub use routing::TIE_SECONDS;
pub use timer::Timer;

use fleet::Fleet;
use queue::Queue;
use timer::Timers;

/// Names one socket for as long as it lives; never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ConnectionId(pub u64);

/// What an operator sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The environment's name, told to the workers.
    pub environment: String,
    /// Live jobs at most: they are all in memory. 10,000 jobs of about 2 KB are 20 MB of the platform's 128 MB.
    pub max_live_jobs: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self { environment: "dev".to_owned(), max_live_jobs: 10_000 }
    }
}

/// How many live jobs there are in each state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Waiting, those included that may not start yet.
    pub queued: usize,
    /// Offered and unanswered.
    pub offered: usize,
    /// Accepted.
    pub running: usize,
}

/// The scheduler of one environment.
#[derive(Debug, Clone)]
pub struct Scheduler {
    config: Config,
    jobs: BTreeMap<JobId, Job>,
    queue: Queue,
    fleet: Fleet,
    timers: Timers,
    next_sequence: u64,
    effects: VecDeque<Effect>,
}

impl Scheduler {
    /// An empty scheduler.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            jobs: BTreeMap::new(),
            queue: Queue::default(),
            fleet: Fleet::default(),
            timers: Timers::default(),
            next_sequence: 1,
            effects: VecDeque::new(),
        }
    }

    /// The scheduler as it was, from its live rows and from what was kept with the sockets that are still open.
    /// `last_sequence` is the highest [`Job::sequence`] ever given out, ended jobs included.
    ///
    /// Workers that run jobs and have no socket get [`RECONNECT_GRACE`] to come back: a restart of the scheduler alone
    /// re-runs nothing.
    pub fn restore(
        config: Config,
        now: TimestampMs,
        live: Vec<Job>,
        last_sequence: u64,
        connections: Vec<(ConnectionId, WorkerSnapshot)>,
    ) -> Self {
        let mut scheduler = Self::new(config);
        scheduler.next_sequence = last_sequence + 1;
        // Two sockets of one worker can both be open for a moment; ids grow, so the newest connects last and wins.
        let mut connections = connections;
        connections.sort_by_key(|(connection, _)| *connection);
        for (connection, snapshot) in connections {
            let worker = snapshot.worker_id.clone();
            if let Some(old) = scheduler.fleet.connect(connection, snapshot, now) {
                scheduler.effects.push_back(Effect::Close { connection: old, reason: CloseReason::Replaced });
            }
            scheduler.timers.set(Timer::WorkerSilent(worker), now + LIVENESS_TIMEOUT);
        }
        for job in live {
            scheduler.restore_job(job, now);
        }
        scheduler
    }

    fn restore_job(&mut self, job: Job, now: TimestampMs) {
        self.next_sequence = self.next_sequence.max(job.sequence + 1);
        match &job.state {
            JobState::Queued { not_before } if *not_before > now => {
                self.timers.set(Timer::JobMayStart(job.id.clone()), *not_before);
            }
            JobState::Queued { .. } => self.queue.insert(&job),
            JobState::Offered { worker, offered_at, .. } => {
                self.expect_worker(&worker.clone(), now);
                // An offer that the old instance sent may have been accepted in between: wait for the worker first.
                let answered_by = (*offered_at + OFFER_TIMEOUT).max(now + OFFER_TIMEOUT);
                self.timers.set(Timer::OfferUnanswered(job.id.clone()), answered_by);
            }
            JobState::Running { worker } => self.expect_worker(&worker.clone(), now),
            JobState::Completed | JobState::Failed | JobState::Cancelled => return,
        }
        if job.cancel_requested {
            self.timers.set(Timer::CancelUnconfirmed(job.id.clone()), now + CANCEL_TIMEOUT);
        }
        self.jobs.insert(job.id.clone(), job);
    }

    fn expect_worker(&mut self, worker: &WorkerId, now: TimestampMs) {
        if self.fleet.get(worker).is_none() {
            self.fleet.expect(worker.clone(), now);
            self.timers.set(Timer::WorkerSilent(worker.clone()), now + RECONNECT_GRACE);
        }
    }

    // Getters

    /// A live job.
    pub fn job(&self, id: &JobId) -> Option<&Job> {
        self.jobs.get(id)
    }

    /// All live jobs in order of their ids, which is the order of their submission.
    pub fn jobs(&self) -> impl DoubleEndedIterator<Item = &Job> {
        self.jobs.values()
    }

    /// All workers that are connected, or away for a short time.
    pub fn workers(&self) -> impl Iterator<Item = &Worker> {
        self.fleet.iter()
    }

    /// The attempts that a worker holds.
    pub fn held_by<'a>(&'a self, worker: &'a WorkerId) -> impl Iterator<Item = &'a Job> {
        self.jobs.values().filter(move |job| job.state.worker() == Some(worker))
    }

    /// How many live jobs there are.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for job in self.jobs.values() {
            match job.state {
                JobState::Queued { .. } => counts.queued += 1,
                JobState::Offered { .. } => counts.offered += 1,
                JobState::Running { .. } => counts.running += 1,
                JobState::Completed | JobState::Failed | JobState::Cancelled => {}
            }
        }
        counts
    }

    /// What the operator set.
    pub fn config(&self) -> &Config {
        &self.config
    }

    // Polls

    /// The next thing to do.
    pub fn poll_effect(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    /// When [`Scheduler::handle_deadline`] is due, and for what.
    pub fn next_deadline(&self) -> Option<(TimestampMs, &Timer)> {
        self.timers.next()
    }

    // What every part uses

    fn save(&mut self, id: &JobId) {
        if let Some(job) = self.jobs.get(id) {
            self.effects.push_back(Effect::SaveJob(Box::new(job.clone())));
        }
    }

    fn save_playlist(&mut self, id: &JobId) {
        if let Some(job) = self.jobs.get(id) {
            let playlist = job.playlist.clone();
            self.effects.push_back(Effect::SavePlaylist { job_id: id.clone(), playlist });
        }
    }

    fn send(&mut self, connection: ConnectionId, message: SchedulerMessage) {
        self.effects.push_back(Effect::Send { connection, message });
    }

    fn send_to_worker(&mut self, worker: &WorkerId, message: SchedulerMessage) {
        if let Some(connection) = self.fleet.get(worker).and_then(|w| w.connection) {
            self.send(connection, message);
        }
    }

    fn remember(&mut self, worker: &WorkerId) {
        if let Some(Worker { snapshot, connection: Some(connection), .. }) = self.fleet.get(worker) {
            let (connection, snapshot) = (*connection, Box::new(snapshot.clone()));
            self.effects.push_back(Effect::Remember { connection, snapshot });
        }
    }

    /// Saves a job that has just ended and lets go of it: from now on it is a row only.
    fn retire(&mut self, id: &JobId) {
        self.save(id);
        let playable = self.jobs.get(id).is_some_and(|job| !job.playlist.is_empty());
        if playable {
            self.save_playlist(id);
        }
        for timer in [
            Timer::OfferUnanswered(id.clone()),
            Timer::JobMayStart(id.clone()),
            Timer::CancelUnconfirmed(id.clone()),
        ] {
            self.timers.clear(&timer);
        }
        if let Some(job) = self.jobs.remove(id) {
            self.queue.remove(&job);
        }
    }
}
