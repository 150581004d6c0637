//! Putting a recording into the service: streamed from the file, never whole in memory.

use std::pin::pin;

use futures_util::StreamExt;
use reqwest::Method;
use reqwest::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};
use shared_protocol::UploadId;
use tokio::io::AsyncReadExt;
use tokio::sync::watch;
use tokio_util::io::ReaderStream;

use crate::errors::Error;
use crate::http::{Call, Client, address, fault};
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

/// How the content has to be sent.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Put {
    method: String,
    url: String,
    #[serde(default)]
    headers: std::collections::BTreeMap<String, String>,
}

impl Client {
    /// Puts a recording into storage. `on_progress` gets the bytes sent so far; they begin again from 0 when a broken
    /// connection makes it necessary to send the content again, and end at the size of the file.
    pub async fn upload(
        &self,
        source: &Source,
        mut on_progress: impl FnMut(Progress),
    ) -> Result<StoredUpload, Error> {
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
        let call = self.put_call(source, &created.put)?;
        let mut retry = Retry::of_upload();
        loop {
            let error = match self.put_content(source, &call, on_progress).await {
                Ok(()) => return Ok(StoredUpload { upload_id: created.upload_id, size: source.size }),
                Err(error) => error,
            };
            let Some(again) = retry.next(fault(&error), random_fraction()) else { return Err(error) };
            tokio::time::sleep(again.after).await;
        }
    }

    fn put_call(&self, source: &Source, put: &Put) -> Result<Call, Error> {
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
        Ok(call.header(CONTENT_LENGTH, HeaderValue::from(source.size)))
    }

    /// Sends the content once.
    async fn put_content(
        &self,
        source: &Source,
        call: &Call,
        on_progress: &mut impl FnMut(Progress),
    ) -> Result<(), Error> {
        let total = source.size;
        let file = tokio::fs::File::open(&source.path)
            .await
            .map_err(|error| InputError::Unreadable { path: source.path.clone(), source: error })?;
        let now = file.metadata().await.map_err(|error| Error::local("read", &source.path, error))?;
        if now.len() != total {
            return Err(InputError::Changed(source.path.clone()).into());
        }

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
