//! The outbox's tables. An event's body is in a column of its own: it is written once and read when it is sent.

use serde::Deserialize;
use shared_protocol::TimestampMs;
use worker::{Error, Result, SqlStorageValue};

use super::database::integer;
use super::store::Store;
use super::transaction::Statement;
use crate::outbox::{CodecError, Effect, Endpoint, EndpointId, Row, RowId};

/// Dead letters that one sweep deletes at most.
const SWEPT_AT_ONCE: u32 = 500;

/// What an outbox is restored from.
#[derive(Debug, Default)]
pub struct StoredOutbox {
    /// All endpoints.
    pub endpoints: Vec<Endpoint>,
    /// All rows that are not dead.
    pub rows: Vec<Row>,
    /// The highest id of any row, dead ones included.
    pub last_row: RowId,
    /// The latest entry of each endpoint's log.
    pub logged: Vec<(EndpointId, u64)>,
}

#[derive(Deserialize)]
struct Text {
    text: String,
}

impl Store {
    /// What the outbox is restored from.
    pub(super) fn outbox(&self) -> Result<StoredOutbox> {
        let endpoints = self.texts("SELECT body AS text FROM webhook_endpoints ORDER BY id", Vec::new())?;
        let endpoints = endpoints.iter().map(|text| Endpoint::decode(text).map_err(unreadable));
        Ok(StoredOutbox {
            endpoints: endpoints.collect::<Result<_>>()?,
            rows: self.outbox_rows(
                "SELECT event AS text FROM outbox WHERE dead_at_ms IS NULL ORDER BY id",
                Vec::new(),
            )?,
            last_row: RowId(self.number("SELECT MAX(id) AS value FROM outbox")?),
            logged: self.latest_logged()?,
        })
    }

    /// The body of an event that waits.
    pub(super) fn outbox_body(&self, row: RowId) -> Result<Option<String>> {
        let sql = "SELECT body AS text FROM outbox WHERE id = ?";
        Ok(self.texts(sql, vec![integer(row.0)])?.into_iter().next())
    }

    /// Deletes dead letters that died before a moment, in bounded steps. They are no part of the outbox's memory.
    pub(super) fn sweep_dead_letters(&self, before: TimestampMs) -> Result<()> {
        let sql = "DELETE FROM outbox WHERE id IN
                   (SELECT id FROM outbox WHERE dead_at_ms IS NOT NULL AND dead_at_ms < ? LIMIT ?)";
        self.sql().exec(sql, vec![integer(before.0), i64::from(SWEPT_AT_ONCE).into()])?;
        Ok(())
    }

    pub(super) fn outbox_rows(&self, sql: &str, values: Vec<SqlStorageValue>) -> Result<Vec<Row>> {
        let texts = self.texts(sql, values)?;
        texts.iter().map(|text| Row::decode(text).map_err(unreadable)).collect()
    }

    pub(super) fn texts(&self, sql: &str, values: Vec<SqlStorageValue>) -> Result<Vec<String>> {
        let rows: Vec<Text> = self.rows(sql, values, Ok)?;
        Ok(rows.into_iter().map(|row| row.text).collect())
    }
}

/// The statements that make the outbox's effects durable, in order.
pub fn statements(effects: &[Effect]) -> Result<Vec<Statement>> {
    let mut statements = Vec::new();
    for effect in effects {
        match effect {
            Effect::Insert { row, body } => statements.push(Statement {
                sql: "INSERT INTO outbox (id, endpoint, event, body) VALUES (?, ?, ?, ?)
                      ON CONFLICT (id) DO UPDATE SET event = excluded.event, body = excluded.body",
                values: vec![
                    integer(row.id.0),
                    row.endpoint.as_str().into(),
                    row.encode().map_err(unreadable)?.into(),
                    body.as_str().into(),
                ],
            }),
            Effect::Save(row) => statements.push(Statement {
                sql: "UPDATE outbox SET event = ?, dead_at_ms = ? WHERE id = ?",
                values: vec![
                    row.encode().map_err(unreadable)?.into(),
                    row.dead.map_or(SqlStorageValue::Null, |dead| integer(dead.at.0)),
                    integer(row.id.0),
                ],
            }),
            Effect::Delete(id) => statements
                .push(Statement { sql: "DELETE FROM outbox WHERE id = ?", values: vec![integer(id.0)] }),
            Effect::Log(entry) => statements.push(Statement {
                sql: "INSERT INTO webhook_log (endpoint, slot, sequence, job_id, body) VALUES (?, ?, ?, ?, ?)
                      ON CONFLICT (endpoint, slot) DO UPDATE
                      SET sequence = excluded.sequence, job_id = excluded.job_id, body = excluded.body",
                values: vec![
                    entry.endpoint.as_str().into(),
                    integer(entry.slot()),
                    integer(entry.sequence),
                    entry.job_id.as_str().into(),
                    entry.encode().map_err(unreadable)?.into(),
                ],
            }),
            Effect::SaveEndpoint(endpoint) => statements.push(Statement {
                sql: "INSERT INTO webhook_endpoints (id, body) VALUES (?, ?)
                      ON CONFLICT (id) DO UPDATE SET body = excluded.body",
                values: vec![endpoint.id.as_str().into(), endpoint.encode().map_err(unreadable)?.into()],
            }),
            Effect::DeleteEndpoint(id) => {
                for sql in [
                    "DELETE FROM webhook_endpoints WHERE id = ?",
                    "DELETE FROM outbox WHERE endpoint = ?",
                    "DELETE FROM webhook_log WHERE endpoint = ?",
                ] {
                    statements.push(Statement { sql, values: vec![id.as_str().into()] });
                }
            }
            Effect::Abort(_) | Effect::Deliver(_) => {}
        }
    }
    Ok(statements)
}

/// A row of another release that cannot be read stops the object rather than be lost.
pub(super) fn unreadable(error: CodecError) -> Error {
    Error::RustError(error.to_string())
}
