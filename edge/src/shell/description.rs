//! The API's description: a file beside the pages, served where the API is.

use worker::{Env, Method, Request, RequestInit, Response, ResponseBuilder};

use super::ASSETS;
use super::fault::Fault;
use crate::api::ApiError;

/// Where the file is among the pages. They have no host; the name is any.
const FILE: &str = "https://assets/openapi.json";

/// Headers of the answer that are the file's own.
const KEPT: [&str; 2] = ["Content-Type", "ETag"];

/// `GET /v1/openapi.json`.
pub async fn open_api(request: &Request, env: &Env) -> Result<Response, Fault> {
    let mut init = RequestInit::new();
    init.with_method(if request.inner().method() == "HEAD" { Method::Head } else { Method::Get });
    if let Some(tag) = request.headers().get("If-None-Match")? {
        init.headers.set("If-None-Match", &tag)?;
    }
    let file = env.assets(ASSETS)?.fetch(FILE, Some(init)).await?;
    let status = file.status_code();
    if !matches!(status, 200 | 304) {
        return Err(ApiError::Internal.into());
    }
    let mut answer = ResponseBuilder::new().with_status(status).with_header("Cache-Control", "no-cache")?;
    for name in KEPT {
        if let Some(value) = file.headers().get(name)? {
            answer = answer.with_header(name, &value)?;
        }
    }
    Ok(answer.body(file.body().clone()))
}
