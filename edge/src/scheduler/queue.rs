//! Who is next: by priority class, then by order of submission. A job that comes back keeps its place.

use std::collections::BTreeSet;

use shared_protocol::{JobId, Priority};

use super::job::Job;

/// Jobs that may start now. Those that may not start yet wait for their timer outside of it.
#[derive(Debug, Clone, Default)]
pub struct Queue {
    order: BTreeSet<(Priority, u64, JobId)>,
}

fn place(job: &Job) -> (Priority, u64, JobId) {
    (job.request.priority, job.sequence, job.id.clone())
}

impl Queue {
    /// Puts a job in its place.
    pub fn insert(&mut self, job: &Job) {
        self.order.insert(place(job));
    }

    /// Takes a job out, wherever it stands.
    pub fn remove(&mut self, job: &Job) {
        self.order.remove(&place(job));
    }

    /// The jobs, the next one first.
    pub fn iter(&self) -> impl Iterator<Item = &JobId> {
        self.order.iter().map(|(_, _, id)| id)
    }

    /// Whether a job stands in it.
    pub fn contains(&self, job: &Job) -> bool {
        self.order.contains(&place(job))
    }
}
