//! A worker's report takes no job away that the worker has: not one that it runs, and not one whose end lies on its disk, which
//! it has to tell before it reports.

use std::collections::{BTreeMap, BTreeSet};

use edge::scheduler::{Reason, Transition};
use shared_protocol::{Attempt, JobId, WorkerId, WorkerMessage};

use super::{Check, Fact, Moment, Place, Verdict};

/// See the module.
#[derive(Default)]
pub struct NoNeedlessRerun {
    running: BTreeSet<Place>,
    kept: BTreeMap<(usize, WorkerId, JobId, Attempt), u32>,
    /// Environments in which something that was heard may have been forgotten.
    forgetful: BTreeSet<usize>,
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
                    self.kept.insert((*env, (*worker).clone(), job, attempt), 0);
                }
            }
            Fact::Unjournaled { env, worker, message, .. } => {
                if let Some((job, attempt)) = completed(message) {
                    self.kept.remove(&(*env, (*worker).clone(), job, attempt));
                }
            }
            Fact::TurnFailed { env } => {
                self.forgetful.insert(*env);
            }
            Fact::Saved { env, before: Some(before), after, .. } => {
                let (Some(worker), Some(last)) = (before.state.worker(), after.history.last()) else {
                    return Ok(());
                };
                if after.history.len() == before.history.len() || !is_not_listed(last) {
                    return Ok(());
                }
                let (job, attempt) = (after.id.clone(), before.attempt);
                let place = Place { env: *env, worker: worker.clone(), job: job.clone(), attempt };
                if self.running.contains(&place) {
                    return Err(format!("{job}/{attempt} was taken from {worker}, which runs it"));
                }
                let kept = self.kept.contains_key(&(*env, worker.clone(), job.clone(), attempt));
                if kept && !self.forgetful.contains(env) {
                    return Err(format!(
                        "{job}/{attempt} was taken from {worker}, which has completed it and not been heard"
                    ));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

fn is_not_listed(transition: &Transition) -> bool {
    transition.reason == Reason::NotListed
}

fn completed(message: &WorkerMessage) -> Option<(JobId, Attempt)> {
    match message {
        WorkerMessage::Complete(m) => Some((m.job_id.clone(), m.attempt)),
        _ => None,
    }
}
