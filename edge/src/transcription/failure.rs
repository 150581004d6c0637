//! Why there is no transcript.

use serde::{Deserialize, Serialize};
use shared_protocol::limits::MAX_TEXT_LENGTH;

/// What kept a recording from being transcribed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum TranscriptionCode {
    /// This environment has no endpoint, or settings that cannot be used.
    #[serde(rename = "transcription_not_configured")]
    NotConfigured,
    /// The endpoint turned the request down.
    #[serde(rename = "transcription_refused")]
    Refused,
    /// The endpoint, or the recording in storage, could not be reached, or not in time.
    #[serde(rename = "transcription_unavailable")]
    Unavailable,
    /// The recording is larger than the endpoint takes.
    #[serde(rename = "transcription_too_large")]
    TooLarge,
    /// What the endpoint answered is no transcript.
    #[serde(rename = "transcription_unreadable")]
    Unreadable,
    /// The recording is not in storage.
    #[serde(rename = "transcription_source_missing")]
    SourceMissing,
    /// A code of a newer release.
    #[serde(rename = "transcription_unknown", other)]
    Unknown,
}

impl TranscriptionCode {
    /// Those of this release.
    pub const ALL: [Self; 6] = [
        Self::NotConfigured,
        Self::Refused,
        Self::Unavailable,
        Self::TooLarge,
        Self::Unreadable,
        Self::SourceMissing,
    ];

    /// The code as it travels.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotConfigured => "transcription_not_configured",
            Self::Refused => "transcription_refused",
            Self::Unavailable => "transcription_unavailable",
            Self::TooLarge => "transcription_too_large",
            Self::Unreadable => "transcription_unreadable",
            Self::SourceMissing => "transcription_source_missing",
            Self::Unknown => "transcription_unknown",
        }
    }

    /// What to do about it, in one sentence.
    pub fn advice(self) -> &'static str {
        match self {
            Self::NotConfigured => {
                "Send a transcript of your own, or ask the operator to set TRANSCRIPTION_URL."
            }
            Self::Refused => {
                "Ask the operator to check TRANSCRIPTION_URL, TRANSCRIPTION_KEY and TRANSCRIPTION_MODEL."
            }
            Self::Unavailable => "Try again later, or send a transcript of your own.",
            Self::TooLarge => {
                "Upload the recording compressed (FLAC, MP3 or M4A) or in parts, or send a transcript of your own."
            }
            Self::Unreadable => {
                "Ask the operator whether TRANSCRIPTION_URL is a transcription endpoint as OpenAI's."
            }
            Self::SourceMissing => "Upload the recording again.",
            Self::Unknown => "Try again; if it happens again, report the request's id.",
        }
    }
}

/// A failure as it is kept and shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "camelCase")]
#[error("{}: {message}", code.as_str())]
pub struct TranscriptionFailure {
    /// The stable code.
    pub code: TranscriptionCode,
    /// What happened, for people; at most [`MAX_TEXT_LENGTH`] characters.
    pub message: String,
}

impl TranscriptionFailure {
    /// With a text, of which only the beginning is kept when it is too long.
    pub fn new(code: TranscriptionCode, message: impl AsRef<str>) -> Self {
        Self { code, message: message.as_ref().chars().take(MAX_TEXT_LENGTH).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_reads_as_it_is_written_and_a_newer_one_is_no_error() {
        use TranscriptionCode as Code;
        for code in Code::ALL.into_iter().chain([Code::Unknown]) {
            let json = serde_json::to_string(&code).unwrap();
            assert_eq!(json, format!("{:?}", code.as_str()));
            assert_eq!(serde_json::from_str::<Code>(&json).unwrap(), code);
        }
        assert_eq!(serde_json::from_str::<Code>("\"transcription_vanished\"").unwrap(), Code::Unknown);
    }

    #[test]
    fn a_text_is_cut_at_its_bound_and_never_within_a_character() {
        let failure = TranscriptionFailure::new(TranscriptionCode::Refused, "ü".repeat(3_000));
        assert_eq!(failure.message.chars().count(), MAX_TEXT_LENGTH);
    }
}
