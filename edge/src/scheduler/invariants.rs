//! What is true of a scheduler between any two inputs. Checked by tests and by the simulation.

use super::{JobState, Scheduler, Timer};

impl Scheduler {
    /// Checks everything that must hold between two inputs.
    ///
    /// # Errors
    /// A sentence about the first thing that does not hold.
    pub fn check_invariants(&self) -> Result<(), String> {
        for job in self.jobs.values() {
            let id = &job.id;
            let waits_in_queue = self.queue.contains(job);
            match &job.state {
                JobState::Queued { .. } => {
                    let waits_for_time = self.timers.contains(&Timer::JobMayStart(id.clone()));
                    if waits_in_queue == waits_for_time {
                        return Err(format!(
                            "queued job {id}: in the queue {waits_in_queue}, has a start timer {waits_for_time}"
                        ));
                    }
                }
                JobState::Offered { worker, .. } | JobState::Running { worker } => {
                    if waits_in_queue {
                        return Err(format!("job {id} is with {worker} and in the queue"));
                    }
                    // A lease: somebody will notice when the worker is silent.
                    if !self.timers.contains(&Timer::WorkerSilent(worker.clone())) {
                        return Err(format!("job {id} is with {worker}, on whom nobody keeps an eye"));
                    }
                }
                JobState::Completed | JobState::Failed | JobState::Cancelled | JobState::Quarantined => {
                    return Err(format!("job {id} has ended and is still in memory"));
                }
            }
        }
        let with_workers = self.jobs.values().filter_map(|job| Some((job.state.worker()?, &job.id)));
        let mut counted = 0;
        for (worker, id) in with_workers {
            counted += 1;
            if !self.held.of(worker).any(|held| held == id) {
                return Err(format!("job {id} is with {worker}, and not among what it has"));
            }
        }
        if self.held.len() != counted {
            return Err(format!("{} jobs are noted as with workers, and {counted} are", self.held.len()));
        }
        if self.queue.len() > self.jobs.len() {
            return Err("the queue names jobs that are not live".to_owned());
        }
        for worker in self.fleet.iter() {
            if worker.snapshot.open_slots > 0 && worker.connection.is_none() {
                return Err(format!("{} is away and has open slots", worker.snapshot.worker_id));
            }
        }
        Ok(())
    }
}
