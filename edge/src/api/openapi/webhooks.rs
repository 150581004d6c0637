//! Who is told of jobs' events.

use schemars::JsonSchema;

use super::operation::{Access, Group, Operation, get, post};
use crate::api::ApiError;
use crate::api::webhooks::request::{ActBody, CreateBody, ReplayBody, UpdateBody};
use crate::api::webhooks::view::{
    DeadLetterList, Replayed, TestSent, WebhookDeleted, WebhookList, WebhookView, WebhookWithSecret,
};

pub(super) fn operations() -> Vec<Operation> {
    let not_valid = || ApiError::WebhookNotValid { reason: String::new() };
    vec![
        look("listWebhooks", "/v1/admin/webhooks")
            .says("All webhooks", "")
            .gives::<WebhookList>(200, "In order of their making."),
        act::<CreateBody>("createWebhook", "/v1/admin/webhooks", true)
            .says("Make a webhook", "Its secret is shown in this answer and never again.")
            .gives::<WebhookWithSecret>(201, "The webhook and its secret.")
            .fails([ApiError::TooManyWebhooks { limit: 0 }, not_valid()]),
        of_one(look("getWebhook", "/v1/admin/webhooks/{webhookId}"))
            .says("A webhook, and how it is doing", "")
            .gives::<WebhookView>(200, "The webhook."),
        of_one(act::<UpdateBody>("updateWebhook", "/v1/admin/webhooks/{webhookId}", false))
            .says("Change what is named", "What is absent stays. What waits goes to the new URL.")
            .gives::<WebhookView>(200, "The webhook.")
            .fails([not_valid()]),
        of_one(act::<ActBody>("deleteWebhook", "/v1/admin/webhooks/{webhookId}/delete", false))
            .says("Forget a webhook and all that waits for it", "")
            .gives::<WebhookDeleted>(200, "It is gone."),
        of_one(act::<ActBody>("rotateWebhookSecret", "/v1/admin/webhooks/{webhookId}/rotate-secret", false))
            .says("Give it another secret", "Which signs beside the latest one until the rotation is ended.")
            .gives::<WebhookWithSecret>(200, "The webhook and its new secret."),
        of_one(act::<ActBody>("endWebhookRotation", "/v1/admin/webhooks/{webhookId}/end-rotation", false))
            .says("Let go of the secret that it had before", "")
            .gives::<WebhookView>(200, "The webhook."),
        of_one(act::<ActBody>("testWebhook", "/v1/admin/webhooks/{webhookId}/test", false))
            .says("Send an event that means nothing", "")
            .gives::<TestSent>(202, "It will be sent."),
        of_one(look("listDeadLetters", "/v1/admin/webhooks/{webhookId}/dead-letters"))
            .says("What could not be delivered", "Newest first, kept for 30 days.")
            .pages()
            .gives::<DeadLetterList>(200, "A page of it."),
        of_one(act::<ReplayBody>("replayDeadLetters", "/v1/admin/webhooks/{webhookId}/replay", false))
            .says(
                "Send what could not be delivered once more",
                "One of them, or up to 500, the oldest first.",
            )
            .gives::<Replayed>(200, "They wait to be sent.")
            .fails([ApiError::DeadLetterNotFound]),
    ]
}

fn look(id: &'static str, path: &'static str) -> Operation {
    get(id, path, Group::Webhooks, Access::Operator).asks_scheduler()
}

fn act<Body: JsonSchema>(id: &'static str, path: &'static str, required: bool) -> Operation {
    let operation = post(id, path, Group::Webhooks, Access::Operator).acts();
    if required { operation.takes::<Body>() } else { operation.may_take::<Body>() }
}

fn of_one(operation: Operation) -> Operation {
    operation.fails([ApiError::WebhookNotFound])
}
