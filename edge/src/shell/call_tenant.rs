//! The way to a tenant's object, from the stateless Worker and from other objects.

use shared_protocol::{TenantId, TimestampMs};
use worker::{Env, Method, Request, RequestInit, console_warn};

use super::fault::Fault;
use crate::api::ApiError;
use crate::api::tenants::call::{TenantCall, TenantReply};
use crate::tenant::key::Grant;
use crate::tenant::key_text::{KeyClaim, KeyHash};
use crate::tenant::{ProjectEntry, ProjectPage, TenantSettings, UsageRow};

/// Name of the binding. An object's name is its tenant's id.
const BINDING: &str = "TENANT";

/// Name of the object that knows which tenants there are: no tenant's id begins with a dot.
const INDEX: &str = ".tenants";

/// Address of a call: the object does not look at it.
const ADDRESS: &str = "https://tenant/call";

/// A tenant's limits. A tenant that nobody has set up has the usual ones.
pub async fn settings(env: &Env, tenant: &TenantId) -> Result<TenantSettings, Fault> {
    match call(env, tenant, &TenantCall::Settings).await? {
        TenantReply::Settings { settings } => Ok(settings),
        other => Err(unexpected(&other)),
    }
}

/// Admits work that will be charged.
///
/// # Errors
/// [`ApiError::QuotaExhausted`]. What runs already is not counted and may overshoot the quota.
pub async fn admit(env: &Env, tenant: &TenantId, now: TimestampMs) -> Result<(), Fault> {
    done(call(env, tenant, &TenantCall::Admit { at_ms: now }).await?)
}

/// Charges a generation: once, however often it is told. Tell it again until it succeeds.
pub async fn record_usage(env: &Env, row: &UsageRow) -> Result<(), Fault> {
    done(call(env, &row.tenant, &TenantCall::RecordUsage { row: row.clone().checked() }).await?)
}

/// Puts a project on its tenant's list, or changes its name there.
pub async fn add_project(env: &Env, tenant: &TenantId, project: &ProjectEntry) -> Result<(), Fault> {
    done(call(env, tenant, &TenantCall::AddProject { project: project.clone() }).await?)
}

/// A page of a tenant's projects, newest first; `cursor` is an earlier page's `next_cursor`.
pub async fn list_projects(
    env: &Env,
    tenant: &TenantId,
    limit: u32,
    cursor: Option<u64>,
) -> Result<ProjectPage, Fault> {
    match call(env, tenant, &TenantCall::Projects { limit, before: cursor }).await? {
        TenantReply::Projects { page } => Ok(page),
        other => Err(unexpected(&other)),
    }
}

/// What a presented key of this tenant is good for, and how often it may be used.
///
/// # Errors
/// [`ApiError::KeyInvalid`].
pub async fn verify_key(env: &Env, claim: &KeyClaim, sha256: KeyHash) -> Result<(Grant, u32), Fault> {
    let question = TenantCall::VerifyKey { key_id: claim.key_id.clone(), sha256 };
    match call(env, &claim.tenant, &question).await? {
        TenantReply::Key { grant, requests_per_minute } => Ok((grant, requests_per_minute)),
        other => Err(unexpected(&other)),
    }
}

/// Asks the object that knows which tenants there are.
pub async fn ask_index(env: &Env, call: &TenantCall) -> Result<TenantReply, Fault> {
    ask(env, INDEX, call).await
}

/// Asks a tenant's object. Every call may be repeated, so a failed one is repeated once: the object may just have been moved or
/// deployed.
pub async fn call(env: &Env, tenant: &TenantId, call: &TenantCall) -> Result<TenantReply, Fault> {
    ask(env, tenant.as_str(), call).await
}

async fn ask(env: &Env, object: &str, call: &TenantCall) -> Result<TenantReply, Fault> {
    let body = serde_json::to_string(call).map_err(worker::Error::from)?;
    let reply = match post(env, object, &body).await {
        Ok(reply) => reply,
        Err(first) => {
            console_warn!("the tenant {object} did not answer: {first}; asking once more");
            post(env, object, &body).await.map_err(|second| {
                console_warn!("the tenant {object} did not answer again: {second}");
                ApiError::TenantUnavailable
            })?
        }
    };
    match reply {
        TenantReply::Refused { refusal } => Err(ApiError::from(refusal).into()),
        reply => Ok(reply),
    }
}

fn done(reply: TenantReply) -> Result<(), Fault> {
    match reply {
        TenantReply::Done => Ok(()),
        other => Err(unexpected(&other)),
    }
}

/// A reply to another question than the one that was asked: two releases that do not fit.
pub fn unexpected(reply: &TenantReply) -> Fault {
    Fault::Platform(worker::Error::RustError(format!("unexpected reply of a tenant: {reply:?}")))
}

async fn post(env: &Env, object: &str, body: &str) -> worker::Result<TenantReply> {
    let mut init = RequestInit::new();
    init.with_method(Method::Post).with_body(Some(body.into()));
    let request = Request::new_with_init(ADDRESS, &init)?;
    let mut response = env.durable_object(BINDING)?.get_by_name(object)?.fetch_with_request(request).await?;
    let text = response.text().await?;
    if response.status_code() != 200 {
        return Err(worker::Error::RustError(format!("status {}: {text}", response.status_code())));
    }
    Ok(serde_json::from_str(&text)?)
}
