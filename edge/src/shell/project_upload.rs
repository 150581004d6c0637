//! The recording of a project, in storage: its parts, and whether it is what was announced.

use shared_protocol::{ProjectId, TenantId};
use worker::{Env, Request, Response, UploadedPart, console_error};

use super::body::content_length;
use super::fault::Fault;
use super::parts::{parts_fault, sha256};
use super::{auth, call_project, media, respond};
use crate::api::projects::call::{Answer, Question};
use crate::api::projects::view::PartPut;
use crate::api::{ApiError, object_key};
use crate::digest::sha256_from_hex;
use crate::project::{StoredPart, Upload, UploadWay};
use crate::records::upload_metadata::{self, UploadMetadata};

/// How an upload is in storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finished {
    /// There, and as announced.
    Whole,
    /// Not there, or not all of it.
    Missing,
    /// It was put together and is not what was announced; it is thrown away.
    Spoilt,
}

/// Announces an upload in parts to storage.
pub async fn begin_parts(
    env: &Env,
    tenant: &TenantId,
    upload: &Upload,
    part_size: u64,
) -> Result<UploadWay, Fault> {
    let metadata = UploadMetadata { name: upload.name.clone(), content_type: upload.content_type.clone() };
    let mut fields = media::object_fields(tenant, upload.sha256.as_deref());
    fields.insert(upload_metadata::FIELD.to_owned(), upload_metadata::encode(&metadata));
    let begun = media::bucket(env)?
        .create_multipart_upload(object_key::upload(tenant, &upload.upload_id))
        .http_metadata(media::http_metadata(&upload.content_type))
        .custom_metadata(fields)
        .execute()
        .await?;
    Ok(UploadWay::Multipart {
        storage_id: begun.upload_id().await,
        part_size,
        parts: std::collections::BTreeMap::new(),
    })
}

/// Lets go of parts that nobody will put.
pub async fn forget_parts(env: &Env, tenant: &TenantId, upload: &Upload) {
    let UploadWay::Multipart { storage_id, .. } = &upload.way else { return };
    let key = object_key::upload(tenant, &upload.upload_id);
    let forgotten = async {
        let parts = media::bucket(env)?.resume_multipart_upload(&key, storage_id.clone())?;
        parts.abort().await?;
        Ok::<(), Fault>(())
    };
    // Storage drops them by itself after seven days.
    if let Err(fault) = forgotten.await {
        console_error!("{key}: its parts could not be thrown away: {fault}");
    }
}

/// Stores a part. The bytes go through the platform's own streams; only then the project hears of it.
pub async fn put_part(request: &Request, env: &Env, id: &ProjectId, number: u16) -> Result<Response, Fault> {
    let claims = auth::upload_ticket(request, env)?;
    let parts = claims.parts.as_ref().filter(|_| claims.project_id.as_ref() == Some(id));
    let parts = parts.ok_or(ApiError::TicketInvalid)?;
    let expected = claims.part_bytes(number).ok_or(ApiError::InvalidRequest {
        field: Some("part"),
        detail: "part: the upload has no part of this number.".to_owned(),
    })?;
    let actual = content_length(request)?;
    if actual != expected {
        return Err(ApiError::SizeMismatch { expected, actual }.into());
    }
    let body = request.inner().body().ok_or(ApiError::LengthRequired)?;
    let key = object_key::upload(&claims.tenant, &claims.upload_id);
    let storage = media::bucket(env)?.resume_multipart_upload(&key, parts.storage_id.clone())?;
    let stored = storage.upload_part(number, body).await.map_err(parts_fault)?;
    let part = StoredPart { etag: stored.etag(), size: actual };
    match call_project::ask(env, id, &claims.tenant, Question::PartArrived { number, part }).await? {
        Answer::Done => Ok(respond::json(200, &PartPut { part: number, size: actual })?),
        other => Err(call_project::unexpected(&other)),
    }
}

/// Whether the whole content is there and is what was announced. Parts that have all arrived are put together for that.
pub async fn finished(env: &Env, tenant: &TenantId, upload: &Upload) -> Result<Finished, Fault> {
    let bucket = media::bucket(env)?;
    let key = object_key::upload(tenant, &upload.upload_id);
    let UploadWay::Multipart { storage_id, parts, .. } = &upload.way else {
        // Storage checked its hash as it came.
        let object = bucket.head(&key).await?;
        let is_whole = object.is_some_and(|object| object.size() == upload.size);
        return Ok(if is_whole { Finished::Whole } else { Finished::Missing });
    };
    if bucket.head(&key).await?.is_none() {
        if !upload.missing_parts().is_empty() {
            return Ok(Finished::Missing);
        }
        let parts = parts.iter().map(|(number, part)| UploadedPart::new(*number, part.etag.clone()));
        let storage = bucket.resume_multipart_upload(&key, storage_id.clone())?;
        storage.complete(parts).await.map_err(parts_fault)?;
    }
    let object = bucket.get(&key).execute().await?.ok_or(ApiError::Internal)?;
    let mut is_whole = object.size() == upload.size;
    if let Some(announced) = upload.sha256.as_deref().and_then(sha256_from_hex) {
        is_whole = is_whole && sha256(&object).await? == announced;
    }
    if !is_whole {
        bucket.delete(&key).await?;
        return Ok(Finished::Spoilt);
    }
    Ok(Finished::Whole)
}

/// Throws away what arrived of an upload that was given up.
pub async fn sweep(env: &Env, key: &str, upload: &Upload) -> Result<(), Fault> {
    let bucket = media::bucket(env)?;
    if let UploadWay::Multipart { storage_id, .. } = &upload.way {
        let parts = bucket.resume_multipart_upload(key, storage_id.clone())?;
        // Storage may have dropped them itself, which is as good.
        if let Err(error) = parts.abort().await {
            console_error!("{key}: its parts could not be thrown away: {error}");
        }
    }
    bucket.delete(key).await?;
    Ok(())
}
