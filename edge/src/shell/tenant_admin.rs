//! The operator's side of a tenant's object: what is shown of it, and acts on it.
//!
//! The audit log is in the scheduler's object, and no transaction spans two objects. So an act and its entry are one transaction
//! here; the entry is handed on at once, and by the alarm until the scheduler has it (docs/adr/0010-tenants.md).

use std::time::Duration;

use shared_protocol::TenantId;
use worker::{Result, console_warn};

use super::tenant_do::{Tenant, document, refused};
use super::{call_scheduler, call_tenant, now};
use crate::api::admin::call::Actor;
use crate::api::call::Call;
use crate::api::tenants::call::{TenantAct, TenantCall, TenantQuestion, TenantRefusal, TenantReply};
use crate::api::tenants::perform::{entry, perform};
use crate::api::tenants::view::{KeyList, KeyView, TenantUsage, TenantView};
use crate::tenant::{KeyId, Month};

/// How long after a failure it is told again what the others have to know.
const RETRY_AFTER: Duration = Duration::from_secs(30);

impl Tenant {
    pub(super) fn view(&self, tenant: TenantId, question: TenantQuestion) -> Result<TenantReply> {
        let (store, settings) = (&self.store, self.settings()?);
        let has_rows = store.has_rows()?;
        match question {
            TenantQuestion::Tenant => {
                let used_seconds = if has_rows { store.used_seconds(now())? } else { 0.0 };
                let month = Month::of(now()).to_string();
                document(200, &TenantView { tenant, settings, month, used_seconds })
            }
            TenantQuestion::Keys => {
                let keys = if has_rows { store.keys()? } else { Vec::new() };
                let keys = keys.iter().map(|key| KeyView::of(&tenant, key, now())).collect();
                document(200, &KeyList { keys })
            }
            TenantQuestion::Usage { query } => {
                let (totals, rows) = if has_rows {
                    (store.totals(&query.month)?, store.ledger(&query)?)
                } else {
                    (Vec::new(), (Vec::new(), None))
                };
                document(200, &TenantUsage::of(tenant, query.month, &settings, totals, rows))
            }
        }
    }

    pub(super) async fn act(
        &self,
        tenant: TenantId,
        actor: &Actor,
        act: TenantAct,
        reason: String,
    ) -> Result<TenantReply> {
        let store = &self.store;
        store.prepare()?;
        let now = now();
        let outcome = if actor.may_act {
            perform(&act, &store.settings()?, &store.keys()?, now)
        } else {
            Err(TenantRefusal::KeyReadOnly)
        };
        let entry = entry(actor, &tenant, &act, reason, now, &outcome);
        store.act(&tenant, outcome.as_ref().ok().and_then(Option::as_ref), &entry, now)?;
        self.settle().await?;
        if let Err(refusal) = outcome {
            return Ok(refused(refusal));
        }
        match act {
            TenantAct::Update { .. } => self.view(tenant, TenantQuestion::Tenant),
            TenantAct::CreateKey { key } => self.key(&tenant, &key.key_id, 201),
            TenantAct::RotateKey { key_id, .. } | TenantAct::RevokeKey { key_id } => {
                self.key(&tenant, &key_id, 200)
            }
        }
    }

    fn key(&self, tenant: &TenantId, id: &KeyId, status: u16) -> Result<TenantReply> {
        match self.store.key(id)? {
            Some(key) => document(status, &KeyView::of(tenant, &key, now())),
            None => Ok(refused(TenantRefusal::KeyNotFound)),
        }
    }

    /// Tells the scheduler's audit log and the index of tenants what they do not know yet. What cannot be told stays, and the alarm
    /// tells it again.
    pub(super) async fn settle(&self) -> Result<()> {
        let store = &self.store;
        if !store.has_rows()? {
            return Ok(());
        }
        // First of all: a failure further down must not lose it.
        self.state.storage().set_alarm(RETRY_AFTER).await?;
        let entries = store.untold_entries()?;
        if !entries.is_empty() {
            let told: Vec<String> = entries.iter().map(|entry| entry.request_id.clone()).collect();
            match call_scheduler::call(&self.env, &Call::Audit { entries }).await {
                Ok(_) => store.entries_are_told(&told)?,
                Err(fault) => console_warn!("the audit log could not be told: {fault}"),
            }
        }
        if let Some(tenant) = store.unlisted()? {
            let call = TenantCall::ListTenant { tenant: tenant.clone() };
            match call_tenant::ask_index(&self.env, &call).await {
                Ok(_) => store.is_listed(&tenant)?,
                Err(fault) => console_warn!("the index of tenants could not be told: {fault}"),
            }
        }
        if store.untold_entries()?.is_empty() && store.unlisted()?.is_none() {
            self.state.storage().delete_alarm().await?;
        }
        Ok(())
    }
}
