//! Frames: one message as a JSON object, or several as a JSON array (a batch), in one WebSocket text message.
//!
//! A frame is read message by message: one that cannot be read takes none of its neighbours along.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use crate::limits::{MAX_FRAME_BYTES, MAX_MESSAGES_PER_FRAME};

/// Why a frame or one message in it cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The frame is larger than [`MAX_FRAME_BYTES`], or has more than [`MAX_MESSAGES_PER_FRAME`] messages.
    #[error("the frame is too large: at most {MAX_FRAME_BYTES} bytes and {MAX_MESSAGES_PER_FRAME} messages")]
    TooLarge,
    /// Not JSON, not an object with a `type`, or a field has a wrong value.
    #[error("malformed message: {reason}")]
    Malformed {
        /// The parser's words.
        reason: String,
        /// The message's type, when it has one.
        kind: Option<String>,
    },
    /// A type that this release does not know.
    #[error("unknown message type {kind:?}")]
    UnknownType {
        /// The type.
        kind: String,
    },
}

impl DecodeError {
    /// The stable code of the `error` message that answers it.
    pub fn code(&self) -> &'static str {
        match self {
            Self::TooLarge => "too_large",
            Self::Malformed { .. } => "malformed",
            Self::UnknownType { .. } => "unknown_type",
        }
    }

    /// The type of the message concerned, when it could be read.
    pub fn kind(&self) -> Option<&str> {
        match self {
            Self::TooLarge => None,
            Self::Malformed { kind, .. } => kind.as_deref(),
            Self::UnknownType { kind } => Some(kind),
        }
    }
}

/// One message of a frame, read or not.
pub type Item<M> = Result<M, DecodeError>;

/// The messages of one frame in their order.
pub type Frame<M> = Vec<Item<M>>;

/// Only the tag; everything else is passed over.
#[derive(serde::Deserialize)]
struct Tag {
    #[serde(rename = "type")]
    kind: String,
}

/// Types known to any release of this version, from either side. A known type that does not parse is malformed; others are unknown.
const KNOWN_TYPES: [&str; 17] = [
    "hello",
    "welcome",
    "ready",
    "ping",
    "pong",
    "job.assign",
    "job.accept",
    "job.reject",
    "job.progress",
    "job.complete",
    "job.failed",
    "job.cancelled",
    "job.cancel",
    "job.stems",
    "job.quality",
    "ack",
    "error",
];

fn decode_one<M: DeserializeOwned>(text: &str) -> Item<M> {
    let tag: Tag = serde_json::from_str(text)
        .map_err(|e| DecodeError::Malformed { reason: e.to_string(), kind: None })?;
    serde_json::from_str(text).map_err(|e| {
        if KNOWN_TYPES.contains(&tag.kind.as_str()) {
            DecodeError::Malformed { reason: e.to_string(), kind: Some(tag.kind) }
        } else {
            DecodeError::UnknownType { kind: tag.kind }
        }
    })
}

/// Reads one frame. Never fails as a whole: what cannot be read is an error in its place.
pub fn decode_frame<M: DeserializeOwned>(text: &str) -> Frame<M> {
    if text.len() > MAX_FRAME_BYTES {
        return vec![Err(DecodeError::TooLarge)];
    }
    if !text.trim_start().starts_with('[') {
        return vec![decode_one(text)];
    }
    match serde_json::from_str::<Vec<&RawValue>>(text) {
        Err(e) => vec![Err(DecodeError::Malformed { reason: e.to_string(), kind: None })],
        Ok(items) if items.len() > MAX_MESSAGES_PER_FRAME => vec![Err(DecodeError::TooLarge)],
        Ok(items) => items.into_iter().map(|item| decode_one(item.get())).collect(),
    }
}

/// One message as a frame.
///
/// # Panics
/// Never: the messages of this crate have text keys only and no fallible serializers.
pub fn encode<M: Serialize>(message: &M) -> String {
    serde_json::to_string(message).expect("messages have text keys only and no fallible serializers")
}

/// Several messages as batch frames, each within the limits of one frame. One message goes out without an array around it.
pub fn encode_batch<M: Serialize>(messages: &[M]) -> Vec<String> {
    let mut frames = Vec::new();
    let mut frame = String::new();
    let mut count = 0;
    for message in messages {
        let text = encode(message);
        // Two brackets and a comma are the frame's own bytes.
        if count > 0 && (count == MAX_MESSAGES_PER_FRAME || frame.len() + text.len() + 3 > MAX_FRAME_BYTES) {
            frames.push(close_batch(&frame, count));
            frame.clear();
            count = 0;
        }
        if count > 0 {
            frame.push(',');
        }
        frame.push_str(&text);
        count += 1;
    }
    if count > 0 {
        frames.push(close_batch(&frame, count));
    }
    frames
}

fn close_batch(body: &str, count: usize) -> String {
    if count == 1 { body.to_owned() } else { format!("[{body}]") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ping, Pong, SchedulerMessage, WorkerMessage};

    #[test]
    fn a_newer_peers_fields_are_ignored() {
        let frame: Frame<SchedulerMessage> =
            decode_frame(r#"{"type":"pong","sequence":7,"roundTripMs":3,"nested":{"a":[1]}}"#);
        assert_eq!(frame, vec![Ok(SchedulerMessage::Pong(Pong { sequence: 7 }))]);
    }

    #[test]
    fn one_unreadable_message_takes_none_of_its_neighbours_along() {
        let frame: Frame<WorkerMessage> = decode_frame(
            r#"[{"type":"ping","sequence":1},{"type":"job.dance"},{"type":"ping","sequence":"x"},{"no":1},{"type":"ping","sequence":2}]"#,
        );
        let ping = |sequence| Ok(WorkerMessage::Ping(Ping { sequence, backlog_seconds: 0.0 }));
        assert_eq!(frame.len(), 5);
        assert_eq!(frame[0], ping(1));
        assert_eq!(frame[1], Err(DecodeError::UnknownType { kind: "job.dance".into() }));
        assert!(matches!(&frame[2], Err(DecodeError::Malformed { kind: Some(k), .. }) if k == "ping"));
        assert!(matches!(&frame[3], Err(DecodeError::Malformed { kind: None, .. })));
        assert_eq!(frame[4], ping(2));
    }

    #[test]
    fn a_batch_survives_the_trip_and_is_cut_to_frames() {
        let messages: Vec<WorkerMessage> =
            (0..150).map(|sequence| WorkerMessage::Ping(Ping { sequence, backlog_seconds: 1.5 })).collect();
        let frames = encode_batch(&messages);
        assert_eq!(frames.len(), 3);
        let back: Vec<WorkerMessage> =
            frames.iter().flat_map(|f| decode_frame::<WorkerMessage>(f)).map(Result::unwrap).collect();
        assert_eq!(back, messages);
    }

    #[test]
    fn nonsense_is_an_error_and_never_a_panic() {
        for text in [
            "",
            " ",
            "[",
            "[]",
            "null",
            "[null]",
            "{}",
            "\u{0}",
            "{\"type\":5}",
            "[[[[",
            "{\"type\":\"hello\"}",
        ] {
            for item in decode_frame::<WorkerMessage>(text) {
                assert!(item.is_err(), "{text:?}");
            }
        }
        let huge = "x".repeat(MAX_FRAME_BYTES + 1);
        assert_eq!(decode_frame::<WorkerMessage>(&huge), vec![Err(DecodeError::TooLarge)]);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_answered_without_a_panic(text in ".{0,200}") {
            let _frame: Frame<WorkerMessage> = decode_frame(&text);
        }
    }
}
