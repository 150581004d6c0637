//! What operators ask of the tables: jobs of all tenants, and the audit log.

use serde::Deserialize;
use shared_protocol::JobId;
use worker::{Result, SqlStorageValue};

use super::database::{integer, unreadable};
use super::store::Store;
use crate::api::admin::filter::{JobFilter, StateFilter};
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

    fn and_tenant(&mut self, filter: &JobFilter) {
        if let Some(tenant) = &filter.tenant {
            self.and_value("tenant = ?", tenant.as_str().into());
        }
    }

    fn and_state_and_worker(&mut self, filter: &JobFilter) {
        if let Some(name) = filter.state.and_then(StateFilter::single) {
            self.and_value("json_extract(body, '$.state') = ?", name.into());
        }
        if let Some(worker) = &filter.worker {
            self.and_value(&format!("{LAST_WORKER} = ?"), worker.as_str().into());
        }
    }

    fn sql(&self) -> String {
        if self.sql.is_empty() { "1".to_owned() } else { self.sql.join(" AND ") }
    }
}

/// Where jobs are looked for: rows of one index in the order of submission, and what is looked for in these rows.
///
/// The index is named, so that each call reads a bounded number of rows whatever the planner thinks.
struct Search {
    table: &'static str,
    window: Condition,
    rows: Condition,
}

impl Search {
    fn new(filter: &JobFilter) -> Self {
        let (mut window, mut rows) = (Condition::default(), Condition::default());
        let table = match filter.state {
            Some(state) if state.is_live() => {
                window.and("ended_at_ms IS NULL");
                "jobs INDEXED BY live_jobs"
            }
            Some(StateFilter::Failed | StateFilter::Quarantined) => {
                window.and(UNFINISHED);
                "jobs INDEXED BY unfinished_jobs"
            }
            Some(_) => {
                rows.and("ended_at_ms IS NOT NULL");
                "jobs"
            }
            None => "jobs",
        };
        // The order of a tenant's own jobs is an index too.
        (if table == "jobs" { &mut window } else { &mut rows }).and_tenant(filter);
        rows.and_state_and_worker(filter);
        Self { table, window, rows }
    }
}

impl Store {
    /// A page of all tenants' jobs, newest first, and where the next page starts, if there is one. Their playlists are left
    /// out.
    pub fn jobs_of_all(&self, filter: &JobFilter, page: Page) -> Result<(Vec<Job>, Option<u64>)> {
        let Search { table, mut window, rows } = Search::new(filter);
        window.and_value("sequence < ?", integer(page.before.unwrap_or(u64::MAX)));
        let seen = format!(
            "(SELECT sequence, tenant, ended_at_ms, body FROM {table} WHERE {} ORDER BY sequence DESC LIMIT ?)",
            window.sql()
        );
        let mut seen_values = window.values;
        seen_values.push(SqlStorageValue::Integer(MAX_ROWS_READ));

        let limit = i64::from(page.limit);
        let mut values = seen_values.clone();
        values.extend(rows.values.iter().cloned());
        values.push(SqlStorageValue::Integer(limit + 1));
        let condition = rows.sql();
        let sql =
            format!("SELECT sequence, body FROM {seen} WHERE {condition} ORDER BY sequence DESC LIMIT ?");
        let mut found: Vec<Row> = self.rows(&sql, values, Ok)?;
        let next = if found.len() as i64 > limit {
            found.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
            found.last().map(|row| row.sequence as u64)
        } else {
            let sql = format!("SELECT COUNT(*) AS rows, MIN(sequence) AS lowest FROM {seen}");
            let seen: Vec<Window> = self.rows(&sql, seen_values, Ok)?;
            let full = seen.first().filter(|window| window.rows as i64 >= MAX_ROWS_READ);
            full.and_then(|window| window.lowest).map(|lowest| lowest as u64)
        };
        Ok((decoded(&found)?, next))
    }

    /// Failed and quarantined jobs, the oldest first, and how many there are in all. With their playlists, since they may go on.
    pub fn retryable(&self, filter: &JobFilter, limit: usize) -> Result<(Vec<Job>, usize)> {
        let mut rows = Condition::default();
        rows.and_tenant(filter);
        rows.and_state_and_worker(filter);
        let found = format!("FROM jobs INDEXED BY unfinished_jobs WHERE {UNFINISHED} AND {}", rows.sql());
        let sql = format!("SELECT COUNT(*) AS count {found}");
        let counts: Vec<Count> = self.rows(&sql, rows.values.clone(), Ok)?;
        let mut values = rows.values;
        values.push(SqlStorageValue::Integer(i64::try_from(limit).unwrap_or(i64::MAX)));
        let sql = format!("SELECT sequence, body {found} ORDER BY sequence LIMIT ?");
        let mut jobs = decoded(&self.rows::<Row, Row>(&sql, values, Ok)?)?;
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
