//! A project's SQLite: its schema, its migrations, and every statement.

use std::cell::Cell;
use std::rc::Rc;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use shared_protocol::Transcript;
use worker::{Result, SqlStorageValue, Storage};

use super::database::{Database, integer};
use super::transaction::Statement;
use super::usage::Usage;
use crate::api::projects::view::EventView;
use crate::project::{Effect, Generation, Head, KEPT_EVENTS, Project, Restored};

const MIGRATIONS: [&[&str]; 1] = [&[
    "CREATE TABLE project (id INTEGER PRIMARY KEY CHECK (id = 1), body TEXT NOT NULL)",
    "CREATE TABLE generations (generation_id TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE transcripts (version INTEGER PRIMARY KEY, body TEXT NOT NULL)",
    "CREATE TABLE events (sequence INTEGER PRIMARY KEY, is_untold INTEGER NOT NULL, body TEXT NOT NULL)",
    "CREATE INDEX untold_events ON events (sequence) WHERE is_untold = 1",
]];

/// Events that one look gets at most.
const EVENTS_AT_ONCE: u32 = 100;

/// The tables.
#[derive(Debug)]
pub struct ProjectStore {
    database: Database,
    is_migrated: Cell<bool>,
}

impl ProjectStore {
    /// The tables behind an object's storage.
    pub fn new(storage: Storage) -> Self {
        Self { database: Database::new(storage, Rc::new(Usage::begin())), is_migrated: Cell::new(false) }
    }

    /// What the project is restored from. A project that was never made leaves nothing behind for having been asked for.
    pub fn restored(&self) -> Result<Option<Restored>> {
        if !self.database.is_made()? {
            return Ok(None);
        }
        self.migrate()?;
        let Some(head) = self.read::<Head>("SELECT body FROM project", Vec::new())?.pop() else {
            return Ok(None);
        };
        #[derive(Deserialize)]
        struct Untold {
            sequence: f64,
        }
        let untold = "SELECT sequence FROM events WHERE is_untold = 1";
        Ok(Some(Restored {
            head,
            generations: self.read::<Generation>("SELECT body FROM generations", Vec::new())?,
            untold: self.database.rows(untold, Vec::new(), |row: Untold| Ok(row.sequence as u64))?,
        }))
    }

    /// Makes what a turn decided durable: all of it, or none.
    pub fn persist(&self, project: &Project, effects: &[Effect]) -> Result<()> {
        let mut statements = Vec::new();
        for effect in effects {
            statements.extend(statement(project, effect)?);
        }
        if statements.is_empty() {
            return Ok(());
        }
        self.migrate()?;
        self.database.execute(statements)
    }

    /// A version of the transcript.
    pub fn transcript(&self, version: u32) -> Result<Option<Transcript>> {
        let sql = "SELECT body FROM transcripts WHERE version = ?";
        Ok(self.read(sql, vec![integer(version.into())])?.pop())
    }

    /// Events after one, in their order, a bounded number of them.
    pub fn events_after(&self, after: u64) -> Result<Vec<EventView>> {
        let sql = "SELECT body FROM events WHERE sequence > ? ORDER BY sequence LIMIT ?";
        self.read(sql, vec![integer(after), integer(EVENTS_AT_ONCE.into())])
    }

    /// One event.
    pub fn event(&self, sequence: u64) -> Result<Option<EventView>> {
        Ok(self.read("SELECT body FROM events WHERE sequence = ?", vec![integer(sequence)])?.pop())
    }

    fn migrate(&self) -> Result<()> {
        if !self.is_migrated.get() {
            self.database.migrate(&MIGRATIONS)?;
            self.is_migrated.set(true);
        }
        Ok(())
    }

    fn read<T: DeserializeOwned>(&self, sql: &str, values: Vec<SqlStorageValue>) -> Result<Vec<T>> {
        let bodies = self.database.bodies(sql, values)?;
        bodies.iter().map(|body| Ok(serde_json::from_str(body)?)).collect()
    }
}

fn statement(project: &Project, effect: &Effect) -> Result<Vec<Statement>> {
    let one = |sql, values| Ok(vec![Statement { sql, values }]);
    match effect {
        Effect::SaveHead => one(
            "INSERT INTO project (id, body) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET body = excluded.body",
            vec![serde_json::to_string(project.head())?.into()],
        ),
        Effect::SaveGeneration(id) => {
            let Some(generation) = project.generation(id) else { return Ok(Vec::new()) };
            one(
                "INSERT INTO generations (generation_id, body) VALUES (?, ?)
                 ON CONFLICT (generation_id) DO UPDATE SET body = excluded.body",
                vec![id.as_str().into(), serde_json::to_string(generation)?.into()],
            )
        }
        Effect::SaveTranscript { version, transcript } => one(
            "INSERT INTO transcripts (version, body) VALUES (?, ?)",
            vec![integer((*version).into()), serde_json::to_string(transcript)?.into()],
        ),
        Effect::Append(event) => {
            let body = serde_json::to_string(&EventView::of(project, event))?;
            let is_untold = i64::from(event.name.webhook().is_some());
            Ok(vec![
                Statement {
                    sql: "INSERT INTO events (sequence, is_untold, body) VALUES (?, ?, ?)",
                    values: vec![integer(event.sequence), is_untold.into(), body.into()],
                },
                Statement {
                    sql: "DELETE FROM events WHERE sequence <= ? AND is_untold = 0",
                    values: vec![integer(event.sequence.saturating_sub(KEPT_EVENTS))],
                },
            ])
        }
        Effect::Told(sequence) => {
            one("UPDATE events SET is_untold = 0 WHERE sequence = ?", vec![integer(*sequence)])
        }
        Effect::Run(_) => Ok(Vec::new()),
    }
}
