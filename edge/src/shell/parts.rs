//! Objects that are too large for one request: storage puts them together from parts, and what came of it is read and
//! hashed before the worker is told that it is stored. Nothing of this asks the scheduler.

use js_sys::{Promise, Uint8Array};
use shared_protocol::limits::MAX_BODY_BYTES;
use shared_protocol::{Attempt, JobId};
use wasm_bindgen::prelude::*;
use worker::wasm_bindgen_futures::JsFuture;
use worker::{Bucket, Env, Object, Request, Response, ResponseBody, UploadedPart, console_error};

use super::body::{bounded_body, content_length};
use super::fault::Fault;
use super::media::{self, stored_sha256};
use super::{auth, respond};
use crate::api::ApiError;
use crate::api::download::safe_content_type;
use crate::api::object_key::{self, AttemptObject};
use crate::api::parts::{MAX_COMPLETION_BYTES, PartName, PartsCreated, PartsStep, WholeObject};
use crate::api::request;

/// Parts of the errors' texts when an upload of parts is gone or its parts do not fit together: `NoSuchUpload`,
/// `InvalidPart`, `EntityTooSmall`, `BadUpload`.
const PARTS_ERRORS: [&str; 4] = ["10024", "10025", "10011", "10048"];

#[wasm_bindgen]
extern "C" {
    /// The platform's own: takes a stream in and hashes it outside of Wasm.
    #[wasm_bindgen(js_namespace = crypto)]
    type DigestStream;
    #[wasm_bindgen(constructor, js_namespace = crypto)]
    fn new(algorithm: &str) -> DigestStream;
    #[wasm_bindgen(method, getter)]
    fn digest(this: &DigestStream) -> Promise;

    type PipedStream;
    #[wasm_bindgen(method, js_name = pipeTo, catch)]
    fn pipe_to(this: &PipedStream, into: &DigestStream) -> Result<Promise, JsValue>;
}

pub async fn step(
    request: &mut Request,
    env: &Env,
    job: &JobId,
    attempt: Attempt,
    object: &AttemptObject,
    step: PartsStep,
) -> Result<Response, Fault> {
    let claims = auth::job_ticket(request, env)?;
    if claims.job_id != *job || claims.attempt != attempt {
        return Err(ApiError::TicketInvalid.into());
    }
    let bucket = media::bucket(env)?;
    let key = object_key::attempt_object(job, attempt, object);
    match step {
        PartsStep::Create => {
            let whole = whole_object(request).await?;
            if let Some(answer) = stored_before(&bucket, &key, &whole).await? {
                return Ok(answer);
            }
            let content_type = safe_content_type(whole.content_type.as_deref());
            let fields = media::object_fields(&claims.tenant, Some(&whole.sha256));
            let upload = bucket
                .create_multipart_upload(&key)
                .http_metadata(media::http_metadata(content_type))
                .custom_metadata(fields)
                .execute()
                .await?;
            let created = PartsCreated { upload_id: upload.upload_id().await };
            Ok(respond::json(201, &created)?)
        }
        PartsStep::Put(number) => {
            let upload = bucket.resume_multipart_upload(&key, upload_id(request)?)?;
            if content_length(request)? > MAX_BODY_BYTES {
                return Err(ApiError::UploadTooLarge { limit: MAX_BODY_BYTES }.into());
            }
            let body = request.inner().body().ok_or(ApiError::LengthRequired)?;
            let part = upload.upload_part(number, body).await.map_err(parts_fault)?;
            let name = PartName { part_number: number, etag: part.etag() };
            Ok(respond::json(200, &name)?)
        }
        PartsStep::Complete => {
            let id = upload_id(request)?;
            let whole = whole_object(request).await?;
            if let Some(answer) = stored_before(&bucket, &key, &whole).await? {
                return Ok(answer);
            }
            let parts = whole.parts.iter().map(|part| UploadedPart::new(part.part_number, part.etag.clone()));
            let upload = bucket.resume_multipart_upload(&key, id)?;
            upload.complete(parts).await.map_err(parts_fault)?;
            checked(&bucket, &key, &whole, 201).await
        }
        PartsStep::Abort => {
            let upload = bucket.resume_multipart_upload(&key, upload_id(request)?)?;
            // One that was completed or aborted before is what was asked for, too.
            if let Err(error) = upload.abort().await {
                console_error!("{key}: its parts could not be thrown away: {error}");
            }
            Ok(respond::json(200, &serde_json::json!({}))?)
        }
    }
}

async fn whole_object(request: &mut Request) -> Result<WholeObject, Fault> {
    let body = bounded_body(request, MAX_COMPLETION_BYTES).await?;
    Ok(request::parse_json::<WholeObject>(&body)?.checked()?)
}

fn upload_id(request: &Request) -> Result<String, Fault> {
    let url = request.url()?;
    let id = url.query_pairs().find_map(|(name, value)| (name == "uploadId").then(|| value.into_owned()));
    Ok(id.filter(|id| !id.is_empty()).ok_or_else(|| ApiError::InvalidRequest {
        field: Some("uploadId"),
        detail: "Send the uploadId that the announced object got, in the query.".to_owned(),
    })?)
}

/// The answer when the object is there already. It is checked again: the first answer may have been lost before that.
///
/// An object of parts is write-once because of this look alone. Its key belongs to one attempt, and an attempt to one worker,
/// so nobody else writes it between the look and the completion.
async fn stored_before(bucket: &Bucket, key: &str, whole: &WholeObject) -> Result<Option<Response>, Fault> {
    match bucket.head(key).await? {
        None => Ok(None),
        Some(object) if stored_sha256(&object).as_ref() == Some(&whole.sha256) => {
            checked(bucket, key, whole, 200).await.map(Some)
        }
        Some(_) => Err(ApiError::ObjectExists.into()),
    }
}

/// Reads an object and takes it away again when it is not what was announced: storage keeps no checksum of what it put
/// together from parts.
async fn checked(bucket: &Bucket, key: &str, whole: &WholeObject, status: u16) -> Result<Response, Fault> {
    let object = bucket.get(key).execute().await?.ok_or(ApiError::Internal)?;
    if !whole.is(object.size(), &sha256(&object).await?) {
        bucket.delete(key).await?;
        return Err(ApiError::ChecksumMismatch.into());
    }
    Ok(respond::json(status, &serde_json::json!({ "size": object.size(), "etag": object.etag() }))?)
}

pub(super) async fn sha256(object: &Object) -> Result<Vec<u8>, Fault> {
    let body = object.body().ok_or(ApiError::Internal)?.response_body()?;
    let ResponseBody::Stream(stream) = body else { return Err(ApiError::Internal.into()) };
    let digest = DigestStream::new("SHA-256");
    let piping = JsValue::from(stream).unchecked_into::<PipedStream>().pipe_to(&digest);
    JsFuture::from(piping.map_err(worker::Error::from)?).await.map_err(worker::Error::from)?;
    let hash = JsFuture::from(digest.digest()).await.map_err(worker::Error::from)?;
    Ok(Uint8Array::new(&hash).to_vec())
}

pub(super) fn parts_fault(error: worker::Error) -> Fault {
    let text = error.to_string();
    if PARTS_ERRORS.iter().any(|code| text.contains(code)) {
        return ApiError::PartsInvalid { reason: text }.into();
    }
    error.into()
}
