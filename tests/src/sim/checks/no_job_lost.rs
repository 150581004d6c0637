//! A job that a client was told of is there for ever, and has ended when everything has. There are never more live ones than may
//! be: who comes too late is told so.

use std::collections::BTreeSet;

use shared_protocol::JobId;

use super::{Check, Fact, Moment, Verdict};

/// See the module.
#[derive(Default)]
pub struct NoJobLost {
    most: usize,
    told: BTreeSet<(usize, JobId)>,
}

impl Check for NoJobLost {
    fn name(&self) -> &'static str {
        "no_job_lost"
    }

    fn see(&mut self, _moment: Moment, fact: &Fact<'_>) -> Verdict {
        match fact {
            Fact::Begins { max_live_jobs, .. } => self.most = *max_live_jobs,
            Fact::Saved { before: None, store, .. } if self.most < 1_000 => {
                let live = store.jobs.values().filter(|job| !job.state.is_ended()).count();
                if live > self.most {
                    return Err(format!("{live} jobs are live, and {} may be", self.most));
                }
            }
            Fact::Answered { env, job, store, request } => {
                self.told.insert((*env, (*job).clone()));
                if !store.jobs.contains_key(job) {
                    return Err(format!("request {request} was answered with {job}, which is not stored"));
                }
            }
            Fact::Glance { env, store, .. } | Fact::Over { env, store } => {
                let lost = self.told.iter().find(|(e, job)| e == env && !store.jobs.contains_key(job));
                if let Some((_, job)) = lost {
                    return Err(format!("{job} is lost"));
                }
                if let (Fact::Over { .. }, Some(job)) =
                    (fact, store.jobs.values().find(|job| !job.state.is_ended()))
                {
                    return Err(format!("{} has not ended: {:?}", job.id, job.state));
                }
            }
            _ => {}
        }
        Ok(())
    }
}
