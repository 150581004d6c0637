//! What the encoders have in common: the restored timeline goes into ffmpeg's standard input as it grows.

use shared_protocol::DurationMs;
use tokio::io::AsyncWriteExt;
use tokio::process::ChildStdin;

use super::error::{EncodeError, FileError, JobError};
use super::probe::AudioTrack;
use super::program::RunningProgram;
use super::timeline::TimelineReader;
use super::timing::AttemptClock;
use crate::inference::SAMPLE_RATE;

/// Most frames fed at once: half a second.
const CHUNK_FRAMES: u64 = SAMPLE_RATE as u64 / 2;

/// ffmpeg's arguments for a timeline on its standard input. Nothing is left to be guessed, so nothing is waited for.
pub fn pcm_input(track: &AudioTrack) -> Vec<String> {
    let channels = track.channels.to_string();
    let rate = SAMPLE_RATE.to_string();
    let format = ["-probesize", "32", "-analyzeduration", "0", "-f", "f32le", "-ar", &rate, "-ac", &channels];
    let mut arguments = format.map(str::to_owned).to_vec();
    if let Some(layout) = &track.layout {
        arguments.extend(["-channel_layout".to_owned(), layout.clone()]);
    }
    arguments.extend(["-i".to_owned(), "pipe:0".to_owned()]);
    arguments
}

/// Feeds a whole timeline and closes the input. Gives the time of the first chunk.
///
/// # Errors
/// When the timeline cannot be read. An encoder that ended early is no error here: [`finish`] tells why it did.
pub async fn feed(
    restored: &mut TimelineReader,
    mut stdin: ChildStdin,
    clock: AttemptClock,
) -> Result<DurationMs, JobError> {
    let mut started = None;
    loop {
        let chunk =
            restored.next(1, CHUNK_FRAMES).await.map_err(FileError::doing("read the restored audio"))?;
        let started = *started.get_or_insert_with(|| clock.now());
        let Some(chunk) = chunk else { return Ok(started) };
        if stdin.write_all(&chunk).await.is_err() {
            return Ok(started);
        }
    }
}

/// Waits for the encoder's end.
///
/// # Errors
/// When it failed, with its last words.
pub async fn finish(program: &mut RunningProgram, what: &'static str) -> Result<(), JobError> {
    if program.wait().await? {
        return Ok(());
    }
    let reason = program.last_words();
    if reason.contains("No space left on device") || reason.contains("Disk quota exceeded") {
        return Err(EncodeError::DiskFull { what }.into());
    }
    Err(EncodeError::Failed { what, reason }.into())
}
