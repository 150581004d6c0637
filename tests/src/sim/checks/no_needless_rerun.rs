//! Nothing is taken from a worker that has it: a report takes away neither what the worker runs nor what it has completed and
//! will tell before it reports; a failure takes away the attempt that failed and no other; and what a worker brings back that
//! nobody else has got stays its own.

use std::collections::BTreeSet;

use edge::scheduler::{ConnectionId, Job, JobState, Reason};
use shared_protocol::{Attempt, JobId, SchedulerMessage, WorkerId, WorkerMessage};

use super::{Check, Fact, Moment, Place, Verdict};

/// See the module.
#[derive(Default)]
pub struct NoNeedlessRerun {
    running: BTreeSet<Place>,
    /// Completions that lie on a worker's disk.
    kept: BTreeSet<(usize, WorkerId, JobId, Attempt)>,
    /// Environments in which something that was heard may have been forgotten.
    forgetful: BTreeSet<usize>,
    /// Connections whose `hello` is kept for sure, and those of the present turn.
    greeted: BTreeSet<(usize, ConnectionId)>,
    greeting: BTreeSet<(usize, ConnectionId)>,
    /// Attempts of which the scheduler heard how far they are.
    progressed: BTreeSet<(usize, JobId, Attempt)>,
    /// What the reports of the present turn listed.
    listed: BTreeSet<(JobId, Attempt)>,
}

impl Check for NoNeedlessRerun {
    fn name(&self) -> &'static str {
        "no_needless_rerun"
    }

    fn see(&mut self, _moment: Moment, fact: &Fact<'_>) -> Verdict {
        match fact {
            Fact::Started { place, .. } => {
                self.running.insert((*place).clone());
            }
            Fact::Ended { place, .. } => {
                self.running.remove(*place);
            }
            Fact::Journaled { env, worker, message } => {
                if let Some((job, attempt)) = completed(message) {
                    self.kept.insert((*env, (*worker).clone(), job, attempt));
                }
            }
            Fact::Unjournaled { env, worker, message, .. } => {
                if let Some((job, attempt)) = completed(message) {
                    self.kept.remove(&(*env, (*worker).clone(), job, attempt));
                }
            }
            Fact::TurnFailed { env, .. } => {
                self.greeting.clear();
                self.forgetful.insert(*env);
            }
            Fact::Saved { env, before: Some(before), after, .. } => {
                return self.taken(*env, before, after);
            }
            Fact::Heard { message: WorkerMessage::Ready(ready), .. } => {
                self.listed
                    .extend(ready.job_ids.iter().map(|running| (running.job_id.clone(), running.attempt)));
            }
            Fact::Sent { message: SchedulerMessage::Cancel(cancel), store, .. } => {
                let queued = store.jobs.get(&cancel.job_id).is_some_and(|job| {
                    matches!(job.state, JobState::Queued { .. }) && job.attempt == cancel.attempt
                });
                if queued && self.listed.contains(&(cancel.job_id.clone(), cancel.attempt)) {
                    return Err(format!(
                        "{}/{} is stopped, though nobody else has got it",
                        cancel.job_id, cancel.attempt
                    ));
                }
            }
            Fact::Heard { env, connection, message: WorkerMessage::Hello(_), .. } => {
                self.greeting.insert((*env, *connection));
            }
            Fact::Heard { env, connection, message: WorkerMessage::Progress(progress), .. }
                if self.greeted.contains(&(*env, *connection)) =>
            {
                self.progressed.insert((*env, progress.job_id.clone(), progress.attempt));
            }
            Fact::TurnEnded { .. } => {
                self.listed.clear();
                self.greeted.append(&mut self.greeting);
            }
            Fact::Interrupted { .. } => {
                self.listed.clear();
                self.greeting.clear();
            }
            _ => {}
        }
        Ok(())
    }
}

impl NoNeedlessRerun {
    fn taken(&self, env: usize, before: &Job, after: &Job) -> Verdict {
        let (Some(worker), Some(last)) = (before.state.worker(), after.history.last()) else { return Ok(()) };
        if after.history.len() == before.history.len() {
            return Ok(());
        }
        let (job, attempt) = (after.id.clone(), before.attempt);
        let running =
            self.running.contains(&Place { env, worker: worker.clone(), job: job.clone(), attempt });
        match last.reason {
            Reason::OfferUnanswered if running && self.progressed.contains(&(env, job.clone(), attempt)) => {
                Err(format!("{job}/{attempt} was taken from {worker}, which tells how far it is"))
            }
            Reason::NotListed if running => {
                Err(format!("{job}/{attempt} was taken from {worker}, which runs it"))
            }
            Reason::NotListed if !self.forgetful.contains(&env) => {
                match self.kept.contains(&(env, worker.clone(), job.clone(), attempt)) {
                    true => Err(format!("{job}/{attempt} was taken from {worker}, which has completed it")),
                    false => Ok(()),
                }
            }
            Reason::RetryableFailure | Reason::FinalFailure | Reason::RetriesUsedUp if running => {
                Err(format!("{job}/{attempt} is said to have failed, and runs on {worker}"))
            }
            _ => Ok(()),
        }
    }
}

fn completed(message: &WorkerMessage) -> Option<(JobId, Attempt)> {
    match message {
        WorkerMessage::Complete(m) => Some((m.job_id.clone(), m.attempt)),
        _ => None,
    }
}
