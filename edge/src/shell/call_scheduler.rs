//! The way from the stateless Worker to the scheduler's object.

use shared_protocol::{JobId, TenantId};
use worker::{Env, Headers, Method, Request, RequestInit, Response, Stub, console_warn};

use super::fault::Fault;
use crate::api::ApiError;
use crate::api::call::{CALL_PATH, CONNECT_PATH, Call, JobDetail, Reply, WORKER_KEY_HEADER};
use crate::api::key::WorkerKey;
use crate::outbox::Callback;

/// Name of the object's binding, and of the one object of an environment.
const BINDING: &str = "SCHEDULER";
const OBJECT_NAME: &str = "scheduler";

/// Origin of requests to the object: it sees the path only.
const ORIGIN: &str = "https://scheduler";

/// Asks the scheduler. Every call may be repeated (a new job has its id already), so a failed one is repeated once: the
/// object may just have been moved or deployed.
pub async fn call(env: &Env, call: &Call) -> Result<Reply, Fault> {
    let body = serde_json::to_string(call).map_err(worker::Error::from)?;
    let reply = match post(env, &body).await {
        Ok(reply) => reply,
        Err(first) => {
            console_warn!("the scheduler did not answer: {first}; asking once more");
            post(env, &body).await.map_err(|second| {
                console_warn!("the scheduler did not answer again: {second}");
                ApiError::SchedulerUnavailable
            })?
        }
    };
    match reply {
        Reply::Refused(refusal) => Err(ApiError::from(refusal).into()),
        reply => Ok(reply),
    }
}

/// A job of a tenant, with what listeners need.
pub async fn job(env: &Env, tenant: &TenantId, job_id: &JobId) -> Result<JobDetail, Fault> {
    match call(env, &Call::Job { tenant: tenant.clone(), job_id: job_id.clone() }).await? {
        Reply::Job(detail) => Ok(*detail),
        other => Err(unexpected(&other)),
    }
}

/// When webhooks were told of a job; of one that is not there none was.
pub async fn callbacks(env: &Env, tenant: &TenantId, job_id: &JobId) -> Result<Vec<Callback>, Fault> {
    let asked = Call::Callbacks { tenant: tenant.clone(), job_id: job_id.clone() };
    match call(env, &asked).await {
        Ok(Reply::Callbacks { callbacks }) => Ok(callbacks),
        Ok(other) => Err(unexpected(&other)),
        Err(Fault::Api(ApiError::JobNotFound)) => Ok(Vec::new()),
        Err(fault) => Err(fault),
    }
}

/// Has whatever is due done.
pub async fn poke(env: &Env) -> Result<(), Fault> {
    call(env, &Call::Poke).await.map(|_| ())
}

/// Hands a worker's upgrade request to the object.
pub async fn connect(env: &Env, key: &WorkerKey) -> Result<Response, Fault> {
    let headers = Headers::new();
    headers.set("Upgrade", "websocket")?;
    headers.set(WORKER_KEY_HEADER, &key.key_id)?;
    let mut init = RequestInit::new();
    init.with_headers(headers);
    let request = Request::new_with_init(&format!("{ORIGIN}{CONNECT_PATH}"), &init)?;
    stub(env)?.fetch_with_request(request).await.map_err(|error| {
        console_warn!("the scheduler took no connection: {error}");
        ApiError::SchedulerUnavailable.into()
    })
}

/// A reply to another question than the one that was asked: two releases that do not fit.
pub fn unexpected(reply: &Reply) -> Fault {
    Fault::Platform(worker::Error::RustError(format!("unexpected reply of the scheduler: {reply:?}")))
}

async fn post(env: &Env, body: &str) -> worker::Result<Reply> {
    let mut init = RequestInit::new();
    init.with_method(Method::Post).with_body(Some(body.into()));
    let request = Request::new_with_init(&format!("{ORIGIN}{CALL_PATH}"), &init)?;
    let mut response = stub(env)?.fetch_with_request(request).await?;
    let text = response.text().await?;
    if response.status_code() != 200 {
        return Err(worker::Error::RustError(format!("status {}: {text}", response.status_code())));
    }
    Ok(serde_json::from_str(&text)?)
}

fn stub(env: &Env) -> worker::Result<Stub> {
    env.durable_object(BINDING)?.get_by_name(OBJECT_NAME)
}
