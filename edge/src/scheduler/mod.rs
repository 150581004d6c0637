//! The scheduler's brain: a pure state machine.
//!
//! **Usage: call one of `handle_*` or a command (`submit`, `cancel`, the operator's ones), then drain
//! [`Scheduler::poll_effect`] until it is empty, do the effects (saves in one transaction, then the sends), then ask
//! [`Scheduler::next_deadline`] for when [`Scheduler::handle_deadline`] is due.** Nothing in here knows a clock, a
//! socket or a store.

mod announcement;
mod audit;
mod breaker;
mod commands;
mod dispatch;
mod effect;
pub mod estimate;
mod fleet;
mod follow_up;
mod held;
mod invariants;
mod job;
mod messages;
mod operator;
mod playlist;
mod queue;
mod receipts;
mod restore;
mod routing;
mod statistics;
mod timeouts;
mod timer;
mod transition;
mod waiting;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};
use shared_protocol::{JobId, MessageId, SchedulerMessage, TenantId, TimestampMs, WorkerId};

pub use announcement::{Announcement, JobChange, News, PROGRESS_INTERVAL};
pub use audit::{AuditEntry, AuditOutcome};
pub use breaker::{Breaker, FAILURES_IN_A_ROW, FIRST_BENCH, LONGEST_BENCH};
pub use commands::{CancelOutcome, IDEMPOTENCY_WINDOW, KnownKey, NewJob, SubmitError, Submitted};
pub use effect::{CloseReason, Effect, Offer};
pub use fleet::{Worker, WorkerControl, WorkerSnapshot};
pub use follow_up::FollowUp;
pub use job::{
    AfterLoss, CANCEL_TIMEOUT, GenerationRef, Job, JobProgress, JobRequest, JobState, MAX_EXPECTED_SECONDS,
    MAX_RETRIES, MAX_WORKERS_LOST, RETRY_BACKOFF, TranscriptRef,
};
pub use operator::{OperatorError, PauseNote};
pub use playlist::{Playlist, Run};
pub use queue::{MAX_CLASS_WAIT, QueueClock};
pub use receipts::{KEEP_RECEIPTS, PRUNED_PER_TURN};
pub use restore::Restored;
pub use routing::{Candidate, DecidedBy, Decision, Policy, TIE_SECONDS, UnknownPolicy};
pub use statistics::{Counts, QueueStatistics};
pub use timeouts::HELLO_TIMEOUT;
pub use timer::Timer;
pub use transition::{MAX_HISTORY, Reason, Transition};
pub use waiting::{Waiting, WaitsFor};

use fleet::Fleet;
use held::Held;
use queue::Queue;
use receipts::Receipts;
use timer::Timers;
use transition::Step;

/// Names one socket for as long as it lives; never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ConnectionId(pub u64);

/// What an operator sets at a deploy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The environment's name, told to the workers.
    pub environment: String,
    /// Live jobs at most: they are all in memory. 10,000 are 15 MB of the platform's 128 MB.
    pub max_live_jobs: usize,
    /// Which estimate sends a job to a worker.
    pub policy: Policy,
}

impl Default for Config {
    fn default() -> Self {
        Self { environment: "dev".to_owned(), max_live_jobs: 10_000, policy: Policy::default() }
    }
}

/// The row about the scheduler as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Meta {
    /// The highest [`Job::sequence`] given out.
    pub last_sequence: u64,
    /// The order of the queue.
    pub clock: QueueClock,
    /// Nothing is offered. State, not configuration: a deploy never unpauses.
    pub paused: bool,
    /// Tenants of whom nothing is offered.
    pub paused_tenants: BTreeSet<TenantId>,
    /// Who paused what, when and why, for those who find it paused.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pause_notes: Vec<PauseNote>,
}

/// The scheduler of one environment.
#[derive(Debug, Clone)]
pub struct Scheduler {
    config: Config,
    jobs: BTreeMap<JobId, Job>,
    held: Held,
    queue: Queue,
    fleet: Fleet,
    timers: Timers,
    receipts: Receipts,
    follow_ups: BTreeMap<JobId, FollowUp>,
    last_sequence: u64,
    paused: bool,
    paused_tenants: BTreeSet<TenantId>,
    /// Announcements are wanted.
    listened_to: bool,
    /// When everybody was last heard out because the scheduler had stood still.
    heard_out_at: Option<TimestampMs>,
    pause_notes: Vec<PauseNote>,
    effects: VecDeque<Effect>,
    /// Something may have changed since jobs and slots were last matched.
    match_owed: bool,
    /// Workers of whom something changed in this turn.
    touched: BTreeSet<WorkerId>,
}

impl Scheduler {
    /// An empty scheduler.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            jobs: BTreeMap::new(),
            held: Held::default(),
            queue: Queue::default(),
            fleet: Fleet::default(),
            timers: Timers::default(),
            receipts: Receipts::default(),
            follow_ups: BTreeMap::new(),
            last_sequence: 0,
            paused: false,
            paused_tenants: BTreeSet::new(),
            listened_to: false,
            heard_out_at: None,
            pause_notes: Vec::new(),
            effects: VecDeque::new(),
            match_owed: true,
            touched: BTreeSet::new(),
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

    /// What operators decided about workers, known or not.
    pub fn controls(&self) -> impl Iterator<Item = &WorkerControl> {
        self.fleet.controls()
    }

    /// What an operator, or the breaker, decided about a worker.
    pub fn control(&self, worker: &WorkerId) -> Option<&WorkerControl> {
        self.fleet.control_of(worker)
    }

    /// The attempts that a worker holds.
    pub fn held_by<'a>(&'a self, worker: &'a WorkerId) -> impl Iterator<Item = &'a Job> {
        self.held.of(worker).filter_map(|id| self.jobs.get(id))
    }

    /// The jobs that may start now in the order in which they should.
    pub fn waiting(&self, now: TimestampMs) -> impl Iterator<Item = &JobId> {
        self.queue.candidates(now)
    }

    /// What may still follow on a completed job.
    pub fn follow_up(&self, id: &JobId) -> Option<&FollowUp> {
        self.follow_ups.get(id)
    }

    /// What the operator set.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The row about the scheduler as a whole.
    pub fn meta(&self) -> Meta {
        Meta {
            last_sequence: self.last_sequence,
            clock: self.queue.clock().clone(),
            paused: self.paused,
            paused_tenants: self.paused_tenants.clone(),
            pause_notes: self.pause_notes.clone(),
        }
    }

    // Polls

    /// The next thing to do.
    pub fn poll_effect(&mut self) -> Option<Effect> {
        self.effects.pop_front().or_else(|| self.remember_next())
    }

    /// What changed of a worker in this turn is kept once, at its end.
    fn remember_next(&mut self) -> Option<Effect> {
        while let Some(worker) = self.touched.pop_first() {
            if let Some(Worker { snapshot, connection: Some(connection), .. }) = self.fleet.get(&worker) {
                return Some(Effect::Remember {
                    connection: *connection,
                    snapshot: Box::new(snapshot.clone()),
                });
            }
        }
        None
    }

    /// When [`Scheduler::handle_deadline`] is due, and for what.
    pub fn next_deadline(&self) -> Option<(TimestampMs, &Timer)> {
        self.timers.next()
    }

    /// When it is due again after `now`, should what is due by then change nothing of that.
    pub fn next_deadline_after(&self, now: TimestampMs) -> Option<TimestampMs> {
        self.timers.next_after(now)
    }

    // What every part uses

    fn save(&mut self, id: &JobId) {
        if let Some(job) = self.jobs.get(id) {
            self.effects.push_back(Effect::SaveJob(Box::new(job.clone())));
        }
    }

    fn save_meta(&mut self) {
        let meta = Box::new(self.meta());
        self.effects.push_back(Effect::SaveMeta(meta));
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

    /// What is known of this worker has changed.
    fn touch(&mut self, worker: &WorkerId) {
        self.touched.insert(worker.clone());
    }

    /// Notes a terminal message as handled, and says so when it is news.
    fn note_receipt(&mut self, now: TimestampMs, message_id: &MessageId, job_id: JobId) {
        self.receipts.insert(message_id.clone(), now);
        self.effects.push_back(Effect::SaveReceipt { message_id: message_id.clone(), job_id, at: now });
        self.arm_receipts();
    }

    fn arm_receipts(&mut self) {
        match self.receipts.due() {
            Some(at) => self.timers.set(Timer::ReceiptsDue, at),
            None => self.timers.clear(&Timer::ReceiptsDue),
        }
    }

    /// Changes a job's state if the step fits, and saves it. Says whether it did. The queue and the timers follow.
    fn step(
        &mut self,
        now: TimestampMs,
        id: &JobId,
        attempt: shared_protocol::Attempt,
        step: Step,
        reason: Reason,
    ) -> bool {
        let Some(job) = self.jobs.get_mut(id) else { return false };
        if !job.fits(attempt, &step) {
            return false;
        }
        if matches!(job.state, JobState::Queued { .. }) {
            self.queue.remove(job);
            self.timers.clear(&Timer::JobMayStart(id.clone()));
        }
        self.timers.clear(&Timer::OfferUnanswered(id.clone()));
        let before = job.state.clone();
        let holder = before.worker().cloned();
        let stepped = job.step(now, attempt, step, reason);
        debug_assert_eq!(stepped, Ok(()), "it fits");
        let change = JobChange::between(&before, &job.state);
        if job.state.worker() != holder.as_ref() {
            if let Some(holder) = &holder {
                self.held.remove(holder, id);
            }
            if let Some(holder) = job.state.worker() {
                self.held.insert(holder, id);
            }
        }
        let gone = holder.filter(|holder| job.state.worker() != Some(holder));
        if let Some(holder) = gone
            && let Some(entry) = self.fleet.get_mut(&holder)
        {
            entry.snapshot.in_flight.remove(id);
            self.touched.insert(holder);
        }
        if let JobState::Queued { not_before } = job.state {
            if not_before > now {
                self.timers.set(Timer::JobMayStart(id.clone()), not_before);
            } else {
                self.queue.insert(job);
            }
        }
        let ended = job.state.is_ended();
        if let Some(change) = change {
            self.announce(now, id, change);
        }
        if ended {
            self.retire(id)
        } else {
            self.save(id)
        }
        true
    }

    /// Saves a job that has just ended and lets go of it: from now on it is a row only.
    fn retire(&mut self, id: &JobId) {
        self.save(id);
        if self.jobs.get(id).is_some_and(|job| !job.playlist.is_empty()) {
            self.save_playlist(id);
        }
        self.timers.clear(&Timer::CancelUnconfirmed(id.clone()));
        self.jobs.remove(id);
    }
}
