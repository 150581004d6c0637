//! Following a project: server-sent events, taken up again where they ended.

use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use reqwest::Method;
use reqwest::header::{ACCEPT, HeaderName, HeaderValue};
use shared_protocol::ProjectId;

use crate::errors::{Error, ErrorKind};
use crate::http::{Call, Client, unreachable};

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Longest event: a project with everything that may be in it. What is longer is no event of ours.
const MAX_EVENT_BYTES: usize = 256 * 1024;

/// Longest silence of a stream. The service sends a comment every 15 s: three are missing then, and the line is dead.
const SILENCE: Duration = Duration::from_secs(45);

/// How long the service may be away before following is given up.
const PATIENCE: Duration = Duration::from_secs(180);

/// Something that happened to a project.
#[derive(Debug, Clone, PartialEq)]
pub struct ProjectEvent {
    /// Its number; none for progress, which is not kept.
    pub sequence: Option<u64>,
    /// What happened, such as `generation.completed`, or `progress`.
    pub name: String,
    /// What the service says about it.
    pub data: serde_json::Value,
}

/// Follows one project; made by [`Client::follow`].
pub struct Follower {
    client: Client,
    project: ProjectId,
    after: Option<u64>,
    stream: Option<BoxStream<'static, reqwest::Result<Bytes>>>,
    parser: Parser,
    pause: Duration,
    away_since: Option<Instant>,
}

impl Client {
    /// Follows a project from after an event on, or from its beginning.
    pub fn follow(&self, project: &ProjectId, after: Option<u64>) -> Follower {
        Follower {
            client: self.clone(),
            project: project.clone(),
            after,
            stream: None,
            parser: Parser::default(),
            pause: Duration::ZERO,
            away_since: None,
        }
    }
}

impl Follower {
    /// Waits for the next event. The service ends a stream now and then; it is taken up again without a gap.
    ///
    /// # Errors
    /// There is no such project, the key is refused, or the service was away for three minutes.
    pub async fn next(&mut self) -> Result<ProjectEvent, Error> {
        loop {
            if let Some(event) = self.parser.next() {
                self.after = event.sequence.or(self.after);
                return Ok(event);
            }
            match self.read().await {
                Ok(true) => self.away_since = None,
                Ok(false) => self.stream = None,
                Err(error) if error.kind() == ErrorKind::Unavailable => {
                    self.stream = None;
                    let since = *self.away_since.get_or_insert_with(Instant::now);
                    if since.elapsed() >= PATIENCE {
                        return Err(error);
                    }
                    let asked = error.retry_after().unwrap_or_default();
                    self.pause = asked.clamp(Duration::from_secs(1), PATIENCE);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads some of the stream. Says whether there may be more of it.
    async fn read(&mut self) -> Result<bool, Error> {
        let stream = match &mut self.stream {
            Some(stream) => stream,
            None => {
                tokio::time::sleep(std::mem::take(&mut self.pause)).await;
                self.parser = Parser::default();
                self.stream.insert(open(&self.client, &self.project, self.after).await?)
            }
        };
        let Ok(read) = tokio::time::timeout(SILENCE, stream.next()).await else {
            // Taken up again on a line of its own, without a gap.
            return Ok(false);
        };
        match read {
            Some(Ok(bytes)) => {
                if self.parser.push(&bytes) {
                    Ok(true)
                } else {
                    Err(self.client.unexpected("it sends an event that is too long".to_owned()))
                }
            }
            Some(Err(error)) => Err(unreachable(self.client.url(), &error)),
            None => {
                self.pause = self.parser.retry;
                Ok(false)
            }
        }
    }
}

async fn open(
    client: &Client,
    project: &ProjectId,
    after: Option<u64>,
) -> Result<BoxStream<'static, reqwest::Result<Bytes>>, Error> {
    let url = client.resource(&["projects", project.as_str(), "events"]);
    let mut call = Call::new(Method::GET, url).header(ACCEPT, HeaderValue::from_static("text/event-stream"));
    if let Some(after) = after {
        call = call.header(LAST_EVENT_ID, HeaderValue::from(after));
    }
    Ok(client.open_stream(&call).await?.bytes_stream().boxed())
}

/// Reads server-sent events (WHATWG HTML, section 9.2.6), as far as this service uses them.
#[derive(Debug)]
struct Parser {
    buffer: Vec<u8>,
    ready: std::collections::VecDeque<ProjectEvent>,
    retry: Duration,
}

impl Default for Parser {
    fn default() -> Self {
        Parser { buffer: Vec::new(), ready: std::collections::VecDeque::new(), retry: Duration::from_secs(1) }
    }
}

impl Parser {
    /// Takes bytes in. Says whether they can be part of an event.
    fn push(&mut self, bytes: &[u8]) -> bool {
        self.buffer.extend(bytes.iter().filter(|byte| **byte != b'\r'));
        while let Some(end) = self.buffer.windows(2).position(|pair| pair == b"\n\n") {
            let block: Vec<u8> = self.buffer.drain(..end + 2).collect();
            self.block(&String::from_utf8_lossy(&block));
        }
        self.buffer.len() <= MAX_EVENT_BYTES
    }

    fn next(&mut self) -> Option<ProjectEvent> {
        self.ready.pop_front()
    }

    fn block(&mut self, block: &str) {
        let (mut sequence, mut name, mut data) = (None, String::new(), String::new());
        for line in block.lines() {
            let (field, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "id" => sequence = value.parse().ok(),
                "event" => value.clone_into(&mut name),
                "data" => {
                    if !data.is_empty() {
                        data.push('\n');
                    }
                    data.push_str(value);
                }
                "retry" => {
                    if let Ok(milliseconds) = value.parse() {
                        self.retry = Duration::from_millis(milliseconds).min(PATIENCE);
                    }
                }
                _ => {}
            }
        }
        if let Ok(data) = serde_json::from_str(&data) {
            self.ready.push_back(ProjectEvent { sequence, name, data });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_the_same_however_the_network_cuts_them() {
        let text = "retry: 250\n\n: comment\n\nid: 7\r\nevent: generation.completed\r\ndata: {\"a\":1}\r\n\r\nevent: progress\ndata: {}\n\nid: 8\ndata: {";
        let read = |size: usize| {
            let mut parser = Parser::default();
            for piece in text.as_bytes().chunks(size) {
                assert!(parser.push(piece));
            }
            assert_eq!(parser.retry, Duration::from_millis(250));
            std::iter::from_fn(|| parser.next()).collect::<Vec<_>>()
        };
        let expected = [
            (Some(7), "generation.completed", serde_json::json!({ "a": 1 })),
            (None, "progress", serde_json::json!({})),
        ]
        .map(|(sequence, name, data)| ProjectEvent { sequence, name: name.to_owned(), data });
        for size in [1, 2, 3, 7, 1_000] {
            assert_eq!(read(size), expected);
        }
    }

    #[test]
    fn an_endless_event_is_refused_and_not_kept_in_memory() {
        let mut parser = Parser::default();
        assert!(!parser.push(&vec![b'x'; MAX_EVENT_BYTES + 1]));
    }
}
