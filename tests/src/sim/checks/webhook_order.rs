//! The events of one job reach one endpoint in their order: none is sent while an earlier one is still under way or still
//! waits, and none that matters is taken to heart after a later one.

use std::collections::{BTreeMap, BTreeSet};

use edge::outbox::{EndpointId, RowId};
use shared_protocol::JobId;

use super::{Check, Fact, Moment, Verdict};

type Line = (usize, EndpointId, JobId);

/// See the module.
#[derive(Default)]
pub struct WebhookOrder {
    /// Rows that wait, by their places.
    waiting: BTreeMap<Line, BTreeMap<RowId, u64>>,
    /// Dead letters that wait again since this turn: what was decided before them in it goes first.
    revived: BTreeSet<u64>,
    /// Requests that the object waits for.
    under_way: BTreeMap<u64, Line>,
    /// The latest place that each endpoint took to heart.
    latest: BTreeMap<Line, u64>,
    taken: BTreeSet<(usize, u64)>,
    /// Events that were given up: sent once more they come late, and so may a request that an earlier life of the object sent.
    given_up: BTreeSet<(usize, u64)>,
}

impl Check for WebhookOrder {
    fn name(&self) -> &'static str {
        "webhook_order"
    }

    fn see(&mut self, _moment: Moment, fact: &Fact<'_>) -> Verdict {
        match fact {
            Fact::Restored { env, .. } => self.under_way.retain(|_, (e, ..)| e != env),
            Fact::WebhookSaved { env, before, after, ordinal } => {
                let line = (*env, after.endpoint.clone(), after.job_id.clone());
                let rows = self.waiting.entry(line).or_default();
                if after.dead.is_some() {
                    rows.remove(&after.id);
                    self.given_up.insert((*env, *ordinal));
                } else {
                    rows.insert(after.id, *ordinal);
                    if before.is_some_and(|before| before.dead.is_some()) {
                        self.revived.insert(*ordinal);
                    }
                }
            }
            Fact::WebhookDeleted { env, row } => {
                let line = (*env, row.endpoint.clone(), row.job_id.clone());
                if let Some(rows) = self.waiting.get_mut(&line) {
                    rows.remove(&row.id);
                }
            }
            Fact::WebhookSent { number, request } => {
                let line = (request.env, request.endpoint.clone(), request.job.clone());
                if self.under_way.values().any(|other| *other == line) {
                    return Err(format!("two events of {} are under way to {}", line.2, line.1));
                }
                let rows = self.waiting.get(&line).into_iter().flat_map(|rows| rows.values().copied());
                let first = rows.filter(|o| *o == request.ordinal || !self.revived.contains(o)).min();
                if first != Some(request.ordinal) {
                    return Err(format!(
                        "{} is told of event {} of {} while {first:?} is first in line",
                        line.1, request.ordinal, line.2
                    ));
                }
                self.under_way.insert(*number, line);
            }
            Fact::TurnEnded { .. } | Fact::Interrupted { .. } => self.revived.clear(),
            Fact::WebhookCutOff { number } => drop(self.under_way.remove(number)),
            Fact::WebhookAnswered { request, .. } => {
                let line = (request.env, request.endpoint.clone(), request.job.clone());
                self.under_way.retain(|_, other| *other != line);
            }
            Fact::WebhookArrived { request, taken: true } if !request.kind.is_passing() => {
                let place = (request.env, request.ordinal);
                if !self.taken.insert(place) || self.given_up.contains(&place) {
                    return Ok(());
                }
                let line = (request.env, request.endpoint.clone(), request.job.clone());
                let latest = self.latest.entry(line).or_default();
                if request.ordinal < *latest {
                    return Err(format!(
                        "{} hears of {} of {} after later news",
                        request.endpoint,
                        request.kind.name(),
                        request.job
                    ));
                }
                *latest = request.ordinal;
            }
            _ => {}
        }
        Ok(())
    }
}
