//! Who wants to be told of what.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use shared_protocol::{TenantId, TimestampMs};

use super::event::{Audience, EndpointId, EventKind};
use super::lane::Lane;
use super::signature::Secret;
use super::url_policy::{UrlError, UrlPolicy};
use super::{Effect, Outbox, Timer};

/// A place that events are sent to. One row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Endpoint {
    /// Its name.
    pub id: EndpointId,
    /// Whose jobs it is told of; all tenants' when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<TenantId>,
    /// Where to.
    pub url: String,
    /// One, or two while it is rotated, the new one first.
    pub secrets: Vec<Secret>,
    /// Whether anything is sent. What was published before waits; what is published meanwhile is not kept for it.
    pub enabled: bool,
    /// It answered 410 Gone and was disabled for that. Cleared by whoever enables it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gone_at: Option<TimestampMs>,
    /// What it wants to be told; everything when there is no choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kinds: Option<BTreeSet<EventKind>>,
}

/// Stands for the address of the projects' own objects, which the shell calls without the network. No URL of the web is like it.
const PROJECTS_URL: &str = "projects:";

/// Why an endpoint is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// Nothing may be sent there.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// None, or more than two.
    #[error("an endpoint has one secret, or two while it is rotated; this one has {0}")]
    Secrets(usize),
    /// It would never be told anything.
    #[error("the list of event kinds is empty; leave it out to be told everything")]
    NoKinds,
    /// It belongs to another tenant than before; its waiting events would be told to the wrong one.
    #[error("an endpoint keeps its tenant; make a new one instead")]
    OtherTenant,
}

impl Endpoint {
    /// The objects of projects: each is told, in order and at least once, what happens to the jobs of its generations. It is in no
    /// store and in no list of webhooks; its rows wait and are retried as all others.
    pub fn of_projects() -> Self {
        use EventKind::{Cancelled, Completed, Failed, Playable, Quality, Started, Stems};
        Self {
            id: EndpointId::new("projects").expect("it has letters only"),
            tenant: None,
            url: PROJECTS_URL.to_owned(),
            secrets: Vec::new(),
            enabled: true,
            gone_at: None,
            // Progress within a phase would cost two rows each time; a project asks for it while somebody looks.
            kinds: Some([Started, Playable, Completed, Failed, Cancelled, Stems, Quality].into()),
        }
    }

    /// Whether it is [`Endpoint::of_projects`].
    pub fn is_of_projects(&self) -> bool {
        self.url == PROJECTS_URL
    }

    /// Checks what whoever set it up can get wrong.
    ///
    /// # Errors
    /// [`EndpointError`].
    pub fn check(&self, policy: &UrlPolicy) -> Result<(), EndpointError> {
        policy.check(&self.url)?;
        if !(1..=2).contains(&self.secrets.len()) {
            return Err(EndpointError::Secrets(self.secrets.len()));
        }
        if self.kinds.as_ref().is_some_and(BTreeSet::is_empty) {
            return Err(EndpointError::NoKinds);
        }
        Ok(())
    }

    pub(super) fn wants(&self, audience: Audience, kind: EventKind) -> bool {
        // A job that names one of its tenant's webhooks is told to no other of them.
        let is_named = self.tenant.is_none() || audience.only.is_none_or(|only| *only == self.id);
        let is_concerned = is_named && (audience.in_project || !self.is_of_projects());
        self.enabled && is_concerned && self.kinds.as_ref().is_none_or(|kinds| kinds.contains(&kind))
    }
}

impl Outbox {
    /// Adds an endpoint, or changes it. What waits for it is sent to the new URL, signed by the new secrets. A changed
    /// endpoint starts without the pause that it asked for.
    ///
    /// # Errors
    /// [`EndpointError`]; nothing is changed then.
    pub fn set_endpoint(&mut self, now: TimestampMs, endpoint: Endpoint) -> Result<(), EndpointError> {
        endpoint.check(&self.config.urls)?;
        let id = endpoint.id.clone();
        if self.endpoint(&id).is_some_and(|old| old.tenant != endpoint.tenant) {
            return Err(EndpointError::OtherTenant);
        }
        self.effects.push_back(Effect::SaveEndpoint(Box::new(endpoint.clone())));
        match self.lanes.get_mut(&id) {
            Some(lane) => {
                lane.endpoint = endpoint;
                lane.allowed = true;
                if let Some(until) = lane.held_until.take() {
                    self.timers.remove(&(until, Timer::LaneOpens(id.clone())));
                }
                self.update_turn(&id);
            }
            None => self.add_lane(endpoint),
        }
        self.dispatch(now);
        Ok(())
    }

    /// Forgets an endpoint and all that waits for it. Says whether there was one.
    pub fn remove_endpoint(&mut self, now: TimestampMs, id: &EndpointId) -> bool {
        let Some(lane) = self.lanes.remove(id) else { return false };
        for turns in self.turns.values_mut() {
            turns.remove(&(lane.turn, id.clone()));
        }
        if let Some(ids) = self.by_tenant.get_mut(&lane.endpoint.tenant) {
            ids.remove(id);
        }
        if let Some(until) = lane.held_until {
            self.timers.remove(&(until, Timer::LaneOpens(id.clone())));
        }
        for line in lane.lines.values() {
            for row in line.rows.iter().filter_map(|row| self.rows.remove(row)) {
                self.timers.remove(&(row.due, Timer::RowDue(row.id)));
            }
            if let Some((_, delivery)) = line.in_flight {
                self.cut_off(delivery);
            }
        }
        self.effects.push_back(Effect::DeleteEndpoint(id.clone()));
        self.dispatch(now);
        true
    }

    pub(super) fn add_lane(&mut self, endpoint: Endpoint) {
        self.by_tenant.entry(endpoint.tenant.clone()).or_default().insert(endpoint.id.clone());
        // A restored one may break a policy that has become stricter: it is kept, and not called.
        let allowed = endpoint.is_of_projects() || endpoint.check(&self.config.urls).is_ok();
        self.lanes.insert(endpoint.id.clone(), Lane::new(endpoint, allowed));
    }
}
