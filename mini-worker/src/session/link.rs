//! One connection to one scheduler: frames in, frames out. It decides nothing.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use shared_protocol::limits::MAX_FRAME_BYTES;
use shared_protocol::{Frame, SchedulerMessage, decode_frame};
use tokio::sync::mpsc;
use tokio_tungstenite::connect_async_with_config;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::http::header::AUTHORIZATION;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_util::task::AbortOnDropHandle;
use url::Url;

use crate::config::Secret;

/// Frames that may wait to be sent. More means that nobody reads at the other end.
const MAX_WAITING_FRAMES: usize = 64;

/// Time for saying goodbye when the worker ends.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// What happens on a connection.
#[derive(Debug)]
pub(super) enum LinkEvent {
    /// It is open.
    Opened,
    /// A frame came.
    Received(Frame<SchedulerMessage>),
    /// It is closed, or could not be opened.
    Closed {
        /// Why, for the log.
        reason: String,
    },
}

/// A connection. Dropping it closes it without a goodbye.
#[derive(Debug)]
pub(super) struct Link {
    frames: mpsc::Sender<String>,
    task: AbortOnDropHandle<()>,
}

impl Link {
    /// Begins to connect. Events go through `report` until one is [`LinkEvent::Closed`].
    pub fn open<R, F>(edge: &Url, key: &Secret, report: R) -> Self
    where
        R: Fn(LinkEvent) -> F + Send + Sync + 'static,
        F: Future<Output = ()> + Send,
    {
        let (frames, outgoing) = mpsc::channel(MAX_WAITING_FRAMES);
        let (edge, key) = (edge.clone(), key.clone());
        let task = tokio::spawn(async move {
            let reason = match Box::pin(converse(&edge, &key, outgoing, &report)).await {
                Ok(reason) => reason,
                Err(error) => explain(&error),
            };
            report(LinkEvent::Closed { reason }).await;
        });
        Self { frames, task: AbortOnDropHandle::new(task) }
    }

    /// Sends a frame; false when the connection does not take any more.
    pub fn send(&self, frame: String) -> bool {
        self.frames.try_send(frame).is_ok()
    }

    /// Sends what waits, says goodbye and closes.
    pub async fn close(self) {
        drop(self.frames);
        if tokio::time::timeout(CLOSE_TIMEOUT, self.task).await.is_err() {
            tracing::debug!("the scheduler took no goodbye");
        }
    }
}

/// Speaks with the scheduler until one side ends it. Gives the reason.
async fn converse<R, F>(
    edge: &Url,
    key: &Secret,
    mut outgoing: mpsc::Receiver<String>,
    report: &R,
) -> Result<String, Error>
where
    R: Fn(LinkEvent) -> F,
    F: Future<Output = ()>,
{
    let mut request = address(edge).as_str().into_client_request()?;
    let mut bearer = HeaderValue::from_str(&format!("Bearer {}", key.expose()))
        .map_err(|e| Error::HttpFormat(e.into()))?;
    bearer.set_sensitive(true);
    request.headers_mut().insert(AUTHORIZATION, bearer);
    let most = Some(MAX_FRAME_BYTES * 2);
    let config = WebSocketConfig::default().max_message_size(most).max_frame_size(most);
    let (socket, _) = connect_async_with_config(request, Some(config), true).await?;
    report(LinkEvent::Opened).await;
    let (mut sink, mut stream) = socket.split();
    loop {
        tokio::select! {
            frame = outgoing.recv() => match frame {
                Some(frame) => sink.send(Message::text(frame)).await?,
                None => {
                    sink.close().await?;
                    return Ok("closed by this worker".into());
                }
            },
            message = stream.next() => match message.transpose()? {
                Some(Message::Text(text)) => report(LinkEvent::Received(decode_frame(text.as_str()))).await,
                Some(Message::Close(close)) => {
                    let words = close.map(|close| format!("{} {}", u16::from(close.code), close.reason));
                    return Ok(format!("closed by the scheduler: {}", words.unwrap_or_default()));
                }
                // Control frames are answered by the library; binary frames are not part of the protocol.
                Some(_) => {}
                None => return Ok("the connection ended".into()),
            },
        }
    }
}

fn address(edge: &Url) -> Url {
    let mut url = edge.clone();
    let scheme = if edge.scheme() == "https" { "wss" } else { "ws" };
    url.set_scheme(scheme).expect("http and ws, https and wss are schemes of one kind");
    url.set_path("/v1/worker/connect");
    url
}

/// An error with what to do about it, where something is to be done.
fn explain(error: &Error) -> String {
    match error {
        Error::Http(response) if response.status().as_u16() == 401 => {
            "the edge does not know this worker's key: check the key and the edge's WORKER_KEYS".into()
        }
        Error::Http(response) => format!("the edge answered HTTP {}", response.status()),
        other => other.to_string(),
    }
}
