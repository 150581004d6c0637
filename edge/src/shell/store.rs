//! The scheduler's SQLite: its schema, its migrations, and every statement.

use serde::Deserialize;
use shared_protocol::{JobId, TenantId, TimestampMs};
use worker::{Error, Result, SqlStorageValue, Storage};

use super::transaction::{Statement, execute_all};
use crate::api::request::{ListJobs, ListState};
use crate::records::{RowError, job_row, playlist_row};
use crate::scheduler::{ConnectionId, Effect, Job, KnownKey};

/// Steps from one version of the schema to the next. Two releases may meet one database: a step adds what the older one
/// does not miss, and is never changed once released.
///
/// Rows written cost money, and so does every index that a write touches: live jobs are found by a partial index, which a job
/// leaves when it ends, and the body is no part of any.
const MIGRATIONS: [&[&str]; 1] = [&[
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
]];

const JOB_COLUMNS: &str = "SELECT jobs.body AS body, playlists.body AS playlist
    FROM jobs LEFT JOIN playlists ON playlists.job_id = jobs.job_id";

#[derive(Deserialize)]
struct JobWithPlaylist {
    body: String,
    playlist: Option<String>,
}

#[derive(Deserialize)]
struct Number {
    value: Option<f64>,
}

/// The tables.
#[derive(Debug)]
pub struct Store {
    storage: Storage,
}

impl Store {
    /// The tables behind an object's storage.
    pub fn new(storage: Storage) -> Self {
        Self { storage }
    }

    /// Brings the schema to this release's version.
    pub fn migrate(&self) -> Result<()> {
        let sql = self.storage.sql();
        sql.exec("CREATE TABLE IF NOT EXISTS migrations (version INTEGER PRIMARY KEY)", None)?;
        let done = self.number("SELECT MAX(version) AS value FROM migrations")?;
        for (version, steps) in (1_i64..).zip(MIGRATIONS) {
            if u64::try_from(version).is_ok_and(|version| version <= done) {
                continue;
            }
            let mut statements: Vec<Statement> =
                steps.iter().map(|sql| Statement { sql, values: Vec::new() }).collect();
            statements.push(Statement {
                sql: "INSERT INTO migrations (version) VALUES (?)",
                values: vec![version.into()],
            });
            execute_all(&self.storage, statements)?;
        }
        Ok(())
    }

    /// Makes the effects that are to be kept durable: all of them, or none.
    pub fn persist(&self, effects: &[Effect]) -> Result<()> {
        let statements: Vec<Statement> = effects.iter().filter_map(statement).collect();
        if statements.is_empty() {
            return Ok(());
        }
        execute_all(&self.storage, statements)
    }

    /// All live jobs with their playlists.
    pub fn live_jobs(&self) -> Result<Vec<Job>> {
        self.jobs(" WHERE jobs.ended_at_ms IS NULL ORDER BY jobs.sequence", Vec::new())
    }

    /// The last place given out in the order of submission.
    pub fn last_sequence(&self) -> Result<u64> {
        self.number("SELECT MAX(sequence) AS value FROM jobs")
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
        let rows: Vec<JobWithPlaylist> =
            self.storage.sql().exec(&format!("{JOB_COLUMNS}{condition}"), values)?.to_array()?;
        rows.iter().map(|row| read(row).map_err(|error| Error::RustError(error.to_string()))).collect()
    }

    /// The one number of a query; 0 when there is none. (The cursor's own `one()` hangs on no rows.)
    fn number(&self, sql: &str) -> Result<u64> {
        let rows: Vec<Number> = self.storage.sql().exec(sql, None)?.to_array()?;
        Ok(rows.first().and_then(|row| row.value).map_or(0, |value| value as u64))
    }
}

fn read(row: &JobWithPlaylist) -> std::result::Result<Job, RowError> {
    let mut job = job_row::decode(&row.body)?;
    if let Some(playlist) = &row.playlist {
        job.playlist = playlist_row::decode(playlist)?;
    }
    Ok(job)
}

fn statement(effect: &Effect) -> Option<Statement> {
    match effect {
        Effect::SaveJob(job) => {
            let row = job_row::encode(job);
            let ended_at = row.ended_at_ms.map(|TimestampMs(at)| integer(at));
            Some(Statement {
                sql: "INSERT INTO jobs (sequence, job_id, tenant, idempotency_key, ended_at_ms, body)
                      VALUES (?, ?, ?, ?, ?, ?)
                      ON CONFLICT (sequence) DO UPDATE SET ended_at_ms = excluded.ended_at_ms, body = excluded.body",
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
        Effect::Remember { .. } | Effect::Offer { .. } | Effect::Send { .. } | Effect::Close { .. } => None,
    }
}

/// The platform's numbers are exact up to 2^53 only.
fn integer(value: u64) -> SqlStorageValue {
    const MAX_EXACT: u64 = (1 << 53) - 1;
    SqlStorageValue::Integer(value.min(MAX_EXACT) as i64)
}
