//! A sick endpoint delays nobody else and is not pestered: connections are bounded, in all, for each endpoint, and for those
//! that do not answer; what failed waits, and an endpoint that asks for a pause gets it.

use std::collections::{BTreeMap, BTreeSet};

use edge::outbox::{
    BACKOFF_MIN, DeliveryOutcome, EndpointId, EventId, MAX_IN_FLIGHT, MAX_IN_FLIGHT_PER_ENDPOINT,
    MAX_IN_FLIGHT_UNRESPONSIVE,
};
use shared_protocol::TimestampMs;

use super::{Check, Fact, Moment, Verdict};

/// See the module.
#[derive(Default)]
pub struct WebhookConnections {
    under_way: BTreeMap<u64, (usize, EndpointId, EventId)>,
    /// Whether each endpoint answered last, as far as the object's memory reaches.
    answers: BTreeMap<(usize, EndpointId), bool>,
    /// Nothing may be sent before.
    held_until: BTreeMap<(usize, EndpointId), TimestampMs>,
    failed_at: BTreeMap<(usize, EndpointId, EventId), TimestampMs>,
    /// They want no more.
    gone: BTreeSet<(usize, EndpointId)>,
}

impl Check for WebhookConnections {
    fn name(&self) -> &'static str {
        "webhook_connections"
    }

    fn see(&mut self, moment: Moment, fact: &Fact<'_>) -> Verdict {
        match fact {
            Fact::Restored { env, .. } => {
                self.under_way.retain(|_, (e, ..)| e != env);
                self.answers.retain(|(e, _), _| e != env);
                self.held_until.retain(|(e, _), _| e != env);
            }
            Fact::EndpointSaved { env, endpoint } => {
                let key = (*env, endpoint.id.clone());
                self.held_until.remove(&key);
                if endpoint.enabled && endpoint.gone_at.is_none() {
                    self.gone.remove(&key);
                }
            }
            // A dead letter that is sent once more begins anew.
            Fact::WebhookSaved { env, before: Some(before), after, .. } if before.dead.is_some() => {
                self.failed_at.remove(&(*env, after.endpoint.clone(), after.event.clone()));
            }
            Fact::WebhookSent { number, request } => return self.sent(moment, *number, request),
            Fact::WebhookCutOff { number } => drop(self.under_way.remove(number)),
            Fact::WebhookAnswered { request, outcome } => {
                let key = (request.env, request.endpoint.clone(), request.event.clone());
                self.under_way.retain(|_, other| *other != key);
                let endpoint = (request.env, request.endpoint.clone());
                let answered = matches!(outcome, DeliveryOutcome::Response { .. });
                self.answers.insert(endpoint.clone(), answered);
                match outcome {
                    DeliveryOutcome::Response { status: 410, .. } => drop(self.gone.insert(endpoint)),
                    DeliveryOutcome::Response { status: 200..=299, .. } => {}
                    DeliveryOutcome::Response { retry_after, .. } => {
                        if let Some(pause) = retry_after {
                            self.held_until.insert(endpoint, moment.now + *pause);
                        }
                        self.failed_at.insert(key, moment.now);
                    }
                    _ => drop(self.failed_at.insert(key, moment.now)),
                }
            }
            // What a deadline lets go waits for the deadline to be handled.
            Fact::TurnEnded { env, store, outbox, .. }
                if outbox.next_deadline().is_none_or(|at| at > moment.now) =>
            {
                return self.nobody_idles(moment, *env, store);
            }
            _ => {}
        }
        Ok(())
    }
}

impl WebhookConnections {
    fn sent(&mut self, moment: Moment, number: u64, request: &crate::sim::backend::Request) -> Verdict {
        let endpoint = (request.env, request.endpoint.clone());
        let key = (request.env, request.endpoint.clone(), request.event.clone());
        if self.gone.contains(&endpoint) {
            return Err(format!("{} wants no more and is told more", request.endpoint));
        }
        if self.held_until.get(&endpoint).is_some_and(|until| moment.now < *until) {
            return Err(format!("{} asked for a pause and is not given it", request.endpoint));
        }
        if self.failed_at.get(&key).is_some_and(|at| moment.now < *at + BACKOFF_MIN) {
            return Err(format!("{} is told again without a pause of {}", request.endpoint, request.job));
        }
        self.under_way.insert(number, key);
        let here: Vec<_> = self.under_way.values().filter(|(env, ..)| *env == request.env).collect();
        let unproven = |endpoint: &EndpointId| {
            !self.answers.get(&(request.env, endpoint.clone())).copied().unwrap_or(false)
        };
        let to_it = here.iter().filter(|(_, endpoint, _)| *endpoint == request.endpoint).count();
        let to_unproven = here.iter().filter(|(_, endpoint, _)| unproven(endpoint)).count();
        let most_to_it = if unproven(&request.endpoint) { 1 } else { MAX_IN_FLIGHT_PER_ENDPOINT };
        if here.len() > MAX_IN_FLIGHT {
            return Err(format!("{} webhooks are under way", here.len()));
        }
        // One that stopped answering with two under way keeps the other.
        if to_it > most_to_it.max(MAX_IN_FLIGHT_PER_ENDPOINT) || (to_it > most_to_it && most_to_it == 1) {
            return Err(format!("{to_it} webhooks are under way to {}", request.endpoint));
        }
        if unproven(&request.endpoint) && to_unproven > MAX_IN_FLIGHT_UNRESPONSIVE {
            return Err(format!("{to_unproven} webhooks are under way to endpoints that may not answer"));
        }
        Ok(())
    }

    /// With nothing under way, whatever may be sent is sent.
    fn nobody_idles(&mut self, moment: Moment, env: usize, store: &crate::sim::store::Store) -> Verdict {
        if self.under_way.values().any(|(e, ..)| *e == env) {
            return Ok(());
        }
        let could = store.webhooks.values().map(|(row, _)| row).find(|row| {
            let endpoint = (env, row.endpoint.clone());
            row.dead.is_none()
                && row.attempts == 0
                && row.due <= moment.now
                && store.endpoints.get(&row.endpoint).is_some_and(|endpoint| endpoint.enabled)
                && self.held_until.get(&endpoint).is_none_or(|until| *until <= moment.now)
                && !store.webhooks.values().any(|(other, _)| {
                    other.dead.is_none()
                        && other.id < row.id
                        && (&other.endpoint, &other.job_id) == (&row.endpoint, &row.job_id)
                })
        });
        match could {
            Some(row) => Err(format!(
                "nothing is under way, and {} of {} is not told to {}",
                row.kind.name(),
                row.job_id,
                row.endpoint
            )),
            None => Ok(()),
        }
    }
}
