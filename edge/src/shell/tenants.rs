//! Tenants' set-up and usage, in the stateless Worker: requests, new secrets, answers. What is asked is decided in the tenant's
//! object.

use shared_protocol::TenantId;
use uuid::Uuid;
use worker::{Env, Request, Response};

use super::body::json_body;
use super::fault::Fault;
use super::{auth, call_tenant, now, random, respond};
use crate::api::ApiError;
use crate::api::admin::call::Actor;
use crate::api::admin::request::{ReasonBody, checked_reason, parse_optional};
use crate::api::tenants::call::{TenantAct, TenantCall, TenantQuestion, TenantReply};
use crate::api::tenants::request::{CreateKeyBody, RotateKeyBody, SettingsChange, TenantsQuery, UsageQuery};
use crate::api::tenants::route::TenantRoute;
use crate::api::tenants::view::KeyWithSecret;
use crate::tenant::KeyId;
use crate::tenant::key_text::{KeyClaim, KeyHash};

/// What a client's tenant used in a month.
pub async fn usage(request: &Request, env: &Env) -> Result<Response, Fault> {
    let client = auth::client(request, env).await?;
    let query = UsageQuery::parse(request.url()?.query_pairs(), now())?;
    answer(env, &client.tenant, TenantQuestion::Usage { query }).await
}

/// Answers an operator's request. A new secret is in its answer and in no later one.
pub async fn handle(
    request: &mut Request,
    env: &Env,
    route: TenantRoute,
    request_id: &str,
) -> Result<Response, Fault> {
    let key = auth::admin(request, env)?;
    let actor = Actor { key_id: key.key_id, may_act: key.may_act, request_id: request_id.to_owned() };
    match route {
        TenantRoute::List => {
            let query = TenantsQuery::parse(request.url()?.query_pairs())?;
            document(call_tenant::ask_index(env, &TenantCall::Tenants { query }).await?)
        }
        TenantRoute::Get(tenant) => answer(env, &tenant, TenantQuestion::Tenant).await,
        TenantRoute::Keys(tenant) => answer(env, &tenant, TenantQuestion::Keys).await,
        TenantRoute::Usage(tenant) => {
            let query = UsageQuery::parse(request.url()?.query_pairs(), now())?;
            answer(env, &tenant, TenantQuestion::Usage { query }).await
        }
        TenantRoute::Update(tenant) => {
            let change = parse_optional::<SettingsChange>(&json_body(request).await?)?.checked()?;
            let reason = change.reason.clone();
            document(order(env, actor, &tenant, TenantAct::Update { change }, &reason).await?)
        }
        TenantRoute::CreateKey(tenant) => {
            let body: CreateKeyBody = parse_optional(&json_body(request).await?)?;
            let key_id = KeyId::new(format!("key_{}", Uuid::now_v7().simple())).ok_or(ApiError::Internal)?;
            let text = new_text(&tenant, &key_id)?;
            let key = body.key(key_id, KeyHash::of(&text), now())?;
            with_secret(order(env, actor, &tenant, TenantAct::CreateKey { key }, &body.reason).await?, &text)
        }
        TenantRoute::RotateKey(tenant, key_id) => {
            let body: RotateKeyBody = parse_optional(&json_body(request).await?)?;
            let text = new_text(&tenant, &key_id)?;
            let act = TenantAct::RotateKey { key_id, sha256: KeyHash::of(&text), grace: body.grace()? };
            with_secret(order(env, actor, &tenant, act, &body.reason).await?, &text)
        }
        TenantRoute::RevokeKey(tenant, key_id) => {
            let body: ReasonBody = parse_optional(&json_body(request).await?)?;
            document(order(env, actor, &tenant, TenantAct::RevokeKey { key_id }, &body.reason).await?)
        }
    }
}

async fn answer(env: &Env, tenant: &TenantId, question: TenantQuestion) -> Result<Response, Fault> {
    let call = TenantCall::View { tenant: tenant.clone(), question };
    document(call_tenant::call(env, tenant, &call).await?)
}

async fn order(
    env: &Env,
    actor: Actor,
    tenant: &TenantId,
    act: TenantAct,
    reason: &str,
) -> Result<TenantReply, Fault> {
    let reason = checked_reason(reason)?;
    call_tenant::call(env, tenant, &TenantCall::Act { tenant: tenant.clone(), actor, act, reason }).await
}

fn document(reply: TenantReply) -> Result<Response, Fault> {
    match reply {
        TenantReply::Document { status, document } => Ok(respond::json(status, &document)?),
        other => Err(call_tenant::unexpected(&other)),
    }
}

fn with_secret(reply: TenantReply, text: &str) -> Result<Response, Fault> {
    match reply {
        TenantReply::Document { status, document } => {
            Ok(respond::json(status, &KeyWithSecret { key: document, secret: text.to_owned() })?)
        }
        other => Err(call_tenant::unexpected(&other)),
    }
}

fn new_text(tenant: &TenantId, key_id: &KeyId) -> Result<String, Fault> {
    let claim = KeyClaim { tenant: tenant.clone(), key_id: key_id.clone() };
    Ok(claim.text(&random::bytes()?))
}
