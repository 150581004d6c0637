//! The worker's slots: permits that move into jobs, and how to stop what runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use shared_protocol::{Attempt, JobId};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// What runs: environment (by its place in the configuration), job, attempt.
pub type AttemptKey = (usize, JobId, Attempt);

/// All slots of this worker, over all environments.
#[derive(Debug)]
pub struct Slots {
    count: u32,
    permits: Arc<Semaphore>,
    running: BTreeMap<AttemptKey, CancellationToken>,
}

/// What a job holds while it runs. Its slot is open again when this is dropped.
#[derive(Debug)]
pub struct SlotPermit {
    _permit: OwnedSemaphorePermit,
    /// Cancelled when the job has to stop.
    pub stop: CancellationToken,
}

impl Slots {
    /// So many slots, all open.
    pub fn new(count: u32) -> Self {
        Self { count, permits: Arc::new(Semaphore::new(count as usize)), running: BTreeMap::new() }
    }

    /// How many there are.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Takes a slot; none when all are taken.
    pub fn take(&mut self, key: AttemptKey) -> Option<SlotPermit> {
        let permit = Arc::clone(&self.permits).try_acquire_owned().ok()?;
        let stop = CancellationToken::new();
        self.running.insert(key, stop.clone());
        Some(SlotPermit { _permit: permit, stop })
    }

    /// Asks an attempt to stop.
    pub fn stop(&self, key: &AttemptKey) {
        if let Some(stop) = self.running.get(key) {
            stop.cancel();
        }
    }

    /// Forgets an attempt that has ended.
    pub fn ended(&mut self, key: &AttemptKey) {
        self.running.remove(key);
    }
}
