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
    /// Its `hello` was handled in the present turn.
    greeting: bool,
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
                    let connection = Some(*connection);
                    *account = Account { connection, left: Some(0), greeting: true, ..Account::default() };
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
            Fact::TurnEnded { env, .. } => self.of(*env).for_each(|account| account.greeting = false),
            // Nothing of it happened.
            Fact::TurnFailed { persisted: false, .. } => {}
            Fact::TurnFailed { env, .. } | Fact::Interrupted { env } => {
                for account in self.of(*env) {
                    // What was heard may not have been kept; the next report tells it again.
                    account.left = None;
                    if std::mem::take(&mut account.greeting) {
                        account.connection = None;
                    }
                }
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

impl OpenSlots {
    fn of(&mut self, env: usize) -> impl Iterator<Item = &mut Account> {
        self.accounts.iter_mut().filter(move |((e, _), _)| *e == env).map(|(_, account)| account)
    }
}
