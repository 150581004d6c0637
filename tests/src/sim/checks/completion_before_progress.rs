//! The end of a job never waits behind its progress: once it ended, no progress and no phase of it waits or is sent any more,
//! and its end is not held up by a request about one that is still under way.

use std::collections::{BTreeMap, BTreeSet};

use edge::outbox::EndpointId;
use edge::scheduler::{JobChange, News};
use shared_protocol::JobId;

use super::{Check, Fact, Moment, Verdict};

/// See the module.
#[derive(Default)]
pub struct CompletionBeforeProgress {
    /// Jobs that ended and were not put back.
    ended: BTreeSet<(usize, JobId)>,
    /// Passing news under way.
    passing: BTreeMap<u64, (usize, EndpointId, JobId)>,
}

impl Check for CompletionBeforeProgress {
    fn name(&self) -> &'static str {
        "completion_before_progress"
    }

    fn see(&mut self, _moment: Moment, fact: &Fact<'_>) -> Verdict {
        match fact {
            Fact::Restored { env, .. } => self.passing.retain(|_, (e, ..)| e != env),
            Fact::Announced { env, announcement } => {
                let News::Job { change, job } = &announcement.news else { return Ok(()) };
                let key = (*env, job.id.clone());
                match change {
                    JobChange::Completed | JobChange::Failed | JobChange::Cancelled => {
                        self.ended.insert(key);
                    }
                    JobChange::Queued => {
                        self.ended.remove(&key);
                    }
                    _ if self.ended.contains(&key) => {
                        return Err(format!("{} has ended, and {change:?} is announced of it", job.id));
                    }
                    _ => {}
                }
            }
            Fact::WebhookSent { number, request } if request.kind.is_passing() => {
                if self.ended.contains(&(request.env, request.job.clone())) {
                    let (endpoint, kind, job) = (&request.endpoint, request.kind.name(), &request.job);
                    return Err(format!("{endpoint} is told {kind} of {job}, which has ended"));
                }
                self.passing.insert(*number, (request.env, request.endpoint.clone(), request.job.clone()));
            }
            Fact::WebhookCutOff { number } => drop(self.passing.remove(number)),
            Fact::WebhookAnswered { request, .. } if request.kind.is_passing() => {
                let line = (request.env, request.endpoint.clone(), request.job.clone());
                self.passing.retain(|_, other| *other != line);
            }
            Fact::TurnEnded { env, store, .. } => {
                let waits = store.webhooks.values().map(|(row, _)| row).find(|row| {
                    row.dead.is_none()
                        && row.kind.is_passing()
                        && self.ended.contains(&(*env, row.job_id.clone()))
                });
                if let Some(row) = waits {
                    return Err(format!("{} of {} waits, which has ended", row.kind.name(), row.job_id));
                }
                let under_way = self
                    .passing
                    .values()
                    .find(|(e, _, job)| e == env && self.ended.contains(&(*e, job.clone())));
                if let Some((_, endpoint, job)) = under_way {
                    return Err(format!(
                        "{endpoint}'s answer to progress of {job} is waited for, which has ended"
                    ));
                }
            }
            _ => {}
        }
        Ok(())
    }
}
