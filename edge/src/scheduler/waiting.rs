//! Why a queued job has not started: what an operator asks first.

use serde::Serialize;
use shared_protocol::{JobId, TimestampMs};

use super::job::JobState;
use super::{Scheduler, Worker};

/// What a queued job waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WaitsFor {
    /// Its own time: a start that its client asked for, or the pause before a retry.
    ItsTime,
    /// The queue to be resumed.
    Resume,
    /// Its tenant to be resumed.
    TenantsResume,
    /// Any worker at all.
    AnyWorker,
    /// A worker that has its sampler and all of its labels.
    FittingWorker,
    /// One of the fitting workers to be let out: all of them are drained, benched or leaving.
    HeldBackWorkers,
    /// One of the fitting workers to have an open slot.
    OpenSlot,
}

/// What a queued job waits for, with the figures that say so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Waiting {
    /// What for.
    pub waits_for: WaitsFor,
    /// Not to be started before.
    pub not_before_ms: TimestampMs,
    /// Jobs that start before it, as the queue is now; none when it is not in line.
    pub jobs_ahead: Option<usize>,
    /// Connected workers with its sampler and labels.
    pub fitting_workers: usize,
    /// Of these, those that are not held back.
    pub available_workers: usize,
}

impl Scheduler {
    /// Why a job waits; none for one that does not. Cost: one pass over the fleet, and one over the queue.
    pub fn waiting_for(&self, now: TimestampMs, id: &JobId) -> Option<Waiting> {
        let job = self.jobs.get(id)?;
        let JobState::Queued { not_before } = job.state else { return None };
        let connected: Vec<&Worker> = self.fleet.iter().filter(|w| w.connection.is_some()).collect();
        let fitting: Vec<&&Worker> = connected.iter().filter(|worker| worker.fits(&job.request)).collect();
        let available = fitting.iter().filter(|worker| !worker.is_held_back()).count();
        let waits_for = if not_before > now {
            WaitsFor::ItsTime
        } else if self.paused {
            WaitsFor::Resume
        } else if self.paused_tenants.contains(&job.tenant) {
            WaitsFor::TenantsResume
        } else if connected.is_empty() {
            WaitsFor::AnyWorker
        } else if fitting.is_empty() {
            WaitsFor::FittingWorker
        } else if available == 0 {
            WaitsFor::HeldBackWorkers
        } else {
            WaitsFor::OpenSlot
        };
        Some(Waiting {
            waits_for,
            not_before_ms: not_before,
            jobs_ahead: self.queue.candidates(now).position(|other| other == id),
            fitting_workers: fitting.len(),
            available_workers: available,
        })
    }
}
