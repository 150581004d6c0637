//! The stateless Worker: keys and tickets, the table of paths, answers.

use shared_protocol::{Attempt, JobId, TenantId, UploadId, limits::MAX_BODY_BYTES};
use uuid::Uuid;
use worker::{Env, Request, Response, ResponseBuilder, console_error};

use super::fault::Fault;
use super::media::{self, NewObject, Presentation, Put};
use super::{auth, call_scheduler, now, respond};
use crate::api::call::{Call, JobDetail, Reply};
use crate::api::download::{safe_content_type, saved_name};
use crate::api::key::sha256_from_hex;
use crate::api::object_key::{self, AttemptObject};
use crate::api::request::{self, CreateJob, CreatePlayback, CreateUpload, ListJobs, MAX_JSON_BYTES};
use crate::api::route::{self, Media, Route};
use crate::api::ticket::{Claims, PlayClaims, UPLOAD_TICKET_LIFETIME, UploadClaims};
use crate::api::view::{
    FileList, Health, PlayStateView, PlaybackCreated, PutInstruction, UploadCreated, UploadStored, UploadView,
};
use crate::api::{ApiError, playlist};
use crate::records::upload_metadata::{self, UploadMetadata};
use crate::scheduler::JobRequest;

/// Answers a request. Whatever goes wrong is an answer too.
pub async fn handle(mut request: Request, env: &Env) -> worker::Result<Response> {
    let request_id = format!("req_{}", Uuid::now_v7().simple());
    let path = request.path();
    let is_play = path.starts_with("/v1/play/");
    let mut response = if is_play && request.inner().method() == "OPTIONS" {
        respond::preflight()?
    } else {
        match dispatch(&mut request, env, &path).await {
            Ok(response) => response,
            Err(Fault::Api(error)) => {
                if error.row().status >= 500 {
                    console_error!("{request_id}: {error}");
                }
                respond::problem(&error, &request_id)?
            }
            Err(Fault::Platform(error)) => {
                console_error!("{request_id}: {error}");
                respond::problem(&ApiError::Internal, &request_id)?
            }
        }
    };
    // A socket's answer is the object's own and cannot be changed.
    if response.status_code() != 101 {
        let headers = response.headers_mut();
        headers.set("X-Request-Id", &request_id)?;
        if is_play {
            respond::allow_any_origin(headers)?;
        }
    }
    Ok(response)
}

async fn dispatch(request: &mut Request, env: &Env, path: &str) -> Result<Response, Fault> {
    let method = route::Method::parse(&request.inner().method());
    match route::find(method, path)? {
        Route::Health => health(env),
        Route::Status => status(request, env).await,
        Route::CreateUpload => create_upload(request, env).await,
        Route::PutUpload(id) => put_upload(request, env, &id).await,
        Route::Upload(id) => upload(request, env, &id).await,
        Route::CreateJob => create_job(request, env).await,
        Route::ListJobs => list_jobs(request, env).await,
        Route::Job(id) => {
            let client = auth::client(request, env)?;
            Ok(respond::json(200, &call_scheduler::job(env, &client.tenant, &id).await?.job)?)
        }
        Route::CancelJob(id) => cancel_job(request, env, id).await,
        Route::Files(id) => files(request, env, &id).await,
        Route::CreatePlayback(id) => create_playback(request, env, &id).await,
        Route::Media(id, media) => {
            let client = auth::client(request, env)?;
            let reader = Reader { tenant: client.tenant, job_id: id, upload_id: None };
            serve_media(request, env, &reader, media).await
        }
        Route::PlayState(ticket) => {
            let claims = auth::play_ticket(&ticket, env)?;
            let detail = call_scheduler::job(env, &claims.tenant, &claims.job_id).await?;
            Ok(respond::json(200, &PlayStateView::of(detail.job, detail.outcome.as_ref()))?)
        }
        Route::Play(ticket, media) => {
            let PlayClaims { tenant, job_id, upload_id } = auth::play_ticket(&ticket, env)?;
            let reader = Reader { tenant, job_id, upload_id: Some(upload_id) };
            serve_media(request, env, &reader, media).await
        }
        Route::WorkerConnect => worker_connect(request, env).await,
        Route::WorkerUpload => worker_upload(request, env).await,
        Route::WorkerObject(job, attempt, object) => {
            worker_object(request, env, &job, attempt, &object).await
        }
    }
}

fn health(env: &Env) -> Result<Response, Fault> {
    let deployment =
        env.get_binding::<worker::WorkerVersionMetadata>("VERSION").ok().map(|version| version.id());
    let health =
        Health { ok: true, environment: environment(env), version: env!("CARGO_PKG_VERSION"), deployment };
    Ok(respond::json(200, &health)?)
}

/// The environment's name.
pub fn environment(env: &Env) -> String {
    env.var("ENVIRONMENT").map_or_else(|_| "default".to_owned(), |name| name.to_string())
}

async fn status(request: &Request, env: &Env) -> Result<Response, Fault> {
    auth::client(request, env)?;
    match call_scheduler::call(env, &Call::Status).await? {
        Reply::Status(status) => Ok(respond::json(200, &status)?),
        other => Err(call_scheduler::unexpected(&other)),
    }
}

// Uploads

async fn create_upload(request: &mut Request, env: &Env) -> Result<Response, Fault> {
    let client = auth::client(request, env)?;
    let create = request::parse_json::<CreateUpload>(&json_body(request).await?)?.checked()?;
    let upload_id =
        UploadId::new(format!("upl_{}", Uuid::now_v7().simple())).map_err(|_| ApiError::Internal)?;
    let expires_at = now() + UPLOAD_TICKET_LIFETIME;
    let claims = Claims::Upload(UploadClaims {
        tenant: client.tenant,
        upload_id: upload_id.clone(),
        size: create.size,
        name: create.name,
        content_type: create.content_type.unwrap_or_else(|| "application/octet-stream".to_owned()),
        sha256: create.sha256,
    });
    let ticket = auth::ticket_keys(env)?.sign(claims, expires_at);
    let put = PutInstruction {
        method: "PUT",
        url: format!("/v1/uploads/{upload_id}/content"),
        headers: [("Minifleet-Ticket", ticket)].into(),
    };
    Ok(respond::json(201, &UploadCreated { upload_id, put, expires_at_ms: expires_at })?)
}

async fn put_upload(request: &Request, env: &Env, id: &UploadId) -> Result<Response, Fault> {
    let claims = auth::upload_ticket(request, env)?;
    if claims.upload_id != *id {
        return Err(ApiError::TicketInvalid.into());
    }
    let actual = content_length(request)?;
    if actual != claims.size {
        return Err(ApiError::SizeMismatch { expected: claims.size, actual }.into());
    }
    let metadata = UploadMetadata { name: claims.name, content_type: claims.content_type.clone() };
    let sha256 =
        claims.sha256.as_deref().and_then(|hex| Some((sha256_from_hex(hex)?, hex.to_ascii_lowercase())));
    let new = NewObject {
        key: object_key::upload(&claims.tenant, id),
        content_type: &claims.content_type,
        tenant: &claims.tenant,
        sha256,
        field: Some((upload_metadata::FIELD, upload_metadata::encode(&metadata))),
    };
    let object = match media::put(request, env, new).await? {
        Put::Stored(object) => object,
        // The answer to the first put was lost on its way.
        Put::WasThere(object) if object.size() == claims.size => object,
        Put::WasThere(_) => return Err(ApiError::UploadExists.into()),
    };
    let stored = UploadStored { upload_id: id.clone(), size: object.size(), etag: object.etag() };
    Ok(respond::json(200, &stored)?)
}

async fn upload(request: &Request, env: &Env, id: &UploadId) -> Result<Response, Fault> {
    let client = auth::client(request, env)?;
    Ok(respond::json(200, &stored_upload(env, &client.tenant, id).await?)?)
}

async fn stored_upload(env: &Env, tenant: &TenantId, id: &UploadId) -> Result<UploadView, Fault> {
    let object =
        media::bucket(env)?.head(object_key::upload(tenant, id)).await?.ok_or(ApiError::UploadNotFound)?;
    let field = media::custom_field(&object, upload_metadata::FIELD).unwrap_or_default();
    let UploadMetadata { name, content_type } = upload_metadata::decode(&field).map_err(|error| {
        console_error!("upload {id}: {error}");
        ApiError::Internal
    })?;
    Ok(UploadView {
        upload_id: id.clone(),
        name,
        size: object.size(),
        content_type,
        uploaded_at_ms: shared_protocol::TimestampMs(object.uploaded().as_millis()),
    })
}

// Jobs

async fn create_job(request: &mut Request, env: &Env) -> Result<Response, Fault> {
    let client = auth::client(request, env)?;
    let idempotency_key =
        request.headers().get("Idempotency-Key")?.as_deref().map(request::idempotency_key).transpose()?;
    let create = request::parse_json::<CreateJob>(&json_body(request).await?)?.checked()?;
    let upload = stored_upload(env, &client.tenant, &create.upload_id).await?;
    let job_id = JobId::new(format!("job_{}", Uuid::now_v7().simple())).map_err(|_| ApiError::Internal)?;
    let request = JobRequest {
        source: shared_protocol::Source { upload_id: upload.upload_id, name: upload.name, size: upload.size },
        content_type: Some(upload.content_type),
        sampler: create.sampler,
        outputs: create.outputs(),
        priority: create.priority,
        metadata: create.metadata,
    };
    match call_scheduler::call(env, &Call::Submit { tenant: client.tenant, job_id, request, idempotency_key })
        .await?
    {
        Reply::Created(job) => {
            let mut response = respond::json(201, &job)?;
            response.headers_mut().set("Location", &format!("/v1/jobs/{}", job.job_id))?;
            Ok(response)
        }
        Reply::Job(detail) => Ok(respond::json(200, &detail.job)?),
        other => Err(call_scheduler::unexpected(&other)),
    }
}

async fn list_jobs(request: &Request, env: &Env) -> Result<Response, Fault> {
    let client = auth::client(request, env)?;
    let list = ListJobs::parse(request.url()?.query_pairs())?;
    match call_scheduler::call(env, &Call::List { tenant: client.tenant, list }).await? {
        Reply::List(jobs) => Ok(respond::json(200, &jobs)?),
        other => Err(call_scheduler::unexpected(&other)),
    }
}

async fn cancel_job(request: &Request, env: &Env, job_id: JobId) -> Result<Response, Fault> {
    let client = auth::client(request, env)?;
    match call_scheduler::call(env, &Call::Cancel { tenant: client.tenant, job_id }).await? {
        Reply::Cancelled(job) => Ok(respond::json(200, &job)?),
        Reply::Cancelling(job) => Ok(respond::json(202, &job)?),
        other => Err(call_scheduler::unexpected(&other)),
    }
}

async fn files(request: &Request, env: &Env, id: &JobId) -> Result<Response, Fault> {
    let client = auth::client(request, env)?;
    let detail = call_scheduler::job(env, &client.tenant, id).await?;
    let files = detail.outcome.map(|outcome| outcome.files).unwrap_or_default();
    Ok(respond::json(200, &FileList::of(&files, &format!("/v1/jobs/{id}/files/")))?)
}

// Listening

async fn create_playback(request: &mut Request, env: &Env, id: &JobId) -> Result<Response, Fault> {
    let client = auth::client(request, env)?;
    let body = json_body(request).await?;
    let create: CreatePlayback =
        if body.is_empty() { CreatePlayback::default() } else { request::parse_json(&body)? };
    let expires_at = now() + create.lifetime()?;
    let detail = call_scheduler::job(env, &client.tenant, id).await?;
    let claims = PlayClaims { tenant: client.tenant, job_id: id.clone(), upload_id: detail.upload_id };
    let ticket = auth::ticket_keys(env)?.sign(Claims::Play(claims), expires_at);
    let origin = request.url()?.origin().ascii_serialization();
    let created = PlaybackCreated {
        url: format!("{origin}/v1/play/{ticket}/index.m3u8"),
        page: format!("{origin}/listen#{ticket}"),
        expires_at_ms: expires_at,
    };
    Ok(respond::json(201, &created)?)
}

/// Somebody who may hear one job.
struct Reader {
    tenant: TenantId,
    job_id: JobId,
    /// Known from a playback link.
    upload_id: Option<UploadId>,
}

async fn serve_media(request: &Request, env: &Env, reader: &Reader, media: Media) -> Result<Response, Fault> {
    let Reader { tenant, job_id, upload_id } = reader;
    match media {
        Media::Playlist => serve_playlist(request, &call_scheduler::job(env, tenant, job_id).await?),
        // What a playlist lists is there: no question to the scheduler for each segment.
        Media::Segment(attempt, object) => {
            let key = object_key::attempt_object(job_id, attempt, &object);
            let presentation = Presentation { content_type: None, saved_as: None, immutable: true, tenant };
            media::serve(request, env, &key, ApiError::FileNotFound, &presentation).await
        }
        Media::Original => {
            let upload_id = match upload_id {
                Some(upload_id) => upload_id.clone(),
                None => call_scheduler::job(env, tenant, job_id).await?.upload_id,
            };
            serve_upload(request, env, tenant, &upload_id).await
        }
        Media::File(name) => {
            let detail = call_scheduler::job(env, tenant, job_id).await?;
            serve_file(request, env, tenant, &detail, &name).await
        }
    }
}

fn serve_playlist(request: &Request, detail: &JobDetail) -> Result<Response, Fault> {
    if !detail.job.outputs.contains(&shared_protocol::OutputKind::Hls) {
        return Err(ApiError::NoPlayback.into());
    }
    let text = playlist::render(&detail.playlist).ok_or(ApiError::NotPlayableYet)?;
    let body = if request.inner().method() == "HEAD" { Vec::new() } else { text.into_bytes() };
    // A list that has ended changes no more; a growing one is out of date within a segment.
    let cache = if detail.playlist.ended { "private, max-age=60" } else { "private, max-age=1" };
    Ok(ResponseBuilder::new()
        .with_header("Content-Type", playlist::CONTENT_TYPE)?
        .with_header("Cache-Control", cache)?
        .fixed(body))
}

async fn serve_file(
    request: &Request,
    env: &Env,
    tenant: &TenantId,
    detail: &JobDetail,
    name: &str,
) -> Result<Response, Fault> {
    let attempt = detail.accepted.ok_or(ApiError::FileNotFound)?;
    let files = detail.outcome.as_ref().map(|outcome| outcome.files.as_slice()).unwrap_or_default();
    let file = files.iter().find(|file| file.name == name).ok_or(ApiError::FileNotFound)?;
    let object = AttemptObject::File(file.name.clone());
    let presentation = Presentation {
        content_type: Some(safe_content_type(Some(&file.content_type))),
        saved_as: Some(saved_name(&detail.job.name, name)),
        immutable: true,
        tenant,
    };
    let key = object_key::attempt_object(&detail.job.job_id, attempt, &object);
    media::serve(request, env, &key, ApiError::FileNotFound, &presentation).await
}

async fn serve_upload(
    request: &Request,
    env: &Env,
    tenant: &TenantId,
    id: &UploadId,
) -> Result<Response, Fault> {
    let key = object_key::upload(tenant, id);
    // The type is what its client said: served as media only.
    let stored = stored_upload(env, tenant, id).await?;
    let content_type = safe_content_type(Some(&stored.content_type));
    let presentation =
        Presentation { content_type: Some(content_type), saved_as: None, immutable: true, tenant };
    media::serve(request, env, &key, ApiError::UploadNotFound, &presentation).await
}

// Workers

async fn worker_connect(request: &Request, env: &Env) -> Result<Response, Fault> {
    let key = auth::worker_key(request, env)?;
    let upgrade = request.headers().get("Upgrade")?;
    if !upgrade.is_some_and(|protocol| protocol.eq_ignore_ascii_case("websocket")) {
        return Err(ApiError::UpgradeRequired.into());
    }
    call_scheduler::connect(env, &key).await
}

async fn worker_upload(request: &Request, env: &Env) -> Result<Response, Fault> {
    let claims = auth::job_ticket(request, env)?;
    let key = object_key::upload(&claims.tenant, &claims.upload_id);
    let presentation =
        Presentation { content_type: None, saved_as: None, immutable: true, tenant: &claims.tenant };
    media::serve(request, env, &key, ApiError::UploadNotFound, &presentation).await
}

async fn worker_object(
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

// Bodies

/// The announced length of a body: what is not known beforehand cannot be streamed into storage.
fn content_length(request: &Request) -> Result<u64, Fault> {
    let header = request.headers().get("Content-Length")?.ok_or(ApiError::LengthRequired)?;
    Ok(header.trim().parse().map_err(|_| ApiError::LengthRequired)?)
}

/// A small body, read whole; empty when there is none.
async fn json_body(request: &mut Request) -> Result<Vec<u8>, Fault> {
    if request.inner().body().is_none() {
        return Ok(Vec::new());
    }
    if content_length(request)? > MAX_JSON_BYTES {
        return Err(ApiError::RequestTooLarge { limit: MAX_JSON_BYTES }.into());
    }
    Ok(request.bytes().await?)
}
