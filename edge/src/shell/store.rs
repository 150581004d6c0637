//! The scheduler's SQLite: its schema, its migrations, and every statement.

use std::collections::BTreeMap;
use std::rc::Rc;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use shared_protocol::{JobId, MessageId, TenantId, TimestampMs, encode, limits::STEMS_WINDOW};
use worker::{Result, SqlStorage, SqlStorageValue, Storage};

use super::database::{Database, integer, unreadable};
use super::outbox_store;
use super::transaction::Statement;
use super::usage::Usage;
use crate::api::request::{ListJobs, ListState};
use crate::api::view::UsageView;
use crate::outbox;
use crate::records::{
    RowError, audit_row, control_row, follow_up_row, job_row, meta_row, playlist_row, turn_rows,
};
use crate::scheduler::{ConnectionId, Effect, FollowUp, Job, KnownKey, Meta, Reason, Restored};

/// Rows written cost money, and so does every index that a write touches: live jobs are found by a partial index, which a job
/// leaves when it ends, and the body is no part of any.
const MIGRATIONS: [&[&str]; 6] = [
    &[
        "CREATE TABLE jobs (
        sequence INTEGER PRIMARY KEY,
        job_id TEXT NOT NULL UNIQUE,
        tenant TEXT NOT NULL,
        idempotency_key TEXT,
        ended_at_ms INTEGER,
        body TEXT NOT NULL
    )",
        "CREATE INDEX live_jobs ON jobs (sequence) WHERE ended_at_ms IS NULL",
        "CREATE INDEX jobs_of_tenant ON jobs (tenant, sequence)",
        "CREATE INDEX jobs_by_key ON jobs (tenant, idempotency_key) WHERE idempotency_key IS NOT NULL",
        "CREATE TABLE playlists (job_id TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID",
        "CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID",
    ],
    &[
        "CREATE TABLE meta (id INTEGER PRIMARY KEY CHECK (id = 1), body TEXT NOT NULL)",
        "CREATE TABLE worker_controls (worker_id TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID",
        "CREATE TABLE receipts (message_id TEXT PRIMARY KEY, at_ms INTEGER NOT NULL) WITHOUT ROWID",
        "CREATE TABLE follow_ups (job_id TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID",
        "CREATE INDEX ended_jobs ON jobs (ended_at_ms) WHERE ended_at_ms IS NOT NULL",
    ],
    &[
        "CREATE TABLE audit (sequence INTEGER PRIMARY KEY, request_id TEXT NOT NULL UNIQUE, body TEXT NOT NULL)",
        // Only jobs that ended badly are in it; a live one's body is not even looked at.
        "CREATE INDEX unfinished_jobs ON jobs (sequence)
         WHERE ended_at_ms IS NOT NULL AND json_extract(body, '$.state') IN ('failed', 'quarantined')",
    ],
    &[
        "CREATE TABLE webhook_endpoints (id TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID",
        // An event that is delivered at once costs two rows: written and deleted. Only dead ones are in an index.
        "CREATE TABLE outbox (
        id INTEGER PRIMARY KEY,
        endpoint TEXT NOT NULL,
        event TEXT NOT NULL,
        body TEXT NOT NULL,
        dead_at_ms INTEGER
    )",
        "CREATE INDEX dead_letters ON outbox (dead_at_ms) WHERE dead_at_ms IS NOT NULL",
    ],
    // What was completed lately is found by its receipts, which are few.
    &["ALTER TABLE receipts ADD COLUMN job_id TEXT", "DROP INDEX ended_jobs"],
    // One row for each attempt, in the place of an older one.
    &["CREATE TABLE webhook_log (
        endpoint TEXT NOT NULL,
        slot INTEGER NOT NULL,
        sequence INTEGER NOT NULL,
        job_id TEXT NOT NULL,
        body TEXT NOT NULL,
        PRIMARY KEY (endpoint, slot)
    ) WITHOUT ROWID"],
];

/// Writes a job that was live before and still is. What an UPDATE names is written to the indexes on it, changed or not.
const SAVE_JOB: &str = "INSERT INTO jobs (sequence, job_id, tenant, idempotency_key, ended_at_ms, body)
    VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (sequence) DO UPDATE SET body = excluded.body";

/// Writes a job that ends, or lives again.
const SAVE_JOB_AND_END: &str =
    "INSERT INTO jobs (sequence, job_id, tenant, idempotency_key, ended_at_ms, body)
    VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (sequence) DO UPDATE SET ended_at_ms = excluded.ended_at_ms, body = excluded.body";

const JOB_COLUMNS: &str = "SELECT jobs.body AS body, playlists.body AS playlist
    FROM jobs LEFT JOIN playlists ON playlists.job_id = jobs.job_id";

#[derive(Deserialize)]
struct JobWithPlaylist {
    body: String,
    playlist: Option<String>,
}

/// The tables.
#[derive(Debug)]
pub struct Store {
    database: Database,
}

impl Store {
    /// The tables behind an object's storage.
    pub fn new(storage: Storage, usage: Rc<Usage>) -> Self {
        Self { database: Database::new(storage, usage) }
    }

    /// What the object has used so far.
    pub fn usage(&self) -> UsageView {
        self.database.usage()
    }

    /// Executes all statements, or none of them.
    pub(super) fn execute(&self, statements: Vec<Statement>) -> Result<()> {
        self.database.execute(statements)
    }

    /// The database.
    pub(super) fn sql(&self) -> SqlStorage {
        self.database.sql()
    }

    /// Brings the schema to this release's version.
    pub fn migrate(&self) -> Result<()> {
        self.database.migrate(&MIGRATIONS)
    }

    /// Makes the effects that are to be kept durable: all of them, or none.
    pub fn persist(&self, effects: &[Effect], webhooks: &[outbox::Effect]) -> Result<()> {
        let mut statements: Vec<Statement> =
            turn_rows::to_write(effects).into_iter().filter_map(statement).collect();
        statements.extend(outbox_store::statements(webhooks)?);
        if statements.is_empty() {
            return Ok(());
        }
        self.execute(statements)
    }

    /// Everything that the scheduler is restored from, but its connections.
    pub fn restored(&self, now: TimestampMs) -> Result<Restored> {
        let mut meta = match self.bodies("SELECT body FROM meta", Vec::new())?.first() {
            Some(body) => meta_row::decode(body).map_err(unreadable)?,
            None => Meta::default(),
        };
        meta.last_sequence = meta.last_sequence.max(self.number("SELECT MAX(sequence) AS value FROM jobs")?);
        let controls = self.bodies("SELECT body FROM worker_controls", Vec::new())?;
        Ok(Restored {
            meta,
            jobs: self.jobs(" WHERE jobs.ended_at_ms IS NULL ORDER BY jobs.sequence", Vec::new())?,
            controls: controls
                .iter()
                .map(|body| control_row::decode(body).map_err(unreadable))
                .collect::<Result<_>>()?,
            receipts: self.receipts()?,
            follow_ups: self.open_follow_ups(now)?,
            connections: Vec::new(),
            strangers: Vec::new(),
        })
    }

    fn receipts(&self) -> Result<Vec<(MessageId, TimestampMs)>> {
        #[derive(Deserialize)]
        struct Receipt {
            message_id: MessageId,
            at_ms: f64,
        }
        let receipt = |row: Receipt| Ok((row.message_id, TimestampMs(row.at_ms as u64)));
        self.rows("SELECT message_id, at_ms FROM receipts", Vec::new(), receipt)
    }

    /// Of every job that was completed within the window: what followed so far, or that nothing has.
    fn open_follow_ups(&self, now: TimestampMs) -> Result<Vec<FollowUp>> {
        let since = integer(now.0.saturating_sub(STEMS_WINDOW.0));
        let followed = self.bodies(
            "SELECT body FROM follow_ups WHERE job_id IN (SELECT job_id FROM receipts WHERE at_ms > ?)",
            vec![since.clone()],
        )?;
        let mut follow_ups: BTreeMap<JobId, FollowUp> = BTreeMap::new();
        for body in followed {
            let follow_up = follow_up_row::decode(&body).map_err(unreadable)?;
            follow_ups.insert(follow_up.job_id.clone(), follow_up);
        }
        let ended =
            " WHERE jobs.job_id IN (SELECT job_id FROM receipts WHERE at_ms > ?) AND jobs.ended_at_ms > ?";
        for job in self.jobs(ended, vec![since.clone(), since])? {
            let (Some(attempt), Some(ended_at)) = (job.accepted, job.ended_at) else { continue };
            let new = FollowUp::on(&job, attempt, ended_at + STEMS_WINDOW);
            follow_ups.entry(job.id).or_insert(new);
        }
        Ok(follow_ups.into_values().collect())
    }

    pub(super) fn bodies(&self, sql: &str, values: Vec<SqlStorageValue>) -> Result<Vec<String>> {
        self.database.bodies(sql, values)
    }

    /// The rows of a query, read one by one.
    pub(super) fn rows<R: DeserializeOwned, T>(
        &self,
        sql: &str,
        values: Vec<SqlStorageValue>,
        read: impl Fn(R) -> Result<T>,
    ) -> Result<Vec<T>> {
        self.database.rows(sql, values, read)
    }

    /// A job, live or ended.
    pub fn job(&self, id: &JobId) -> Result<Option<Job>> {
        Ok(self.jobs(" WHERE jobs.job_id = ?", vec![id.as_str().into()])?.into_iter().next())
    }

    /// The latest job that a tenant made under an idempotency key.
    pub fn known_key(&self, tenant: &TenantId, key: &str) -> Result<Option<KnownKey>> {
        let latest = self.jobs(
            " WHERE jobs.tenant = ? AND jobs.idempotency_key = ? ORDER BY jobs.sequence DESC LIMIT 1",
            vec![tenant.as_str().into(), key.into()],
        )?;
        Ok(latest.into_iter().next().map(|job| KnownKey {
            job_id: job.id,
            request: job.request,
            created_at: job.created_at,
        }))
    }

    /// A tenant's jobs, newest first; one more than asked for when there are more.
    pub fn list(&self, tenant: &TenantId, list: ListJobs) -> Result<Vec<Job>> {
        let condition = match list.state {
            ListState::Any => {
                " WHERE jobs.tenant = ? AND jobs.sequence < ? ORDER BY jobs.sequence DESC LIMIT ?"
            }
            ListState::Live => {
                " WHERE jobs.tenant = ? AND jobs.sequence < ? AND jobs.ended_at_ms IS NULL
                  ORDER BY jobs.sequence DESC LIMIT ?"
            }
            ListState::Ended => {
                " WHERE jobs.tenant = ? AND jobs.sequence < ? AND jobs.ended_at_ms IS NOT NULL
                  ORDER BY jobs.sequence DESC LIMIT ?"
            }
        };
        let before = integer(list.before.unwrap_or(u64::MAX));
        let limit = SqlStorageValue::Integer(i64::from(list.limit) + 1);
        self.jobs(condition, vec![tenant.as_str().into(), before, limit])
    }

    /// A number that no connection had before.
    pub fn next_connection(&self) -> Result<ConnectionId> {
        let value = self.number(
            "INSERT INTO counters (name, value) VALUES ('connection', 1)
             ON CONFLICT (name) DO UPDATE SET value = value + 1 RETURNING value",
        )?;
        Ok(ConnectionId(value))
    }

    fn jobs(&self, condition: &str, values: Vec<SqlStorageValue>) -> Result<Vec<Job>> {
        self.rows(&format!("{JOB_COLUMNS}{condition}"), values, |row: JobWithPlaylist| {
            read(&row).map_err(unreadable)
        })
    }

    /// The one number of a query; 0 when there is none.
    pub(super) fn number(&self, sql: &str) -> Result<u64> {
        self.database.number(sql, Vec::new())
    }
}

fn read(row: &JobWithPlaylist) -> std::result::Result<Job, RowError> {
    let mut job = job_row::decode(&row.body)?;
    // An ended job has its own; the row is from the time when it was live.
    if let Some(playlist) = row.playlist.as_ref().filter(|_| job.playlist.is_empty()) {
        job.playlist = playlist_row::decode(playlist)?;
    }
    Ok(job)
}

fn statement(effect: &Effect) -> Option<Statement> {
    match effect {
        Effect::SaveJob(job) => {
            let row = job_row::encode(job);
            let ended_at = row.ended_at_ms.map(|TimestampMs(at)| integer(at));
            let was_reopened = job.history.iter().any(|step| step.reason == Reason::RetriedByOperator);
            Some(Statement {
                sql: if was_reopened || row.ended_at_ms.is_some() { SAVE_JOB_AND_END } else { SAVE_JOB },
                values: vec![
                    integer(row.sequence),
                    row.job_id.into(),
                    row.tenant.into(),
                    row.idempotency_key.into(),
                    ended_at.unwrap_or(SqlStorageValue::Null),
                    row.body.into(),
                ],
            })
        }
        Effect::SavePlaylist { job_id, playlist } => Some(Statement {
            sql: "INSERT INTO playlists (job_id, body) VALUES (?, ?)
                  ON CONFLICT (job_id) DO UPDATE SET body = excluded.body",
            values: vec![job_id.as_str().into(), playlist_row::encode(playlist).into()],
        }),
        Effect::SaveMeta(meta) => Some(Statement {
            sql: "INSERT INTO meta (id, body) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET body = excluded.body",
            values: vec![meta_row::encode(meta).into()],
        }),
        Effect::SaveControl { worker, control: Some(control) } => Some(Statement {
            sql: "INSERT INTO worker_controls (worker_id, body) VALUES (?, ?)
                  ON CONFLICT (worker_id) DO UPDATE SET body = excluded.body",
            values: vec![worker.as_str().into(), control_row::encode(control).into()],
        }),
        Effect::SaveControl { worker, control: None } => Some(Statement {
            sql: "DELETE FROM worker_controls WHERE worker_id = ?",
            values: vec![worker.as_str().into()],
        }),
        Effect::SaveReceipt { message_id, job_id, at } => Some(Statement {
            sql: "INSERT INTO receipts (message_id, at_ms, job_id) VALUES (?, ?, ?)
                  ON CONFLICT (message_id) DO NOTHING",
            values: vec![message_id.as_str().into(), integer(at.0), job_id.as_str().into()],
        }),
        Effect::DropReceipts(ids) => Some(Statement {
            sql: "DELETE FROM receipts WHERE message_id IN (SELECT value FROM json_each(?))",
            values: vec![encode(ids).into()],
        }),
        Effect::SaveFollowUp(follow_up) => Some(Statement {
            sql: "INSERT INTO follow_ups (job_id, body) VALUES (?, ?)
                  ON CONFLICT (job_id) DO UPDATE SET body = excluded.body",
            values: vec![follow_up.job_id.as_str().into(), follow_up_row::encode(follow_up).into()],
        }),
        // Becomes rows of the outbox.
        Effect::Announce(_) => None,
        Effect::SaveAudit(entry) => Some(Statement {
            sql: "INSERT INTO audit (request_id, body) VALUES (?, ?)
                  ON CONFLICT (request_id) DO UPDATE SET body = excluded.body",
            values: vec![entry.request_id.as_str().into(), audit_row::encode(entry).into()],
        }),
        Effect::Remember { .. } | Effect::Offer { .. } | Effect::Send { .. } | Effect::Close { .. } => None,
    }
}
