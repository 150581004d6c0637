//! The scheduler's own invariants hold between any two inputs, and its memory agrees with the store.

use super::{Check, Fact, Moment, Verdict};

/// See the module.
#[derive(Default)]
pub struct Invariants;

impl Check for Invariants {
    fn name(&self) -> &'static str {
        "invariants"
    }

    fn see(&mut self, _moment: Moment, fact: &Fact<'_>) -> Verdict {
        let (brain, store) = match fact {
            Fact::TurnEnded { brain, store, changed: true, .. } | Fact::Restored { brain, store, .. } => {
                (brain, store)
            }
            _ => return Ok(()),
        };
        brain.check_invariants()?;
        let live = store.jobs.values().filter(|job| !job.state.is_ended()).count();
        if brain.jobs().count() != live {
            return Err(format!("{live} jobs are live in the store, {} in memory", brain.jobs().count()));
        }
        for job in brain.jobs() {
            let row = store.jobs.get(&job.id);
            let same = row.is_some_and(|row| {
                row.state == job.state
                    && row.attempt == job.attempt
                    && row.cancel_requested == job.cancel_requested
                    && (row.retries, row.workers_lost) == (job.retries, job.workers_lost)
            });
            if !same {
                return Err(format!(
                    "{} is {:?} in memory and {:?} in the store",
                    job.id,
                    job.state,
                    row.map(|r| &r.state)
                ));
            }
        }
        Ok(())
    }
}
