//! A lease lives on signs of life: it is never taken from a worker that gave one within 9 s, and nothing stays with a worker of
//! which nothing was heard for longer than its bound, or that does not run it.

use std::collections::{BTreeMap, BTreeSet};

use edge::scheduler::{ConnectionId, Reason};
use shared_protocol::limits::LIVENESS_TIMEOUT;
use shared_protocol::{Attempt, JobId, TimestampMs, WorkerId, WorkerMessage};

use super::{Check, Fact, Moment, Verdict};

/// "At most 10 s after the last sign of life."
const PROMISED_MS: u64 = 10_000;

/// Where alarms are lost and objects evicted: the grace of 20 s after a restart, a minute until the next poke, and as much again
/// as a transaction that fails may cost.
const BOUND_MS: u64 = 120_000;

/// See the module.
#[derive(Default)]
pub struct LiveLease {
    reliable: bool,
    connections: BTreeMap<(usize, WorkerId), ConnectionId>,
    /// The last sign of life that the scheduler surely knows of.
    known: BTreeMap<(usize, WorkerId), TimestampMs>,
    /// The last one that it may know of.
    heard: BTreeMap<(usize, WorkerId), TimestampMs>,
    /// Since when the object's memory is what it is; a restart gives everybody a new grace.
    memory_since: BTreeMap<usize, TimestampMs>,
    running: BTreeSet<(usize, JobId, Attempt)>,
    kept: BTreeSet<(usize, JobId, Attempt)>,
    orphans: BTreeMap<(usize, JobId, Attempt), TimestampMs>,
}

impl Check for LiveLease {
    fn name(&self) -> &'static str {
        "live_lease"
    }

    fn see(&mut self, moment: Moment, fact: &Fact<'_>) -> Verdict {
        match fact {
            Fact::Begins { reliable, .. } => self.reliable = *reliable,
            Fact::Heard { env, connection, worker, message } => {
                let key = (*env, (*worker).clone());
                if matches!(message, WorkerMessage::Hello(_)) {
                    self.connections.insert(key.clone(), *connection);
                }
                if self.connections.get(&key) == Some(connection) {
                    self.known.insert(key.clone(), moment.now);
                }
                self.heard.insert(key, moment.now);
            }
            Fact::Restored { env, .. } => {
                self.memory_since.insert(*env, moment.now);
            }
            // A `hello` changes nothing but memory and what is kept with its socket.
            Fact::Interrupted { env } | Fact::TurnFailed { env, .. } => {
                self.memory_since.insert(*env, moment.now);
                self.connections.retain(|(e, _), _| e != env);
                self.known.retain(|(e, _), _| e != env);
            }
            Fact::Glance { env, reachable: false, .. } => {
                self.memory_since.insert(*env, moment.now);
            }
            Fact::Started { place, .. } => {
                self.running.insert((place.env, place.job.clone(), place.attempt));
            }
            Fact::Ended { place, .. } => {
                self.running.remove(&(place.env, place.job.clone(), place.attempt));
            }
            Fact::Journaled { env, message, .. } => {
                if let Some((job, attempt)) = ended(message) {
                    self.kept.insert((*env, job.clone(), attempt));
                }
            }
            Fact::Unjournaled { env, message, .. } => {
                if let Some((job, attempt)) = ended(message) {
                    self.kept.remove(&(*env, job.clone(), attempt));
                }
            }
            Fact::Saved { env, before: Some(before), after, .. } => {
                let silent = after.history.last().is_some_and(|last| last.reason == Reason::WorkerSilent);
                if let (true, Some(worker)) =
                    (silent && before.history.len() < after.history.len(), before.state.worker())
                    && let Some(heard) = self.known.get(&(*env, worker.clone()))
                    && moment.now - *heard < LIVENESS_TIMEOUT
                {
                    let ago = moment.now - *heard;
                    return Err(format!(
                        "{} was taken from {worker}, which was heard {} ms ago",
                        after.id, ago.0
                    ));
                }
            }
            Fact::Glance { env, store, .. } => return self.nothing_stays(*env, moment, store),
            _ => {}
        }
        Ok(())
    }
}

impl LiveLease {
    fn nothing_stays(&mut self, env: usize, moment: Moment, store: &crate::sim::store::Store) -> Verdict {
        let since = self.memory_since.get(&env).copied().unwrap_or_default();
        let mut orphans = BTreeMap::new();
        for job in store.jobs.values() {
            let Some(worker) = job.state.worker() else { continue };
            let heard = self.heard.get(&(env, worker.clone())).copied().unwrap_or_default();
            let (silent, bound) = match self.reliable {
                true => (moment.now - heard, PROMISED_MS),
                false => (moment.now - heard.max(since), BOUND_MS),
            };
            if silent.0 > bound {
                return Err(format!(
                    "{} stays with {worker}, of which nothing was heard for {} s",
                    job.id,
                    silent.0 / 1_000
                ));
            }
            let key = (env, job.id.clone(), job.attempt);
            if self.running.contains(&key) || self.kept.contains(&key) {
                continue;
            }
            let begun = self.orphans.get(&key).copied().unwrap_or(moment.now);
            let idle = moment.now - begun.max(since);
            if idle.0 > BOUND_MS {
                return Err(format!(
                    "{} is {} on {worker}, where it has not run for {} s",
                    job.id,
                    job.state.name(),
                    idle.0 / 1_000
                ));
            }
            orphans.insert(key, begun);
        }
        self.orphans.retain(|(e, ..), _| *e != env);
        self.orphans.extend(orphans);
        Ok(())
    }
}

/// The attempt whose end a message tells.
fn ended(message: &WorkerMessage) -> Option<(&JobId, Attempt)> {
    match message {
        WorkerMessage::Complete(m) => Some((&m.job_id, m.attempt)),
        WorkerMessage::Failed(m) => Some((&m.job_id, m.attempt)),
        WorkerMessage::Cancelled(m) => Some((&m.job_id, m.attempt)),
        _ => None,
    }
}
