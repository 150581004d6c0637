//! Who is next.
//!
//! 1. Classes: high before normal before low.
//! 2. Inside a class, fair between tenants: start-time fair queueing (Goyal, Vin and Cheng, SIGCOMM 1996). Each job has
//!    a virtual start, `max(virtual time of its class, virtual finish of its tenant's last waiting job)`; the
//!    smallest goes first, and the virtual time becomes its start. A tenant with a thousand waiting jobs delays
//!    another's single one by at most the job that is just being picked. Unlike deficit round robin it needs no
//!    state per tenant beyond the waiting jobs' own numbers, so that a restart changes nothing.
//! 3. A job that comes back keeps its numbers, and with them its place.
//! 4. Nobody starves: when the longest waiting job of all has waited for [`MAX_CLASS_WAIT`], every second pick
//!    goes to the longest waiting one, whatever its class.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use shared_protocol::{DurationMs, JobId, Priority, TenantId, TimestampMs};

use super::job::{Job, JobState};

/// Beyond this wait a job no longer waits for its class alone.
pub const MAX_CLASS_WAIT: DurationMs = DurationMs::from_secs(10 * 60);

/// What has to outlive the object's memory, so that the order stays the same.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueueClock {
    /// Virtual time of each class, in virtual milliseconds.
    pub virtual_time: BTreeMap<Priority, u64>,
    /// Whether the next pick may go to the longest waiting job.
    pub aged_turn: bool,
}

type Place = (Priority, u64, u64, JobId);

/// The waiting jobs.
#[derive(Debug, Clone, Default)]
pub struct Queue {
    clock: QueueClock,
    order: BTreeSet<Place>,
    /// By the time since which they could have started.
    by_wait: BTreeSet<(TimestampMs, u64, JobId)>,
    /// Virtual finishes of each tenant's waiting jobs, those included that may not start yet.
    finishes: BTreeMap<(Priority, TenantId), BTreeSet<(u64, u64)>>,
}

/// The service that a job asks for, in virtual milliseconds: its expected audio.
fn cost(job: &Job) -> u64 {
    (job.request.expected_audio_seconds() * 1000.0) as u64
}

fn place(job: &Job) -> Place {
    (job.request.priority, job.virtual_start, job.sequence, job.id.clone())
}

fn waiting_since(job: &Job) -> (TimestampMs, u64, JobId) {
    let since = match job.state {
        JobState::Queued { not_before } => not_before,
        _ => job.created_at,
    };
    (since, job.sequence, job.id.clone())
}

impl Queue {
    /// A queue with the clock that it had.
    pub fn with_clock(clock: QueueClock) -> Self {
        Self { clock, ..Self::default() }
    }

    /// What has to be kept.
    pub fn clock(&self) -> &QueueClock {
        &self.clock
    }

    /// The virtual start of a job that is submitted now.
    pub fn virtual_start(&self, job: &Job) -> u64 {
        let class = job.request.priority;
        let now = self.clock.virtual_time.get(&class).copied().unwrap_or(0);
        let key = (class, job.tenant.clone());
        let behind = self.finishes.get(&key).and_then(BTreeSet::last).map_or(0, |(finish, _)| *finish);
        now.max(behind)
    }

    /// Notes that a job waits, though it may not start yet.
    pub fn expect(&mut self, job: &Job) {
        let key = (job.request.priority, job.tenant.clone());
        self.finishes.entry(key).or_default().insert((job.virtual_start + cost(job), job.sequence));
    }

    /// Puts a job in its place: it may start now.
    pub fn insert(&mut self, job: &Job) {
        self.expect(job);
        self.order.insert(place(job));
        self.by_wait.insert(waiting_since(job));
    }

    /// Takes a job out, wherever it stands. It has to be in the state in which it was put in.
    pub fn remove(&mut self, job: &Job) {
        self.order.remove(&place(job));
        self.by_wait.remove(&waiting_since(job));
        let key = (job.request.priority, job.tenant.clone());
        if let Some(finishes) = self.finishes.get_mut(&key) {
            finishes.remove(&(job.virtual_start + cost(job), job.sequence));
            if finishes.is_empty() {
                self.finishes.remove(&key);
            }
        }
    }

    /// The jobs that may start now in the order in which they should.
    pub fn candidates(&self, now: TimestampMs) -> impl Iterator<Item = &JobId> {
        let aged =
            self.by_wait.first().filter(|(since, ..)| self.clock.aged_turn && now - *since >= MAX_CLASS_WAIT);
        aged.map(|(.., id)| id).into_iter().chain(self.order.iter().map(|(.., id)| id))
    }

    /// Notes that a job was picked: time goes on. It is taken out separately.
    pub fn picked(&mut self, job: &Job, now: TimestampMs) {
        let JobState::Queued { not_before } = job.state else { return };
        let was_aged = now - not_before >= MAX_CLASS_WAIT;
        // After an aged pick the classes have their turn again.
        self.clock.aged_turn = !(was_aged && self.clock.aged_turn);
        let time = self.clock.virtual_time.entry(job.request.priority).or_insert(0);
        *time = (*time).max(job.virtual_start);
    }

    /// Whether a job may start now.
    pub fn contains(&self, job: &Job) -> bool {
        self.order.contains(&place(job))
    }

    /// How many may start now.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// When the longest waiting job could have started.
    pub fn oldest(&self) -> Option<TimestampMs> {
        self.by_wait.first().map(|(since, ..)| *since)
    }
}
