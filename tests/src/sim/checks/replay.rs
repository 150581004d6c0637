//! A worker keeps terminal messages until they are acknowledged: on its disk before they are sent, sent again after each `hello`
//! and before `ready`, and forgotten only after an acknowledgement.

use std::collections::{BTreeMap, BTreeSet};

use shared_protocol::{MessageId, SchedulerMessage, WorkerId, WorkerMessage};

use super::{Check, Fact, Moment, Verdict};

/// See the module.
#[derive(Default)]
pub struct Replay {
    kept: BTreeMap<(usize, WorkerId), BTreeSet<MessageId>>,
    /// What was not sent since the last `hello`.
    unsent: BTreeMap<(usize, WorkerId), BTreeSet<MessageId>>,
    acknowledged: BTreeSet<(usize, MessageId)>,
}

impl Check for Replay {
    fn name(&self) -> &'static str {
        "replay"
    }

    fn see(&mut self, _moment: Moment, fact: &Fact<'_>) -> Verdict {
        match fact {
            Fact::Journaled { env, worker, message } => {
                let id = message.message_id().cloned();
                self.kept.entry((*env, (*worker).clone())).or_default().extend(id);
            }
            Fact::Unjournaled { env, worker, message, disk_lost } => {
                let key = (*env, (*worker).clone());
                let Some(id) = message.message_id() else { return Ok(()) };
                for set in [self.kept.get_mut(&key), self.unsent.get_mut(&key)].into_iter().flatten() {
                    set.remove(id);
                }
                if !disk_lost && !self.acknowledged.contains(&(*env, id.clone())) {
                    return Err(format!("{worker} forgot {id}, which was not acknowledged"));
                }
            }
            Fact::Sent { env, message: SchedulerMessage::Ack(ack), .. } => {
                self.acknowledged.insert((*env, ack.message_id.clone()));
            }
            Fact::WorkerSays { env, worker, message } => {
                let Some(id) = message.message_id() else { return Ok(()) };
                if !self.kept.get(&(*env, (*worker).clone())).is_some_and(|kept| kept.contains(id)) {
                    return Err(format!("{worker} sends {id}, which is not on its disk"));
                }
            }
            Fact::WorkerSent { env, worker, messages } => {
                let key = (*env, (*worker).clone());
                for message in *messages {
                    match (message, message.message_id()) {
                        (WorkerMessage::Hello(_), _) => {
                            let kept = self.kept.get(&key).cloned().unwrap_or_default();
                            self.unsent.insert(key.clone(), kept);
                        }
                        (WorkerMessage::Ready(_), _) => {
                            if let Some(id) = self.unsent.get(&key).and_then(BTreeSet::first) {
                                return Err(format!("{worker} says ready and has not replayed {id}"));
                            }
                        }
                        (_, Some(id)) => {
                            if let Some(unsent) = self.unsent.get_mut(&key) {
                                unsent.remove(id);
                            }
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }
}
