//! A tenant's SQLite: its schema, its migrations, and every statement.

use std::cell::Cell;
use std::rc::Rc;

use serde::Deserialize;
use shared_protocol::{Sampler, TenantId, TimestampMs};
use worker::{Result, SqlStorageValue, Storage};

use super::database::{Database, integer, unreadable};
use super::transaction::Statement;
use super::usage::Usage;
use crate::api::tenants::request::{TenantsQuery, UsageQuery};
use crate::api::tenants::view::{SamplerTotal, TenantList, TenantSummary};
use crate::records::tenant_rows::{TenantRow, decode, encode};
use crate::tenant::{Month, ProjectEntry, ProjectPage, TenantSettings, UsageRow};

/// The steps from one version of the schema to the next.
///
/// The ledger is only ever added to. Its sums are kept beside it by a trigger, in the statement that adds the row: who asks
/// whether a quota is reached reads a row or two, not a month.
const MIGRATIONS: [&[&str]; 1] = [&[
    "CREATE TABLE settings (id INTEGER PRIMARY KEY CHECK (id = 1), body TEXT NOT NULL)",
    "CREATE TABLE ledger (
        sequence INTEGER PRIMARY KEY,
        generation_id TEXT NOT NULL UNIQUE,
        month TEXT NOT NULL,
        sampler TEXT NOT NULL,
        audio_seconds REAL NOT NULL,
        body TEXT NOT NULL
    )",
    "CREATE INDEX ledger_of_month ON ledger (month, sequence)",
    "CREATE TABLE ledger_sums (
        month TEXT NOT NULL,
        sampler TEXT NOT NULL,
        generations INTEGER NOT NULL,
        audio_seconds REAL NOT NULL,
        PRIMARY KEY (month, sampler)
    ) WITHOUT ROWID",
    "CREATE TRIGGER sum_of_ledger AFTER INSERT ON ledger BEGIN
        INSERT INTO ledger_sums (month, sampler, generations, audio_seconds)
        VALUES (new.month, new.sampler, 1, new.audio_seconds)
        ON CONFLICT (month, sampler) DO UPDATE SET
            generations = generations + 1, audio_seconds = audio_seconds + excluded.audio_seconds;
    END",
    "CREATE TABLE projects (sequence INTEGER PRIMARY KEY, project_id TEXT NOT NULL UNIQUE, body TEXT NOT NULL)",
    "CREATE TABLE keys (sequence INTEGER PRIMARY KEY, key_id TEXT NOT NULL UNIQUE, body TEXT NOT NULL)",
    // What the scheduler's audit log has not got yet, and whether the index of tenants has this one.
    "CREATE TABLE audit_outbox (request_id TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE listing (tenant TEXT PRIMARY KEY, is_listed INTEGER NOT NULL) WITHOUT ROWID",
    // The index itself, in the one object that is nobody's.
    "CREATE TABLE tenants (tenant TEXT PRIMARY KEY, since_ms INTEGER NOT NULL) WITHOUT ROWID",
]];

/// The tables.
#[derive(Debug)]
pub struct TenantStore {
    database: Database,
    is_migrated: Cell<bool>,
}

impl TenantStore {
    /// The tables behind an object's storage.
    pub fn new(storage: Storage) -> Self {
        Self { database: Database::new(storage, Rc::new(Usage::begin())), is_migrated: Cell::new(false) }
    }

    /// Before a write: makes or mends the tables.
    pub fn prepare(&self) -> Result<()> {
        if !self.is_migrated.get() {
            self.database.migrate(&MIGRATIONS)?;
            self.is_migrated.set(true);
        }
        Ok(())
    }

    /// Before a read: whether there is anything to read. Objects of tenants that do not exist are asked too, and shall keep
    /// nothing.
    pub fn has_rows(&self) -> Result<bool> {
        if self.is_migrated.get() {
            return Ok(true);
        }
        let is_made = self.database.is_made()?;
        if is_made {
            self.prepare()?;
        }
        Ok(is_made)
    }

    /// The limits.
    pub fn settings(&self) -> Result<TenantSettings> {
        let bodies = self.database.bodies("SELECT body FROM settings", Vec::new())?;
        bodies.first().map_or_else(|| Ok(TenantSettings::default()), |body| decode(body).map_err(unreadable))
    }

    /// Charges a generation, unless it was charged before.
    pub fn record_usage(&self, row: &UsageRow) -> Result<()> {
        let sampler = serde_json::to_value(row.sampler)?;
        self.database.execute(vec![Statement {
            sql: "INSERT INTO ledger (generation_id, month, sampler, audio_seconds, body) VALUES (?, ?, ?, ?, ?)
                  ON CONFLICT (generation_id) DO NOTHING",
            values: vec![
                row.generation_id.as_str().into(),
                Month::of(row.at).to_string().into(),
                sampler.as_str().unwrap_or_default().into(),
                SqlStorageValue::Float(row.audio_seconds),
                encode(row).into(),
            ],
        }])
    }

    /// Seconds of audio that were charged in the month of a moment.
    pub fn used_seconds(&self, at: TimestampMs) -> Result<f64> {
        #[derive(Deserialize)]
        struct Sum {
            seconds: Option<f64>,
        }
        let sums = self.database.rows(
            "SELECT SUM(audio_seconds) AS seconds FROM ledger_sums WHERE month = ?",
            vec![Month::of(at).to_string().into()],
            |row: Sum| Ok(row.seconds.unwrap_or(0.0)),
        )?;
        Ok(sums.first().copied().unwrap_or(0.0))
    }

    /// Puts a project on the list, or changes its name there.
    pub fn add_project(&self, project: &ProjectEntry) -> Result<()> {
        self.database.execute(vec![Statement {
            sql: "INSERT INTO projects (project_id, body) VALUES (?, ?)
                  ON CONFLICT (project_id) DO UPDATE SET body = excluded.body WHERE body <> excluded.body",
            values: vec![project.project_id.as_str().into(), encode(project).into()],
        }])
    }

    /// A page of the projects, newest first.
    pub fn projects(&self, limit: u32, before: Option<u64>) -> Result<ProjectPage> {
        let (projects, next_cursor) = self.page(
            "SELECT sequence, body FROM projects WHERE sequence < ? ORDER BY sequence DESC LIMIT ?",
            Vec::new(),
            limit,
            before,
        )?;
        Ok(ProjectPage { projects, next_cursor })
    }

    /// A page of a month's ledger, the latest first, and where the next page starts, if there is one.
    pub fn ledger(&self, query: &UsageQuery) -> Result<(Vec<UsageRow>, Option<u64>)> {
        self.page(
            "SELECT sequence, body FROM ledger WHERE month = ? AND sequence < ? ORDER BY sequence DESC LIMIT ?",
            vec![query.month.as_str().into()],
            query.limit,
            query.before,
        )
    }

    /// What was charged in a month, by sampler.
    pub fn totals(&self, month: &str) -> Result<Vec<SamplerTotal>> {
        #[derive(Deserialize)]
        struct Row {
            sampler: Sampler,
            generations: f64,
            audio_seconds: f64,
        }
        self.database.rows(
            "SELECT sampler, generations, audio_seconds FROM ledger_sums WHERE month = ? ORDER BY sampler",
            vec![month.into()],
            |Row { sampler, generations, audio_seconds }| {
                Ok(SamplerTotal { sampler, generations: generations as u64, audio_seconds })
            },
        )
    }

    /// Puts a tenant on the index.
    pub fn list_tenant(&self, tenant: &TenantId, now: TimestampMs) -> Result<()> {
        self.database.execute(vec![Statement {
            sql: "INSERT INTO tenants (tenant, since_ms) VALUES (?, ?) ON CONFLICT (tenant) DO NOTHING",
            values: vec![tenant.as_str().into(), integer(now.0)],
        }])
    }

    /// A page of the index, by name.
    pub fn tenants(&self, query: &TenantsQuery) -> Result<TenantList> {
        #[derive(Deserialize)]
        struct Row {
            tenant: TenantId,
            since_ms: f64,
        }
        let mut tenants = self.database.rows(
            "SELECT tenant, since_ms FROM tenants WHERE tenant > ? ORDER BY tenant LIMIT ?",
            vec![
                query.after.as_ref().map_or("", TenantId::as_str).into(),
                SqlStorageValue::Integer(i64::from(query.limit) + 1),
            ],
            |row: Row| Ok(TenantSummary { tenant: row.tenant, since_ms: TimestampMs(row.since_ms as u64) }),
        )?;
        let limit = usize::try_from(query.limit).unwrap_or(usize::MAX);
        let more = tenants.len() > limit;
        tenants.truncate(limit);
        let next_cursor = tenants.last().filter(|_| more).map(|last| last.tenant.clone());
        Ok(TenantList { tenants, next_cursor })
    }

    fn page<R: TenantRow>(
        &self,
        sql: &str,
        mut values: Vec<SqlStorageValue>,
        limit: u32,
        before: Option<u64>,
    ) -> Result<(Vec<R>, Option<u64>)> {
        #[derive(Deserialize)]
        struct Row {
            sequence: f64,
            body: String,
        }
        values.push(integer(before.unwrap_or(u64::MAX)));
        values.push(SqlStorageValue::Integer(i64::from(limit) + 1));
        let mut rows: Vec<Row> = self.database.rows(sql, values, Ok)?;
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let more = rows.len() > limit;
        rows.truncate(limit);
        let next = rows.last().filter(|_| more).map(|row| row.sequence as u64);
        let rows = rows.iter().map(|row| decode(&row.body).map_err(unreadable)).collect::<Result<_>>()?;
        Ok((rows, next))
    }

    /// The database, for what else is kept in it.
    pub(super) fn database(&self) -> &Database {
        &self.database
    }
}
