//! The workers as the scheduler knows them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use shared_protocol::{BootId, DurationMs, Sampler, TimestampMs, WorkerId};

use super::ConnectionId;

/// A worker that is away and holds no job is shown for so long.
pub const FORGET_AFTER: DurationMs = DurationMs::from_secs(15 * 60);

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
    /// Seconds of inference that it has before it.
    pub backlog_seconds: f64,
    /// It takes nothing new.
    pub draining: bool,
    /// Since when it has nothing to do; for the longest-idle rule.
    pub idle_since: TimestampMs,
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
}

impl Worker {
    /// Whether a job with this sampler can be offered to it.
    pub fn can_take(&self, sampler: Sampler) -> bool {
        self.connection.is_some()
            && self.snapshot.open_slots > 0
            && !self.snapshot.draining
            && self.snapshot.samplers.contains(&sampler)
    }
}

/// All workers, by name and by connection.
#[derive(Debug, Clone, Default)]
pub struct Fleet {
    workers: BTreeMap<WorkerId, Worker>,
    connections: BTreeMap<ConnectionId, WorkerId>,
}

impl Fleet {
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
        let worker = Worker { snapshot, connection: Some(connection), last_seen: now };
        let old = self.workers.insert(id.clone(), worker).and_then(|old| old.connection);
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
        self.workers.entry(id.clone()).or_insert_with(|| Worker {
            snapshot: WorkerSnapshot {
                boot_id: BootId::new("unknown").expect("a constant of safe characters"),
                worker_id: id,
                version: String::new(),
                engine: String::new(),
                slots: 0,
                open_slots: 0,
                samplers: Vec::new(),
                backlog_seconds: 0.0,
                draining: false,
                idle_since: now,
            },
            connection: None,
            last_seen: now,
        });
    }

    /// Forgets a worker that is away.
    pub fn forget(&mut self, worker: &WorkerId) {
        if self.workers.get(worker).is_some_and(|w| w.connection.is_none()) {
            self.workers.remove(worker);
        }
    }
}
