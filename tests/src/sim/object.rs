//! The Durable Object: what of it outlives its memory, and what does not.

use std::collections::BTreeMap;

use edge::outbox::{Outbox, OutboxConfig, RowId};
use edge::scheduler::{Config, ConnectionId, Scheduler, WorkerSnapshot};
use shared_protocol::TimestampMs;

use super::store::Store;

/// Where the scheduler's clock begins. Nothing hangs on it but that times look like times.
pub const EPOCH: u64 = 1_700_000_000_000;

/// An alarm that should have fired this long ago was dropped by the platform.
pub const ALARM_OVERDUE: u64 = 5_000;

/// An alarm that fails is tried again after this time.
pub const ALARM_RETRY: u64 = 15_000;

/// The scheduler's clock at a moment of the simulation.
pub fn stamp(now: u64) -> TimestampMs {
    TimestampMs(EPOCH + now)
}

/// An open socket at the object's end.
#[derive(Debug, Clone)]
pub struct Socket {
    /// Its link.
    pub link: usize,
    /// What is kept with it.
    pub snapshot: Option<WorkerSnapshot>,
}

/// The object of one environment.
pub struct Object {
    /// What its operator set.
    pub config: Config,
    /// What its operator set for webhooks.
    pub outbox_config: OutboxConfig,
    /// Its tables.
    pub store: Store,
    /// Its memory; none after an eviction, until the next event.
    pub brain: Option<Scheduler>,
    /// The outbox's part of its memory.
    pub outbox: Option<Outbox>,
    /// Evictions so far.
    pub life: u64,
    /// Its sockets.
    pub sockets: BTreeMap<ConnectionId, Socket>,
    /// The connection given out last. Durable.
    pub last_connection: u64,
    /// The platform's alarm.
    pub alarm: Option<u64>,
    /// What its memory knows of the alarm.
    pub alarm_known: Option<u64>,
    /// It cannot be reached before.
    pub away_until: u64,
    /// Turns so far.
    pub turns: u64,
}

impl Object {
    /// An object that was never used.
    pub fn new(config: Config, outbox_config: OutboxConfig) -> Self {
        Self {
            config,
            outbox_config,
            store: Store::default(),
            brain: None,
            outbox: None,
            life: 0,
            sockets: BTreeMap::new(),
            last_connection: 0,
            alarm: None,
            alarm_known: None,
            away_until: 0,
            turns: 0,
        }
    }

    /// The brain as it would be restored now.
    pub fn restored(&self, now: u64) -> Scheduler {
        let kept = |(id, socket): (&ConnectionId, &Socket)| Some((*id, socket.snapshot.clone()?));
        let sockets = self.sockets.iter().filter_map(kept).collect();
        Scheduler::restore(self.config.clone(), stamp(now), self.store.restored(stamp(now), sockets))
    }

    /// The outbox as it would be restored now.
    pub fn restored_outbox(&self, now: u64) -> Outbox {
        let last_row = self.store.webhooks.keys().next_back().copied().unwrap_or(RowId(0));
        Outbox::restore(
            self.outbox_config.clone(),
            stamp(now),
            self.store.endpoints.values().cloned().collect(),
            self.store.webhooks.values().map(|(row, _)| row.clone()).collect(),
            last_row,
        )
    }

    /// The memory is gone.
    pub fn evict(&mut self) {
        self.brain = None;
        self.outbox = None;
        self.life += 1;
        self.alarm_known = None;
    }
}
