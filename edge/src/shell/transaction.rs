//! `ctx.storage.transactionSync`, which the `worker` crate does not bind.

use std::rc::Rc;

use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::{Closure, JsValue, wasm_bindgen};
use worker::{Result, SqlStorageValue, Storage};

use super::usage::Usage;

/// Runs within the transaction; an error thrown from it rolls everything back.
type Body = dyn FnMut() -> std::result::Result<JsValue, JsValue>;

#[wasm_bindgen]
extern "C" {
    type TransactionalStorage;

    #[wasm_bindgen(method, catch, js_name = transactionSync)]
    fn transaction_sync(
        this: &TransactionalStorage,
        body: &Closure<Body>,
    ) -> std::result::Result<JsValue, JsValue>;
}

/// One SQL statement with its values.
#[derive(Debug, Clone)]
pub struct Statement {
    /// The SQL.
    pub sql: &'static str,
    /// Its values, in order.
    pub values: Vec<SqlStorageValue>,
}

/// Executes all statements, or none of them.
pub fn execute_all(storage: &Storage, usage: &Rc<Usage>, statements: Vec<Statement>) -> Result<()> {
    let (sql, usage) = (storage.sql(), Rc::clone(usage));
    let body = move || {
        for statement in &statements {
            let done = sql.exec(statement.sql, statement.values.clone()).map_err(JsValue::from)?;
            usage.rows(done.rows_read(), done.rows_written());
        }
        Ok(JsValue::UNDEFINED)
    };
    let body = Closure::wrap_assert_unwind_safe(Box::new(body) as Box<Body>);
    storage.as_raw().unchecked_ref::<TransactionalStorage>().transaction_sync(&body)?;
    Ok(())
}
