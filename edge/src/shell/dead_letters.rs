//! What could not be delivered, as the store has it. None of it is in memory.

use serde::Deserialize;
use worker::{Result, SqlStorageValue};

use super::database::integer;
use super::store::Store;
use crate::outbox::{EndpointId, Row, RowId};

/// Dead letters that one call replays at most: each is a row, and all of them are one transaction.
pub const MAX_REPLAYED: u32 = 500;

impl Store {
    /// An endpoint's dead letters before a place, newest first; one more than asked for when there are more.
    pub(super) fn dead_letters(
        &self,
        endpoint: &EndpointId,
        before: Option<u64>,
        limit: u32,
    ) -> Result<Vec<Row>> {
        self.outbox_rows(
            "SELECT event AS text FROM outbox WHERE dead_at_ms IS NOT NULL AND endpoint = ? AND id < ?
             ORDER BY id DESC LIMIT ?",
            vec![
                endpoint.as_str().into(),
                integer(before.unwrap_or(u64::MAX)),
                (i64::from(limit) + 1).into(),
            ],
        )
    }

    /// An endpoint's oldest dead letters.
    pub(super) fn oldest_dead_letters(&self, endpoint: &EndpointId, limit: u32) -> Result<Vec<Row>> {
        self.outbox_rows(
            "SELECT event AS text FROM outbox WHERE dead_at_ms IS NOT NULL AND endpoint = ?
             ORDER BY id LIMIT ?",
            vec![endpoint.as_str().into(), i64::from(limit).into()],
        )
    }

    /// One dead letter.
    pub(super) fn dead_letter(&self, endpoint: &EndpointId, id: RowId) -> Result<Option<Row>> {
        let sql = "SELECT event AS text FROM outbox WHERE id = ? AND endpoint = ? AND dead_at_ms IS NOT NULL";
        let rows = self.outbox_rows(sql, vec![integer(id.0), endpoint.as_str().into()])?;
        Ok(rows.into_iter().next())
    }

    /// How many dead letters an endpoint has.
    pub(super) fn count_dead_letters(&self, endpoint: &EndpointId) -> Result<u64> {
        #[derive(Deserialize)]
        struct Count {
            count: f64,
        }
        let sql = "SELECT COUNT(*) AS count FROM outbox WHERE dead_at_ms IS NOT NULL AND endpoint = ?";
        let values: Vec<SqlStorageValue> = vec![endpoint.as_str().into()];
        let counts: Vec<Count> = self.rows(sql, values, Ok)?;
        Ok(counts.first().map_or(0, |row| row.count as u64))
    }
}
