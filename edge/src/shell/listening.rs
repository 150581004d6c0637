//! Listening: links that expire, the playlist, segments, the original, final files.

use shared_protocol::{JobId, OutputKind, TenantId, UploadId};
use worker::{Env, Request, Response, ResponseBuilder};

use super::body::json_body;
use super::fault::Fault;
use super::media::{self, Presentation};
use super::uploads::stored_upload;
use super::{auth, call_scheduler, now, respond};
use crate::api::call::JobDetail;
use crate::api::download::{safe_content_type, saved_name};
use crate::api::object_key::{self, AttemptObject};
use crate::api::request::{self, CreatePlayback};
use crate::api::route::Media;
use crate::api::stems::stem_content_type;
use crate::api::ticket::{Claims, PlayClaims};
use crate::api::view::{PlayStateView, PlaybackCreated};
use crate::api::{ApiError, playlist};

pub async fn with_key(request: &Request, env: &Env, id: JobId, media: Media) -> Result<Response, Fault> {
    let client = auth::listener(request, env).await?;
    let reader = Reader { tenant: client.tenant, job_id: id, upload_id: None };
    serve_media(request, env, &reader, media).await
}

pub async fn with_link(request: &Request, env: &Env, ticket: &str, media: Media) -> Result<Response, Fault> {
    let PlayClaims { tenant, job_id, upload_id } = auth::play_ticket(ticket, env)?;
    let reader = Reader { tenant, job_id, upload_id: Some(upload_id) };
    serve_media(request, env, &reader, media).await
}

pub async fn state(env: &Env, ticket: &str) -> Result<Response, Fault> {
    let claims = auth::play_ticket(ticket, env)?;
    let detail = call_scheduler::job(env, &claims.tenant, &claims.job_id).await?;
    Ok(respond::json(200, &PlayStateView::of(detail.job, detail.outcome.as_ref()))?)
}

pub async fn create_playback(request: &mut Request, env: &Env, id: &JobId) -> Result<Response, Fault> {
    // A link lets others hear what its maker may hear: nothing is changed by it.
    let client = auth::client(request, env).await?;
    create_playback_of(request, env, &client.tenant, id).await
}

pub async fn create_playback_of(
    request: &mut Request,
    env: &Env,
    tenant: &TenantId,
    id: &JobId,
) -> Result<Response, Fault> {
    let body = json_body(request).await?;
    let create: CreatePlayback =
        if body.is_empty() { CreatePlayback::default() } else { request::parse_json(&body)? };
    let expires_at = now() + create.lifetime()?;
    let detail = call_scheduler::job(env, tenant, id).await?;
    let claims = PlayClaims { tenant: tenant.clone(), job_id: id.clone(), upload_id: detail.upload_id };
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
        Media::Stem(name) => {
            let detail = call_scheduler::job(env, tenant, job_id).await?;
            serve_stem(request, env, tenant, &detail, &name).await
        }
    }
}

fn serve_playlist(request: &Request, detail: &JobDetail) -> Result<Response, Fault> {
    if !detail.job.outputs.contains(&OutputKind::Hls) {
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

async fn serve_stem(
    request: &Request,
    env: &Env,
    tenant: &TenantId,
    detail: &JobDetail,
    name: &str,
) -> Result<Response, Fault> {
    let follow_up = detail.follow_up.as_ref().ok_or(ApiError::FileNotFound)?;
    let stems = follow_up.stems.as_deref().unwrap_or_default();
    let stem = stems.iter().find(|stem| stem.name == name).ok_or(ApiError::FileNotFound)?;
    let presentation = Presentation {
        content_type: Some(stem_content_type(name)),
        saved_as: Some(saved_name(&detail.job.name, name)),
        immutable: true,
        tenant,
    };
    let object = AttemptObject::Stem(stem.name.clone());
    let key = object_key::attempt_object(&detail.job.job_id, follow_up.attempt, &object);
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
