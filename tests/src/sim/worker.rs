//! A worker's machine: its disk, its processes, and the sessions in the process that runs now.

use std::collections::BTreeMap;

use mini_worker::session::state::Session;
use shared_protocol::{Attempt, JobId, WorkerId, WorkerMessage};

use super::agenda::Event;
use super::plan::WorkerPlan;

/// What the process is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Process {
    /// It runs.
    Running,
    /// It was stopped and may go on.
    Frozen,
    /// There is none.
    Down,
}

/// The session with one environment's scheduler.
pub struct Linked {
    /// The real brain.
    pub session: Session,
    /// Its present link.
    pub link: Option<usize>,
    /// When its next tick is on the agenda.
    pub tick_at: Option<u64>,
}

/// One attempt that runs.
#[derive(Debug, Clone)]
pub struct Execution {
    /// The environment.
    pub env: usize,
    /// The job.
    pub job: JobId,
    /// The attempt.
    pub attempt: Attempt,
    /// Which request it serves: it decides what becomes of it.
    pub request: usize,
    /// When its inference is expected to be over.
    pub busy_until: u64,
    /// Steps done.
    pub step: u32,
    /// Milliseconds between two steps.
    pub pace: u64,
    /// Segments stored.
    pub segments: u32,
    /// It was asked to stop.
    pub stopping: bool,
    /// It does not come to its next step, and stops late.
    pub hangs: bool,
    /// What will become of it was drawn at its start.
    pub end: PlannedEnd,
}

/// What will become of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlannedEnd {
    /// Its result is stored.
    Completes,
    /// It fails in a way that another may not.
    FailsRetryably,
    /// It fails for good.
    FailsForGood,
    /// It kills its process.
    Kills,
}

/// A worker.
pub struct SimWorker {
    /// Its name.
    pub id: WorkerId,
    /// What it is like.
    pub plan: WorkerPlan,
    /// Its process.
    pub process: Process,
    /// Which run of its process this is.
    pub boot: u32,
    /// The process ends by itself once it has nothing left.
    pub leaving: bool,
    /// Sessions by environment.
    pub sessions: BTreeMap<usize, Linked>,
    /// What runs.
    pub executions: BTreeMap<u64, Execution>,
    /// What came while the process was frozen.
    pub inbox: Vec<Event>,
    /// How far ahead its clock is.
    pub clock_ahead: u64,
    /// Terminal messages on its disk, by environment, oldest first.
    pub journal: BTreeMap<usize, Vec<WorkerMessage>>,
}

impl SimWorker {
    /// A machine without a process.
    pub fn new(index: usize, plan: WorkerPlan) -> Self {
        let clock_ahead = plan.clock_ahead;
        Self {
            id: WorkerId::new(format!("mini-{}", index + 1)).expect("a constant and a number are an id"),
            plan,
            process: Process::Down,
            boot: 0,
            leaving: false,
            sessions: BTreeMap::new(),
            executions: BTreeMap::new(),
            inbox: Vec::new(),
            clock_ahead,
            journal: BTreeMap::new(),
        }
    }

    /// Attempts that run for an environment.
    pub fn running_for(&self, env: usize) -> u32 {
        self.executions.values().filter(|execution| execution.env == env).count() as u32
    }

    /// Slots that other environments' attempts have.
    pub fn slots_elsewhere(&self, env: usize) -> u32 {
        self.executions.len() as u32 - self.running_for(env)
    }

    /// Seconds of inference that are left.
    pub fn backlog_seconds(&self, now: u64) -> f64 {
        let left: u64 = self.executions.values().map(|e| e.busy_until.saturating_sub(now)).sum();
        left as f64 / 1_000.0
    }

    /// Its own clock.
    pub fn clock(&self, now: u64) -> shared_protocol::TimestampMs {
        shared_protocol::TimestampMs(now + self.clock_ahead)
    }
}
