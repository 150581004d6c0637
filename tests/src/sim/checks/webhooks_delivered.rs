//! Everybody who wants to know is told: what is announced has a row for each endpoint that wants it, and a row goes only when
//! its endpoint has said so, or when later news has made it worthless.

use std::collections::{BTreeMap, BTreeSet};

use edge::outbox::{DeliveryOutcome, Endpoint, EndpointId, EventKind, RowId};
use edge::scheduler::{JobChange, News};
use shared_protocol::{JobId, TenantId};

use super::{Check, Fact, Moment, Verdict};

/// See the module.
#[derive(Default)]
pub struct WebhooksDelivered {
    endpoints: BTreeMap<(usize, EndpointId), Endpoint>,
    /// What was announced in this turn and has no row yet.
    owed: BTreeMap<(usize, EndpointId, JobId, EventKind), u32>,
    /// Rows whose endpoints have said in this turn that they got them.
    acknowledged: BTreeSet<(usize, RowId)>,
    /// Endpoints with rows that are new in this turn: they take an older one's place, be it for want of room.
    newer: BTreeSet<(usize, EndpointId)>,
    /// Jobs that ended in this turn.
    ended: BTreeSet<(usize, JobId)>,
    /// Passing news that was thrown away in this turn before anything newer was written.
    dropped: Vec<(usize, EndpointId, JobId, EventKind)>,
}

/// What an announcement is called when it is told.
fn told(news: &News) -> (&TenantId, &JobId, EventKind) {
    match news {
        News::Job { change, job } => {
            let kind = match change {
                JobChange::Queued => EventKind::Queued,
                JobChange::Started => EventKind::Started,
                JobChange::PhaseChanged => EventKind::PhaseChanged,
                JobChange::Progressed => EventKind::Progress,
                JobChange::Playable => EventKind::Playable,
                JobChange::Completed => EventKind::Completed,
                JobChange::Failed => EventKind::Failed,
                JobChange::Cancelled => EventKind::Cancelled,
            };
            (&job.tenant, &job.id, kind)
        }
        News::Stems(follow_up) => (&follow_up.tenant, &follow_up.job_id, EventKind::Stems),
        News::Quality(follow_up) => (&follow_up.tenant, &follow_up.job_id, EventKind::Quality),
    }
}

impl Check for WebhooksDelivered {
    fn name(&self) -> &'static str {
        "webhooks_delivered"
    }

    fn see(&mut self, _moment: Moment, fact: &Fact<'_>) -> Verdict {
        match fact {
            Fact::EndpointSaved { env, endpoint } => {
                self.endpoints.insert((*env, endpoint.id.clone()), (*endpoint).clone());
            }
            Fact::Announced { env, announcement } => {
                let (tenant, job, kind) = told(&announcement.news);
                if kind.is_terminal() {
                    self.ended.insert((*env, job.clone()));
                }
                for ((e, id), endpoint) in &self.endpoints {
                    let concerned = endpoint.tenant.as_ref().is_none_or(|theirs| theirs == tenant);
                    let wanted = endpoint.kinds.as_ref().is_none_or(|kinds| kinds.contains(&kind));
                    if e == env && concerned && wanted && endpoint.enabled && !kind.is_passing() {
                        *self.owed.entry((*env, id.clone(), job.clone(), kind)).or_default() += 1;
                    }
                }
            }
            Fact::WebhookAnswered { request, outcome: DeliveryOutcome::Response { status, .. } }
                if (200..300).contains(status) =>
            {
                self.acknowledged.insert((request.env, request.row));
            }
            Fact::WebhookSaved { env, before, after, .. } => {
                if before.is_none_or(|before| before.dead.is_some()) {
                    self.newer.insert((*env, after.endpoint.clone()));
                }
                if before.is_none() {
                    let key = (*env, after.endpoint.clone(), after.job_id.clone(), after.kind);
                    if let Some(owed) = self.owed.get_mut(&key) {
                        *owed = owed.saturating_sub(1);
                    }
                }
            }
            Fact::WebhookDeleted { env, row } => {
                if self.acknowledged.remove(&(*env, row.id)) {
                    return Ok(());
                }
                if !row.kind.is_passing() {
                    let (endpoint, kind, job) = (&row.endpoint, row.kind.name(), &row.job_id);
                    return Err(format!(
                        "{endpoint} never said that it got {kind} of {job}, which is thrown away"
                    ));
                }
                self.dropped.push((*env, row.endpoint.clone(), row.job_id.clone(), row.kind));
            }
            Fact::TurnEnded { env, store, .. } => {
                self.acknowledged.retain(|(e, _)| e != env);
                let owed = self.owed.iter().find(|((e, ..), count)| e == env && **count > 0);
                if let Some(((_, endpoint, job, kind), _)) = owed {
                    return Err(format!("{endpoint} is not told {} of {job}", kind.name()));
                }
                self.owed.retain(|(e, ..), _| e != env);
                for (e, endpoint, job, kind) in std::mem::take(&mut self.dropped) {
                    let ended = self.ended.contains(&(e, job.clone()));
                    let follows = store.webhooks.values().any(|(row, _)| {
                        row.dead.is_none() && (&row.endpoint, &row.job_id) == (&endpoint, &job)
                    });
                    if !ended && !follows && !self.newer.contains(&(e, endpoint.clone())) {
                        let kind = kind.name();
                        return Err(format!(
                            "{endpoint} is not told {kind} of {job}, and nothing newer either"
                        ));
                    }
                }
                self.newer.clear();
                self.ended.clear();
            }
            // The turn was persisted at most in part of what this check can see, or not at all.
            Fact::TurnFailed { .. } | Fact::Interrupted { .. } => {
                self.owed.clear();
                self.acknowledged.clear();
                self.dropped.clear();
                self.newer.clear();
                self.ended.clear();
            }
            Fact::Over { store, .. } => {
                if let Some((row, _)) = store.webhooks.values().next() {
                    return Err(format!(
                        "{} of {} was never told to {}",
                        row.kind.name(),
                        row.job_id,
                        row.endpoint
                    ));
                }
            }
            _ => {}
        }
        Ok(())
    }
}
