//! Encodes the final files from the restored timeline while it still grows, all of them with one ffmpeg.

use std::path::Path;

use shared_protocol::{OutputKind, PhaseTiming};

use super::encoder::{feed, finish, pcm_input};
use super::error::{EncodeError, FileError, JobError};
use super::probe::AudioTrack;
use super::program::MediaPrograms;
use super::timeline::TimelineReader;
use super::timing::AttemptClock;

/// One final file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FinalFile {
    /// Which output it is.
    pub kind: OutputKind,
    /// Its name, in the job's folder and where it is published.
    pub name: &'static str,
    /// Its media type.
    pub content_type: &'static str,
    /// ffmpeg's arguments.
    arguments: &'static [&'static str],
}

const WAV: FinalFile = FinalFile {
    kind: OutputKind::Wav,
    name: "restored.wav",
    content_type: "audio/wav",
    // RF64 takes over where WAV ends, at 4 GiB.
    arguments: &["-c:a", "pcm_s24le", "-rf64", "auto", "-f", "wav"],
};

const FLAC: FinalFile = FinalFile {
    kind: OutputKind::Flac,
    name: "restored.flac",
    content_type: "audio/flac",
    arguments: &["-c:a", "flac", "-sample_fmt", "s32", "-bits_per_raw_sample", "24", "-f", "flac"],
};

const MP3_MONO: FinalFile = FinalFile {
    kind: OutputKind::Mp3,
    name: "restored.mp3",
    content_type: "audio/mpeg",
    arguments: &["-c:a", "libmp3lame", "-q:a", "2", "-ac", "1", "-f", "mp3"],
};

const MP3_STEREO: FinalFile =
    FinalFile { arguments: &["-c:a", "libmp3lame", "-q:a", "2", "-ac", "2", "-f", "mp3"], ..MP3_MONO };

/// The final files of these outputs, each once.
///
/// # Errors
/// When this build of ffmpeg cannot write one of them.
pub fn plan(
    outputs: &[OutputKind],
    channels: usize,
    programs: &MediaPrograms,
) -> Result<Vec<FinalFile>, EncodeError> {
    let mp3 = if channels == 1 { MP3_MONO } else { MP3_STEREO };
    let files: Vec<FinalFile> =
        [WAV, FLAC, mp3].into_iter().filter(|file| outputs.contains(&file.kind)).collect();
    if !programs.mp3 && files.iter().any(|file| file.kind == OutputKind::Mp3) {
        return Err(EncodeError::Missing("MP3"));
    }
    Ok(files)
}

/// Encodes a whole timeline into the planned files of the job's folder, with less of the processor than playback gets.
///
/// # Errors
/// When the encoder fails.
pub async fn encode(
    programs: &MediaPrograms,
    folder: &Path,
    mut restored: TimelineReader,
    track: &AudioTrack,
    files: &[FinalFile],
    clock: AttemptClock,
) -> Result<Option<PhaseTiming>, JobError> {
    if files.is_empty() {
        return Ok(None);
    }
    // Not before there is something to do: starting it would cost the first segment time.
    restored.begun().await.map_err(FileError::doing("read the restored audio"))?;
    let mut invocation = programs.ffmpeg(folder, "files.log").args(["-y"]).args(pcm_input(track));
    for file in files {
        invocation = invocation
            .args(["-map", "0:a", "-map_metadata", "-1", "-fflags", "+bitexact", "-flags:a", "+bitexact"])
            .args(file.arguments)
            .args([format!("file:{}", file.name)]);
    }
    let mut program = invocation.nice().with_stdin().start()?;
    let stdin = program.stdin().expect("standard input was asked for");
    let started = feed(&mut restored, stdin, clock).await?;
    finish(&mut program, "file").await?;
    Ok(Some(clock.interval_since("encoding", started)))
}
