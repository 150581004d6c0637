//! The operator's levers. Each changes state that outlives a deploy.

use serde::{Deserialize, Serialize};
use shared_protocol::{DurationMs, JobId, TenantId, TimestampMs, WorkerId};

use super::announcement::JobChange;
use super::fleet::WorkerControl;
use super::job::Job;
use super::transition::{Reason, Step};
use super::{Effect, Scheduler, Timer};

/// Why an operator's wish cannot be met.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OperatorError {
    /// The job is not in a state in which that can be done.
    #[error("job {job_id} is {state}: only {wanted} jobs can be {verb}")]
    WrongState {
        /// The job.
        job_id: JobId,
        /// Its state's name.
        state: &'static str,
        /// The states in which it could be done.
        wanted: &'static str,
        /// What was to be done.
        verb: &'static str,
    },
    /// There would be too many live jobs.
    #[error("the queue is full: {limit} jobs are waiting or running")]
    QueueFull {
        /// The bound.
        limit: usize,
    },
}

/// Who paused something, when and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PauseNote {
    /// Of whom nothing is offered; of anybody when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<TenantId>,
    /// Since when.
    #[serde(rename = "atMs")]
    pub at: TimestampMs,
    /// The name of the operator's key.
    pub key_id: String,
    /// In the operator's words.
    #[serde(default)]
    pub reason: String,
}

impl Scheduler {
    /// Whether nothing of a tenant is offered by a pause of its own; without a tenant, whether everything is paused.
    pub fn is_paused(&self, tenant: Option<&TenantId>) -> bool {
        tenant.map_or(self.paused, |tenant| self.paused_tenants.contains(tenant))
    }

    /// Pauses, and keeps who did it and why with the pause.
    pub fn pause_with_note(&mut self, note: PauseNote) {
        let tenant = note.tenant.clone();
        self.pause_notes.retain(|old| old.tenant != tenant);
        self.pause_notes.push(note);
        self.pause(tenant);
    }

    /// Offers nothing more, of one tenant or at all. What runs goes on.
    pub fn pause(&mut self, tenant: Option<TenantId>) {
        match tenant {
            Some(tenant) => {
                // Out, and in again to where paused tenants' jobs stand.
                let waiting = |job: &&Job| job.tenant == tenant && self.queue.contains(job);
                let waiting: Vec<JobId> =
                    self.jobs.values().filter(waiting).map(|job| job.id.clone()).collect();
                let jobs = || waiting.iter().filter_map(|id| self.jobs.get(id));
                jobs().for_each(|job| self.queue.remove(job));
                self.queue.pause(&tenant);
                jobs().for_each(|job| self.queue.insert(job));
                self.paused_tenants.insert(tenant);
            }
            None => self.paused = true,
        }
        self.save_meta();
    }

    /// Offers again.
    pub fn resume(&mut self, now: TimestampMs, tenant: Option<&TenantId>) {
        self.pause_notes.retain(|note| note.tenant.as_ref() != tenant);
        match tenant {
            Some(tenant) => {
                self.paused_tenants.remove(tenant);
                self.line_up_again(tenant);
            }
            None => self.paused = false,
        }
        self.save_meta();
        self.dispatch(now);
    }

    /// Puts the jobs of a resumed tenant in line behind whom they would have let go first: while it was paused they did not wait.
    fn line_up_again(&mut self, tenant: &TenantId) {
        let parked = self.queue.resume(tenant);
        for job in parked.iter().filter_map(|id| self.jobs.get(id)) {
            self.queue.remove(job);
        }
        for id in parked {
            let Some(job) = self.jobs.get_mut(&id) else { continue };
            let start = self.queue.virtual_start(job);
            let moved = start > job.virtual_start;
            if moved {
                job.virtual_start = start;
            }
            self.queue.insert(job);
            if moved {
                self.save(&id);
            }
        }
    }

    /// Lets a worker finish what it has, stems and quality included, and offers it nothing new.
    pub fn drain(&mut self, worker: &WorkerId, reason: &str) {
        let mut control = self.control_for(worker);
        control.drained = true;
        reason.clone_into(&mut control.reason);
        self.set_control(worker, Some(control));
    }

    /// Ends a drain.
    pub fn undrain(&mut self, now: TimestampMs, worker: &WorkerId) {
        let mut control = self.control_for(worker);
        control.drained = false;
        let control = Some(control).filter(|control| control.benched_until.is_some());
        self.set_control(worker, control);
        self.dispatch(now);
    }

    /// Offers a worker nothing for a while.
    pub fn bench(&mut self, now: TimestampMs, worker: &WorkerId, time: DurationMs, reason: &str) {
        let mut control = self.control_for(worker);
        let until = now + time;
        control.benched_until = Some(until);
        reason.clone_into(&mut control.reason);
        self.timers.set(Timer::BenchOver(worker.clone()), until);
        self.set_control(worker, Some(control));
    }

    /// Ends a bench.
    pub fn unbench(&mut self, now: TimestampMs, worker: &WorkerId) {
        self.timers.clear(&Timer::BenchOver(worker.clone()));
        let mut control = self.control_for(worker);
        control.benched_until = None;
        let control = Some(control).filter(|control| control.drained);
        self.set_control(worker, control);
        self.dispatch(now);
    }

    /// Puts a failed or quarantined job, which the caller took from its row, back with fresh budgets.
    ///
    /// # Errors
    /// [`OperatorError`]; nothing is changed then.
    pub fn retry(&mut self, now: TimestampMs, mut job: Job) -> Result<(), OperatorError> {
        if self.jobs.len() >= self.config.max_live_jobs {
            return Err(OperatorError::QueueFull { limit: self.config.max_live_jobs });
        }
        let (id, state) = (job.id.clone(), job.state.name());
        job.step(now, job.attempt, Step::Retry, Reason::RetriedByOperator).map_err(|_| {
            OperatorError::WrongState {
                job_id: id.clone(),
                state,
                wanted: "failed and quarantined",
                verb: "retried",
            }
        })?;
        job.virtual_start = self.queue.virtual_start(&job);
        self.queue.insert(&job);
        self.jobs.insert(id.clone(), job);
        self.save(&id);
        self.save_playlist(&id);
        self.announce(now, &id, JobChange::Queued);
        self.dispatch(now);
        Ok(())
    }

    /// Gives a quarantined job, which the caller took from its row, up.
    ///
    /// # Errors
    /// [`OperatorError`]; nothing is changed then.
    pub fn discard(&mut self, now: TimestampMs, mut job: Job) -> Result<(), OperatorError> {
        let (id, state) = (job.id.clone(), job.state.name());
        job.step(now, job.attempt, Step::Discard, Reason::DiscardedByOperator).map_err(|_| {
            OperatorError::WrongState { job_id: id, state, wanted: "quarantined", verb: "discarded" }
        })?;
        self.effects.push_back(Effect::SaveJob(Box::new(job.clone())));
        self.announce_job(now, JobChange::Failed, job);
        Ok(())
    }

    fn control_for(&self, worker: &WorkerId) -> WorkerControl {
        self.fleet.control_of(worker).cloned().unwrap_or_else(|| WorkerControl {
            worker_id: worker.clone(),
            drained: false,
            benched_until: None,
            reason: String::new(),
        })
    }

    fn set_control(&mut self, worker: &WorkerId, control: Option<WorkerControl>) {
        self.fleet.control(worker, control.clone());
        self.effects.push_back(Effect::SaveControl { worker: worker.clone(), control });
    }
}
