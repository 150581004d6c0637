//! What a job is made of, as both sides name it.

use serde::{Deserialize, Serialize};

use crate::{Attempt, DurationMs, UploadId};

/// Bytes per second of 16-bit stereo at 48 kHz.
const PCM_BYTES_PER_SECOND: f64 = 192_000.0;
/// FLAC of speech: about half.
const FLAC_BYTES_PER_SECOND: f64 = 96_000.0;
/// 128 kbit/s, the usual rate of MP3, M4A and Opus speech.
const COMPRESSED_BYTES_PER_SECOND: f64 = 16_000.0;
/// Video carries about ten times its sound.
const VIDEO_BYTES_PER_SECOND: f64 = 160_000.0;

/// How a recording is restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Sampler {
    /// One pass.
    #[default]
    Flash,
    /// Three passes at different speeds, averaged and mixed with the recording.
    Pro,
}

/// What a job leaves behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OutputKind {
    /// HTTP Live Streaming: AAC in fragmented MP4, playable while later parts are still restoring.
    Hls,
    /// WAV, 24 bit.
    Wav,
    /// FLAC, 24 bit.
    Flac,
    /// MP3.
    Mp3,
    /// Speech, what was removed, and the original, as FLAC in chunks and as a whole. They follow on the completion, in
    /// `job.stems`. Made only when asked for.
    Stems,
}

/// Classes of the queue: every job of a higher class goes before any of a lower one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// Somebody waits for it.
    High,
    /// The default.
    #[default]
    Normal,
    /// When nothing else is to be done.
    Low,
}

/// What a worker is doing for an attempt. The order is the order of a job's life, though phases overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Fetching the upload.
    Downloading,
    /// Decoding, and waiting for the model.
    PreparingAudio,
    /// The model runs on it.
    Restoring,
    /// Encoding and storing what is left.
    Publishing,
}

/// The recording to restore.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Source {
    /// The upload.
    pub upload_id: UploadId,
    /// The client's name for it, for logs and for the names of downloads. Never a path.
    pub name: String,
    /// Bytes.
    pub size: u64,
}

impl Source {
    /// Seconds of audio in it, guessed by its size and the ending of its name: what both sides count with until somebody has
    /// looked into it. A wrong guess costs somebody a little waiting, never correctness.
    pub fn guessed_audio_seconds(&self) -> f64 {
        let ending = self.name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
        let rate = match ending.as_deref() {
            Some("wav" | "aif" | "aiff" | "w64" | "rf64" | "caf") => PCM_BYTES_PER_SECOND,
            Some("flac" | "alac" | "ape" | "wv") => FLAC_BYTES_PER_SECOND,
            Some("mp4" | "mov" | "mkv" | "webm" | "avi" | "m4v" | "mpg" | "ts") => VIDEO_BYTES_PER_SECOND,
            _ => COMPRESSED_BYTES_PER_SECOND,
        };
        self.size as f64 / rate
    }
}

/// One segment that can be read now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct HlsSegment {
    /// Position in the stream, from 0, without gaps.
    pub sequence: u32,
    /// Length of its audio.
    pub duration_ms: DurationMs,
    /// Bytes.
    pub size: u64,
}

/// One final file that can be read now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PublishedFile {
    /// Name below the attempt's `files/` folder, such as `restored.wav`.
    pub name: String,
    /// Which output it is.
    pub kind: OutputKind,
    /// Bytes.
    pub size: u64,
    /// SHA-256 of the bytes, in lower-case hex.
    pub sha256: String,
    /// Media type.
    pub content_type: String,
}

/// One interval of an attempt. Intervals overlap: add them up only after merging.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PhaseTiming {
    /// What was done: `downloading`, `decoding`, `inference_wait`, `inference`, `encoding`, `uploading`, `first_segment`, ...
    pub phase: String,
    /// Since the attempt's start.
    pub start_ms: DurationMs,
    /// Since the attempt's start.
    pub end_ms: DurationMs,
}

/// What a completed attempt says of itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct JobOutcome {
    /// Final files, all stored.
    pub files: Vec<PublishedFile>,
    /// How many HLS segments there are in all; 0 when HLS was not asked for.
    pub hls_segments: u32,
    /// Length of the recording.
    pub audio_seconds: f64,
    /// Channels of the recording.
    pub channels: u16,
    /// Seconds of the model's work per second of audio.
    pub real_time_factor: f64,
    /// Where the time went.
    #[serde(default)]
    pub timings: Vec<PhaseTiming>,
}

/// One object of a job's separated speech and background.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct StemFile {
    /// Name below the attempt's `stems/` folder.
    pub name: String,
    /// Bytes.
    pub size: u64,
    /// SHA-256 of the bytes, in lower-case hex.
    pub sha256: String,
}

/// Scores of a no-reference quality model, 1 (bad) to 5 (excellent).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct QualityScores {
    /// Which model scored.
    pub scorer: String,
    /// Of the original.
    pub original: f64,
    /// Of the restored audio.
    pub restored: f64,
    /// Attempt that was scored.
    pub attempt: Attempt,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_is_guessed_as_about_a_minute_whatever_its_format() {
        let guess = |size, name: &str| {
            let upload_id = UploadId::new("upl_1").unwrap();
            Source { upload_id, name: name.into(), size }.guessed_audio_seconds()
        };
        assert_eq!(guess(11_520_000, "Talk.WAV"), 60.0);
        assert_eq!(guess(960_000, "talk.mp3"), 60.0);
        assert_eq!(guess(960_000, "no ending"), 60.0);
    }
}
