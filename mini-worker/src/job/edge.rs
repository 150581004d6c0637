//! The edge as one attempt reaches it: reads its upload and puts its objects, with the ticket of its assignment.

use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use bytes::Bytes;
use reqwest::{Client, Response, StatusCode};
use shared_protocol::{Attempt, JobId};
use tokio::io::AsyncWriteExt;
use tokio_util::io::ReaderStream;
use url::Url;

use super::error::{DownloadError, FileError, JobError, PublishError};
use super::progress::{Fact, Reporter};
use super::publish::Content;
use crate::config::Secret;
use crate::random;
use crate::session::Backoff;

/// A server that does not take a connection within this time is away.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A server that sends nothing for so long while something is due has forgotten the request.
const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// Slowest upload that is waited for, bytes per second: the time allowed for a request grows with its body.
const SLOWEST_UPLOAD: u64 = 256 * 1024;

/// Idle connections go sooner than servers drop theirs, so that none is taken up that is already dead.
const IDLE_CONNECTION: Duration = Duration::from_secs(20);

/// How long one request is repeated: an edge that restarts is back by then.
const RETRY_BUDGET: Duration = Duration::from_secs(120);

/// Bytes of progress between two reports of a download.
const REPORTED_BYTES: u64 = 256 * 1024;

/// The header that carries a ticket.
const TICKET_HEADER: &str = "minifleet-ticket";

/// One attempt's access. Its connections close with it.
#[derive(Debug, Clone)]
pub struct EdgeAccess {
    base: Url,
    job_id: JobId,
    attempt: Attempt,
    ticket: Secret,
    client: Client,
}

/// Why there is no client for HTTP.
#[derive(Debug, thiserror::Error)]
#[error("cannot set up HTTP: {0}")]
pub struct HttpSetupError(#[from] reqwest::Error);

fn new_client() -> Result<Client, HttpSetupError> {
    let client = Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_idle_timeout(IDLE_CONNECTION)
        .user_agent(concat!("minifleet-worker/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .build()?;
    Ok(client)
}

/// What became of one try.
enum Try<T> {
    Done(T),
    /// Another try may do better.
    Again(String),
    /// None will.
    Refused(StatusCode, String),
}

impl EdgeAccess {
    /// Access with a ticket.
    ///
    /// # Errors
    /// When there is no client for HTTP.
    pub fn new(base: Url, job_id: JobId, attempt: Attempt, ticket: Secret) -> Result<Self, HttpSetupError> {
        Ok(Self { base, job_id, attempt, ticket, client: new_client()? })
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
        let mut retries = Retries::new();
        loop {
            match self.download_once(&retries.client(&self.client), size, to, reporter).await? {
                Try::Done(()) => return Ok(()),
                Try::Refused(StatusCode::NOT_FOUND | StatusCode::GONE, _) => {
                    return Err(DownloadError::Missing.into());
                }
                Try::Refused(status, _) => {
                    return Err(DownloadError::Refused { status: status.as_u16() }.into());
                }
                Try::Again(reason) => {
                    tracing::warn!(%reason, "the download failed");
                    if !retries.pause().await {
                        return Err(DownloadError::Failed { reason }.into());
                    }
                }
            }
        }
    }

    async fn download_once(
        &self,
        client: &Client,
        size: u64,
        to: &Path,
        reporter: &Reporter,
    ) -> Result<Try<()>, JobError> {
        let request =
            client.get(self.address("/v1/worker/upload")).header(TICKET_HEADER, self.ticket.expose());
        let mut response = match within(READ_TIMEOUT, request.send()).await {
            Ok(response) => response,
            Err(reason) => return Ok(Try::Again(reason)),
        };
        if !response.status().is_success() {
            return Ok(judge(response).await);
        }
        let doing = FileError::doing("write the upload");
        let mut file = tokio::fs::File::create(to).await.map_err(&doing)?;
        let (mut found, mut reported) = (0, 0);
        loop {
            let chunk = match within(READ_TIMEOUT, response.chunk()).await {
                Ok(Some(chunk)) => chunk,
                Ok(None) => break,
                Err(reason) => return Ok(Try::Again(reason)),
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
            return Ok(Try::Again(DownloadError::WrongSize { found, expected: size }.to_string()));
        }
        Ok(Try::Done(()))
    }

    /// Puts one object below the attempt's prefix. Repeating it is safe: objects are immutable.
    ///
    /// # Errors
    /// When the edge refuses it, or it could not be stored after retries.
    pub async fn put(
        &self,
        path: &str,
        content_type: &str,
        content: &Content,
        size: u64,
        sha256: &str,
    ) -> Result<(), JobError> {
        let mut retries = Retries::new();
        loop {
            let client = retries.client(&self.client);
            match self.put_once(&client, path, content_type, content, size, sha256).await? {
                Try::Done(()) => return Ok(()),
                Try::Refused(status, reason) => {
                    let (object, status) = (path.to_owned(), status.as_u16());
                    return Err(PublishError::Refused { object, status, reason }.into());
                }
                Try::Again(reason) => {
                    tracing::warn!(object = path, %reason, "an object could not be stored");
                    if !retries.pause().await {
                        return Err(PublishError::Failed { object: path.to_owned(), reason }.into());
                    }
                }
            }
        }
    }

    async fn put_once(
        &self,
        client: &Client,
        path: &str,
        content_type: &str,
        content: &Content,
        size: u64,
        sha256: &str,
    ) -> Result<Try<()>, JobError> {
        let body = match content {
            Content::Memory(bytes) => reqwest::Body::from(Bytes::clone(bytes)),
            Content::File(file) => {
                let file =
                    tokio::fs::File::open(file).await.map_err(FileError::doing("read a final file"))?;
                reqwest::Body::wrap_stream(ReaderStream::with_capacity(file, 256 * 1024))
            }
        };
        let address = self.address(&format!("/v1/worker/objects/{}/{}/{path}", self.job_id, self.attempt));
        let request = client
            .put(address)
            .header(TICKET_HEADER, self.ticket.expose())
            .header("content-type", content_type)
            .header("content-length", size)
            .header("x-content-sha256", sha256)
            .body(body);
        let allowed = READ_TIMEOUT + Duration::from_secs(size / SLOWEST_UPLOAD);
        match within(allowed, request.send()).await {
            Ok(response) if response.status().is_success() => Ok(Try::Done(())),
            Ok(response) => Ok(judge(response).await),
            Err(reason) => Ok(Try::Again(reason)),
        }
    }
}

/// The result within a time, or the reason in words, without the address: it says nothing that the log does not.
async fn within<T>(
    time: Duration,
    call: impl Future<Output = Result<T, reqwest::Error>>,
) -> Result<T, String> {
    match tokio::time::timeout(time, call).await {
        Ok(result) => result.map_err(|error| root_cause(&error.without_url())),
        Err(_) => Err(format!("no answer within {} s", time.as_secs())),
    }
}

fn root_cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    format!("{error}: {cause}")
}

/// Whether a refusal is for good. What the edge says of it is short, or not worth more.
async fn judge<T>(response: Response) -> Try<T> {
    let status = response.status();
    let passing = status.is_server_error()
        || matches!(
            status,
            StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY | StatusCode::TOO_MANY_REQUESTS
        );
    let text = within(READ_TIMEOUT, response.text()).await.unwrap_or_default();
    let problem: Option<serde_json::Value> = serde_json::from_str(&text).ok();
    let field = |name: &str| problem.as_ref()?.get(name)?.as_str().map(str::to_owned);
    let words = field("detail").or(field("title")).or(field("code")).unwrap_or_default();
    let words: String = words.chars().take(300).collect();
    if passing { Try::Again(format!("HTTP {status} {words}")) } else { Try::Refused(status, words) }
}

/// The tries of one request: the second one at once and on a fresh connection, later ones after pauses.
struct Retries {
    started: Instant,
    failures: u32,
    backoff: Backoff,
}

impl Retries {
    fn new() -> Self {
        Self { started: Instant::now(), failures: 0, backoff: Backoff::new(random::seed()) }
    }

    /// Waits before the next try; false when enough was tried.
    async fn pause(&mut self) -> bool {
        self.failures += 1;
        if self.failures > 1 {
            tokio::time::sleep(Duration::from_millis(self.backoff.next_pause().0)).await;
        }
        self.started.elapsed() < RETRY_BUDGET
    }

    /// The usual client for the first try, one without old connections after a failure.
    fn client(&self, usual: &Client) -> Client {
        let fresh = (self.failures > 0).then(new_client);
        fresh.and_then(Result::ok).unwrap_or_else(|| usual.clone())
    }
}
