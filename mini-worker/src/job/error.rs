//! What can go wrong with a job, by stage, and the one table from that to the codes that travel.

use std::io;

use shared_protocol::{FailureCode, JobFailure};

use crate::inference::InferenceError;

/// Why an attempt failed. The texts go to clients: they hold no path of this machine.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// Fetching the recording.
    #[error(transparent)]
    Download(#[from] DownloadError),
    /// Looking into the recording.
    #[error(transparent)]
    Probe(#[from] ProbeError),
    /// Decoding it.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The model.
    #[error(transparent)]
    Restore(#[from] RestoreError),
    /// Encoding.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// Storing what was made.
    #[error(transparent)]
    Publish(#[from] PublishError),
    /// A file of the job's folder.
    #[error(transparent)]
    File(#[from] FileError),
    /// A program that handles media.
    #[error(transparent)]
    Program(#[from] ProgramError),
}

/// A file of the job's folder could not be written or read.
#[derive(Debug, thiserror::Error)]
#[error("cannot {doing}: {source}")]
pub struct FileError {
    /// What was being done, such as `write the decoded audio`.
    pub doing: &'static str,
    /// Why not.
    pub source: io::Error,
}

impl FileError {
    /// For `map_err`.
    pub fn doing(doing: &'static str) -> impl Fn(io::Error) -> Self {
        move |source| Self { doing, source }
    }

    fn disk_is_full(&self) -> bool {
        matches!(self.source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
    }
}

/// ffmpeg or ffprobe could not be run at all.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// It did not start.
    #[error("cannot start {program}: {source}. Install it, or set its path in the configuration.")]
    Start {
        /// Which one.
        program: &'static str,
        /// Why not.
        source: io::Error,
    },
    /// It was ended by a signal.
    #[error("{program} was ended by signal {signal}")]
    Killed {
        /// Which one.
        program: &'static str,
        /// Signal number.
        signal: i32,
    },
}

/// The recording could not be fetched.
#[derive(Debug, thiserror::Error)]
pub enum DownloadError {
    /// It is not there.
    #[error("the upload is not in storage")]
    Missing,
    /// It has no bytes.
    #[error("the file is empty")]
    Empty,
    /// The edge refuses.
    #[error("the edge refused the download: HTTP {status}")]
    Refused {
        /// HTTP status.
        status: u16,
    },
    /// It could not be fetched after retries.
    #[error("the upload could not be fetched: {reason}")]
    Failed {
        /// The last reason.
        reason: String,
    },
    /// Fewer or more bytes than announced.
    #[error("the upload has {found} bytes instead of {expected}")]
    WrongSize {
        /// Bytes that came.
        found: u64,
        /// Bytes announced.
        expected: u64,
    },
}

/// The recording is none, or none that can be restored.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// No format that is known.
    #[error("the file is not audio or video in a known format{}", detail(.0))]
    NotMedia(String),
    /// Only video or the like.
    #[error("the file has no audio track, only {0}")]
    NoAudio(String),
    /// The audio track says nothing of itself.
    #[error("the file has an audio track without channels")]
    NoChannels,
    /// More channels than are restored.
    #[error("the audio has {0} channels; at most {MAX_CHANNELS} can be restored")]
    TooManyChannels(u32),
    /// Longer than this worker takes.
    #[error("the recording is {minutes:.0} minutes long; this worker takes {limit}")]
    TooLong {
        /// Of the recording.
        minutes: f64,
        /// Of the worker.
        limit: u32,
    },
    /// Looking took too long.
    #[error("the file could not be examined within {0} s")]
    TimedOut(u64),
}

/// Most channels that are restored: what FLAC holds.
pub const MAX_CHANNELS: u32 = 8;

/// The recording could not be decoded.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// Nothing came.
    #[error("not one sample of the audio track could be decoded{}", detail(.0))]
    Nothing(String),
    /// The decoder hung.
    #[error("the decoder gave nothing for {0} s")]
    Stalled(u64),
}

/// The model failed.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// In itself.
    #[error("the model failed: {0}")]
    Engine(#[from] InferenceError),
    /// It gave back more or fewer samples than it got.
    #[error("the model gave {given} samples for {taken}")]
    WrongLength {
        /// Put in.
        taken: u64,
        /// Given back.
        given: u64,
    },
}

/// An encoder failed.
#[derive(Debug, thiserror::Error)]
pub enum EncodeError {
    /// It ended with an error.
    #[error("the {what} encoder failed{}", detail(.reason))]
    Failed {
        /// Which one.
        what: &'static str,
        /// Its last words.
        reason: String,
    },
    /// It said that the disk is full.
    #[error("the {what} encoder found the disk full")]
    DiskFull {
        /// Which one.
        what: &'static str,
    },
    /// This ffmpeg lacks an encoder.
    #[error("this worker's ffmpeg cannot write {0}")]
    Missing(&'static str),
    /// What it wrote is not fragmented MP4.
    #[error("the HLS encoder wrote a stream that cannot be cut: {0}")]
    NotFragmented(#[from] super::fmp4::Fmp4Error),
}

/// Something could not be stored.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// The edge refuses.
    #[error("the edge refused {object}: HTTP {status}{}", detail(.reason))]
    Refused {
        /// Path below the attempt.
        object: String,
        /// HTTP status.
        status: u16,
        /// The edge's words.
        reason: String,
    },
    /// It could not be stored after retries.
    #[error("{object} could not be stored: {reason}")]
    Failed {
        /// Path below the attempt.
        object: String,
        /// The last reason.
        reason: String,
    },
}

fn detail(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(": {text}") }
}

impl JobError {
    /// The one table from what happened to the code that travels.
    pub fn code(&self) -> FailureCode {
        match self {
            Self::Download(DownloadError::Missing) => FailureCode::SourceMissing,
            Self::Download(DownloadError::Empty) => FailureCode::SourceEmpty,
            Self::Download(_) => FailureCode::DownloadFailed,
            Self::Probe(ProbeError::NotMedia(_) | ProbeError::TimedOut(_)) => FailureCode::NotMedia,
            Self::Probe(ProbeError::NoAudio(_)) => FailureCode::NoAudio,
            Self::Probe(ProbeError::NoChannels) => FailureCode::Undecodable,
            Self::Probe(ProbeError::TooManyChannels(_)) => FailureCode::TooManyChannels,
            Self::Probe(ProbeError::TooLong { .. }) => FailureCode::TooLong,
            Self::Decode(_) => FailureCode::Undecodable,
            Self::Restore(_) => FailureCode::EngineFailed,
            Self::Encode(EncodeError::DiskFull { .. }) => FailureCode::DiskFull,
            Self::Encode(EncodeError::Missing(_)) => FailureCode::Unsupported,
            Self::Encode(_) => FailureCode::EncodeFailed,
            Self::Publish(_) => FailureCode::UploadFailed,
            Self::File(error) if error.disk_is_full() => FailureCode::DiskFull,
            Self::File(_) | Self::Program(_) => FailureCode::Internal,
        }
    }

    /// As it travels.
    pub fn to_failure(&self) -> JobFailure {
        JobFailure::new(self.code(), self.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_apart_from_other_faults_of_files() {
        let error = |kind: io::ErrorKind| {
            JobError::from(FileError { doing: "write the decoded audio", source: kind.into() }).code()
        };
        assert_eq!(error(io::ErrorKind::StorageFull), FailureCode::DiskFull);
        assert_eq!(error(io::ErrorKind::PermissionDenied), FailureCode::Internal);
    }
}
