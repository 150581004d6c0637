//! Why a job failed, and why an offer was turned down: stable codes with what to do about them.

use serde::{Deserialize, Serialize};

/// Why an attempt failed. The code decides whether another attempt can help.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FailureCode {
    /// The upload is not in storage.
    SourceMissing,
    /// The upload could not be fetched.
    DownloadFailed,
    /// The upload has no bytes.
    SourceEmpty,
    /// The upload is not a media file that the decoder knows.
    NotMedia,
    /// The file has no audio track.
    NoAudio,
    /// The file has an audio track, of which not one sample could be decoded.
    Undecodable,
    /// The audio has more channels than can be restored.
    TooManyChannels,
    /// The recording is longer than the worker takes.
    TooLong,
    /// The job asks for something that this worker's engine does not offer.
    Unsupported,
    /// The model or its runtime failed.
    EngineFailed,
    /// An encoder failed.
    EncodeFailed,
    /// An object could not be stored.
    UploadFailed,
    /// The worker's disk is full.
    DiskFull,
    /// The worker stopped and handed the job back.
    WorkerStopping,
    /// Workers were lost while they ran this job.
    WorkerLost,
    /// A fault of the worker itself.
    Internal,
    /// A code of a newer release.
    #[serde(other)]
    Unknown,
}

impl FailureCode {
    /// Whether another attempt may succeed. A fault of the recording stays one on every worker.
    pub fn retryable(self) -> bool {
        match self {
            Self::SourceMissing
            | Self::SourceEmpty
            | Self::NotMedia
            | Self::NoAudio
            | Self::Undecodable
            | Self::TooManyChannels
            | Self::TooLong
            | Self::Unsupported => false,
            Self::DownloadFailed
            | Self::EngineFailed
            | Self::EncodeFailed
            | Self::UploadFailed
            | Self::DiskFull
            | Self::WorkerStopping
            | Self::WorkerLost
            | Self::Internal
            | Self::Unknown => true,
        }
    }

    /// What the owner of the recording can do about it, in one sentence.
    pub fn advice(self) -> &'static str {
        match self {
            Self::SourceMissing => "Upload the recording again and create a new job.",
            Self::SourceEmpty => "The file has no content. Export the recording again and upload that file.",
            Self::NotMedia => {
                "The file is not audio or video that can be read. Check that it plays, or export it as WAV, FLAC, MP3 or M4A."
            }
            Self::NoAudio => "The file has no audio track. Check the export settings of the video.",
            Self::Undecodable => "The audio track is damaged from its beginning. Export the recording again.",
            Self::TooManyChannels => "Mix the recording down to at most 8 channels.",
            Self::TooLong => "Cut the recording into shorter parts.",
            Self::Unsupported => "Choose another sampler or other outputs.",
            Self::DownloadFailed | Self::UploadFailed => {
                "The connection of the worker to the storage failed repeatedly. Try again later."
            }
            Self::EngineFailed | Self::EncodeFailed | Self::Internal | Self::Unknown => {
                "A fault of the service. Try again; if it happens again, report the job's id."
            }
            Self::DiskFull => "The worker has no disk space left. Its operator was warned; try again later.",
            Self::WorkerStopping => "The worker was stopped. Try again.",
            Self::WorkerLost => "Workers were lost while they restored this recording. Report the job's id.",
        }
    }
}

/// A failure as it travels and as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct JobFailure {
    /// The stable code.
    pub code: FailureCode,
    /// What happened, for people; at most [`crate::limits::MAX_TEXT_LENGTH`] characters.
    pub message: String,
}

/// Why a worker turned an offer down. It costs the job nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RejectReason {
    /// The last slot went to another environment at the same moment.
    NoSlot,
    /// The worker takes no more jobs.
    Draining,
    /// The worker cannot do what the job asks for.
    Unsupported,
    /// A reason of a newer release.
    #[serde(other)]
    Unknown,
}
