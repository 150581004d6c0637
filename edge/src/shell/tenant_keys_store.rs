//! Keys of a tenant and what operators did to it, in its SQLite.

use serde::Deserialize;
use shared_protocol::{TenantId, TimestampMs};
use worker::Result;

use super::database::{integer, unreadable};
use super::tenant_store::TenantStore;
use super::transaction::Statement;
use crate::api::tenants::perform::Write;
use crate::records::audit_row;
use crate::records::tenant_rows::{decode, encode};
use crate::scheduler::AuditEntry;
use crate::tenant::KeyId;
use crate::tenant::key::KeyRow;

/// Dead keys are shown while they are among the latest thousand.
const FORGET_DEAD_KEYS: &str = "DELETE FROM keys WHERE sequence <= (SELECT MAX(sequence) FROM keys) - 1000
    AND (json_extract(body, '$.revokedAtMs') IS NOT NULL OR json_extract(body, '$.expiresAtMs') <= ?)";

impl TenantStore {
    /// One of its keys.
    pub fn key(&self, id: &KeyId) -> Result<Option<KeyRow>> {
        let bodies =
            self.database().bodies("SELECT body FROM keys WHERE key_id = ?", vec![id.as_str().into()])?;
        bodies.first().map(|body| decode(body).map_err(unreadable)).transpose()
    }

    /// All of its keys, the newest first.
    pub fn keys(&self) -> Result<Vec<KeyRow>> {
        let bodies = self.database().bodies("SELECT body FROM keys ORDER BY sequence DESC", Vec::new())?;
        bodies.iter().map(|body| decode(body).map_err(unreadable)).collect()
    }

    /// Keeps what an act writes and the entry about it: both, or nothing.
    pub fn act(
        &self,
        tenant: &TenantId,
        write: Option<&Write>,
        entry: &AuditEntry,
        now: TimestampMs,
    ) -> Result<()> {
        let mut statements = vec![Statement {
            sql: "INSERT INTO audit_outbox (request_id, body) VALUES (?, ?)
                      ON CONFLICT (request_id) DO NOTHING",
            values: vec![entry.request_id.as_str().into(), audit_row::encode(entry).into()],
        }];
        match write {
            Some(Write::Settings(settings)) => statements.push(Statement {
                sql: "INSERT INTO settings (id, body) VALUES (1, ?)
                      ON CONFLICT (id) DO UPDATE SET body = excluded.body",
                values: vec![encode(settings).into()],
            }),
            Some(Write::Key(key)) => {
                statements.push(Statement {
                    sql: "INSERT INTO keys (key_id, body) VALUES (?, ?)
                          ON CONFLICT (key_id) DO UPDATE SET body = excluded.body",
                    values: vec![key.key_id.as_str().into(), encode(key).into()],
                });
                statements.push(Statement { sql: FORGET_DEAD_KEYS, values: vec![integer(now.0)] });
            }
            None => {}
        }
        if write.is_some() {
            statements.push(Statement {
                sql: "INSERT INTO listing (tenant, is_listed) VALUES (?, 0) ON CONFLICT (tenant) DO NOTHING",
                values: vec![tenant.as_str().into()],
            });
        }
        self.database().execute(statements)
    }

    /// Entries that the audit log has not got yet. More of them come with the next look.
    pub fn untold_entries(&self) -> Result<Vec<AuditEntry>> {
        let bodies = self.database().bodies("SELECT body FROM audit_outbox LIMIT 50", Vec::new())?;
        bodies.iter().map(|body| audit_row::decode(body).map_err(unreadable)).collect()
    }

    /// The audit log has these entries.
    pub fn entries_are_told(&self, request_ids: &[String]) -> Result<()> {
        let statement = |id: &String| Statement {
            sql: "DELETE FROM audit_outbox WHERE request_id = ?",
            values: vec![id.as_str().into()],
        };
        self.database().execute(request_ids.iter().map(statement).collect())
    }

    /// The tenant, if the index of tenants does not have it yet.
    pub fn unlisted(&self) -> Result<Option<TenantId>> {
        #[derive(Deserialize)]
        struct Row {
            tenant: TenantId,
        }
        let sql = "SELECT tenant FROM listing WHERE is_listed = 0";
        let tenants = self.database().rows(sql, Vec::new(), |row: Row| Ok(row.tenant))?;
        Ok(tenants.into_iter().next())
    }

    /// The index of tenants has it.
    pub fn is_listed(&self, tenant: &TenantId) -> Result<()> {
        self.database().execute(vec![Statement {
            sql: "UPDATE listing SET is_listed = 1 WHERE tenant = ?",
            values: vec![tenant.as_str().into()],
        }])
    }
}
