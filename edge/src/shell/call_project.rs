//! The way to a project's object.

use serde::Serialize;
use serde::de::DeserializeOwned;
use shared_protocol::{ProjectId, TenantId, TimestampMs, Transcript};
use worker::{Env, Method, Request, RequestInit, console_warn};

use super::fault::Fault;
use crate::api::ApiError;
use crate::api::projects::call::{Answer, ProjectCall, Question, Told};
use crate::outbox::DeliveryOutcome;
use crate::project::Refusal;

/// Name of the object's binding. Its objects are named by their projects' ids.
const BINDING: &str = "PROJECT";

/// Paths on the object.
pub const CALL_PATH: &str = "/call";
pub const TELL_PATH: &str = "/tell";

/// Origin of requests to the object: it sees the path only.
const ORIGIN: &str = "https://project";

/// Asks a project. Every question may be repeated (what is new has its id already), so a failed one is repeated once: the object
/// may just have been moved or deployed.
pub async fn ask(env: &Env, id: &ProjectId, tenant: &TenantId, question: Question) -> Result<Answer, Fault> {
    let call = ProjectCall { tenant: tenant.clone(), question };
    let answer: Answer = match post(env, id, CALL_PATH, &call).await {
        Ok(answer) => answer,
        Err(first) => {
            console_warn!("project {id} did not answer: {first}; asking once more");
            post(env, id, CALL_PATH, &call).await.map_err(|second| {
                console_warn!("project {id} did not answer again: {second}");
                ApiError::ProjectUnavailable
            })?
        }
    };
    match answer {
        Answer::Refused(refusal) => Err(ApiError::from(refusal).into()),
        answer => Ok(answer),
    }
}

/// A version of a project's transcript, where there is one.
pub async fn transcript(
    env: &Env,
    id: &ProjectId,
    tenant: &TenantId,
    version: u32,
) -> Result<Option<Transcript>, Fault> {
    match ask(env, id, tenant, Question::Transcript { version: Some(version) }).await {
        Ok(Answer::Transcript { transcript, .. }) => Ok(Some(transcript)),
        Ok(other) => Err(unexpected(&other)),
        Err(Fault::Api(ApiError::TranscriptNotFound | ApiError::ProjectNotFound)) => Ok(None),
        Err(fault) => Err(fault),
    }
}

/// Tells a project what happened to a job of one of its generations.
pub async fn tell(env: &Env, body: &str, published_at: TimestampMs) -> DeliveryOutcome {
    let told = || -> Result<(ProjectId, Told), String> {
        let event: serde_json::Value = serde_json::from_str(body).map_err(|error| error.to_string())?;
        let id = event.get("data").and_then(|data| data.get("projectId")).and_then(|id| id.as_str());
        let id = ProjectId::new(id.unwrap_or_default()).map_err(|error| error.to_string())?;
        Ok((id, Told { sequence: published_at.0, event }))
    };
    let (id, told) = match told() {
        Ok(told) => told,
        Err(detail) => return DeliveryOutcome::NotConnected { detail },
    };
    match post::<_, Answer>(env, &id, TELL_PATH, &told).await {
        // A project that is not there has nothing to be told.
        Ok(Answer::Done | Answer::Refused(Refusal::ProjectNotFound)) => {
            DeliveryOutcome::Response { status: 200, retry_after: None }
        }
        Ok(other) => DeliveryOutcome::NotConnected { detail: unexpected(&other).to_string() },
        Err(error) => DeliveryOutcome::NotConnected { detail: error.to_string() },
    }
}

/// An answer to another question than the one that was asked: two releases that do not fit.
pub fn unexpected(answer: &Answer) -> Fault {
    Fault::Platform(worker::Error::RustError(format!("unexpected answer of a project: {answer:?}")))
}

async fn post<Body: Serialize, Reply: DeserializeOwned>(
    env: &Env,
    id: &ProjectId,
    path: &str,
    body: &Body,
) -> worker::Result<Reply> {
    let body = serde_json::to_string(body)?;
    let mut init = RequestInit::new();
    init.with_method(Method::Post).with_body(Some(body.into()));
    let request = Request::new_with_init(&format!("{ORIGIN}{path}"), &init)?;
    let stub = env.durable_object(BINDING)?.get_by_name(id.as_str())?;
    let mut response = stub.fetch_with_request(request).await?;
    let text = response.text().await?;
    if response.status_code() != 200 {
        return Err(worker::Error::RustError(format!("status {}: {text}", response.status_code())));
    }
    Ok(serde_json::from_str(&text)?)
}
