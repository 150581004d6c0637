//! The paths below `/v1/admin/webhooks` and `/v1/webhooks`.

use super::super::route::Method;
use crate::outbox::EndpointId;

/// What a request is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WebhookRoute {
    /// All webhooks.
    List,
    /// Make one.
    Create,
    /// One webhook, and how it is doing.
    Get(EndpointId),
    /// Change it.
    Update(EndpointId),
    /// Forget it and all that waits for it.
    Delete(EndpointId),
    /// Give it another secret beside the one it has.
    RotateSecret(EndpointId),
    /// Let go of the secret it had before.
    EndRotation(EndpointId),
    /// Send it an event that means nothing.
    Test(EndpointId),
    /// What could not be delivered.
    DeadLetters(EndpointId),
    /// What was sent to it and what came of it.
    Deliveries(EndpointId),
    /// Send what could not be delivered once more.
    Replay(EndpointId),
}

impl WebhookRoute {
    /// Whether it only looks.
    pub fn only_looks(&self) -> bool {
        matches!(self, Self::List | Self::Get(_) | Self::DeadLetters(_) | Self::Deliveries(_))
    }
}

/// Finds what a request is for; `segments` are those after `webhooks`.
pub fn lookup(method: Method, segments: &[&str]) -> Option<WebhookRoute> {
    use Method::{Get, Post};
    if segments.is_empty() {
        return match method {
            Get => Some(WebhookRoute::List),
            Post => Some(WebhookRoute::Create),
            _ => None,
        };
    }
    let [id, rest @ ..] = segments else { return None };
    let id = EndpointId::new(*id).ok()?;
    Some(match (method, rest) {
        (Get, []) => WebhookRoute::Get(id),
        (Post, []) => WebhookRoute::Update(id),
        (Post, ["delete"]) => WebhookRoute::Delete(id),
        (Post, ["rotate-secret"]) => WebhookRoute::RotateSecret(id),
        (Post, ["end-rotation"]) => WebhookRoute::EndRotation(id),
        (Post, ["test"]) => WebhookRoute::Test(id),
        (Get, ["dead-letters"]) => WebhookRoute::DeadLetters(id),
        (Get, ["deliveries"]) => WebhookRoute::Deliveries(id),
        (Post, ["replay"]) => WebhookRoute::Replay(id),
        _ => return None,
    })
}
