//! Who is told of events: webhooks of all tenants for operators, a tenant's own for its clients.

use schemars::JsonSchema;

use super::operation::{Access, Group, Operation, get, post};
use crate::api::ApiError;
use crate::api::webhooks::delivery_view::DeliveryList;
use crate::api::webhooks::request::{ActBody, CreateBody, ReplayBody, UpdateBody};
use crate::api::webhooks::view::{
    DeadLetterList, Replayed, TestSent, WebhookDeleted, WebhookList, WebhookView, WebhookWithSecret,
};

pub(super) fn operations() -> Vec<Operation> {
    [of(Access::Client), of(Access::Operator)].concat()
}

/// A path below the webhooks that a key of this kind sees.
macro_rules! path {
    ($access:expr, $rest:literal) => {
        match $access {
            Access::Client => concat!("/v1/webhooks", $rest),
            _ => concat!("/v1/admin/webhooks", $rest),
        }
    };
}

/// The same for both; each has a name for a client and one for an operator.
fn of(access: Access) -> Vec<Operation> {
    let not_valid = || ApiError::WebhookNotValid { reason: String::new() };
    let look = |names, path| look(access, names, path);
    vec![
        look(["listOwnWebhooks", "listWebhooks"], path!(access, ""))
            .says("All webhooks", "Of the key's tenant, or for an operator of everybody.")
            .gives::<WebhookList>(200, "In order of their making."),
        act::<CreateBody>(access, ["createOwnWebhook", "createWebhook"], path!(access, ""), true)
            .says("Make a webhook", "Its secret is shown in this answer and never again.")
            .gives::<WebhookWithSecret>(201, "The webhook and its secret.")
            .fails([ApiError::TooManyWebhooks { limit: 0 }, not_valid()]),
        of_one(look(["getOwnWebhook", "getWebhook"], path!(access, "/{webhookId}")))
            .says("A webhook, and how it is doing", "")
            .gives::<WebhookView>(200, "The webhook."),
        act_on_one::<UpdateBody>(
            access,
            ["updateOwnWebhook", "updateWebhook"],
            path!(access, "/{webhookId}"),
        )
        .says("Change what is named", "What is absent stays. What waits goes to the new URL.")
        .gives::<WebhookView>(200, "The webhook.")
        .fails([not_valid()]),
        act_on_one::<ActBody>(
            access,
            ["deleteOwnWebhook", "deleteWebhook"],
            path!(access, "/{webhookId}/delete"),
        )
        .says("Forget a webhook and all that waits for it", "")
        .gives::<WebhookDeleted>(200, "It is gone."),
        act_on_one::<ActBody>(
            access,
            ["rotateOwnWebhookSecret", "rotateWebhookSecret"],
            path!(access, "/{webhookId}/rotate-secret"),
        )
        .says("Give it another secret", "Which signs beside the latest one until the rotation is ended.")
        .gives::<WebhookWithSecret>(200, "The webhook and its new secret."),
        act_on_one::<ActBody>(
            access,
            ["endOwnWebhookRotation", "endWebhookRotation"],
            path!(access, "/{webhookId}/end-rotation"),
        )
        .says("Let go of the secret that it had before", "")
        .gives::<WebhookView>(200, "The webhook."),
        act_on_one::<ActBody>(access, ["testOwnWebhook", "testWebhook"], path!(access, "/{webhookId}/test"))
            .says("Send an event that means nothing", "")
            .gives::<TestSent>(202, "It will be sent."),
        of_one(look(["listOwnDeliveries", "listDeliveries"], path!(access, "/{webhookId}/deliveries")))
            .says("What was sent to it and what came of it", "The last 200 attempts, newest first.")
            .pages()
            .gives::<DeliveryList>(200, "A page of them."),
        of_one(look(["listOwnDeadLetters", "listDeadLetters"], path!(access, "/{webhookId}/dead-letters")))
            .says("What could not be delivered", "Newest first, kept for 30 days.")
            .pages()
            .gives::<DeadLetterList>(200, "A page of it."),
        act_on_one::<ReplayBody>(
            access,
            ["replayOwnDeadLetters", "replayDeadLetters"],
            path!(access, "/{webhookId}/replay"),
        )
        .says("Send what could not be delivered once more", "One of them, or up to 500, the oldest first.")
        .gives::<Replayed>(200, "They wait to be sent.")
        .fails([ApiError::DeadLetterNotFound]),
    ]
}

fn named(access: Access, [client, operator]: [&'static str; 2]) -> &'static str {
    if access == Access::Client { client } else { operator }
}

fn look(access: Access, names: [&'static str; 2], path: &'static str) -> Operation {
    get(named(access, names), path, Group::Webhooks, access).asks_scheduler()
}

fn act<Body: JsonSchema>(
    access: Access,
    names: [&'static str; 2],
    path: &'static str,
    required: bool,
) -> Operation {
    let operation = post(named(access, names), path, Group::Webhooks, access).acts();
    if required { operation.takes::<Body>() } else { operation.may_take::<Body>() }
}

fn act_on_one<Body: JsonSchema>(access: Access, names: [&'static str; 2], path: &'static str) -> Operation {
    of_one(act::<Body>(access, names, path, false))
}

fn of_one(operation: Operation) -> Operation {
    operation.fails([ApiError::WebhookNotFound])
}
