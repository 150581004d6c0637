//! A cancelled job ends: nobody queues it again or offers it again, and a worker that is told to stop an attempt stops it.

use std::collections::BTreeMap;

use shared_protocol::{JobId, SchedulerMessage, TimestampMs, WorkerId};

use super::{Check, Command, Fact, Moment, Verdict};

/// See the module.
#[derive(Default)]
pub struct Cancels {
    reliable: bool,
    /// Jobs of which a cancel was asked, and when it held.
    asked: BTreeMap<(usize, JobId), TimestampMs>,
    /// Cancels that have to be told to a worker in the present turn.
    untold: BTreeMap<(usize, JobId), WorkerId>,
}

/// A cancel that no worker confirms ends its job by itself: 15 s, and a minute should the alarm have been lost. Each eviction starts
/// the 15 s again.
const BOUND_MS: u64 = 120_000;

/// Where alarms go off and objects stay, it takes 15 s and no longer.
const PROMISED_MS: u64 = 16_000;

impl Check for Cancels {
    fn name(&self) -> &'static str {
        "cancels"
    }

    fn see(&mut self, moment: Moment, fact: &Fact<'_>) -> Verdict {
        match fact {
            Fact::Begins { reliable, .. } => self.reliable = *reliable,
            Fact::Saved { after, .. } if after.cancel_requested && after.state.name() == "queued" => {
                return Err(format!("{} was cancelled and is queued again", after.id));
            }
            Fact::Saved { env, after, .. } if after.state.is_ended() || !after.cancel_requested => {
                self.asked.remove(&(*env, after.id.clone()));
                self.untold.remove(&(*env, after.id.clone()));
            }
            Fact::Saved { env, before: Some(before), after, .. } if !before.cancel_requested => {
                let holder = after.state.worker().map(|worker| ((*env, after.id.clone()), worker.clone()));
                self.untold.extend(holder);
            }
            Fact::Sent { env, message: SchedulerMessage::Cancel(cancel), .. } => {
                self.untold.remove(&(*env, cancel.job_id.clone()));
            }
            Fact::Interrupted { .. } | Fact::TurnFailed { .. } => self.untold.clear(),
            Fact::TurnEnded { brain, .. } => {
                for ((_, job), holder) in std::mem::take(&mut self.untold) {
                    let connected =
                        brain.workers().any(|w| w.snapshot.worker_id == holder && w.connection.is_some());
                    if connected {
                        return Err(format!("{job} was cancelled, and {holder} was not told"));
                    }
                }
            }
            Fact::Offered { job, .. } if job.cancel_requested => {
                return Err(format!("{} was cancelled and is offered again", job.id));
            }
            Fact::Commanded { env, command: Command::Cancel(job) } => {
                self.asked.entry((*env, job.clone())).or_insert(moment.now);
            }
            Fact::Restored { env, .. } => {
                for (_, at) in self.asked.iter_mut().filter(|((e, _), _)| e == env) {
                    *at = moment.now;
                }
            }
            Fact::Glance { env, reachable: true, store } => {
                self.asked.retain(|(e, job), _| {
                    e != env || store.jobs.get(job).is_some_and(|j| !j.state.is_ended())
                });
                let bound = if self.reliable { PROMISED_MS } else { BOUND_MS };
                if let Some(((_, job), at)) =
                    self.asked.iter().find(|((e, _), at)| e == env && (moment.now - **at).0 > bound)
                {
                    return Err(format!(
                        "{job} was cancelled {} s ago and lives on",
                        (moment.now - *at).0 / 1_000
                    ));
                }
            }
            Fact::Glance { env, reachable: false, .. } => {
                for (_, at) in self.asked.iter_mut().filter(|((e, _), _)| e == env) {
                    *at = moment.now;
                }
            }
            Fact::ToldToStop { place, stopping: false } => {
                return Err(format!(
                    "{} was told to stop {}/{} and does not",
                    place.worker, place.job, place.attempt
                ));
            }
            _ => {}
        }
        Ok(())
    }
}
