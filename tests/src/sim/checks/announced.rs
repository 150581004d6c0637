//! Every change of a job that concerns its owner is announced, once: the job's own history tells what there was to announce.

use std::collections::BTreeMap;

use edge::scheduler::{Job, JobChange, MAX_HISTORY, News};
use shared_protocol::JobId;

use super::{Check, Fact, Moment, Verdict};

/// See the module.
#[derive(Default)]
pub struct Announced {
    /// Environments in which somebody listened before this turn.
    listened: BTreeMap<usize, bool>,
    /// Changes of this turn: how often each happened more often than it was announced.
    owed: BTreeMap<(usize, JobId, &'static str), i32>,
}

/// What a job's owner is to be told of the transitions that a row has and the one before it had not.
fn to_be_told(before: Option<&Job>, after: &Job) -> Vec<&'static str> {
    let known = before.map_or(0, |job| job.history.len());
    let mut last = before.map_or("", |job| job.state.name());
    let mut told = Vec::new();
    for transition in after.history.iter().skip(known) {
        let change = match (last, transition.to.as_str()) {
            (_, "offered") | ("offered", "queued") => None,
            (_, "queued") => Some("queued"),
            (_, "running") => Some("started"),
            (_, "completed") => Some("completed"),
            (_, "failed" | "quarantined") => Some("failed"),
            (_, "cancelled") => Some("cancelled"),
            (_, other) => Some(if other.is_empty() { "nothing" } else { "something unknown" }),
        };
        told.extend(change);
        last = &transition.to;
    }
    told
}

fn name(change: JobChange) -> Option<&'static str> {
    match change {
        JobChange::Queued => Some("queued"),
        JobChange::Started => Some("started"),
        JobChange::Completed => Some("completed"),
        JobChange::Failed => Some("failed"),
        JobChange::Cancelled => Some("cancelled"),
        JobChange::PhaseChanged | JobChange::Progressed | JobChange::Playable => None,
    }
}

impl Check for Announced {
    fn name(&self) -> &'static str {
        "announced"
    }

    fn see(&mut self, _moment: Moment, fact: &Fact<'_>) -> Verdict {
        match fact {
            // A full history lets go of its oldest entries: what is new in it cannot be told by its length.
            Fact::Saved { env, before, after, .. }
                if self.listened.get(env) == Some(&true) && after.history.len() < MAX_HISTORY =>
            {
                for change in to_be_told(*before, after) {
                    *self.owed.entry((*env, after.id.clone(), change)).or_default() += 1;
                }
            }
            Fact::Announced { env, announcement } => {
                let News::Job { change, job } = &announcement.news else { return Ok(()) };
                if let Some(change) = name(*change).filter(|_| job.history.len() < MAX_HISTORY) {
                    *self.owed.entry((*env, job.id.clone(), change)).or_default() -= 1;
                }
            }
            Fact::TurnEnded { env, store, .. } => {
                let wrong = self.owed.iter().find(|((e, ..), count)| e == env && **count != 0);
                if let Some(((_, job, change), count)) = wrong {
                    let what =
                        if *count > 0 { "is not announced" } else { "is announced and did not happen" };
                    return Err(format!("that {job} is {change} {what}"));
                }
                self.owed.retain(|(e, ..), _| e != env);
                self.listened.insert(*env, !store.endpoints.is_empty());
            }
            Fact::Restored { env, store, .. } => {
                self.listened.insert(*env, !store.endpoints.is_empty());
            }
            Fact::Interrupted { env } => self.owed.retain(|(e, ..), _| e != env),
            Fact::TurnFailed { env, .. } => self.owed.retain(|(e, ..), _| e != env),
            _ => {}
        }
        Ok(())
    }
}
