//! A request that is sent again under its idempotency key makes no second job, whatever became of the first answer.

use std::collections::BTreeMap;

use edge::scheduler::IDEMPOTENCY_WINDOW;
use shared_protocol::{JobId, TenantId, TimestampMs};

use super::{Check, Fact, Moment, Verdict};

/// See the module.
#[derive(Default)]
pub struct OneJobPerKey {
    made: BTreeMap<(usize, TenantId, String), (JobId, TimestampMs)>,
    answers: BTreeMap<usize, JobId>,
}

impl Check for OneJobPerKey {
    fn name(&self) -> &'static str {
        "one_job_per_key"
    }

    fn see(&mut self, moment: Moment, fact: &Fact<'_>) -> Verdict {
        match fact {
            Fact::Saved { env, before: None, after, .. } => {
                let Some(key) = &after.idempotency_key else { return Ok(()) };
                let known = (after.id.clone(), moment.now);
                let earlier = self.made.insert((*env, after.tenant.clone(), key.clone()), known);
                if let Some((job, at)) = earlier
                    && moment.now - at < IDEMPOTENCY_WINDOW
                {
                    return Err(format!("{} was made under the key of {job}", after.id));
                }
            }
            Fact::Answered { request, job, .. } => {
                if let Some(other) = self.answers.insert(*request, (*job).clone())
                    && other != **job
                {
                    return Err(format!("request {request} was answered with {other}, and then with {job}"));
                }
            }
            _ => {}
        }
        Ok(())
    }
}
