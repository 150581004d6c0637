//! The shell.
use worker::*;

/// The scheduler.
#[durable_object]
pub struct Scheduler {
    state: State,
}

impl DurableObject for Scheduler {
    fn new(state: State, _env: Env) -> Self {
        Self { state }
    }
    async fn fetch(&self, _req: Request) -> Result<Response> {
        Response::ok(format!("{:?}", self.state.id().name()))
    }
    async fn alarm(&self) -> Result<Response> {
        Response::ok("")
    }
}

#[event(fetch)]
async fn fetch(req: Request, env: Env, _ctx: Context) -> Result<Response> {
    if req.path() == "/v1/panic" {
        panic!("asked");
    }
    env.durable_object("SCHEDULER")?.get_by_name("main")?.fetch_with_request(req).await
}

#[event(scheduled)]
async fn scheduled(_e: ScheduledEvent, _env: Env, _ctx: ScheduleContext) {}
