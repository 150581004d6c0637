//! Answers: JSON, problems, and the headers that each has.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use sha2::{Digest, Sha256};
use worker::{Headers, Request, Response, ResponseBuilder, Result};

use super::fault::Fault;
use crate::api::rate_limit::Allowance;
use crate::api::{ApiError, cors};

/// A JSON answer. State is never cached: it may have changed by the next request.
pub fn json<T: Serialize>(status: u16, body: &T) -> Result<Response> {
    ResponseBuilder::new().with_status(status).with_header("Cache-Control", "no-store")?.from_json(body)
}

/// A JSON answer with an entity tag made of its bytes, or none of it when the client has it already.
pub fn json_with_etag<T: Serialize>(request: &Request, body: &T) -> std::result::Result<Response, Fault> {
    let bytes = serde_json::to_vec(body).map_err(worker::Error::from)?;
    let digest = Sha256::digest(&bytes);
    let etag = format!("\"{}\"", URL_SAFE_NO_PAD.encode(digest.get(..16).unwrap_or_default()));
    let known = request.headers().get("If-None-Match")?.unwrap_or_default();
    let is_known =
        known.split(',').any(|tag| tag.trim().trim_start_matches("W/") == etag || tag.trim() == "*");
    let builder =
        ResponseBuilder::new().with_header("Cache-Control", "no-cache")?.with_header("ETag", &etag)?;
    if is_known {
        return Ok(builder.with_status(304).empty());
    }
    Ok(builder.with_header("Content-Type", "application/json")?.fixed(bytes))
}

/// A problem as its answer.
pub fn problem(error: &ApiError, request_id: &str) -> Result<Response> {
    let row = error.row();
    let headers = Headers::new();
    headers.set("Content-Type", "application/problem+json")?;
    headers.set("Cache-Control", "no-store")?;
    if let Some(seconds) = row.retry_after_seconds {
        headers.set("Retry-After", &seconds.to_string())?;
    }
    match error {
        ApiError::MethodNotAllowed { allow } => headers.set("Allow", &format!("{allow}, OPTIONS"))?,
        ApiError::KeyMissing | ApiError::KeyInvalid => headers.set("WWW-Authenticate", "Bearer")?,
        ApiError::RangeNotSatisfiable { size } => headers.set("Content-Range", &format!("bytes */{size}"))?,
        ApiError::UpgradeRequired => headers.set("Upgrade", "websocket")?,
        _ => {}
    }
    let body = serde_json::to_vec(&error.problem(request_id))?;
    Ok(ResponseBuilder::new().with_status(row.status).with_headers(headers).fixed(body))
}

/// Says which pages may read an answer.
pub fn set_readers(headers: &Headers, readers: &cors::Answer) -> Result<()> {
    if readers.varies {
        headers.append("Vary", "Origin")?;
    }
    if let Some(origin) = &readers.allow_origin {
        headers.set("Access-Control-Allow-Origin", origin)?;
        headers.set("Access-Control-Expose-Headers", cors::EXPOSED_HEADERS)?;
    }
    Ok(())
}

/// The answer to the question which methods a path takes, and to a browser's whether a page may ask.
pub fn options(methods: &[&str], may_be_read: bool) -> Result<Response> {
    let headers = Headers::new();
    let allow = format!("{}, OPTIONS", methods.join(", "));
    headers.set("Allow", &allow)?;
    if may_be_read {
        headers.set("Access-Control-Allow-Methods", &allow)?;
        headers.set("Access-Control-Allow-Headers", cors::ALLOWED_HEADERS)?;
        headers.set("Access-Control-Max-Age", "86400")?;
    }
    Ok(ResponseBuilder::new().with_status(204).with_headers(headers).empty())
}

/// Says how many requests a key has left.
pub fn set_rate_limit(headers: &Headers, limit: u32, allowance: Allowance) -> Result<()> {
    headers.set("RateLimit-Limit", &limit.to_string())?;
    headers.set("RateLimit-Remaining", &allowance.remaining.to_string())?;
    headers.set("RateLimit-Reset", &allowance.full_after_seconds.to_string())
}
