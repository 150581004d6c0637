//! Which attempts are with which worker: every report of a worker is compared with it, so it must not cost a pass over all
//! jobs.

use std::collections::{BTreeMap, BTreeSet};

use shared_protocol::{JobId, WorkerId};

/// Offered and running jobs by worker. Follows from the jobs' states, and is never stored.
#[derive(Debug, Clone, Default)]
pub struct Held {
    by_worker: BTreeMap<WorkerId, BTreeSet<JobId>>,
}

impl Held {
    /// A worker got a job.
    pub fn insert(&mut self, worker: &WorkerId, job: &JobId) {
        self.by_worker.entry(worker.clone()).or_default().insert(job.clone());
    }

    /// A worker no longer has a job.
    pub fn remove(&mut self, worker: &WorkerId, job: &JobId) {
        if let Some(jobs) = self.by_worker.get_mut(worker) {
            jobs.remove(job);
            if jobs.is_empty() {
                self.by_worker.remove(worker);
            }
        }
    }

    /// What a worker has, in order of submission.
    pub fn of(&self, worker: &WorkerId) -> impl Iterator<Item = &JobId> {
        self.by_worker.get(worker).into_iter().flatten()
    }

    /// How many jobs are with workers.
    pub fn len(&self) -> usize {
        self.by_worker.values().map(BTreeSet::len).sum()
    }
}
