//! Uploads: a ticket first, then the bytes, straight into storage.

use shared_protocol::{TenantId, TimestampMs, UploadId};
use uuid::Uuid;
use worker::{Env, Request, Response, console_error};

use super::body::{content_length, json_body};
use super::fault::Fault;
use super::media::{self, NewObject, Put};
use super::{auth, call_project, call_tenant, now, respond};
use crate::api::projects::call::Question;
use crate::api::request::{self, CreateUpload};
use crate::api::ticket::{Claims, UPLOAD_TICKET_LIFETIME, UploadClaims};
use crate::api::view::{PutInstruction, UploadCreated, UploadStored, UploadView};
use crate::api::{ApiError, object_key};
use crate::digest::sha256_from_hex;
use crate::records::upload_metadata::{self, UploadMetadata};

pub async fn create_upload(request: &mut Request, env: &Env) -> Result<Response, Fault> {
    let client = auth::writer(request, env).await?;
    let create = request::parse_json::<CreateUpload>(&json_body(request).await?)?.checked()?;
    let content_type = create.content_type.unwrap_or_else(|| "application/octet-stream".to_owned());
    call_tenant::settings(env, &client.tenant).await?.check_upload(create.size, &content_type)?;
    let upload_id =
        UploadId::new(format!("upl_{}", Uuid::now_v7().simple())).map_err(|_| ApiError::Internal)?;
    let expires_at = now() + UPLOAD_TICKET_LIFETIME;
    let claims = Claims::Upload(UploadClaims {
        tenant: client.tenant,
        upload_id: upload_id.clone(),
        size: create.size,
        name: create.name,
        content_type,
        sha256: create.sha256,
        project_id: None,
        parts: None,
    });
    let ticket = auth::ticket_keys(env)?.sign(claims, expires_at);
    let put = PutInstruction {
        method: "PUT",
        url: format!("/v1/uploads/{upload_id}/content"),
        headers: [("Minifleet-Ticket", ticket)].into(),
    };
    Ok(respond::json(201, &UploadCreated { upload_id, put, expires_at_ms: expires_at })?)
}

pub async fn put_upload(request: &Request, env: &Env, id: &UploadId) -> Result<Response, Fault> {
    let claims = auth::upload_ticket(request, env)?;
    if claims.upload_id != *id || claims.parts.is_some() {
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
    if let Some(project) = &claims.project_id {
        // The client's own word comes next. Should it not come, the project looks for itself; a project that cannot be told now
        // looks later.
        let told = call_project::ask(env, project, &claims.tenant, Question::Arrived).await;
        if let Err(fault) = told {
            console_error!("project {project} could not be told of its upload: {fault}");
        }
    }
    let stored = UploadStored { upload_id: id.clone(), size: object.size(), etag: object.etag() };
    Ok(respond::json(200, &stored)?)
}

pub async fn upload(request: &Request, env: &Env, id: &UploadId) -> Result<Response, Fault> {
    let client = auth::client(request, env).await?;
    Ok(respond::json(200, &stored_upload(env, &client.tenant, id).await?)?)
}

pub async fn stored_upload(env: &Env, tenant: &TenantId, id: &UploadId) -> Result<UploadView, Fault> {
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
        uploaded_at_ms: TimestampMs(object.uploaded().as_millis()),
    })
}
