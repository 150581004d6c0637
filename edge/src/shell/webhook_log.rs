//! What came of webhooks, as the store has it: a ring of rows for each endpoint. None of it is in memory but where each ring ends.

use serde::Deserialize;
use shared_protocol::JobId;
use worker::{Result, SqlStorageValue};

use super::database::integer;
use super::outbox_store::unreadable;
use super::store::Store;
use crate::outbox::{EndpointId, LogEntry};

impl Store {
    /// An endpoint's attempts before a place, newest first; one more than asked for when there are more.
    pub(super) fn logged(
        &self,
        endpoint: &EndpointId,
        before: Option<u64>,
        limit: u32,
    ) -> Result<Vec<LogEntry>> {
        self.entries(
            "SELECT body AS text FROM webhook_log WHERE endpoint = ? AND sequence < ?
             ORDER BY sequence DESC LIMIT ?",
            vec![
                endpoint.as_str().into(),
                integer(before.unwrap_or(u64::MAX)),
                (i64::from(limit) + 1).into(),
            ],
        )
    }

    /// The attempts about a job at any endpoint. It reads the whole log, which is bounded: an index would cost a row with every
    /// attempt.
    pub(super) fn logged_of_job(&self, job: &JobId) -> Result<Vec<LogEntry>> {
        let sql = "SELECT body AS text FROM webhook_log WHERE job_id = ?";
        self.entries(sql, vec![job.as_str().into()])
    }

    /// The latest entry of each endpoint.
    pub(super) fn latest_logged(&self) -> Result<Vec<(EndpointId, u64)>> {
        #[derive(Deserialize)]
        struct Latest {
            endpoint: EndpointId,
            sequence: f64,
        }
        let sql = "SELECT endpoint, MAX(sequence) AS sequence FROM webhook_log GROUP BY endpoint";
        self.rows(sql, Vec::new(), |row: Latest| Ok((row.endpoint, row.sequence as u64)))
    }

    fn entries(&self, sql: &str, values: Vec<SqlStorageValue>) -> Result<Vec<LogEntry>> {
        let texts = self.texts(sql, values)?;
        texts.iter().map(|text| LogEntry::decode(text).map_err(unreadable)).collect()
    }
}
