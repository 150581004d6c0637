//! The shell: turns the platform's events into inputs and the scheduler's effects into IO. It decides nothing.
//!
//! Two roles: the stateless Worker in front (`frontend_worker` and what it calls), of which any number run anywhere, and the objects behind it: the one `Scheduler` (`scheduler_do`, `drive`, `store`, `sockets`) and a `Tenant` for each tenant (`tenant_do`, `tenant_admin`, `tenant_store`, `tenant_keys_store`).

#![deny(clippy::unwrap_used, clippy::indexing_slicing, clippy::string_slice, clippy::panic)]

mod admin;
mod admin_do;
mod admin_store;
mod analytics;
mod auth;
mod body;
mod call_project;
mod call_scheduler;
mod call_tenant;
mod client_key;
mod database;
mod dead_letters;
mod deliveries;
mod description;
mod drive;
mod fault;
mod frontend_worker;
mod isolate;
mod jobs;
mod listening;
mod media;
mod outbox_store;
mod parts;
mod predecessor;
mod project_do;
mod project_drive;
mod project_errands;
mod project_events;
mod project_store;
mod project_upload;
mod projects;
mod random;
mod respond;
mod retention;
mod scheduler_do;
mod settings;
mod sockets;
mod store;
mod tenant_admin;
mod tenant_do;
mod tenant_keys_store;
mod tenant_store;
mod tenants;
mod timeout;
mod transaction;
mod transcribe;
mod uploads;
mod usage;
mod webhook_log;
mod webhooks;
mod webhooks_do;
mod workers;

use crate::outbox::UrlPolicy;
use shared_protocol::TimestampMs;
use worker::{Context, Date, Env, Request, Response, ScheduleContext, ScheduledEvent, console_error, event};

/// Name of the R2 bucket's binding.
const MEDIA_BUCKET: &str = "MEDIA";

/// Name of the binding of the pages and what lies beside them.
const ASSETS: &str = "ASSETS";

/// Name of the variable that is `true` where webhooks may go to plain `http` and to private addresses: for development.
const WEBHOOK_ALLOW_PRIVATE: &str = "WEBHOOK_ALLOW_PRIVATE";

#[event(fetch)]
async fn fetch(request: Request, env: Env, _context: Context) -> worker::Result<Response> {
    frontend_worker::handle(request, &env).await
}

/// The dead-man switch: an alarm that failed too often is dropped by the platform, and nobody would notice.
#[event(scheduled)]
async fn scheduled(_event: ScheduledEvent, env: Env, _context: ScheduleContext) {
    if let Err(fault) = call_scheduler::poke(&env).await {
        console_error!("the scheduler could not be poked: {fault}");
    }
}

/// Where webhooks may be sent to.
fn webhook_policy(env: &Env) -> UrlPolicy {
    let allowed = env.var(WEBHOOK_ALLOW_PRIVATE).is_ok_and(|value| value.to_string() == "true");
    UrlPolicy { allow_http: allowed, allow_private: allowed }
}

/// The platform's clock. It stands still within one turn of an event.
fn now() -> TimestampMs {
    TimestampMs(Date::now().as_millis())
}
