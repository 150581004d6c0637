//! A drained, benched or draining worker is offered nothing, and a job goes only to a worker that can do it.

use std::collections::{BTreeMap, BTreeSet};

use shared_protocol::{Hello, WorkerId, WorkerMessage};

use super::{Check, Command, Fact, Moment, Verdict};

/// See the module.
#[derive(Default)]
pub struct HeldBack {
    /// Workers whose last report said that they drain.
    draining: BTreeSet<(usize, WorkerId)>,
    hellos: BTreeMap<(usize, WorkerId), Hello>,
    /// Workers that operators drained for sure.
    drained: BTreeSet<(usize, WorkerId)>,
}

impl Check for HeldBack {
    fn name(&self) -> &'static str {
        "held_back"
    }

    fn see(&mut self, moment: Moment, fact: &Fact<'_>) -> Verdict {
        match fact {
            Fact::Heard { env, worker, message, .. } => {
                let key = (*env, (*worker).clone());
                match message {
                    WorkerMessage::Hello(hello) => {
                        self.draining.remove(&key);
                        self.hellos.insert(key, hello.clone());
                    }
                    WorkerMessage::Ready(ready) if ready.draining => {
                        self.draining.insert(key);
                    }
                    WorkerMessage::Ready(_) => {
                        self.draining.remove(&key);
                    }
                    _ => {}
                }
            }
            // What was kept with the socket may be older than what was heard.
            Fact::Interrupted { env } | Fact::TurnFailed { env, .. } => {
                self.draining.retain(|(e, _)| e != env)
            }
            Fact::Commanding { env, command: Command::Undrain(worker) } => {
                self.drained.remove(&(*env, worker.clone()));
            }
            Fact::Commanded { env, command: Command::Drain(worker) } => {
                self.drained.insert((*env, worker.clone()));
            }
            Fact::Offered { env, job, store, .. } => {
                let Some(worker) = job.state.worker() else { return Ok(()) };
                let key = (*env, worker.clone());
                if self.draining.contains(&key) || self.drained.contains(&key) {
                    return Err(format!("{worker} drains and is offered {}", job.id));
                }
                if let Some(control) = store.controls.get(worker) {
                    let benched = control.benched_until.is_some_and(|until| until > moment.now);
                    if control.drained || benched {
                        return Err(format!(
                            "{worker} is held back by {control:?} and is offered {}",
                            job.id
                        ));
                    }
                }
                if let Some(hello) = self.hellos.get(&key) {
                    let can = hello.samplers.contains(&job.request.sampler)
                        && job.request.labels.iter().all(|label| hello.labels.contains(label));
                    if !can {
                        return Err(format!("{worker} cannot do {} and is offered it", job.id));
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }
}
