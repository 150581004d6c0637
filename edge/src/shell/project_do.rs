//! The `Project` Durable Object: one for each project.

use worker::{DurableObject, Env, Request, Response, Result, State, durable_object};

/// A project's object.
#[durable_object]
pub struct Project {}

impl DurableObject for Project {
    fn new(_state: State, _env: Env) -> Self {
        Self {}
    }

    async fn fetch(&self, _request: Request) -> Result<Response> {
        Response::error("not built yet", 501)
    }

    async fn alarm(&self) -> Result<Response> {
        Response::empty()
    }
}
