//! The workers as the scheduler knows them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use shared_protocol::{BootId, DurationMs, JobId, LinkReport, Sampler, SamplerSpeed, TimestampMs, WorkerId};

use super::ConnectionId;
use super::breaker::Breaker;
use super::job::JobRequest;

/// A worker that is away and holds no job is shown for so long.
pub const FORGET_AFTER: DurationMs = DurationMs::from_secs(15 * 60);

/// Seconds of audio per second of inference that are assumed of a worker that has not said: what the built-in model does
/// on one core of a small machine.
pub const ASSUMED_SPEED: f64 = 20.0;

/// What is known of a worker over its connection. Kept with the socket, so that it outlives the object's memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkerSnapshot {
    /// Its name.
    pub worker_id: WorkerId,
    /// The run of its process.
    pub boot_id: BootId,
    /// Its program's version.
    pub version: String,
    /// What runs its model.
    pub engine: String,
    /// Jobs at once at most.
    pub slots: u32,
    /// Jobs that it can still take, less what was offered since it said so.
    pub open_slots: u32,
    /// Samplers that it offers.
    pub samplers: Vec<Sampler>,
    /// Its operator's labels.
    #[serde(default)]
    pub labels: Vec<String>,
    /// Its operator's preference among equals; higher first.
    #[serde(default)]
    pub priority: i32,
    /// Seconds of inference that it had before it when it last said so.
    pub backlog_seconds: f64,
    /// How fast it is with each sampler.
    #[serde(default)]
    pub speeds: Vec<SamplerSpeed>,
    /// Its connection, as it measured it.
    #[serde(default)]
    pub link: LinkReport,
    /// It said that it takes nothing new.
    pub draining: bool,
    /// Since when it was offered nothing; for the longest-idle rule.
    pub idle_since: TimestampMs,
    /// Expected seconds of inference of jobs that its last report cannot have included.
    #[serde(default)]
    pub in_flight: BTreeMap<JobId, f64>,
}

/// What an operator decided about a worker. A row of its own: it outlives connections, restarts and deploys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkerControl {
    /// Whom it concerns.
    pub worker_id: WorkerId,
    /// It finishes what it has and is offered nothing new.
    #[serde(default)]
    pub drained: bool,
    /// Until when it is offered nothing.
    #[serde(default)]
    pub benched_until: Option<TimestampMs>,
    /// For people.
    #[serde(default)]
    pub reason: String,
}

/// A worker.
#[derive(Debug, Clone, PartialEq)]
pub struct Worker {
    /// What it said.
    pub snapshot: WorkerSnapshot,
    /// Its newest connection; none while it is away.
    pub connection: Option<ConnectionId>,
    /// Its last sign of life, by the scheduler's clock.
    pub last_seen: TimestampMs,
    /// Whether its failures say that something is wrong with it.
    pub breaker: Breaker,
    /// What its operator decided.
    pub control: Option<WorkerControl>,
}

impl Worker {
    /// Whether it may be offered anything at all now.
    pub fn is_open(&self) -> bool {
        self.connection.is_some() && self.snapshot.open_slots > 0 && !self.is_held_back()
    }

    /// Whether it takes nothing new, by its own wish or by an operator's.
    pub fn is_held_back(&self) -> bool {
        self.snapshot.draining
            || self.control.as_ref().is_some_and(|c| c.drained || c.benched_until.is_some())
    }

    /// Whether such a job can be offered to it now.
    pub fn can_take(&self, request: &JobRequest) -> bool {
        self.is_open() && self.fits(request)
    }

    /// Whether it has what such a job asks for.
    pub fn fits(&self, request: &JobRequest) -> bool {
        self.snapshot.samplers.contains(&request.sampler)
            && request.labels.iter().all(|label| self.snapshot.labels.contains(label))
    }

    /// Seconds until an inference that is queued now would start: what it reported, and what it was given since.
    pub fn backlog_seconds(&self) -> f64 {
        self.snapshot.backlog_seconds + self.snapshot.in_flight.values().sum::<f64>()
    }

    /// Expected seconds of inference of a job on it.
    pub fn inference_seconds(&self, request: &JobRequest) -> f64 {
        let speed = self
            .snapshot
            .speeds
            .iter()
            .find(|speed| speed.sampler == request.sampler)
            .map_or(ASSUMED_SPEED, |speed| speed.audio_seconds_per_second);
        request.expected_audio_seconds() / speed.max(0.01)
    }
}

/// All workers, by name and by connection.
#[derive(Debug, Clone, Default)]
pub struct Fleet {
    workers: BTreeMap<WorkerId, Worker>,
    connections: BTreeMap<ConnectionId, WorkerId>,
    controls: BTreeMap<WorkerId, WorkerControl>,
}

impl Fleet {
    /// A fleet of which only the operators' decisions are known.
    pub fn with_controls(controls: Vec<WorkerControl>) -> Self {
        let controls = controls.into_iter().map(|control| (control.worker_id.clone(), control)).collect();
        Self { controls, ..Self::default() }
    }

    /// The workers in order of their names.
    pub fn iter(&self) -> impl Iterator<Item = &Worker> {
        self.workers.values()
    }

    /// A worker by name.
    pub fn get(&self, worker: &WorkerId) -> Option<&Worker> {
        self.workers.get(worker)
    }

    /// A worker by name, to change.
    pub fn get_mut(&mut self, worker: &WorkerId) -> Option<&mut Worker> {
        self.workers.get_mut(worker)
    }

    /// Who speaks over a connection.
    pub fn speaker(&self, connection: ConnectionId) -> Option<&WorkerId> {
        self.connections.get(&connection)
    }

    /// Takes a worker's new connection; gives back the one that it replaces.
    pub fn connect(
        &mut self,
        connection: ConnectionId,
        snapshot: WorkerSnapshot,
        now: TimestampMs,
    ) -> Option<ConnectionId> {
        let id = snapshot.worker_id.clone();
        let earlier = self.workers.remove(&id);
        let same_boot = earlier.as_ref().filter(|w| w.snapshot.boot_id == snapshot.boot_id);
        // A restart is a new beginning; a reconnect is not.
        let breaker = same_boot.map(|w| w.breaker.clone()).unwrap_or_default();
        let control = self.controls.get(&id).cloned();
        let worker = Worker { snapshot, connection: Some(connection), last_seen: now, breaker, control };
        let old = earlier.and_then(|old| old.connection);
        self.workers.insert(id.clone(), worker);
        let replaced = old.filter(|old| *old != connection);
        if let Some(old) = replaced {
            self.connections.remove(&old);
        }
        self.connections.insert(connection, id);
        replaced
    }

    /// Takes a connection away; gives back the worker that is now without one.
    pub fn disconnect(&mut self, connection: ConnectionId) -> Option<WorkerId> {
        let id = self.connections.remove(&connection)?;
        let worker = self.workers.get_mut(&id)?;
        if worker.connection != Some(connection) {
            return None;
        }
        worker.connection = None;
        worker.snapshot.open_slots = 0;
        Some(id)
    }

    /// A worker of which only its jobs are known, after a restart of the scheduler.
    pub fn expect(&mut self, id: WorkerId, now: TimestampMs) {
        let control = self.controls.get(&id).cloned();
        self.workers.entry(id.clone()).or_insert_with(|| Worker {
            snapshot: WorkerSnapshot {
                boot_id: BootId::new("unknown").expect("a constant of safe characters"),
                worker_id: id,
                version: String::new(),
                engine: String::new(),
                slots: 0,
                open_slots: 0,
                samplers: Vec::new(),
                labels: Vec::new(),
                priority: 0,
                backlog_seconds: 0.0,
                speeds: Vec::new(),
                link: LinkReport::default(),
                draining: false,
                idle_since: now,
                in_flight: BTreeMap::new(),
            },
            connection: None,
            last_seen: now,
            breaker: Breaker::default(),
            control,
        });
    }

    /// Forgets a worker that is away.
    pub fn forget(&mut self, worker: &WorkerId) {
        if self.workers.get(worker).is_some_and(|w| w.connection.is_none()) {
            self.workers.remove(worker);
        }
    }

    /// What an operator, or the breaker, decided about a worker; none when nothing holds any more.
    pub fn control(&mut self, worker: &WorkerId, control: Option<WorkerControl>) {
        match &control {
            Some(control) => self.controls.insert(worker.clone(), control.clone()),
            None => self.controls.remove(worker),
        };
        if let Some(entry) = self.workers.get_mut(worker) {
            entry.control = control;
        }
    }

    /// What holds for a worker, known or not.
    pub fn control_of(&self, worker: &WorkerId) -> Option<&WorkerControl> {
        self.controls.get(worker)
    }

    /// Everything that operators decided.
    pub fn controls(&self) -> impl Iterator<Item = &WorkerControl> {
        self.controls.values()
    }
}
