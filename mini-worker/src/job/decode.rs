//! Decodes a recording into a timeline: anything that ffmpeg reads, as 32-bit floats at 48 kHz with its channels kept.

use std::path::Path;
use std::time::Duration;

use shared_protocol::PhaseTiming;
use tokio::io::AsyncReadExt;

use super::error::{DecodeError, FileError, JobError, ProbeError};
use super::probe::AudioTrack;
use super::program::MediaPrograms;
use super::progress::{Fact, Reporter};
use super::timeline::{SAMPLE_BYTES, TimelineWriter};
use super::timing::AttemptClock;
use crate::inference::SAMPLE_RATE;

/// Bytes read at once.
const CHUNK_BYTES: usize = 256 * 1024;

/// A decoder of a local file that gives nothing for so long hangs.
const STALL_TIMEOUT: Duration = Duration::from_secs(60);

/// What was decoded.
#[derive(Debug)]
pub struct Decoded {
    /// Samples of each channel.
    pub samples: u64,
    /// When.
    pub timing: PhaseTiming,
}

/// Decodes the file `source` of the job's folder. What is damaged at its end or in between is decoded as far as it goes.
///
/// # Errors
/// When not one sample comes, or when more come than may.
pub async fn decode(
    programs: &MediaPrograms,
    folder: &Path,
    track: &AudioTrack,
    max_minutes: u32,
    mut timeline: TimelineWriter,
    clock: AttemptClock,
    reporter: &Reporter,
) -> Result<Decoded, JobError> {
    let start = clock.now();
    let mut program = programs
        .ffmpeg(folder, "decode.log")
        .untrusted_input("source")
        .args(["-map", &format!("0:{}", track.index), "-vn", "-sn", "-dn"])
        .args(["-af", &filters(programs.soxr, track.layout.as_deref())])
        .args(["-c:a", "pcm_f32le", "-f", "f32le", "-flush_packets", "1", "pipe:1"])
        .with_stdout()
        .start()?;
    let mut stdout = program.stdout().expect("standard output was asked for");
    let frame_bytes = track.channels * SAMPLE_BYTES;
    let most_frames = u64::from(max_minutes) * 60 * u64::from(SAMPLE_RATE);

    let mut buffer = Vec::with_capacity(CHUNK_BYTES);
    loop {
        let read = tokio::time::timeout(STALL_TIMEOUT, stdout.read_buf(&mut buffer)).await;
        let read = read.map_err(|_| DecodeError::Stalled(STALL_TIMEOUT.as_secs()))?;
        let read = read.map_err(FileError::doing("read from the decoder"))?;
        // What is no whole frame stays for the next round, and at the end it is none.
        let whole = buffer.len() - buffer.len() % frame_bytes;
        if whole > 0 && (read == 0 || whole >= CHUNK_BYTES / 4 || timeline.frames() == 0) {
            timeline.append(&buffer[..whole]).await.map_err(FileError::doing("write the decoded audio"))?;
            buffer.drain(..whole);
            reporter.say(Fact::Decoded { frames: timeline.frames() }).await;
        }
        if read == 0 {
            break;
        }
        if timeline.frames() > most_frames {
            let minutes = timeline.frames() as f64 / f64::from(SAMPLE_RATE) / 60.0;
            return Err(ProbeError::TooLong { minutes, limit: max_minutes }.into());
        }
    }
    let succeeded = program.wait().await?;
    let samples = timeline.frames();
    if samples == 0 {
        return Err(DecodeError::Nothing(program.last_words()).into());
    }
    let complaints = program.last_words();
    if !succeeded || !complaints.is_empty() {
        tracing::warn!(seconds = samples as f64 / f64::from(SAMPLE_RATE), %complaints, "the recording is damaged; restoring what could be decoded");
    }
    timeline.end();
    reporter.say(Fact::DecodedAll { frames: samples }).await;
    Ok(Decoded { samples, timing: clock.interval_since("decoding", start) })
}

/// Resampling, and the track's own layout, so that one that changes in the middle of a file changes nothing for us.
fn filters(soxr: bool, layout: Option<&str>) -> String {
    let resampler = if soxr { ":resampler=soxr" } else { "" };
    let resample = format!("aresample={SAMPLE_RATE}{resampler}");
    match layout {
        Some(layout) => format!("{resample},aformat=channel_layouts={layout}"),
        None => resample,
    }
}
