//! What is kept with a worker's socket, so that it outlives the object's memory.

use serde::{Deserialize, Serialize};

use super::RowError;
use crate::scheduler::{ConnectionId, WorkerSnapshot};

/// Bytes of an attachment as the platform stores a text: one for each character, or two as soon as one of them is beyond
/// Latin-1. Its bound is 16,384, headers included.
pub const MAX_ATTACHMENT_BYTES: usize = 16_000;

/// Kept with a socket.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SocketAttachment {
    /// Which connection it is.
    pub connection: ConnectionId,
    /// The worker's key with which it was opened.
    pub key_id: String,
    /// What the worker said; none before its `hello`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<WorkerSnapshot>,
}

/// Writes an attachment.
///
/// # Errors
/// [`RowError`] when it is too long to be kept, which only a `hello` with absurd texts can bring about.
pub fn encode(attachment: &SocketAttachment) -> Result<String, RowError> {
    let text = serde_json::to_string(attachment).map_err(|error| RowError::new("attachment", error))?;
    let bytes = if text.is_ascii() { text.len() } else { 2 * text.encode_utf16().count() };
    if bytes > MAX_ATTACHMENT_BYTES {
        return Err(RowError::new("attachment", format!("it has {bytes} bytes")));
    }
    Ok(text)
}

/// Reads an attachment.
///
/// # Errors
/// [`RowError`].
pub fn decode(text: &str) -> Result<SocketAttachment, RowError> {
    serde_json::from_str(text).map_err(|error| RowError::new("attachment", error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared_protocol::{BootId, JobId, LinkReport, Sampler, TimestampMs, WorkerId};

    fn attachment(version: &str) -> SocketAttachment {
        SocketAttachment {
            connection: ConnectionId(9),
            key_id: "k1".into(),
            snapshot: Some(WorkerSnapshot {
                worker_id: WorkerId::new("mini-1").unwrap(),
                boot_id: BootId::new("boot").unwrap(),
                version: version.into(),
                engine: "onnx-cpu".into(),
                slots: 6,
                open_slots: 2,
                samplers: vec![Sampler::Flash, Sampler::Pro],
                backlog_seconds: 1.5,
                draining: false,
                idle_since: TimestampMs(1),
                labels: vec!["studio".into()],
                priority: 3,
                speeds: vec![],
                link: LinkReport::default(),
                in_flight: [(JobId::new("job_1").unwrap(), 2.5)].into(),
            }),
        }
    }

    #[test]
    fn a_worker_is_remembered_with_its_socket() {
        let full = attachment("0.1.0");
        assert_eq!(decode(&encode(&full).unwrap()), Ok(full.clone()));
        let fresh = SocketAttachment { snapshot: None, ..full };
        assert_eq!(decode(&encode(&fresh).unwrap()), Ok(fresh));
        assert!(encode(&attachment(&"x".repeat(10_000))).is_ok());
        assert!(encode(&attachment(&"ä".repeat(10_000))).is_err());
    }
}
