//! Puts an object that is too large for one request: in parts, several at once, each with its own turn in the line.

use std::io::SeekFrom;
use std::path::Path;
use std::time::{Duration, Instant};

use futures_util::{StreamExt, TryStreamExt, stream};
use reqwest::{RequestBuilder, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncSeekExt};
use tokio_util::io::ReaderStream;

use super::call::{BodyWatch, READ_TIMEOUT, Retries, Try, judge, send_watched, tell_if_slow, within};
use super::edge::{CHUNK_BYTES, EdgeAccess, NewObject};
use super::error::{FileError, JobError, PublishError};
use super::upload::queue::MOST_OF_ONE_JOB;

/// Parts of an object that do not fit together are put anew so many times.
const NEW_BEGINNINGS: u32 = 2;

/// Before the edge says that an object of parts is stored it reads all of it, at least so many bytes a second.
const SLOWEST_CHECK: u64 = 16 * 1024 * 1024;

/// What the edge says of an announced object: where its parts go, or that it is stored already.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Created {
    upload_id: Option<String>,
}

/// A part that was put.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part {
    part_number: u16,
    etag: String,
}

/// Why an object of parts was not stored.
enum PartsError {
    /// What was put makes no object: the parts are gone, or one of them arrived as something else.
    Unfit {
        status: StatusCode,
        reason: String,
    },
    Job(JobError),
}

impl From<JobError> for PartsError {
    fn from(error: JobError) -> Self {
        Self::Job(error)
    }
}

/// Puts a file in parts of `part_bytes` (the last one is shorter).
///
/// # Errors
/// When the edge refuses it, or it could not be stored after retries.
pub(super) async fn put(
    edge: &EdgeAccess,
    object: NewObject<'_>,
    file: &Path,
    part_bytes: u64,
) -> Result<(), JobError> {
    for beginning in 0.. {
        match put_once(edge, object, file, part_bytes).await {
            Ok(()) => return Ok(()),
            Err(PartsError::Job(error)) => return Err(error),
            Err(PartsError::Unfit { status, reason }) => {
                tracing::warn!(object = object.path, %status, %reason, "an object's parts do not fit");
                if beginning == NEW_BEGINNINGS {
                    let (object, status) = (object.path.to_owned(), status.as_u16());
                    return Err(PublishError::Refused { object, status, reason }.into());
                }
            }
        }
    }
    Ok(())
}

async fn put_once(
    edge: &EdgeAccess,
    object: NewObject<'_>,
    file: &Path,
    part_bytes: u64,
) -> Result<(), PartsError> {
    let whole = json!({ "size": object.size, "sha256": object.sha256, "contentType": object.content_type });
    let created: Created = call(edge, object, READ_TIMEOUT, |request| request.json(&whole), "").await?;
    let Some(upload_id) = created.upload_id else { return Ok(()) };
    let query = format!("?uploadId={}", encoded(&upload_id));
    let put = async {
        let numbers = 1..=object.size.div_ceil(part_bytes);
        let puts = stream::iter(numbers)
            .map(|number| put_part(edge, object, file, part_bytes, number, &query))
            .buffered(MOST_OF_ONE_JOB);
        let parts: Vec<Part> = puts.try_collect().await?;
        let whole = json!({ "size": object.size, "sha256": object.sha256, "parts": parts });
        let time = READ_TIMEOUT + Duration::from_secs(object.size / SLOWEST_CHECK);
        let complete = format!("/complete{query}");
        let _: serde_json::Value =
            call(edge, object, time, |request| request.json(&whole), &complete).await?;
        Ok(())
    };
    let result = put.await;
    if result.is_err() {
        // One try: storage throws away what was never completed.
        let abort = edge.parts_request(reqwest::Method::POST, object.path, &format!("/abort{query}"));
        if let Err(failure) = within(READ_TIMEOUT, abort.send()).await {
            tracing::debug!(object = object.path, reason = failure.reason, "parts could not be thrown away");
        }
    }
    result
}

/// A small call that concerns an object of parts, repeated as it may be.
async fn call<T: serde::de::DeserializeOwned>(
    edge: &EdgeAccess,
    object: NewObject<'_>,
    time: Duration,
    fill: impl Fn(RequestBuilder) -> RequestBuilder,
    step: &str,
) -> Result<T, PartsError> {
    let mut retries = Retries::new(&edge.connections, object.path);
    loop {
        let started = Instant::now();
        let request = edge.parts_request_with(retries.client(), reqwest::Method::POST, object.path, step);
        let tried = match within(time, fill(request).send()).await {
            Ok(response) if response.status().is_success() => {
                within(READ_TIMEOUT, response.json()).await.map_or_else(Try::Again, Try::Done)
            }
            Ok(response) => judge(response).await,
            Err(failure) => Try::Again(failure),
        };
        if let Some(answer) = settle(&mut retries, tried, object.path).await? {
            tell_if_slow(object.path, started.elapsed(), object.size);
            return Ok(answer);
        }
    }
}

async fn put_part(
    edge: &EdgeAccess,
    object: NewObject<'_>,
    file: &Path,
    part_bytes: u64,
    number: u64,
    query: &str,
) -> Result<Part, PartsError> {
    let start = (number - 1) * part_bytes;
    let size = part_bytes.min(object.size - start);
    let place = edge.uploads.place(object.class);
    let mut retries = Retries::new(&edge.connections, object.path);
    loop {
        let turn = edge.uploads.turn(place, size).await;
        let started = Instant::now();
        let watch = BodyWatch::start();
        let doing = FileError::doing("read a final file");
        let mut content = tokio::fs::File::open(file).await.map_err(&doing).map_err(JobError::from)?;
        content.seek(SeekFrom::Start(start)).await.map_err(&doing).map_err(JobError::from)?;
        let body = watch.body(ReaderStream::with_capacity(content.take(size), CHUNK_BYTES));
        let request = edge
            .parts_request_with(
                retries.client(),
                reqwest::Method::PUT,
                object.path,
                &format!("/{number}{query}"),
            )
            .header("content-length", size)
            .body(body);
        let tried = match send_watched(request, &watch, size).await {
            Ok(response) if response.status().is_success() => {
                within(READ_TIMEOUT, response.json()).await.map_or_else(Try::Again, Try::Done)
            }
            Ok(response) => judge(response).await,
            Err(failure) => Try::Again(failure),
        };
        match &tried {
            Try::Done(_) => turn.succeeded(),
            Try::Again(_) => turn.failed(),
            Try::Refused(..) => drop(turn),
        }
        if let Some(part) = settle(&mut retries, tried, object.path).await? {
            tell_if_slow(object.path, started.elapsed(), size);
            return Ok(part);
        }
    }
}

/// What is done was done; what failed is tried again after a pause, and what was refused is an error.
async fn settle<T>(retries: &mut Retries<'_>, tried: Try<T>, path: &str) -> Result<Option<T>, PartsError> {
    match tried {
        Try::Done(answer) => Ok(Some(answer)),
        Try::Again(failure) if retries.pause(&failure).await => Ok(None),
        Try::Again(failure) => {
            let error = PublishError::Failed { object: path.to_owned(), reason: failure.reason };
            Err(JobError::from(error).into())
        }
        // Another bytes' hash, or parts that are gone: putting all of them anew may help.
        Try::Refused(status @ (StatusCode::UNPROCESSABLE_ENTITY | StatusCode::CONFLICT), reason) => {
            Err(PartsError::Unfit { status, reason })
        }
        Try::Refused(status, reason) => {
            let error = PublishError::Refused { object: path.to_owned(), status: status.as_u16(), reason };
            Err(JobError::from(error).into())
        }
    }
}

fn encoded(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}
