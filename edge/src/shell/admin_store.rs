//! What operators ask of the tables: jobs of all tenants, and the audit log.

use serde::Deserialize;
use shared_protocol::JobId;
use worker::{Result, SqlStorageValue};

use super::store::{Store, integer, unreadable};
use crate::api::admin::filter::JobFilter;
use crate::api::admin::request::Page;
use crate::records::{audit_row, follow_up_row, job_row};
use crate::scheduler::{AuditEntry, FollowUp, Job};

/// Rows that one page of a list looks at: reading is billed by row too, and a rare state is not worth reading everything.
const MAX_ROWS_READ: i64 = 5_000;

/// Exactly the condition of the index `unfinished_jobs`: without these very words it would not be used.
const UNFINISHED: &str =
    "ended_at_ms IS NOT NULL AND json_extract(body, '$.state') IN ('failed', 'quarantined')";

/// The worker that had a job last, out of its row: that of the last transition which concerned one.
const LAST_WORKER: &str = "(SELECT json_extract(value, '$.worker') FROM json_each(body, '$.history')
    WHERE json_extract(value, '$.worker') IS NOT NULL ORDER BY CAST(key AS INTEGER) DESC LIMIT 1)";

#[derive(Deserialize)]
/// A row of jobs or of the audit log.
struct Row {
    sequence: f64,
    body: String,
}

#[derive(Deserialize)]
struct Window {
    rows: f64,
    lowest: Option<f64>,
}

#[derive(Deserialize)]
struct Count {
    count: f64,
}

/// A condition in SQL with its values.
#[derive(Default)]
struct Condition {
    sql: Vec<String>,
    values: Vec<SqlStorageValue>,
}

impl Condition {
    fn and(&mut self, sql: &str) {
        self.sql.push(sql.to_owned());
    }

    fn and_value(&mut self, sql: &str, value: SqlStorageValue) {
        self.and(sql);
        self.values.push(value);
    }

    fn sql(&self) -> String {
        if self.sql.is_empty() { "1".to_owned() } else { self.sql.join(" AND ") }
    }
}

/// What an index answers, and what is looked for in the bodies of the rows that it finds.
fn conditions(filter: &JobFilter) -> (Condition, Condition) {
    let (mut by_index, mut by_body) = (Condition::default(), Condition::default());
    if let Some(state) = filter.state {
        match state.single() {
            Some("failed" | "quarantined") => by_index.and(UNFINISHED),
            _ if state.is_live() => by_index.and("ended_at_ms IS NULL"),
            _ => by_index.and("ended_at_ms IS NOT NULL"),
        }
        if let Some(name) = state.single() {
            by_body.and_value("json_extract(body, '$.state') = ?", name.into());
        }
    }
    if let Some(tenant) = &filter.tenant {
        by_index.and_value("tenant = ?", tenant.as_str().into());
    }
    if let Some(worker) = &filter.worker {
        by_body.and_value(&format!("{LAST_WORKER} = ?"), worker.as_str().into());
    }
    (by_index, by_body)
}

impl Store {
    /// A page of all tenants' jobs, newest first, and where the next page starts, if there is one. Their playlists are left
    /// out.
    pub fn jobs_of_all(&self, filter: &JobFilter, page: Page) -> Result<(Vec<Job>, Option<u64>)> {
        let (mut by_index, by_body) = conditions(filter);
        by_index.and_value("sequence < ?", integer(page.before.unwrap_or(u64::MAX)));
        by_index.values.push(SqlStorageValue::Integer(MAX_ROWS_READ));
        let window = format!(
            "(SELECT sequence, body FROM jobs WHERE {} ORDER BY sequence DESC LIMIT ?)",
            by_index.sql()
        );
        let limit = i64::from(page.limit);
        let mut values = by_index.values.clone();
        values.extend(by_body.values.iter().cloned());
        values.push(SqlStorageValue::Integer(limit + 1));
        let sql = format!(
            "SELECT sequence, body FROM {window} WHERE {} ORDER BY sequence DESC LIMIT ?",
            by_body.sql()
        );
        let mut rows: Vec<Row> = self.rows(&sql, values, Ok)?;
        let next = if rows.len() as i64 > limit {
            rows.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
            rows.last().map(|row| row.sequence as u64)
        } else {
            let sql = format!("SELECT COUNT(*) AS rows, MIN(sequence) AS lowest FROM {window}");
            let seen: Vec<Window> = self.rows(&sql, by_index.values, Ok)?;
            let full = seen.first().filter(|window| window.rows as i64 >= MAX_ROWS_READ);
            full.and_then(|window| window.lowest).map(|lowest| lowest as u64)
        };
        Ok((decoded(&rows)?, next))
    }

    /// Failed and quarantined jobs, the oldest first, and how many there are in all. With their playlists, since they may go on.
    pub fn retryable(&self, filter: &JobFilter, limit: usize) -> Result<(Vec<Job>, usize)> {
        let (by_index, by_body) = conditions(filter);
        let (index_sql, body_sql) = (by_index.sql(), by_body.sql());
        let mut values = by_index.values;
        values.extend(by_body.values);
        let condition = format!("{UNFINISHED} AND {index_sql} AND {body_sql}");
        let sql = format!("SELECT COUNT(*) AS count FROM jobs WHERE {condition}");
        let counts: Vec<Count> = self.rows(&sql, values.clone(), Ok)?;
        values.push(SqlStorageValue::Integer(i64::try_from(limit).unwrap_or(i64::MAX)));
        let sql = format!("SELECT sequence, body FROM jobs WHERE {condition} ORDER BY sequence LIMIT ?");
        let rows: Vec<Row> = self.rows(&sql, values, Ok)?;
        let mut jobs = decoded(&rows)?;
        for job in &mut jobs {
            if let Some(whole) = self.job(&job.id)? {
                *job = whole;
            }
        }
        Ok((jobs, counts.first().map_or(0, |count| count.count as usize)))
    }

    /// What followed on a completed job.
    pub fn follow_up(&self, id: &JobId) -> Result<Option<FollowUp>> {
        let bodies = self.bodies("SELECT body FROM follow_ups WHERE job_id = ?", vec![id.as_str().into()])?;
        bodies.first().map(|body| follow_up_row::decode(body).map_err(unreadable)).transpose()
    }

    /// The entry of a request, if it acted before.
    pub fn audited(&self, request_id: &str) -> Result<Option<AuditEntry>> {
        let bodies = self.bodies("SELECT body FROM audit WHERE request_id = ?", vec![request_id.into()])?;
        bodies.first().map(|body| audit_row::decode(body).map_err(unreadable)).transpose()
    }

    /// A page of the audit log, newest first, and where the next page starts, if there is one.
    pub fn audit_log(&self, page: Page) -> Result<(Vec<AuditEntry>, Option<u64>)> {
        let values = vec![
            integer(page.before.unwrap_or(u64::MAX)),
            SqlStorageValue::Integer(i64::from(page.limit) + 1),
        ];
        let sql = "SELECT sequence, body FROM audit WHERE sequence < ? ORDER BY sequence DESC LIMIT ?";
        let mut rows: Vec<Row> = self.rows(sql, values, Ok)?;
        let limit = usize::try_from(page.limit).unwrap_or(usize::MAX);
        let more = rows.len() > limit;
        rows.truncate(limit);
        let next = rows.last().filter(|_| more).map(|row| row.sequence as u64);
        let entries = rows.iter().map(|row| audit_row::decode(&row.body).map_err(unreadable));
        Ok((entries.collect::<Result<_>>()?, next))
    }
}

fn decoded(rows: &[Row]) -> Result<Vec<Job>> {
    rows.iter().map(|row| job_row::decode(&row.body).map_err(unreadable)).collect()
}
