//! The edge as one attempt reaches it: reads its upload and puts its objects, with the ticket of its assignment.

use std::path::Path;
use std::time::Instant;

use bytes::Bytes;
use futures_util::stream;
use reqwest::{Client, Method, RequestBuilder, StatusCode};
use shared_protocol::{Attempt, JobId};
use tokio::io::AsyncWriteExt;
use tokio_util::io::ReaderStream;
use url::Url;

use super::call::{
    BodyWatch, Connections, Failure, HttpSetupError, READ_TIMEOUT, Retries, Try, judge, send_watched,
    tell_if_slow, within,
};
use super::error::{DownloadError, FileError, JobError, PublishError};
use super::parts;
use super::progress::{Fact, Reporter};
use super::publish::Content;
use super::upload::{Class, JobUploads};
use crate::config::Secret;

/// Bytes of progress between two reports of a download.
const REPORTED_BYTES: u64 = 256 * 1024;

/// Bytes of a body that are handed over at once.
pub(super) const CHUNK_BYTES: usize = 64 * 1024;

/// The header that carries a ticket.
const TICKET_HEADER: &str = "minifleet-ticket";

/// One attempt's access. Its connections close with it.
#[derive(Debug, Clone)]
pub struct EdgeAccess {
    base: Url,
    job_id: JobId,
    attempt: Attempt,
    ticket: Secret,
    pub(super) connections: Connections,
    pub(super) uploads: JobUploads,
}

/// An object to be.
#[derive(Debug, Clone, Copy)]
pub struct NewObject<'a> {
    /// Below the attempt's prefix, such as `hls/init.mp4`.
    pub path: &'a str,
    /// Media type.
    pub content_type: &'a str,
    /// What it is for.
    pub class: Class,
    /// Its bytes.
    pub content: &'a Content,
    /// How many.
    pub size: u64,
    /// SHA-256 in lower-case hex.
    pub sha256: &'a str,
}

impl EdgeAccess {
    /// Access with a ticket.
    ///
    /// # Errors
    /// When there is no client for HTTP.
    pub fn new(
        base: Url,
        job_id: JobId,
        attempt: Attempt,
        ticket: Secret,
        uploads: JobUploads,
    ) -> Result<Self, HttpSetupError> {
        Ok(Self { base, job_id, attempt, ticket, connections: Connections::new()?, uploads })
    }

    fn address(&self, path: &str) -> Url {
        let mut url = self.base.clone();
        url.set_path(path);
        url
    }

    /// Fetches the upload into a file.
    ///
    /// # Errors
    /// When it is not there, is not `size` bytes long, or could not be fetched after retries.
    pub async fn download(&self, size: u64, to: &Path, reporter: &Reporter) -> Result<(), JobError> {
        let mut retries = Retries::new(&self.connections, "download");
        loop {
            let request = self.get_with(retries.client(), "/v1/worker/upload");
            match self.download_once(request, size, to, reporter).await? {
                Try::Done(()) => return Ok(()),
                Try::Refused(StatusCode::NOT_FOUND | StatusCode::GONE, _) => {
                    return Err(DownloadError::Missing.into());
                }
                Try::Refused(status, _) => {
                    return Err(DownloadError::Refused { status: status.as_u16() }.into());
                }
                Try::Again(failure) => {
                    if !retries.pause(&failure).await {
                        return Err(DownloadError::Failed { reason: failure.reason }.into());
                    }
                }
            }
        }
    }

    async fn download_once(
        &self,
        request: RequestBuilder,
        size: u64,
        to: &Path,
        reporter: &Reporter,
    ) -> Result<Try<()>, JobError> {
        let started = Instant::now();
        let mut response = match within(READ_TIMEOUT, request.send()).await {
            Ok(response) => response,
            Err(failure) => return Ok(Try::Again(failure)),
        };
        if !response.status().is_success() {
            return Ok(judge(response).await);
        }
        let measuring = self.uploads.downloading(size);
        let doing = FileError::doing("write the upload");
        let mut file = tokio::fs::File::create(to).await.map_err(&doing)?;
        let (mut found, mut reported) = (0, 0);
        loop {
            let chunk = match within(READ_TIMEOUT, response.chunk()).await {
                Ok(Some(chunk)) => chunk,
                Ok(None) => break,
                Err(failure) => return Ok(Try::Again(failure)),
            };
            file.write_all(&chunk).await.map_err(&doing)?;
            found += chunk.len() as u64;
            if found - reported >= REPORTED_BYTES {
                reported = found;
                reporter.say(Fact::Downloaded { bytes: found, of: size }).await;
            }
        }
        file.flush().await.map_err(&doing)?;
        if found != size {
            let reason = DownloadError::WrongSize { found, expected: size }.to_string();
            return Ok(Try::Again(Failure::broken(reason)));
        }
        measuring.succeeded(found);
        tell_if_slow("download", started.elapsed(), size);
        Ok(Try::Done(()))
    }

    /// A request for something that belongs to this attempt.
    pub(super) fn get_with(&self, client: &Client, path: &str) -> RequestBuilder {
        client.get(self.address(path)).header(TICKET_HEADER, self.ticket.expose())
    }

    /// A request that concerns an object of parts. `step` is what follows on its path.
    pub(super) fn parts_request(&self, method: Method, path: &str, step: &str) -> RequestBuilder {
        self.parts_request_with(self.connections.usual(), method, path, step)
    }

    /// The same on these connections.
    pub(super) fn parts_request_with(
        &self,
        client: &Client,
        method: Method,
        path: &str,
        step: &str,
    ) -> RequestBuilder {
        let (step, query) = step.split_once('?').unwrap_or((step, ""));
        let mut address =
            self.address(&format!("/v1/worker/parts/{}/{}/{path}{step}", self.job_id, self.attempt));
        address.set_query(Some(query).filter(|query| !query.is_empty()));
        client.request(method, address).header(TICKET_HEADER, self.ticket.expose())
    }

    /// Puts one object below the attempt's prefix, in parts when it is too large for one request. Repeating it is safe:
    /// objects are immutable.
    ///
    /// # Errors
    /// When the edge refuses it, or it could not be stored after retries.
    pub async fn put(&self, object: NewObject<'_>) -> Result<(), JobError> {
        let path = object.path;
        let sizes = self.uploads.sizes();
        if let Content::File(file) = object.content
            && object.size > sizes.single_put_bytes
        {
            return parts::put(self, object, file, sizes.part_bytes).await;
        }
        let address = self.address(&format!("/v1/worker/objects/{}/{}/{path}", self.job_id, self.attempt));
        let place = self.uploads.place(object.class);
        let mut retries = Retries::new(&self.connections, path);
        loop {
            let turn = self.uploads.turn(place, object.size).await;
            let watch = BodyWatch::start();
            let request = retries
                .client()
                .put(address.clone())
                .header(TICKET_HEADER, self.ticket.expose())
                .header("content-type", object.content_type)
                .header("content-length", object.size)
                .header("x-content-sha256", object.sha256)
                .body(body(object.content, &watch).await?);
            let started = Instant::now();
            let tried = match send_watched(request, &watch, object.size).await {
                Ok(response) if response.status().is_success() => Try::Done(()),
                Ok(response) => judge(response).await,
                Err(failure) => Try::Again(failure),
            };
            match tried {
                Try::Done(()) => {
                    turn.succeeded();
                    tell_if_slow(path, started.elapsed(), object.size);
                    return Ok(());
                }
                Try::Refused(status, reason) => {
                    let (object, status) = (path.to_owned(), status.as_u16());
                    return Err(PublishError::Refused { object, status, reason }.into());
                }
                Try::Again(failure) => {
                    turn.failed();
                    if !retries.pause(&failure).await {
                        let (object, reason) = (path.to_owned(), failure.reason);
                        return Err(PublishError::Failed { object, reason }.into());
                    }
                }
            }
        }
    }
}

async fn body(content: &Content, watch: &BodyWatch) -> Result<reqwest::Body, JobError> {
    match content {
        Content::Memory(bytes) => {
            let bytes = Bytes::clone(bytes);
            let chunks = (0..bytes.len()).step_by(CHUNK_BYTES).map(move |start| {
                Ok::<_, std::convert::Infallible>(bytes.slice(start..bytes.len().min(start + CHUNK_BYTES)))
            });
            Ok(watch.body(stream::iter(chunks)))
        }
        Content::File(file) => {
            let file = tokio::fs::File::open(file).await.map_err(FileError::doing("read a final file"))?;
            Ok(watch.body(ReaderStream::with_capacity(file, CHUNK_BYTES)))
        }
    }
}
