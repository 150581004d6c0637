//! Who is next: higher classes first, inside a class the one that the fair order puts first, and nobody waits for ever. A
//! tenant's single job is not delayed by another's many, and what has waited for too long gets every second turn.

use std::collections::{BTreeMap, BTreeSet};

use edge::scheduler::{Job, JobState, MAX_CLASS_WAIT};
use shared_protocol::{JobId, Priority, TenantId};

use super::{Check, Fact, Moment, Verdict};
use crate::sim::store::Store;

/// Jobs of one other tenant that may go before a tenant's single one that came later: the one that was just to be picked, and one whose
/// numbers tie.
const MOST_BEFORE: u32 = 2;

/// Jobs that may go before one that has waited for [`MAX_CLASS_WAIT`]: every second turn is its own.
const MOST_PASSED: u32 = 2;

struct Single {
    class: Priority,
    tenant: TenantId,
    before: BTreeMap<TenantId, u32>,
}

/// See the module.
#[derive(Default)]
pub struct Fairness {
    /// Every worker can do every job and nobody is paused: then the promises hold without exceptions.
    uniform: bool,
    /// Jobs that could start at once when they were queued.
    startable: BTreeSet<(usize, JobId)>,
    singles: BTreeMap<(usize, JobId), Single>,
    passed: BTreeMap<(usize, JobId), u32>,
}

impl Check for Fairness {
    fn name(&self) -> &'static str {
        "fairness"
    }

    fn see(&mut self, moment: Moment, fact: &Fact<'_>) -> Verdict {
        match fact {
            Fact::Begins { uniform, .. } => self.uniform = *uniform,
            Fact::Saved { env, before, after, store } => {
                let key = (*env, after.id.clone());
                match after.state {
                    JobState::Queued { not_before } => {
                        if not_before <= moment.now {
                            self.startable.insert(key.clone());
                        }
                        if before.is_none() && not_before <= moment.now && is_single(after, store) {
                            let (class, tenant) = (after.request.priority, after.tenant.clone());
                            self.singles.insert(key, Single { class, tenant, before: BTreeMap::new() });
                        }
                    }
                    // The offer looks at it first.
                    JobState::Offered { .. } => {}
                    _ => self.left(&key),
                }
            }
            Fact::Offered { env, job, store, .. } => {
                let verdict = self.picked(*env, moment, job, store);
                self.left(&(*env, job.id.clone()));
                return verdict;
            }
            _ => {}
        }
        Ok(())
    }
}

fn is_single(job: &Job, store: &Store) -> bool {
    !store.jobs.values().any(|other| {
        other.id != job.id
            && other.tenant == job.tenant
            && other.request.priority == job.request.priority
            && matches!(other.state, JobState::Queued { .. })
    })
}

/// Since when a waiting job could have started.
fn waits_since(job: &Job) -> Option<shared_protocol::TimestampMs> {
    match job.state {
        JobState::Queued { not_before } => Some(not_before),
        _ => None,
    }
}

impl Fairness {
    fn left(&mut self, key: &(usize, JobId)) {
        self.startable.remove(key);
        self.singles.remove(key);
        self.passed.remove(key);
    }

    fn picked(&mut self, env: usize, moment: Moment, job: &Job, store: &Store) -> Verdict {
        // When it was queued last is the last entry but one of its history.
        let queued = job.history.iter().rev().find(|transition| transition.to == "queued");
        let waited = queued.map_or(0, |transition| (moment.now - transition.at).0);
        let aged = waited >= MAX_CLASS_WAIT.0;
        let mut waiting = Vec::new();
        for (e, id) in &self.startable {
            let other = store.jobs.get(id).filter(|other| *e == env && other.id != job.id);
            waiting.extend(other.filter(|other| waits_since(other).is_some()));
        }
        self.order(job, aged, &waiting, store)?;
        if self.uniform {
            self.singles_wait_little(env, job, aged)?;
            self.old_ones_have_their_turn(env, moment, job, &waiting)?;
        }
        Ok(())
    }

    fn order(&self, job: &Job, aged: bool, waiting: &[&Job], store: &Store) -> Verdict {
        if aged {
            return Ok(());
        }
        let place = |job: &Job| (job.request.priority, job.virtual_start, job.sequence);
        let first = waiting
            .iter()
            .filter(|other| {
                other.request.sampler == job.request.sampler && other.request.labels == job.request.labels
            })
            .filter(|other| !store.meta.paused_tenants.contains(&other.tenant))
            .min_by_key(|other| place(other));
        match first {
            Some(first) if place(first) < place(job) => Err(format!(
                "{} ({:?}) was offered before {} ({:?}), whose turn it was",
                job.id,
                place(job),
                first.id,
                place(first)
            )),
            _ => Ok(()),
        }
    }

    fn singles_wait_little(&mut self, env: usize, job: &Job, aged: bool) -> Verdict {
        if aged || job.attempt.0 != 1 || job.request.not_before.is_some() {
            return Ok(());
        }
        for ((e, id), single) in &mut self.singles {
            if *e != env || single.class != job.request.priority || single.tenant == job.tenant {
                continue;
            }
            let before = single.before.entry(job.tenant.clone()).or_insert(0);
            *before += 1;
            if *before > MOST_BEFORE {
                return Err(format!(
                    "{id}, the only waiting job of {}, was passed by {before} jobs of {}",
                    single.tenant, job.tenant
                ));
            }
        }
        Ok(())
    }

    fn old_ones_have_their_turn(
        &mut self,
        env: usize,
        moment: Moment,
        job: &Job,
        waiting: &[&Job],
    ) -> Verdict {
        let oldest = waiting
            .iter()
            .filter_map(|other| Some((waits_since(other)?, other.sequence, other.id.clone())))
            .min();
        let Some((since, _, id)) = oldest.filter(|(since, ..)| moment.now - *since >= MAX_CLASS_WAIT) else {
            return Ok(());
        };
        let this = job.history.iter().rev().find(|transition| transition.to == "queued");
        if this.is_some_and(|transition| transition.at < since) {
            return Ok(());
        }
        let passed = self.passed.entry((env, id.clone())).or_insert(0);
        *passed += 1;
        if *passed > MOST_PASSED {
            return Err(format!(
                "{id} has waited {} s and was passed {passed} times in a row",
                (moment.now - since).0 / 1_000
            ));
        }
        Ok(())
    }
}
