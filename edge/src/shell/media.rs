//! Bytes in and out of storage. They stream through the platform and never through Wasm memory.

use shared_protocol::TenantId;
use worker::{Bucket, Conditional, Env, Headers, HttpMetadata, Object, Request, Response, ResponseBuilder};

use super::MEDIA_BUCKET;
use super::fault::Fault;
use crate::api::ApiError;
use crate::api::range::{ByteRange, content_range};

/// Custom fields of stored objects.
pub const TENANT_FIELD: &str = "tenant";
const SHA256_FIELD: &str = "sha256";

/// Part of the error's text when a body has another SHA-256 than announced.
const CHECKSUM_ERROR: &str = "10037";

/// Custom fields as the binding takes them.
#[expect(
    clippy::disallowed_types,
    reason = "the platform's binding takes this type; its order plays no part"
)]
pub type CustomFields = std::collections::HashMap<String, String>;

/// The bucket.
pub fn bucket(env: &Env) -> Result<Bucket, Fault> {
    Ok(env.bucket(MEDIA_BUCKET)?)
}

/// How stored bytes go out.
#[derive(Debug, Clone)]
pub struct Presentation<'a> {
    /// Media type; the stored one when there is none.
    pub content_type: Option<&'a str>,
    /// The name to save them under.
    pub saved_as: Option<String>,
    /// They never change under their URL.
    pub immutable: bool,
    /// Whose they have to be.
    pub tenant: &'a TenantId,
}

/// Serves an object: whole, one range of it, nothing when the client has it already, or its headers only.
pub async fn serve(
    request: &Request,
    env: &Env,
    key: &str,
    missing: ApiError,
    presentation: &Presentation<'_>,
) -> Result<Response, Fault> {
    let bucket = bucket(env)?;
    let asked = request.headers();
    let is_head = request.inner().method() == "HEAD";
    let range = asked.get("Range")?.as_deref().and_then(ByteRange::parse).filter(|_| !is_head);

    // The size decides what a range means, so a ranged read asks for it first. Objects are written once: nothing changes
    // between the two.
    let object =
        if is_head || range.is_some() { bucket.head(key).await? } else { bucket.get(key).execute().await? };
    let object = object.filter(|object| belongs_to(object, presentation.tenant)).ok_or(missing.clone())?;
    let (size, etag) = (object.size(), object.http_etag());

    let headers = object_headers(&object, presentation)?;
    if asked.get("If-None-Match")?.is_some_and(|tags| matches_etag(&tags, &etag)) {
        return Ok(ResponseBuilder::new().with_status(304).with_headers(headers).empty());
    }
    if is_head {
        headers.set("Content-Length", &size.to_string())?;
        return Ok(ResponseBuilder::new().with_headers(headers).empty());
    }
    let same_version = asked.get("If-Range")?.is_none_or(|tag| tag == etag);
    let (object, status) = match range {
        None => (object, 200),
        Some(range) if same_version => {
            let bytes = range.of(size)?;
            headers.set("Content-Range", &content_range(&bytes, size))?;
            let (offset, length) = (*bytes.start(), bytes.end() - bytes.start() + 1);
            let read = worker::Range::OffsetWithLength { offset, length };
            (bucket.get(key).range(read).execute().await?.ok_or(missing)?, 206)
        }
        Some(_) => (bucket.get(key).execute().await?.ok_or(missing)?, 200),
    };
    let body = object.body().ok_or(ApiError::Internal)?.response_body()?;
    Ok(ResponseBuilder::new().with_status(status).with_headers(headers).body(body))
}

fn object_headers(object: &Object, presentation: &Presentation<'_>) -> Result<Headers, Fault> {
    let headers = Headers::new();
    let stored_type = object.http_metadata().content_type;
    let content_type =
        presentation.content_type.or(stored_type.as_deref()).unwrap_or("application/octet-stream");
    headers.set("Content-Type", content_type)?;
    headers.set("ETag", &object.http_etag())?;
    headers.set("Accept-Ranges", "bytes")?;
    headers.set("X-Content-Type-Options", "nosniff")?;
    headers.set(
        "Cache-Control",
        if presentation.immutable { "private, max-age=31536000, immutable" } else { "private, no-cache" },
    )?;
    if let Some(name) = &presentation.saved_as {
        headers.set("Content-Disposition", &crate::api::download::attachment(name))?;
    }
    Ok(headers)
}

fn belongs_to(object: &Object, tenant: &TenantId) -> bool {
    custom_field(object, TENANT_FIELD).is_some_and(|owner| owner == tenant.as_str())
}

fn matches_etag(tags: &str, etag: &str) -> bool {
    tags.split(',').map(|tag| tag.trim().trim_start_matches("W/")).any(|tag| tag == etag || tag == "*")
}

/// A custom field of an object.
pub fn custom_field(object: &Object, name: &str) -> Option<String> {
    object.custom_metadata().ok()?.get(name).cloned()
}

/// An object to be.
#[derive(Debug)]
pub struct NewObject<'a> {
    /// Where.
    pub key: String,
    /// Media type.
    pub content_type: &'a str,
    /// Whose.
    pub tenant: &'a TenantId,
    /// What its bytes have to hash to, and the same in hex.
    pub sha256: Option<([u8; 32], String)>,
    /// One more custom field.
    pub field: Option<(&'static str, String)>,
}

/// What came of a put.
#[derive(Debug)]
pub enum Put {
    /// The bytes are stored.
    Stored(Object),
    /// Something was there before; it is unchanged.
    WasThere(Object),
}

/// Streams a request's body into a new object. An object is written once.
pub async fn put(request: &Request, env: &Env, new: NewObject<'_>) -> Result<Put, Fault> {
    let body = request.inner().body().ok_or(ApiError::LengthRequired)?;
    let mut fields = object_fields(new.tenant, new.sha256.as_ref().map(|(_, hex)| hex.as_str()));
    fields.extend(new.field.map(|(name, value)| (name.to_owned(), value)));
    let bucket = bucket(env)?;
    let mut put = bucket
        .put(&new.key, body)
        .only_if(Conditional { etag_does_not_match: Some("*".to_owned()), ..Conditional::default() });
    if let Some((hash, _)) = new.sha256 {
        put = put.sha256(hash.to_vec());
    }
    let http = http_metadata(new.content_type);
    let stored = put.custom_metadata(fields).http_metadata(http).execute().await;
    match stored {
        Ok(Some(object)) => Ok(Put::Stored(object)),
        Ok(None) => Ok(Put::WasThere(bucket.head(&new.key).await?.ok_or(ApiError::Internal)?)),
        Err(error) if error.to_string().contains(CHECKSUM_ERROR) => Err(ApiError::ChecksumMismatch.into()),
        Err(error) => Err(error.into()),
    }
}

/// The custom fields that every object has: whose it is, and its hash in hex where it was announced.
pub fn object_fields(tenant: &TenantId, sha256: Option<&str>) -> CustomFields {
    let tenant = (TENANT_FIELD.to_owned(), tenant.to_string());
    let sha256 = sha256.map(|hex| (SHA256_FIELD.to_owned(), hex.to_owned()));
    std::iter::once(tenant).chain(sha256).collect()
}

/// What storage gives out with an object.
pub fn http_metadata(content_type: &str) -> HttpMetadata {
    HttpMetadata { content_type: Some(content_type.to_owned()), ..HttpMetadata::default() }
}

/// The hash under which an object was stored, in hex.
pub fn stored_sha256(object: &Object) -> Option<String> {
    custom_field(object, SHA256_FIELD)
}
