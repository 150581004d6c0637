//! Who is next.
//!
//! 1. Classes: high before normal before low.
//! 2. Inside a class, fair between tenants: start-time fair queueing (Goyal, Vin and Cheng, SIGCOMM 1996). Each job has
//!    a virtual start, `max(virtual time of its class, virtual finish of its tenant's last waiting job)`; the
//!    smallest goes first, and the virtual time becomes its start. A tenant with a thousand waiting jobs delays
//!    another's single one by at most the job that is just being picked. Unlike deficit round robin it needs no
//!    state per tenant beyond the waiting jobs' own numbers, so that a restart changes nothing.
//! 3. A job that comes back keeps its numbers, and with them its place. One that could not start, because its time had not come or
//!    its tenant was paused, gets them when it can: it has not been waiting, and pushes in front of nobody.
//! 4. Nobody starves: when the longest waiting job of all has waited for [`MAX_CLASS_WAIT`], every second pick
//!    goes to the longest waiting one, whatever its class.
//!
//! Jobs of one need, which the same workers can do, stand in one line. Only the heads of the lines are looked at for a match, so
//! that no number of jobs that nobody can do stands in the way of one that somebody can.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use shared_protocol::{DurationMs, JobId, Priority, Sampler, TenantId, TimestampMs};

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

type Wait = (TimestampMs, u64, JobId);

/// What a job asks of its worker.
type Need = (Sampler, Vec<String>);

/// The waiting jobs of one need.
#[derive(Debug, Clone, Default)]
struct Line {
    order: BTreeSet<Place>,
    /// By the time since which they could have started.
    by_wait: BTreeSet<Wait>,
}

/// The waiting jobs.
#[derive(Debug, Clone, Default)]
pub struct Queue {
    clock: QueueClock,
    lines: BTreeMap<Need, Line>,
    /// Waiting jobs of paused tenants: out of everybody's way.
    parked: BTreeMap<TenantId, BTreeSet<Place>>,
    paused: BTreeSet<TenantId>,
    /// Virtual finishes of each tenant's waiting jobs.
    finishes: BTreeMap<(Priority, TenantId), BTreeSet<(u64, u64)>>,
}

/// The service that a job asks for, in virtual milliseconds: its expected audio.
fn cost(job: &Job) -> u64 {
    (job.request.expected_audio_seconds() * 1000.0) as u64
}

fn place(job: &Job) -> Place {
    (job.request.priority, job.virtual_start, job.sequence, job.id.clone())
}

fn need(job: &Job) -> Need {
    (job.request.sampler, job.request.labels.clone())
}

fn waiting_since(job: &Job) -> Wait {
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

    /// The virtual start of a job that may start from now on.
    pub fn virtual_start(&self, job: &Job) -> u64 {
        let class = job.request.priority;
        let now = self.clock.virtual_time.get(&class).copied().unwrap_or(0);
        let key = (class, job.tenant.clone());
        let behind = self.finishes.get(&key).and_then(BTreeSet::last).map_or(0, |(finish, _)| *finish);
        now.max(behind)
    }

    /// Puts a job in its place: it may start now.
    pub fn insert(&mut self, job: &Job) {
        let key = (job.request.priority, job.tenant.clone());
        self.finishes.entry(key).or_default().insert((job.virtual_start + cost(job), job.sequence));
        if self.paused.contains(&job.tenant) {
            self.parked.entry(job.tenant.clone()).or_default().insert(place(job));
            return;
        }
        let line = self.lines.entry(need(job)).or_default();
        line.order.insert(place(job));
        line.by_wait.insert(waiting_since(job));
    }

    /// Takes a job out, wherever it stands. It has to be in the state in which it was put in.
    pub fn remove(&mut self, job: &Job) {
        if let Some(parked) = self.parked.get_mut(&job.tenant) {
            parked.remove(&place(job));
        }
        let need = need(job);
        if let Some(line) = self.lines.get_mut(&need) {
            line.order.remove(&place(job));
            line.by_wait.remove(&waiting_since(job));
            if line.order.is_empty() {
                self.lines.remove(&need);
            }
        }
        let key = (job.request.priority, job.tenant.clone());
        if let Some(finishes) = self.finishes.get_mut(&key) {
            finishes.remove(&(job.virtual_start + cost(job), job.sequence));
            if finishes.is_empty() {
                self.finishes.remove(&key);
            }
        }
    }

    /// Whatever a tenant puts in from now on is parked. Its waiting jobs have to be taken out before and put in after.
    pub fn pause(&mut self, tenant: &TenantId) {
        self.paused.insert(tenant.clone());
    }

    /// Ends a pause. The jobs that were parked, in their order, are to be taken out and put in again.
    pub fn resume(&mut self, tenant: &TenantId) -> Vec<JobId> {
        self.paused.remove(tenant);
        let parked = self.parked.get(tenant).into_iter().flatten();
        parked.map(|(.., id)| id.clone()).collect()
    }

    /// The head of each line in the order in which they should start, the longest waiting ones before them when it is their
    /// turn. Cost: one pass over the lines.
    pub fn heads(&self, now: TimestampMs) -> Vec<&JobId> {
        let is_aged = |(since, ..): &&Wait| self.clock.aged_turn && now - *since >= MAX_CLASS_WAIT;
        let mut aged: Vec<&Wait> =
            self.lines.values().filter_map(|line| line.by_wait.first()).filter(is_aged).collect();
        let mut heads: Vec<&Place> = self.lines.values().filter_map(|line| line.order.first()).collect();
        aged.sort_unstable();
        heads.sort_unstable();
        aged.into_iter().map(|(.., id)| id).chain(heads.into_iter().map(|(.., id)| id)).collect()
    }

    /// The jobs that may start now in the order in which they should. Cost: a sort of all of them.
    pub fn candidates(&self, now: TimestampMs) -> impl Iterator<Item = &JobId> {
        let oldest = self.lines.values().filter_map(|line| line.by_wait.first()).min();
        let aged = oldest.filter(|(since, ..)| self.clock.aged_turn && now - *since >= MAX_CLASS_WAIT);
        let mut order: Vec<&Place> = self.lines.values().flat_map(|line| &line.order).collect();
        order.sort_unstable();
        aged.map(|(.., id)| id).into_iter().chain(order.into_iter().map(|(.., id)| id))
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

    /// Whether a job waits for a worker, or for its tenant to be resumed.
    pub fn contains(&self, job: &Job) -> bool {
        let parked = self.parked.get(&job.tenant).is_some_and(|parked| parked.contains(&place(job)));
        parked || self.lines.get(&need(job)).is_some_and(|line| line.order.contains(&place(job)))
    }

    /// How many wait for a worker, or for their tenants to be resumed.
    pub fn len(&self) -> usize {
        let parked: usize = self.parked.values().map(BTreeSet::len).sum();
        parked + self.lines.values().map(|line| line.order.len()).sum::<usize>()
    }

    /// Whether nobody waits for a worker.
    pub fn is_idle(&self) -> bool {
        self.lines.is_empty()
    }

    /// When the longest waiting job could have started.
    pub fn oldest(&self) -> Option<TimestampMs> {
        self.lines.values().filter_map(|line| line.by_wait.first()).map(|(since, ..)| *since).min()
    }
}
