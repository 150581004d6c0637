//! A worker that fails job after job is benched, and reported. Faults of recordings and jobs that are handed back bench nobody.

use std::collections::BTreeMap;

use edge::scheduler::{ConnectionId, FAILURES_IN_A_ROW, Job};
use shared_protocol::{FailureCode, JobId, TimestampMs, WorkerId, WorkerMessage};

use super::{Check, Command, Fact, Moment, Verdict};

/// See the module.
#[derive(Default)]
pub struct Breaker {
    /// Failures in a row since the scheduler began to count: it counts in its memory.
    failures: BTreeMap<(usize, WorkerId), u32>,
    /// Connections of which the scheduler surely knows who speaks.
    connections: BTreeMap<(usize, WorkerId), ConnectionId>,
    holders: BTreeMap<(usize, JobId), Job>,
    due: Option<(usize, WorkerId)>,
    /// Benches that operators asked for.
    asked: BTreeMap<(usize, WorkerId), u32>,
    benched: BTreeMap<(usize, WorkerId), Option<TimestampMs>>,
    handled: std::collections::BTreeSet<(usize, shared_protocol::MessageId)>,
}

impl Check for Breaker {
    fn name(&self) -> &'static str {
        "breaker"
    }

    fn see(&mut self, _moment: Moment, fact: &Fact<'_>) -> Verdict {
        match fact {
            Fact::Saved { env, after, .. } => {
                self.holders.insert((*env, after.id.clone()), (*after).clone());
            }
            // The count does not outlive the scheduler's memory, nor a restart of the worker.
            Fact::Restored { env, .. } => self.failures.retain(|(e, _), _| e != env),
            Fact::TurnFailed { env, .. } => self.connections.retain(|(e, _), _| e != env),
            Fact::Heard { env, connection, worker, message } => {
                let key = (*env, (*worker).clone());
                let known = self.connections.get(&key) == Some(connection);
                let news = message.message_id().is_none_or(|id| !self.handled.contains(&(*env, id.clone())));
                let counts = matches!(message, WorkerMessage::Hello(_)) || (known && news);
                if !counts {
                    return Ok(());
                }
                self.handled.extend(message.message_id().map(|id| (*env, id.clone())));
                match message {
                    WorkerMessage::Hello(_) => {
                        self.connections.insert(key.clone(), *connection);
                        // A restart begins anew; a reconnect may go on counting. Either is fine here.
                        self.failures.remove(&key);
                    }
                    WorkerMessage::Complete(_) => {
                        self.failures.remove(&key);
                    }
                    WorkerMessage::Failed(failed) => {
                        let held = self.holders.get(&(*env, failed.job_id.clone()));
                        let held = held.is_some_and(|job| job.is_held(worker, failed.attempt));
                        let code = failed.failure.code;
                        if held && code.retryable() && code != FailureCode::WorkerStopping {
                            let count = self.failures.entry(key.clone()).or_insert(0);
                            *count += 1;
                            if *count >= FAILURES_IN_A_ROW {
                                self.failures.remove(&key);
                                self.due = Some(key);
                            }
                        }
                    }
                    _ => {}
                }
            }
            Fact::Commanding { env, command: Command::Bench(worker, _) | Command::Unbench(worker) } => {
                *self.asked.entry((*env, worker.clone())).or_insert(0) += 1;
            }
            Fact::ControlSaved { env, worker, control } => {
                let key = (*env, (*worker).clone());
                let until = control.and_then(|control| control.benched_until);
                let earlier = self.benched.insert(key.clone(), until).flatten();
                let benched = until.is_some() && until != earlier;
                if !benched {
                    return Ok(());
                }
                // After a reconnect the scheduler may have counted further than this check did.
                let counted = self.failures.remove(&key).is_some();
                if self.due.as_ref() == Some(&key) {
                    self.due = None;
                } else if !self.asked.contains_key(&key) && !counted && self.connections.contains_key(&key) {
                    return Err(format!("{worker} is benched without having failed job after job"));
                }
            }
            Fact::TurnEnded { env, .. } | Fact::Interrupted { env } => {
                if matches!(fact, Fact::Interrupted { .. }) {
                    self.connections.retain(|(e, _), _| e != env);
                }
                if let Some((_, worker)) = self.due.take_if(|(e, _)| e == env) {
                    return Err(format!(
                        "{worker} failed {FAILURES_IN_A_ROW} jobs in a row and is not benched"
                    ));
                }
            }
            _ => {}
        }
        Ok(())
    }
}
