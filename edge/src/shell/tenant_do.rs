//! The `Tenant` Durable Object: one for each tenant, named by its id.

use std::panic::AssertUnwindSafe;

use worker::{DurableObject, Env, Request, Response, Result, State, durable_object};

use super::respond;
use super::tenant_store::TenantStore;
use crate::api::tenants::call::{TenantCall, TenantRefusal, TenantReply};
use crate::tenant::{ProjectPage, TenantSettings, quota};

/// A tenant's object.
#[durable_object]
pub struct Tenant {
    store: AssertUnwindSafe<TenantStore>,
}

impl DurableObject for Tenant {
    fn new(state: State, _env: Env) -> Self {
        Self { store: AssertUnwindSafe(TenantStore::new(state.storage())) }
    }

    async fn fetch(&self, mut request: Request) -> Result<Response> {
        let call = serde_json::from_str(&request.text().await?)?;
        respond::json(200, &self.answer(call)?)
    }

    async fn alarm(&self) -> Result<Response> {
        Response::empty()
    }
}

impl Tenant {
    fn answer(&self, call: TenantCall) -> Result<TenantReply> {
        let store = &self.store;
        Ok(match call {
            TenantCall::Settings => TenantReply::Settings { settings: self.settings()? },
            TenantCall::Admit { at_ms } => {
                let settings = self.settings()?;
                let used = if store.has_rows()? { store.used_seconds(at_ms)? } else { 0.0 };
                match quota::admit(&settings, used, at_ms) {
                    Ok(()) => TenantReply::Done,
                    Err(exhausted) => {
                        TenantReply::Refused { refusal: TenantRefusal::QuotaExhausted(exhausted) }
                    }
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
        })
    }

    fn settings(&self) -> Result<TenantSettings> {
        if self.store.has_rows()? { self.store.settings() } else { Ok(TenantSettings::default()) }
    }
}
