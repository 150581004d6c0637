//! What the stateless Worker asks of the scheduler's object about webhooks.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use shared_protocol::TenantId;

use crate::outbox::signature::Secret;
use crate::outbox::{Endpoint, EndpointId, EventId, EventKind, RowId};

/// Which webhooks somebody sees and changes. Others are not there for them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Scope {
    /// All: an operator's.
    Operator,
    /// The tenant's own: a client's.
    Tenant(TenantId),
}

impl Scope {
    /// Whether a webhook is one of them.
    pub fn has(&self, endpoint: &Endpoint) -> bool {
        match self {
            Self::Operator => true,
            Self::Tenant(tenant) => endpoint.tenant.as_ref() == Some(tenant),
        }
    }
}

/// A question, or an order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "webhooks")]
pub enum WebhookCall {
    /// All webhooks.
    List,
    /// One webhook.
    Get {
        /// Which.
        id: EndpointId,
    },
    /// What could not be delivered to one, newest first.
    DeadLetters {
        /// Which webhook.
        id: EndpointId,
        /// How many at most.
        limit: u32,
        /// Only those before this place.
        before: Option<u64>,
    },
    /// What was sent to one and what came of it, newest first.
    Deliveries {
        /// Which webhook.
        id: EndpointId,
        /// How many at most.
        limit: u32,
        /// Only those before this place.
        before: Option<u64>,
    },
    /// Do something.
    Act {
        /// What.
        act: WebhookAct,
        /// Why, in the words of whoever acts.
        reason: String,
    },
}

/// Something that is done to a webhook. All that is drawn by lot is in it, so that a call can be repeated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "act")]
pub enum WebhookAct {
    /// Make one.
    Create {
        /// As it is to be.
        endpoint: Box<Endpoint>,
    },
    /// Change it.
    Update {
        /// Which.
        id: EndpointId,
        /// How.
        change: WebhookChange,
    },
    /// Forget it and all that waits for it.
    Delete {
        /// Which.
        id: EndpointId,
    },
    /// Sign with another secret as well.
    RotateSecret {
        /// Which.
        id: EndpointId,
        /// The new one.
        secret: Secret,
    },
    /// Sign with the newest secret only.
    EndRotation {
        /// Which.
        id: EndpointId,
    },
    /// Send it an event that means nothing.
    Test {
        /// Which.
        id: EndpointId,
        /// The event's id.
        event: EventId,
    },
    /// Send what could not be delivered once more.
    Replay {
        /// To which.
        id: EndpointId,
        /// Which dead letter; the oldest ones when absent.
        dead_letter: Option<RowId>,
    },
}

/// What is to become of a webhook. What is absent stays.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WebhookChange {
    /// Where to.
    pub url: Option<String>,
    /// What it is told, or everything.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub events: Option<Option<BTreeSet<EventKind>>>,
    /// Whether anything is sent.
    pub enabled: Option<bool>,
}

fn present<'de, D: serde::Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

impl WebhookAct {
    /// Its name in the audit log.
    pub fn action(&self) -> &'static str {
        match self {
            Self::Create { .. } => "webhook.create",
            Self::Update { .. } => "webhook.update",
            Self::Delete { .. } => "webhook.delete",
            Self::RotateSecret { .. } => "webhook.rotate_secret",
            Self::EndRotation { .. } => "webhook.end_rotation",
            Self::Test { .. } => "webhook.test",
            Self::Replay { .. } => "webhook.replay",
        }
    }

    /// Which webhook it concerns.
    pub fn target(&self) -> &EndpointId {
        match self {
            Self::Create { endpoint } => &endpoint.id,
            Self::Update { id, .. }
            | Self::Delete { id }
            | Self::RotateSecret { id, .. }
            | Self::EndRotation { id }
            | Self::Test { id, .. }
            | Self::Replay { id, .. } => id,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::admin::call::Actor;
    use crate::api::call::Call;

    #[test]
    fn every_order_reaches_the_object_as_it_was_given() {
        let id = EndpointId::new("wh_1").unwrap();
        let secret = Secret::from_key([7; 32]);
        let endpoint = Box::new(Endpoint {
            id: id.clone(),
            tenant: None,
            url: "https://example.com/".into(),
            secrets: vec![secret.clone()],
            enabled: true,
            gone_at: None,
            kinds: None,
        });
        let acts = [
            WebhookAct::Create { endpoint },
            WebhookAct::Update { id: id.clone(), change: WebhookChange::default() },
            WebhookAct::Delete { id: id.clone() },
            WebhookAct::RotateSecret { id: id.clone(), secret },
            WebhookAct::EndRotation { id: id.clone() },
            WebhookAct::Test { id: id.clone(), event: EventId::from_number(1) },
            WebhookAct::Replay { id: id.clone(), dead_letter: Some(RowId(3)) },
        ];
        let mut orders = vec![
            WebhookCall::List,
            WebhookCall::Get { id: id.clone() },
            WebhookCall::DeadLetters { id: id.clone(), limit: 5, before: Some(9) },
            WebhookCall::Deliveries { id, limit: 5, before: None },
        ];
        orders.extend(acts.map(|act| WebhookCall::Act { act, reason: "because".into() }));
        let scopes = [Scope::Operator, Scope::Tenant(TenantId::new("acme").unwrap())];
        for (order, scope) in orders.into_iter().zip(scopes.into_iter().cycle()) {
            let actor = Actor { key_id: "ops".into(), may_act: true, request_id: "req_1".into() };
            let call = Call::Webhooks { scope, actor, order };
            let text = serde_json::to_string(&call).unwrap();
            assert_eq!(serde_json::from_str::<Call>(&text).unwrap(), call, "{text}");
        }
    }

    #[test]
    fn a_change_reaches_the_object_as_it_was_meant() {
        for events in [None, Some(None), Some(Some([EventKind::Completed].into()))] {
            let change = WebhookChange { events, ..WebhookChange::default() };
            let text = serde_json::to_string(&change).unwrap();
            assert_eq!(serde_json::from_str::<WebhookChange>(&text).unwrap(), change, "{text}");
        }
    }
}
