//! Bodies of requests.

use futures_util::StreamExt;
use worker::Request;

use super::fault::Fault;
use crate::api::ApiError;
use crate::api::request::MAX_JSON_BYTES;

/// The announced length of a body: what is not known beforehand cannot be streamed into storage.
pub fn content_length(request: &Request) -> Result<u64, Fault> {
    let header = request.headers().get("Content-Length")?.ok_or(ApiError::LengthRequired)?;
    Ok(header.trim().parse().map_err(|_| ApiError::LengthRequired)?)
}

/// A small body, read whole; empty when there is none.
pub async fn json_body(request: &mut Request) -> Result<Vec<u8>, Fault> {
    bounded_body(request, MAX_JSON_BYTES).await
}

/// A body of at most `limit` bytes, read whole; empty when there is none.
pub async fn bounded_body(request: &mut Request, limit: u64) -> Result<Vec<u8>, Fault> {
    if request.inner().body().is_none() {
        return Ok(Vec::new());
    }
    if content_length(request)? > limit {
        return Err(ApiError::RequestTooLarge { limit }.into());
    }
    Ok(request.bytes().await?)
}

/// Most bytes that are read of a request which is refused without its body.
const MAX_DISCARDED_BYTES: usize = 4 * 1024 * 1024;

/// Reads what is left of a refused request's body, to a bound, and keeps nothing of it.
///
/// The runtime closes a connection whose request was answered before it was read. A client that is still sending then
/// meets a broken pipe and never sees why it was refused.
pub async fn discard_unread(request: &mut Request) -> worker::Result<()> {
    let Some(body) = request.inner().body() else { return Ok(()) };
    if request.inner().body_used() || body.locked() {
        return Ok(());
    }
    let mut body = request.stream()?;
    let mut discarded = 0;
    while discarded < MAX_DISCARDED_BYTES {
        let Some(bytes) = body.next().await else { break };
        discarded += bytes?.len();
    }
    Ok(())
}
