//! An acknowledgement says that a terminal message is durable: its receipt is stored before the acknowledgement leaves, and a
//! completion that was acknowledged has ended its job for good. What the scheduler knows to be done is never offered again.

use std::collections::BTreeMap;

use shared_protocol::{Attempt, JobId, MessageId, SchedulerMessage, WorkerMessage};

use super::{Check, Fact, Moment, Verdict};

/// See the module.
#[derive(Default)]
pub struct Acknowledged {
    completions: BTreeMap<(usize, MessageId), (JobId, Attempt)>,
}

impl Check for Acknowledged {
    fn name(&self) -> &'static str {
        "acknowledged"
    }

    fn see(&mut self, _moment: Moment, fact: &Fact<'_>) -> Verdict {
        match fact {
            Fact::Journaled { env, message: WorkerMessage::Complete(complete), .. } => {
                let told = (complete.job_id.clone(), complete.attempt);
                self.completions.insert((*env, complete.message_id.clone()), told);
            }
            Fact::Sent { env, message: SchedulerMessage::Ack(ack), store } => {
                let id = &ack.message_id;
                if !store.receipts.contains_key(id) {
                    return Err(format!("{id} is acknowledged, and its receipt is not stored"));
                }
                let Some((job, attempt)) = self.completions.get(&(*env, id.clone())) else { return Ok(()) };
                let Some(row) = store.jobs.get(job) else { return Ok(()) };
                let retried =
                    row.history.iter().any(|t| t.reason == edge::scheduler::Reason::RetriedByOperator);
                if !row.state.is_ended() && *attempt <= row.attempt && !retried {
                    return Err(format!(
                        "attempt {attempt} of {job} is known to be completed, and the job is {}",
                        row.state.name()
                    ));
                }
            }
            Fact::Offered { job, .. } if job.accepted.is_some() => {
                return Err(format!("{} has a result and is offered again", job.id));
            }
            _ => {}
        }
        Ok(())
    }
}
