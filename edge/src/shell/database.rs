//! An object's SQLite: migrations, statements and rows, the same for every kind of object.

use std::rc::Rc;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use worker::{Error, Result, SqlStorage, SqlStorageValue, Storage};

use super::transaction::{Statement, execute_all};
use super::usage::Usage;
use crate::api::view::UsageView;
use crate::records::RowError;

/// The steps from one version of a schema to the next. Two releases may meet one database: a step adds what the older one
/// does not miss, and is never changed once released.
pub type Migrations = [&'static [&'static str]];

/// The tables behind an object's storage.
#[derive(Debug)]
pub struct Database {
    storage: Storage,
    usage: Rc<Usage>,
}

impl Database {
    /// The database of an object.
    pub fn new(storage: Storage, usage: Rc<Usage>) -> Self {
        Self { storage, usage }
    }

    /// What the object has used so far.
    pub fn usage(&self) -> UsageView {
        self.usage.view(&self.storage.sql())
    }

    /// The database itself.
    pub fn sql(&self) -> SqlStorage {
        self.storage.sql()
    }

    /// Executes all statements, or none of them.
    pub fn execute(&self, statements: Vec<Statement>) -> Result<()> {
        execute_all(&self.storage, &self.usage, statements)
    }

    /// Brings the schema to this release's version.
    pub fn migrate(&self, migrations: &Migrations) -> Result<()> {
        let table = "CREATE TABLE IF NOT EXISTS migrations (version INTEGER PRIMARY KEY)";
        self.storage.sql().exec(table, None)?;
        let done = self.number("SELECT MAX(version) AS value FROM migrations", Vec::new())?;
        for (version, steps) in (1_i64..).zip(migrations) {
            if u64::try_from(version).is_ok_and(|version| version <= done) {
                continue;
            }
            let mut statements: Vec<Statement> =
                steps.iter().map(|sql| Statement { sql, values: Vec::new() }).collect();
            statements.push(Statement {
                sql: "INSERT INTO migrations (version) VALUES (?)",
                values: vec![version.into()],
            });
            self.execute(statements)?;
        }
        Ok(())
    }

    /// Whether anything was ever kept here. Looking writes nothing: an object that is only asked about leaves no database behind.
    pub fn is_made(&self) -> Result<bool> {
        let sql = "SELECT COUNT(*) AS value FROM sqlite_master WHERE name = 'migrations'";
        Ok(self.number(sql, Vec::new())? > 0)
    }

    /// The rows of a query, read one by one: many rows as JavaScript's objects at once would be more than an object's memory has
    /// room for.
    pub fn rows<R: DeserializeOwned, T>(
        &self,
        sql: &str,
        values: Vec<SqlStorageValue>,
        read: impl Fn(R) -> Result<T>,
    ) -> Result<Vec<T>> {
        let cursor = self.storage.sql().exec(sql, values)?;
        let rows = cursor.next::<R>().map(|row| read(row?)).collect();
        self.usage.rows(cursor.rows_read(), cursor.rows_written());
        rows
    }

    /// The column `body` of a query's rows.
    pub fn bodies(&self, sql: &str, values: Vec<SqlStorageValue>) -> Result<Vec<String>> {
        #[derive(Deserialize)]
        struct Body {
            body: String,
        }
        self.rows(sql, values, |row: Body| Ok(row.body))
    }

    /// The one number of a query, its column `value`; 0 when there is none. (The cursor's own `one()` hangs on no rows.)
    pub fn number(&self, sql: &str, values: Vec<SqlStorageValue>) -> Result<u64> {
        #[derive(Deserialize)]
        struct Number {
            value: Option<f64>,
        }
        let numbers = self.rows(sql, values, |row: Number| Ok(row.value.map_or(0, |value| value as u64)))?;
        Ok(numbers.first().copied().unwrap_or(0))
    }
}

/// A row of another release that cannot be read stops its object rather than be lost.
pub fn unreadable(error: RowError) -> Error {
    Error::RustError(error.to_string())
}

/// The platform's numbers are exact up to 2^53 only.
pub fn integer(value: u64) -> SqlStorageValue {
    const MAX_EXACT: u64 = (1 << 53) - 1;
    SqlStorageValue::Integer(value.min(MAX_EXACT) as i64)
}
