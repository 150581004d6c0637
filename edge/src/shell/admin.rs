//! The operator's side, in the stateless Worker: keys, requests, answers. What is asked is decided in the scheduler's object.

use worker::{Env, Request, Response, ResponseBuilder};

use super::body::json_body;
use super::fault::Fault;
use super::{auth, call_scheduler, respond};
use crate::api::admin::call::{Act, Actor, AdminCall, BulkAct};
use crate::api::admin::request::{
    self, BenchBody, BulkBody, Page, PageOfJobs, PauseBody, ReasonBody, checked_reason, parse_optional,
};
use crate::api::admin::route::{AdminRoute, BulkVerb, JobVerb, WorkerVerb};
use crate::api::call::{Call, Reply};
use crate::api::metrics::CONTENT_TYPE;

/// Answers an operator's request.
pub async fn handle(
    request: &mut Request,
    env: &Env,
    route: AdminRoute,
    request_id: &str,
) -> Result<Response, Fault> {
    let key = auth::admin(request, env)?;
    let actor = Actor { key_id: key.key_id, may_act: key.may_act, request_id: request_id.to_owned() };
    let call = understand(request, route, actor).await?;
    match call_scheduler::call(env, &Call::Admin(call)).await? {
        // A page is a text, not a document.
        Reply::Admin { document: serde_json::Value::String(page), .. } => Ok(ResponseBuilder::new()
            .with_header("Content-Type", CONTENT_TYPE)?
            .with_header("Cache-Control", "no-store")?
            .fixed(page.into_bytes())),
        Reply::Admin { status, document } => Ok(respond::json(status, &document)?),
        other => Err(call_scheduler::unexpected(&other)),
    }
}

/// What a request asks for. Whatever cannot be understood is refused here and is no act: the audit log does not show it.
async fn understand(request: &mut Request, route: AdminRoute, actor: Actor) -> Result<AdminCall, Fault> {
    let url = request.url()?;
    let act = |act: Act, reason: &str| -> Result<AdminCall, Fault> {
        Ok(AdminCall::Act { actor, act, reason: checked_reason(reason)? })
    };
    match route {
        AdminRoute::Queue => Ok(AdminCall::Queue { target: request::target(url.query_pairs())? }),
        AdminRoute::Usage => Ok(AdminCall::Usage),
        AdminRoute::Metrics => Ok(AdminCall::Metrics),
        AdminRoute::Workers => Ok(AdminCall::Workers),
        AdminRoute::Jobs => Ok(AdminCall::Jobs { page: PageOfJobs::parse(url.query_pairs())? }),
        AdminRoute::Job(job_id) => Ok(AdminCall::Job { job_id }),
        AdminRoute::Audit => Ok(AdminCall::Audit { page: Page::parse(url.query_pairs())? }),
        AdminRoute::Pause => {
            let body: PauseBody = parse_optional(&json_body(request).await?)?;
            act(Act::Pause { tenant: body.tenant }, &body.reason)
        }
        AdminRoute::Resume => {
            let body: PauseBody = parse_optional(&json_body(request).await?)?;
            act(Act::Resume { tenant: body.tenant }, &body.reason)
        }
        AdminRoute::Worker(worker, WorkerVerb::Bench) => {
            let body: BenchBody = parse_optional(&json_body(request).await?)?;
            act(Act::Bench { worker, time: body.time()? }, &body.reason)
        }
        AdminRoute::Worker(worker, verb) => {
            let body: ReasonBody = parse_optional(&json_body(request).await?)?;
            let what = match verb {
                WorkerVerb::Drain => Act::Drain { worker },
                WorkerVerb::Undrain => Act::Undrain { worker },
                WorkerVerb::Bench | WorkerVerb::Unbench => Act::Unbench { worker },
            };
            act(what, &body.reason)
        }
        AdminRoute::ActOnJob(job, verb) => {
            let body: ReasonBody = parse_optional(&json_body(request).await?)?;
            let what = match verb {
                JobVerb::Cancel => Act::Cancel { job },
                JobVerb::Retry => Act::Retry { job },
                JobVerb::Discard => Act::Discard { job },
            };
            act(what, &body.reason)
        }
        AdminRoute::Bulk(verb) => {
            let body: BulkBody = parse_optional(&json_body(request).await?)?;
            let bulk = body.checked(match verb {
                BulkVerb::Cancel => BulkAct::Cancel,
                BulkVerb::Retry => BulkAct::Retry,
            })?;
            if body.dry_run { Ok(AdminCall::Preview { bulk }) } else { act(Act::Bulk { bulk }, &body.reason) }
        }
    }
}
