//! The `Tenant` Durable Object: one for each tenant, named by its id, and one that knows which tenants there are.

use std::panic::AssertUnwindSafe;

use worker::{DurableObject, Env, Request, Response, Result, State, durable_object};

use super::tenant_store::TenantStore;
use super::{now, respond};
use crate::api::tenants::call::{TenantCall, TenantRefusal, TenantReply};
use crate::api::tenants::view::TenantList;
use crate::tenant::{ProjectPage, TenantSettings, quota};

/// A tenant's object.
#[durable_object]
pub struct Tenant {
    pub(super) store: AssertUnwindSafe<TenantStore>,
    pub(super) state: AssertUnwindSafe<State>,
    pub(super) env: AssertUnwindSafe<Env>,
}

impl DurableObject for Tenant {
    fn new(state: State, env: Env) -> Self {
        Self {
            store: AssertUnwindSafe(TenantStore::new(state.storage())),
            state: AssertUnwindSafe(state),
            env: AssertUnwindSafe(env),
        }
    }

    async fn fetch(&self, mut request: Request) -> Result<Response> {
        let call = serde_json::from_str(&request.text().await?)?;
        respond::json(200, &self.answer(call).await?)
    }

    /// Tells again what could not be told before.
    async fn alarm(&self) -> Result<Response> {
        self.settle().await?;
        Response::empty()
    }
}

impl Tenant {
    async fn answer(&self, call: TenantCall) -> Result<TenantReply> {
        let store = &self.store;
        Ok(match call {
            TenantCall::Settings => TenantReply::Settings { settings: self.settings()? },
            TenantCall::Admit { at_ms } => {
                let settings = self.settings()?;
                let used = if store.has_rows()? { store.used_seconds(at_ms)? } else { 0.0 };
                match quota::admit(&settings, used, at_ms) {
                    Ok(()) => TenantReply::Done,
                    Err(exhausted) => refused(TenantRefusal::QuotaExhausted(exhausted)),
                }
            }
            TenantCall::RecordUsage { row } => {
                store.prepare()?;
                store.record_usage(&row.checked())?;
                TenantReply::Done
            }
            TenantCall::AddProject { project } => {
                store.prepare()?;
                store.add_project(&project)?;
                TenantReply::Done
            }
            TenantCall::Projects { limit, before } => {
                let page =
                    if store.has_rows()? { store.projects(limit, before)? } else { ProjectPage::default() };
                TenantReply::Projects { page }
            }
            TenantCall::VerifyKey { key_id, sha256 } => {
                let key = if store.has_rows()? { store.key(&key_id)? } else { None };
                match key.and_then(|key| key.verify(sha256, now())) {
                    Some(grant) => {
                        TenantReply::Key { grant, requests_per_minute: self.settings()?.requests_per_minute }
                    }
                    None => refused(TenantRefusal::KeyInvalid),
                }
            }
            TenantCall::View { tenant, question } => self.view(tenant, question)?,
            TenantCall::Act { tenant, actor, act, reason } => self.act(tenant, &actor, act, reason).await?,
            TenantCall::ListTenant { tenant } => {
                store.prepare()?;
                store.list_tenant(&tenant, now())?;
                TenantReply::Done
            }
            TenantCall::Tenants { query } => {
                let list = if store.has_rows()? { store.tenants(&query)? } else { TenantList::default() };
                document(200, &list)?
            }
        })
    }

    pub(super) fn settings(&self) -> Result<TenantSettings> {
        if self.store.has_rows()? { self.store.settings() } else { Ok(TenantSettings::default()) }
    }
}

pub(super) fn refused(refusal: TenantRefusal) -> TenantReply {
    TenantReply::Refused { refusal }
}

pub(super) fn document(status: u16, document: &impl serde::Serialize) -> Result<TenantReply> {
    Ok(TenantReply::Document { status, document: serde_json::to_value(document)? })
}
