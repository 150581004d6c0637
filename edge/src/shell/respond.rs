//! Answers: JSON, problems, and the headers that each has.

use serde::Serialize;
use worker::{Headers, Response, ResponseBuilder, Result};

use crate::api::ApiError;

/// A JSON answer. State is never cached: it may have changed by the next request.
pub fn json<T: Serialize>(status: u16, body: &T) -> Result<Response> {
    ResponseBuilder::new().with_status(status).with_header("Cache-Control", "no-store")?.from_json(body)
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
        ApiError::MethodNotAllowed { allow } => headers.set("Allow", allow)?,
        ApiError::KeyMissing | ApiError::KeyInvalid => headers.set("WWW-Authenticate", "Bearer")?,
        ApiError::RangeNotSatisfiable { size } => headers.set("Content-Range", &format!("bytes */{size}"))?,
        ApiError::UpgradeRequired => headers.set("Upgrade", "websocket")?,
        _ => {}
    }
    let body = serde_json::to_vec(&error.problem(request_id))?;
    Ok(ResponseBuilder::new().with_status(row.status).with_headers(headers).fixed(body))
}

/// Playback links are read by players on any page.
pub fn allow_any_origin(headers: &Headers) -> Result<()> {
    headers.set("Access-Control-Allow-Origin", "*")?;
    headers.set(
        "Access-Control-Expose-Headers",
        "Accept-Ranges, Content-Length, Content-Range, ETag, Retry-After, X-Request-Id",
    )
}

/// The answer to a browser's question whether it may ask.
pub fn preflight() -> Result<Response> {
    let headers = Headers::new();
    allow_any_origin(&headers)?;
    headers.set("Access-Control-Allow-Methods", "GET, HEAD, OPTIONS")?;
    headers.set("Access-Control-Allow-Headers", "Range, If-Range, If-None-Match")?;
    headers.set("Access-Control-Max-Age", "86400")?;
    Ok(ResponseBuilder::new().with_status(204).with_headers(headers).empty())
}
