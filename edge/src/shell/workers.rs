//! What workers ask of the stateless Worker: a connection to the scheduler, the upload, its transcript, a place for their objects.

use shared_protocol::{Attempt, JobId, limits::MAX_BODY_BYTES};
use worker::{Env, Request, Response};

use super::body::content_length;
use super::fault::Fault;
use super::media::{self, NewObject, Presentation, Put};
use super::{auth, call_project, call_scheduler, respond};
use crate::api::ApiError;
use crate::api::download::safe_content_type;
use crate::api::object_key::{self, AttemptObject};
use crate::digest::sha256_from_hex;

pub async fn connect(request: &Request, env: &Env) -> Result<Response, Fault> {
    let key = auth::worker_key(request, env)?;
    let upgrade = request.headers().get("Upgrade")?;
    if !upgrade.is_some_and(|protocol| protocol.eq_ignore_ascii_case("websocket")) {
        return Err(ApiError::UpgradeRequired.into());
    }
    call_scheduler::connect(env, &key).await
}

pub async fn upload(request: &Request, env: &Env) -> Result<Response, Fault> {
    let claims = auth::job_ticket(request, env)?;
    let key = object_key::upload(&claims.tenant, &claims.upload_id);
    let presentation =
        Presentation { content_type: None, saved_as: None, immutable: true, tenant: &claims.tenant };
    media::serve(request, env, &key, ApiError::UploadNotFound, &presentation).await
}

/// The transcript that a restore may go by, in the version that was meant when it was asked for: the project may have a later one.
pub async fn transcript(request: &Request, env: &Env) -> Result<Response, Fault> {
    let claims = auth::job_ticket(request, env)?;
    let wanted = claims.transcript.ok_or(ApiError::TranscriptNotFound)?;
    let found = call_project::transcript(env, &wanted.project_id, &claims.tenant, wanted.version).await?;
    Ok(respond::json(200, &found.ok_or(ApiError::TranscriptNotFound)?)?)
}

pub async fn put_object(
    request: &Request,
    env: &Env,
    job: &JobId,
    attempt: Attempt,
    object: &AttemptObject,
) -> Result<Response, Fault> {
    let claims = auth::job_ticket(request, env)?;
    if claims.job_id != *job || claims.attempt != attempt {
        return Err(ApiError::TicketInvalid.into());
    }
    let size = content_length(request)?;
    if size > MAX_BODY_BYTES {
        return Err(ApiError::UploadTooLarge { limit: MAX_BODY_BYTES }.into());
    }
    let hex = request.headers().get("X-Content-Sha256")?.unwrap_or_default().to_ascii_lowercase();
    let sha256 = sha256_from_hex(&hex).ok_or_else(|| ApiError::InvalidRequest {
        field: Some("X-Content-Sha256"),
        detail: "X-Content-Sha256 is not the body's SHA-256 in 64 hex digits.".to_owned(),
    })?;
    let content_type = request.headers().get("Content-Type")?;
    let new = NewObject {
        key: object_key::attempt_object(job, attempt, object),
        content_type: safe_content_type(content_type.as_deref()),
        tenant: &claims.tenant,
        sha256: Some((sha256, hex.clone())),
        field: None,
    };
    let (status, object) = match media::put(request, env, new).await? {
        Put::Stored(object) => (201, object),
        Put::WasThere(object) if media::stored_sha256(&object) == Some(hex) => (200, object),
        Put::WasThere(_) => return Err(ApiError::ObjectExists.into()),
    };
    Ok(respond::json(status, &serde_json::json!({ "size": object.size(), "etag": object.etag() }))?)
}
