//! No worker is offered more than it said it can take: an offer uses up a slot, a rejection all of them, and only the next `ready`
//! opens new ones.

use std::collections::{BTreeMap, BTreeSet};

use edge::scheduler::{ConnectionId, JobState};
use shared_protocol::{JobId, WorkerId, WorkerMessage};

use super::{Check, Fact, Moment, Verdict};

#[derive(Default)]
struct Account {
    connection: Option<ConnectionId>,
    /// Slots that may still be offered, when that is known.
    left: Option<u32>,
    unanswered: BTreeSet<JobId>,
}

/// See the module.
#[derive(Default)]
pub struct OpenSlots {
    accounts: BTreeMap<(usize, WorkerId), Account>,
}

impl Check for OpenSlots {
    fn name(&self) -> &'static str {
        "open_slots"
    }

    fn see(&mut self, _moment: Moment, fact: &Fact<'_>) -> Verdict {
        match fact {
            Fact::Heard { env, connection, worker, message } => {
                let account = self.accounts.entry((*env, (*worker).clone())).or_default();
                if matches!(message, WorkerMessage::Hello(_)) {
                    *account =
                        Account { connection: Some(*connection), left: Some(0), unanswered: BTreeSet::new() };
                }
                if account.connection != Some(*connection) {
                    return Ok(());
                }
                match message {
                    WorkerMessage::Ready(ready) => {
                        // What it lists was accepted, though the answer may be lost.
                        ready
                            .job_ids
                            .iter()
                            .for_each(|running| _ = account.unanswered.remove(&running.job_id));
                        account.left = Some(ready.slots.saturating_sub(account.unanswered.len() as u32));
                    }
                    WorkerMessage::Reject(_) => account.left = account.left.map(|_| 0),
                    _ => {}
                }
            }
            Fact::Interrupted { env } | Fact::TurnFailed { env } => {
                // Only the next `hello` is known to be known again.
                self.accounts.retain(|(e, _), _| e != env);
            }
            Fact::Offered { env, job, connection, .. } => {
                let Some(worker) = job.state.worker() else { return Ok(()) };
                let account = self.accounts.entry((*env, worker.clone())).or_default();
                if account.connection.is_some_and(|newest| newest != *connection) {
                    return Err(format!(
                        "{} is offered to {worker} over {connection:?}, not its newest connection",
                        job.id
                    ));
                }
                account.unanswered.insert(job.id.clone());
                match &mut account.left {
                    Some(0) => {
                        return Err(format!("{worker} has no open slot left and is offered {}", job.id));
                    }
                    Some(left) => *left -= 1,
                    None => {}
                }
            }
            Fact::Saved { env, before: Some(before), after, .. } => {
                let waits = matches!(after.state, JobState::Offered { .. });
                if let (false, Some(worker)) = (waits, before.state.worker())
                    && let Some(account) = self.accounts.get_mut(&(*env, worker.clone()))
                {
                    account.unanswered.remove(&after.id);
                }
            }
            _ => {}
        }
        Ok(())
    }
}
