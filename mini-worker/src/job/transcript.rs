//! Brings the transcript that a restore may go by. It is a help: one that cannot be had or used is told in the log, and the job
//! goes on without it.

use std::sync::Arc;
use std::time::Duration;

use reqwest::RequestBuilder;

use super::call::{READ_TIMEOUT, Retries, Try, judge, within};
use super::edge::EdgeAccess;
use crate::transcript::Transcript;

/// A job waits so long for its transcript and no longer. It is fetched beside the upload, which mostly takes as long.
const PATIENCE: Duration = Duration::from_secs(20);

/// Bytes of a transcript: the most that the edge keeps has fewer.
const MAX_BYTES: usize = 8 * 1024 * 1024;

/// When words are spoken, if that is known.
#[derive(Debug, Default)]
pub enum JobTranscript {
    /// It is not.
    #[default]
    Unknown,
    /// It is at hand.
    Known(Arc<Transcript>),
    /// The edge has it.
    Edge {
        /// Access to it.
        edge: EdgeAccess,
        /// Which version the scheduler meant: for the log.
        version: u32,
    },
}

impl JobTranscript {
    /// Brings it, if there is one that can be used.
    pub(super) async fn bring(&self) -> Option<Arc<Transcript>> {
        let (edge, version) = match self {
            Self::Unknown => return None,
            Self::Known(transcript) => return Some(Arc::clone(transcript)),
            Self::Edge { edge, version } => (edge, version),
        };
        let fetched = tokio::time::timeout(PATIENCE, fetch(edge)).await;
        match fetched.unwrap_or_else(|_| Err(format!("it did not come within {} s", PATIENCE.as_secs()))) {
            Ok(transcript) => {
                tracing::info!(
                    version,
                    spans = transcript.spans().len(),
                    "a transcript conditions the restore"
                );
                Some(Arc::new(transcript))
            }
            Err(reason) => {
                tracing::warn!(version, %reason, "the recording is restored without its transcript");
                None
            }
        }
    }
}

async fn fetch(edge: &EdgeAccess) -> Result<Transcript, String> {
    let mut retries = Retries::new(&edge.connections, "transcript");
    loop {
        let request = edge.get_with(retries.client(), "/v1/worker/transcript");
        match fetch_once(request).await {
            Try::Done(bytes) => return read(&bytes),
            Try::Refused(status, reason) => return Err(format!("the edge answered {status} {reason}")),
            Try::Again(failure) => {
                if !retries.pause(&failure).await {
                    return Err(failure.reason);
                }
            }
        }
    }
}

async fn fetch_once(request: RequestBuilder) -> Try<Vec<u8>> {
    let mut response = match within(READ_TIMEOUT, request.send()).await {
        Ok(response) if response.status().is_success() => response,
        Ok(response) => return judge(response).await,
        Err(failure) => return Try::Again(failure),
    };
    let mut bytes = Vec::new();
    loop {
        match within(READ_TIMEOUT, response.chunk()).await {
            Ok(Some(chunk)) => bytes.extend_from_slice(&chunk),
            Ok(None) => return Try::Done(bytes),
            Err(failure) => return Try::Again(failure),
        }
        if bytes.len() > MAX_BYTES {
            return Try::Refused(response.status(), format!("with more than {MAX_BYTES} bytes"));
        }
    }
}

fn read(bytes: &[u8]) -> Result<Transcript, String> {
    let transcript: shared_protocol::Transcript =
        serde_json::from_slice(bytes).map_err(|error| format!("it cannot be read: {error}"))?;
    let spans = transcript.words.iter().map(|word| (word.start, word.end)).collect();
    Transcript::from_spans(spans).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_edges_form_is_read_and_what_has_no_times_is_told() {
        let json = br#"{"text":"so what","language":"en","words":[{"word":"so","start":0.5,"end":0.75},{"word":"what","start":1,"end":1.5}]}"#;
        assert_eq!(read(json).unwrap().spans(), [(0.5, 0.75), (1.0, 1.5)]);
        assert!(read(br#"{"text":"so what"}"#).unwrap_err().contains("no words with times"));
        assert!(read(b"garbage").unwrap_err().contains("cannot be read"));
    }
}
