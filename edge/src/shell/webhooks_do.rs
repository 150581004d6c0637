//! Webhooks' set-up, in the scheduler's object: every act is one turn of both brains, and its entry in the audit log is in the
//! turn's transaction.

use shared_protocol::{JobId, TenantId, TimestampMs};
use worker::Result;

use super::dead_letters::MAX_REPLAYED;
use super::drive::Brains;
use super::scheduler_do::Scheduler;
use super::store::Store;
use crate::api::ApiError;
use crate::api::admin::call::Actor;
use crate::api::call::{Refusal, Reply};
use crate::api::webhooks::call::{Scope, WebhookAct, WebhookCall};
use crate::api::webhooks::delivery_view::DeliveryList;
use crate::api::webhooks::perform::perform;
use crate::api::webhooks::view::{
    DeadLetterList, Replayed, TestSent, WebhookDeleted, WebhookList, WebhookView,
};
use crate::outbox::{EndpointId, Outbox, Row, callbacks};
use crate::scheduler::{AuditEntry, AuditOutcome};

/// What came of an act that was not refused.
struct Done {
    changed: bool,
    /// Of a replay.
    replayed: Option<Replayed>,
}

impl Scheduler {
    /// Answers whoever sees `scope`.
    pub(super) async fn webhooks(&self, scope: &Scope, actor: Actor, call: WebhookCall) -> Result<Reply> {
        let store = self.drive.store();
        match call {
            WebhookCall::List => {
                let webhooks =
                    self.drive.turn_of_both(|brains, _| views(&brains.outbox, scope, store)).await??;
                reply(200, &WebhookList { webhooks })
            }
            WebhookCall::Get { id } => self.webhook(scope, &id, 200).await,
            WebhookCall::DeadLetters { id, limit, before } => {
                if !self.is_there(scope, &id).await? {
                    return Ok(Reply::Refused(Refusal::WebhookNotFound));
                }
                reply(200, &DeadLetterList::of(store.dead_letters(&id, before, limit)?, limit))
            }
            WebhookCall::Deliveries { id, limit, before } => {
                if !self.is_there(scope, &id).await? {
                    return Ok(Reply::Refused(Refusal::WebhookNotFound));
                }
                reply(200, &DeliveryList::of(store.logged(&id, before, limit)?, limit))
            }
            WebhookCall::Act { act, reason } => self.act_on_webhook(scope, actor, act, reason).await,
        }
    }

    /// When webhooks were told of a tenant's job.
    pub(super) async fn callbacks(&self, tenant: &TenantId, job_id: &JobId) -> Result<Reply> {
        if self.find(tenant, job_id).await?.is_none() {
            return Ok(Reply::Refused(Refusal::NotFound));
        }
        Ok(Reply::Callbacks { callbacks: callbacks(self.drive.store().logged_of_job(job_id)?) })
    }

    async fn is_there(&self, scope: &Scope, id: &EndpointId) -> Result<bool> {
        let is_there = |outbox: &Outbox| outbox.webhook(id).is_some_and(|endpoint| scope.has(endpoint));
        self.drive.turn_of_both(|brains, _| is_there(&brains.outbox)).await
    }

    async fn act_on_webhook(
        &self,
        scope: &Scope,
        actor: Actor,
        act: WebhookAct,
        reason: String,
    ) -> Result<Reply> {
        let store = self.drive.store();
        let outcome = self
            .drive
            .turn_of_both(|brains, now| -> Result<std::result::Result<Done, Refusal>> {
                // A call is repeated when its answer was lost: what it did is not done twice.
                let earlier = store.audited(&actor.request_id)?;
                if let Some(entry) = earlier.filter(|entry| entry.outcome != AuditOutcome::Refused) {
                    return Ok(Ok(done_before(&entry)));
                }
                let outcome = if actor.may_act {
                    done(brains, scope, now, store, &act)?
                } else {
                    Err(Refusal::KeyReadOnly)
                };
                brains.scheduler.audit(entry(&actor, &act, reason, now, &outcome));
                Ok(outcome)
            })
            .await??;
        let done = match outcome {
            Ok(done) => done,
            Err(refusal) => return Ok(Reply::Refused(refusal)),
        };
        match act {
            WebhookAct::Create { endpoint } => self.webhook(scope, &endpoint.id, 201).await,
            WebhookAct::Update { id, .. }
            | WebhookAct::RotateSecret { id, .. }
            | WebhookAct::EndRotation { id } => self.webhook(scope, &id, 200).await,
            WebhookAct::Delete { id } => reply(200, &WebhookDeleted { webhook_id: id }),
            WebhookAct::Test { event, .. } => reply(202, &TestSent { event_id: event }),
            WebhookAct::Replay { .. } => reply(200, &done.replayed),
        }
    }

    async fn webhook(&self, scope: &Scope, id: &EndpointId, status: u16) -> Result<Reply> {
        let store = self.drive.store();
        let view = self.drive.turn_of_both(|brains, _| view(&brains.outbox, scope, store, id)).await??;
        view.map_or(Ok(Reply::Refused(Refusal::WebhookNotFound)), |view| reply(status, &view))
    }
}

fn done(
    brains: &mut Brains,
    scope: &Scope,
    now: TimestampMs,
    store: &Store,
    act: &WebhookAct,
) -> Result<std::result::Result<Done, Refusal>> {
    let is_there = brains.outbox.webhook(act.target()).is_some_and(|endpoint| scope.has(endpoint));
    let dead = if is_there { dead_letters(store, act)? } else { Vec::new() };
    let replayed = match act {
        WebhookAct::Replay { id, dead_letter } if is_there => {
            if dead.is_empty() && dead_letter.is_some() {
                return Ok(Err(Refusal::DeadLetterNotFound));
            }
            let (replayed, all) = (dead.len() as u64, store.count_dead_letters(id)?);
            Some(Replayed { replayed, left: all.saturating_sub(replayed) })
        }
        _ => None,
    };
    Ok(perform(&mut brains.outbox, scope, now, act, dead).map(|changed| Done { changed, replayed }))
}

/// The dead letters that an act is about: in bounded steps, all of them in one transaction.
fn dead_letters(store: &Store, act: &WebhookAct) -> Result<Vec<Row>> {
    match act {
        WebhookAct::Replay { id, dead_letter: Some(row) } => {
            Ok(store.dead_letter(id, *row)?.into_iter().collect())
        }
        WebhookAct::Replay { id, dead_letter: None } => store.oldest_dead_letters(id, MAX_REPLAYED),
        _ => Ok(Vec::new()),
    }
}

pub(super) fn views(outbox: &Outbox, scope: &Scope, store: &Store) -> Result<Vec<WebhookView>> {
    let mut views = Vec::new();
    for endpoint in outbox.webhooks().filter(|endpoint| scope.has(endpoint)) {
        views.extend(WebhookView::of(outbox, endpoint, store.count_dead_letters(&endpoint.id)?));
    }
    Ok(views)
}

fn view(outbox: &Outbox, scope: &Scope, store: &Store, id: &EndpointId) -> Result<Option<WebhookView>> {
    let endpoint = outbox.webhook(id).filter(|endpoint| scope.has(endpoint));
    let Some(endpoint) = endpoint else { return Ok(None) };
    Ok(WebhookView::of(outbox, endpoint, store.count_dead_letters(id)?))
}

fn entry(
    actor: &Actor,
    act: &WebhookAct,
    reason: String,
    now: TimestampMs,
    outcome: &std::result::Result<Done, Refusal>,
) -> AuditEntry {
    let (kind, refusal) = match outcome {
        Ok(done) if done.changed => (AuditOutcome::Done, None),
        Ok(_) => (AuditOutcome::Unchanged, None),
        Err(refusal) => (AuditOutcome::Refused, Some(ApiError::from(refusal.clone()).row().code.to_owned())),
    };
    let replayed = outcome.as_ref().ok().and_then(|done| done.replayed);
    AuditEntry {
        request_id: actor.request_id.clone(),
        at: now,
        key_id: actor.key_id.clone(),
        action: act.action().to_owned(),
        target: Some(act.target().to_string()),
        reason,
        outcome: kind,
        refusal,
        changed: replayed.map(|replayed| replayed.replayed),
        left: replayed.map(|replayed| replayed.left),
    }
}

fn done_before(entry: &AuditEntry) -> Done {
    let replayed = entry.changed.map(|replayed| Replayed { replayed, left: entry.left.unwrap_or(0) });
    Done { changed: entry.outcome == AuditOutcome::Done, replayed }
}

fn reply(status: u16, document: &impl serde::Serialize) -> Result<Reply> {
    Ok(Reply::Admin { status, document: serde_json::to_value(document)? })
}
