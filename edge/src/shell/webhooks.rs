//! Webhooks' set-up, in the stateless Worker: requests, secrets, answers. What is asked is decided in the scheduler's object.

use uuid::Uuid;
use worker::{Env, Request, Response};

use super::body::json_body;
use super::fault::Fault;
use super::{auth, call_scheduler, random, respond, webhook_policy};
use crate::api::ApiError;
use crate::api::admin::call::Actor;
use crate::api::admin::request::{checked_reason, parse_optional};
use crate::api::call::{Call, Reply};
use crate::api::key::Client;
use crate::api::page::page;
use crate::api::request::parse_json;
use crate::api::webhooks::call::{Scope, WebhookAct, WebhookCall};
use crate::api::webhooks::request::{ActBody, CreateBody, ReplayBody, UpdateBody};
use crate::api::webhooks::route::WebhookRoute;
use crate::api::webhooks::view::WebhookWithSecret;
use crate::outbox::signature::Secret;
use crate::outbox::{EndpointId, EventId};

/// Answers an operator's request.
pub async fn for_operator(
    request: &mut Request,
    env: &Env,
    route: WebhookRoute,
    request_id: &str,
) -> Result<Response, Fault> {
    let key = auth::admin(request, env)?;
    let actor = Actor { key_id: key.key_id, may_act: key.may_act, request_id: request_id.to_owned() };
    answer(request, env, route, Scope::Operator, actor).await
}

/// Answers a client's request, which is about its tenant's own webhooks.
pub async fn for_client(
    request: &mut Request,
    env: &Env,
    route: WebhookRoute,
    request_id: &str,
) -> Result<Response, Fault> {
    let client = match route.only_looks() {
        true => auth::client(request, env).await?,
        false => auth::writer(request, env).await?,
    };
    let actor = actor_of(&client, request_id);
    answer(request, env, route, Scope::Tenant(client.tenant), actor).await
}

/// A client's key as the audit log names it. No operator's key has a name like that.
fn actor_of(client: &Client, request_id: &str) -> Actor {
    Actor {
        key_id: format!("{}/{}", client.tenant, client.key_id),
        may_act: true,
        request_id: request_id.to_owned(),
    }
}

/// Refuses a name of a webhook that is not the client's tenant's own.
pub async fn expect_own(env: &Env, client: &Client, id: &EndpointId) -> Result<(), Fault> {
    let call = Call::Webhooks {
        scope: Scope::Tenant(client.tenant.clone()),
        actor: actor_of(client, ""),
        order: WebhookCall::Get { id: id.clone() },
    };
    call_scheduler::call(env, &call).await.map(|_| ())
}

/// A new secret is in its answer and in no later one.
async fn answer(
    request: &mut Request,
    env: &Env,
    route: WebhookRoute,
    scope: Scope,
    actor: Actor,
) -> Result<Response, Fault> {
    let order = understand(request, env, route, &scope).await?;
    let secret = match &order {
        WebhookCall::Act { act: WebhookAct::Create { endpoint }, .. } => endpoint.secrets.first().cloned(),
        WebhookCall::Act { act: WebhookAct::RotateSecret { secret, .. }, .. } => Some(secret.clone()),
        _ => None,
    };
    match call_scheduler::call(env, &Call::Webhooks { scope, actor, order }).await? {
        Reply::Admin { status, document } => Ok(match secret {
            Some(secret) => {
                respond::json(status, &WebhookWithSecret { webhook: document, secret: secret.reveal() })?
            }
            None => respond::json(status, &document)?,
        }),
        other => Err(call_scheduler::unexpected(&other)),
    }
}

/// What a request asks for. Whatever cannot be understood is refused here and is no act: the audit log does not show it.
async fn understand(
    request: &mut Request,
    env: &Env,
    route: WebhookRoute,
    scope: &Scope,
) -> Result<WebhookCall, Fault> {
    let policy = webhook_policy(env);
    let act = |act: WebhookAct, reason: &str| -> Result<WebhookCall, Fault> {
        Ok(WebhookCall::Act { act, reason: checked_reason(reason)? })
    };
    match route {
        WebhookRoute::List => Ok(WebhookCall::List),
        WebhookRoute::Get(id) => Ok(WebhookCall::Get { id }),
        WebhookRoute::DeadLetters(id) => {
            let (limit, before) = page(request.url()?.query_pairs())?;
            Ok(WebhookCall::DeadLetters { id, limit, before })
        }
        WebhookRoute::Deliveries(id) => {
            let (limit, before) = page(request.url()?.query_pairs())?;
            Ok(WebhookCall::Deliveries { id, limit, before })
        }
        WebhookRoute::Create => {
            let body: CreateBody = parse_json(&json_body(request).await?)?;
            let id =
                EndpointId::new(format!("wh_{}", Uuid::now_v7().simple())).map_err(|_| ApiError::Internal)?;
            let reason = body.reason.clone();
            let endpoint = Box::new(body.endpoint(id, new_secret()?, scope, &policy)?);
            act(WebhookAct::Create { endpoint }, &reason)
        }
        WebhookRoute::Update(id) => {
            let body: UpdateBody = parse_optional(&json_body(request).await?)?;
            let reason = body.reason.clone();
            act(WebhookAct::Update { id, change: body.change(&policy)? }, &reason)
        }
        WebhookRoute::Replay(id) => {
            let body: ReplayBody = parse_optional(&json_body(request).await?)?;
            act(WebhookAct::Replay { id, dead_letter: body.dead_letter_id }, &body.reason)
        }
        WebhookRoute::Delete(id) => act(WebhookAct::Delete { id }, &reason(request).await?),
        WebhookRoute::EndRotation(id) => act(WebhookAct::EndRotation { id }, &reason(request).await?),
        WebhookRoute::RotateSecret(id) => {
            act(WebhookAct::RotateSecret { id, secret: new_secret()? }, &reason(request).await?)
        }
        WebhookRoute::Test(id) => {
            let event = EventId::from_number(Uuid::now_v7().as_u128());
            act(WebhookAct::Test { id, event }, &reason(request).await?)
        }
    }
}

async fn reason(request: &mut Request) -> Result<String, Fault> {
    let body: ActBody = parse_optional(&json_body(request).await?)?;
    Ok(body.reason)
}

fn new_secret() -> Result<Secret, Fault> {
    Ok(Secret::from_key(random::bytes()?))
}
