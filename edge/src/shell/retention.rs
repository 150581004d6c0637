//! Old rows go: jobs that ended long ago, with their playlists and what followed on them. Their objects are deleted by
//! the bucket's own lifecycle rules.

use serde::Deserialize;
use shared_protocol::{DurationMs, TimestampMs, encode};
use worker::{Env, Result, SqlStorageValue, console_error};

use super::database::integer;
use super::store::Store;
use super::transaction::Statement;
use crate::api::retention::{self, RETENTION_DAYS};

/// Jobs that are deleted in one step; the next one comes with the next poke, a minute later. 200 a minute are 288,000 a day.
const JOBS_PER_STEP: i64 = 200;

/// For how long the rows of ended jobs are kept; none when the setting cannot be read, and nothing is deleted then.
pub fn of(env: &Env) -> Option<DurationMs> {
    let days = env.var(RETENTION_DAYS).ok().map(|days| days.to_string());
    retention::parse(days.as_deref())
        .map_err(|error| console_error!("{error}; nothing is deleted until it is mended"))
        .ok()
}

#[derive(Deserialize)]
struct OldJob {
    sequence: f64,
    job_id: String,
}

impl Store {
    /// Deletes the rows of the jobs that ended longest ago, a bounded number of them.
    pub(super) fn sweep_ended_jobs(&self, ended_before: TimestampMs) -> Result<()> {
        let sql = "SELECT sequence, job_id FROM jobs WHERE ended_at_ms IS NOT NULL AND ended_at_ms < ?
                   ORDER BY ended_at_ms LIMIT ?";
        let values = vec![integer(ended_before.0), SqlStorageValue::Integer(JOBS_PER_STEP)];
        let old: Vec<OldJob> = self.rows(sql, values, Ok)?;
        if old.is_empty() {
            return Ok(());
        }
        let sequences: Vec<u64> = old.iter().map(|job| job.sequence as u64).collect();
        let ids: Vec<String> = old.into_iter().map(|job| job.job_id).collect();
        let (sequences, ids) = (encode(&sequences), encode(&ids));
        let delete = |sql: &'static str, values: &str| Statement { sql, values: vec![values.into()] };
        self.execute(vec![
            delete("DELETE FROM playlists WHERE job_id IN (SELECT value FROM json_each(?))", &ids),
            delete("DELETE FROM follow_ups WHERE job_id IN (SELECT value FROM json_each(?))", &ids),
            delete("DELETE FROM jobs WHERE sequence IN (SELECT value FROM json_each(?))", &sequences),
        ])
    }
}
