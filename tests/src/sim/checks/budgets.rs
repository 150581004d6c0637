//! Every failure costs a budget, exactly once: the counters of a job equal what its history says happened to it, and none
//! goes beyond its bound. What was never run costs nothing.

use edge::scheduler::{Job, MAX_HISTORY, MAX_RETRIES, MAX_WORKERS_LOST, Reason};

use super::{Check, Fact, Moment, Verdict};

/// See the module.
#[derive(Default)]
pub struct Budgets;

impl Check for Budgets {
    fn name(&self) -> &'static str {
        "budgets"
    }

    fn see(&mut self, _moment: Moment, fact: &Fact<'_>) -> Verdict {
        let Fact::Saved { after, .. } = fact else { return Ok(()) };
        if after.history.len() >= MAX_HISTORY {
            return Ok(());
        }
        let (retries, lost) = counted(after);
        if after.retries != retries {
            return Err(format!(
                "{} was charged {} retries, its history says {retries}",
                after.id, after.retries
            ));
        }
        if after.workers_lost != lost {
            return Err(format!(
                "{} was charged {} workers, its history says {lost}",
                after.id, after.workers_lost
            ));
        }
        if retries > MAX_RETRIES || lost > MAX_WORKERS_LOST + 1 {
            return Err(format!(
                "{} had {retries} retries and lost {lost} workers, beyond its budgets",
                after.id
            ));
        }
        let last = after.history.last().map(|transition| transition.reason);
        if last == Some(Reason::RetriesUsedUp) && retries < MAX_RETRIES {
            return Err(format!("{} failed for good after {retries} retries of {MAX_RETRIES}", after.id));
        }
        let code = after.failure.as_ref().map(|failure| failure.code);
        if last == Some(Reason::RetryableFailure) && code.is_some_and(|code| !code.retryable()) {
            return Err(format!(
                "{} is tried again after {code:?}, which no other attempt can mend",
                after.id
            ));
        }
        if last == Some(Reason::WorkersUsedUp) && lost <= MAX_WORKERS_LOST {
            return Err(format!("{} is set aside after {lost} workers of {MAX_WORKERS_LOST}", after.id));
        }
        Ok(())
    }
}

/// Retries and lost workers since the job was submitted or retried by an operator.
fn counted(job: &Job) -> (u32, u32) {
    let (mut retries, mut lost, mut ran) = (0, 0, false);
    for transition in &job.history {
        match transition.reason {
            Reason::RetriedByOperator => (retries, lost) = (0, 0),
            Reason::RetryableFailure => retries += 1,
            Reason::NotListed | Reason::WorkerSilent | Reason::StoppedByWorker if ran => lost += 1,
            // A worker stopped an offer that it had accepted: the accept is on its way, or lost.
            Reason::StoppedByWorker | Reason::WorkersUsedUp => lost += 1,
            _ => {}
        }
        ran = transition.to == "running";
    }
    (retries, lost)
}
