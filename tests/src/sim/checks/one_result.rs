//! A job has at most one accepted result, which some attempt really stored; and what has ended has ended. Only an operator's retry
//! or discard changes it.

use std::collections::BTreeSet;

use edge::scheduler::JobState;
use shared_protocol::{Attempt, JobId};

use super::{Check, Fact, HowEnded, Moment, Verdict};

/// See the module.
#[derive(Default)]
pub struct OneResult {
    stored: BTreeSet<(usize, JobId, Attempt)>,
}

impl Check for OneResult {
    fn name(&self) -> &'static str {
        "one_result"
    }

    fn see(&mut self, _moment: Moment, fact: &Fact<'_>) -> Verdict {
        match fact {
            Fact::Ended { place, how: HowEnded::Completed } => {
                self.stored.insert((place.env, place.job.clone(), place.attempt));
            }
            Fact::Saved { env, before, after, .. } => {
                let id = &after.id;
                if let Some(before) = before {
                    let same = before.state == after.state && before.accepted == after.accepted;
                    let operator = match before.state {
                        JobState::Failed => matches!(after.state, JobState::Queued { .. }),
                        JobState::Quarantined => {
                            matches!(after.state, JobState::Queued { .. } | JobState::Failed)
                        }
                        _ => false,
                    };
                    if before.state.is_ended() && !same && !operator {
                        return Err(format!(
                            "{id} had ended as {:?} and became {:?}",
                            before.state, after.state
                        ));
                    }
                }
                match (after.accepted, after.state == JobState::Completed) {
                    (None, false) => {}
                    (Some(attempt), true) => {
                        if !self.stored.contains(&(*env, id.clone(), attempt)) {
                            return Err(format!("{id} has the result of attempt {attempt}, which made none"));
                        }
                    }
                    (accepted, _) => {
                        return Err(format!(
                            "{id} is {} with the result of {accepted:?}",
                            after.state.name()
                        ));
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }
}
