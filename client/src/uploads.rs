//! Putting a recording into the service: streamed from the file, never whole in memory.

use std::pin::pin;

use futures_util::StreamExt;
use reqwest::Method;
use reqwest::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};
use shared_protocol::UploadId;
use shared_protocol::limits::MAX_BODY_BYTES;
use tokio::io::{AsyncReadExt, AsyncSeekExt};
use tokio::sync::watch;
use tokio_util::io::ReaderStream;

use crate::errors::Error;
use crate::http::{Call, Client, address, fault};
use crate::projects::NewProject;
use crate::retry::{Retry, random_fraction};
use crate::source::{InputError, Source};
use crate::transfer::Progress;

/// Bytes read and sent at a time: small enough for a smooth progress bar.
const CHUNK_BYTES: usize = 64 * 1024;

/// A recording that is in the service's storage.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredUpload {
    /// Its id.
    pub upload_id: UploadId,
    /// Bytes.
    pub size: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NewUpload<'a> {
    name: &'a str,
    size: u64,
    content_type: &'a str,
    sha256: &'a str,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CreatedUpload {
    upload_id: UploadId,
    put: Put,
}

/// How content has to be sent.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Put {
    pub method: String,
    pub url: String,
    #[serde(default)]
    pub headers: std::collections::BTreeMap<String, String>,
}

impl Client {
    /// Puts a recording into storage. `on_progress` gets the bytes sent so far; they go back when a broken connection makes it
    /// necessary to send content again, and end at the size of the file. What is too large for one request goes in parts.
    pub async fn upload(
        &self,
        source: &Source,
        mut on_progress: impl FnMut(Progress),
    ) -> Result<StoredUpload, Error> {
        if source.size > MAX_BODY_BYTES {
            let project = self.create_project(&NewProject::of(source)).await?;
            let project = self.put_recording(&project.project_id, source, on_progress).await?;
            return Ok(StoredUpload { upload_id: project.upload.upload_id, size: source.size });
        }
        match self.upload_with_new_ticket(source, &mut on_progress).await {
            // A slow line can use the ticket up before a repeated try.
            Err(error) if error.is_problem("ticket_expired") => {
                self.upload_with_new_ticket(source, &mut on_progress).await
            }
            result => result,
        }
    }

    async fn upload_with_new_ticket(
        &self,
        source: &Source,
        on_progress: &mut impl FnMut(Progress),
    ) -> Result<StoredUpload, Error> {
        let request = NewUpload {
            name: &source.name,
            size: source.size,
            content_type: source.content_type,
            sha256: &source.sha256,
        };
        let created: CreatedUpload =
            self.call(&Call::new(Method::POST, self.resource(&["uploads"])).json(&request)).await?.json()?;
        self.put_span(source, &created.put, 0, source.size, on_progress).await?;
        Ok(StoredUpload { upload_id: created.upload_id, size: source.size })
    }

    /// Puts `bytes` of a recording from `start` on, again and again as [`Retry`] says.
    pub(crate) async fn put_span(
        &self,
        source: &Source,
        put: &Put,
        start: u64,
        bytes: u64,
        on_progress: &mut impl FnMut(Progress),
    ) -> Result<(), Error> {
        let call = self.put_call(source, put, bytes)?;
        let mut retry = Retry::of_upload();
        loop {
            let error = match self.put_content(source, &call, start, bytes, on_progress).await {
                Ok(()) => return Ok(()),
                Err(error) => error,
            };
            let Some(again) = retry.next(fault(&error), random_fraction()) else { return Err(error) };
            tokio::time::sleep(again.after).await;
        }
    }

    fn put_call(&self, source: &Source, put: &Put, bytes: u64) -> Result<Call, Error> {
        let method = Method::from_bytes(put.method.as_bytes())
            .map_err(|_| self.unexpected(format!("{:?} is not a method", put.method)))?;
        let content_type = HeaderValue::from_static(source.content_type);
        let mut call = Call::new(method, self.resolve(&put.url)?).header(CONTENT_TYPE, content_type);
        for (name, value) in &put.headers {
            let header = HeaderName::from_bytes(name.as_bytes()).ok().zip(HeaderValue::from_str(value).ok());
            let (name, value) = header.ok_or_else(|| self.unexpected(format!("{name:?} is not a header")))?;
            call = call.header(name, value);
        }
        // Without a length the body would go in chunks, which storage does not take.
        Ok(call.header(CONTENT_LENGTH, HeaderValue::from(bytes)))
    }

    /// Sends the content once.
    async fn put_content(
        &self,
        source: &Source,
        call: &Call,
        start: u64,
        total: u64,
        on_progress: &mut impl FnMut(Progress),
    ) -> Result<(), Error> {
        let mut file = tokio::fs::File::open(&source.path)
            .await
            .map_err(|error| InputError::Unreadable { path: source.path.clone(), source: error })?;
        let now = file.metadata().await.map_err(|error| Error::local("read", &source.path, error))?;
        if now.len() != source.size {
            return Err(InputError::Changed(source.path.clone()).into());
        }
        let seek = file.seek(std::io::SeekFrom::Start(start)).await;
        seek.map_err(|error| Error::local("read", &source.path, error))?;

        let (sent, mut seen) = watch::channel(0_u64);
        let chunks = ReaderStream::with_capacity(file.take(total), CHUNK_BYTES).inspect(move |chunk| {
            if let Ok(chunk) = chunk {
                sent.send_modify(|bytes| *bytes += chunk.len() as u64);
            }
        });
        let mut sending = pin!(self.send_body(call, reqwest::Body::wrap_stream(chunks)));
        let mut body_open = true;
        on_progress(Progress { bytes: 0, total });
        loop {
            tokio::select! {
                answer = &mut sending => {
                    answer?;
                    on_progress(Progress { bytes: total, total });
                    return Ok(());
                }
                changed = seen.changed(), if body_open => match changed {
                    Ok(()) => on_progress(Progress { bytes: *seen.borrow_and_update(), total }),
                    Err(_) => body_open = false,
                },
                () = tokio::time::sleep(self.timeouts().upload_idle) => return Err(Error::Unreachable {
                    address: address(self.url()),
                    reason: "the upload stood still for too long".to_owned(),
                    before_sending: false,
                }),
            }
        }
    }
}
