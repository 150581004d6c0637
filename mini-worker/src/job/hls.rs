//! Encodes the restored timeline for playback while it still grows: AAC in fragmented MP4, cut into segments.
//!
//! The lengths of the segments follow a fixed schedule and depend on nothing but the audio's length, so the segments of
//! another attempt can follow on those of this one.

use std::path::Path;

use bytes::{Bytes, BytesMut};
use shared_protocol::{DurationMs, PhaseTiming};
use tokio::io::AsyncReadExt;
use tokio::process::ChildStdout;
use tokio::sync::mpsc;

use super::encoder::{feed, finish, pcm_input};
use super::error::{EncodeError, FileError, JobError};
use super::fmp4::{Fmp4Cutter, Part};
use super::probe::AudioTrack;
use super::program::MediaPrograms;
use super::timeline::TimelineReader;
use super::timing::AttemptClock;

/// Shortest length of a fragment: ffmpeg closes one with the first AAC frame beyond it, at 1.0027 s.
const FRAGMENT_MICROSECONDS: &str = "1000000";

/// Fragments in the first segments: short ones first, so that listening starts early; then [`LATER_FRAGMENTS`] each, so
/// that an hour is not thousands of objects.
const FIRST_FRAGMENTS: [usize; 5] = [1, 1, 2, 2, 4];

/// Fragments in each later segment.
const LATER_FRAGMENTS: usize = 6;

/// Something to store for playback, in the order in which it has to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HlsObject {
    /// What a player reads first.
    Init(Bytes),
    /// A segment.
    Segment {
        /// From 0, without gaps.
        sequence: u32,
        /// Its bytes.
        data: Bytes,
        /// Length of its audio.
        duration: DurationMs,
    },
}

/// [`encode`], when playback was asked for.
///
/// # Errors
/// When the encoder fails.
pub async fn encode_if(
    wanted: bool,
    programs: &MediaPrograms,
    folder: &Path,
    restored: TimelineReader,
    track: &AudioTrack,
    objects: mpsc::Sender<HlsObject>,
    clock: AttemptClock,
) -> Result<Option<PhaseTiming>, JobError> {
    match wanted {
        true => encode(programs, folder, restored, track, objects, clock).await.map(Some),
        false => Ok(None),
    }
}

/// Encodes a whole timeline; objects leave as soon as they are complete. Waits while too many are not stored yet.
///
/// # Errors
/// When the encoder fails.
async fn encode(
    programs: &MediaPrograms,
    folder: &Path,
    mut restored: TimelineReader,
    track: &AudioTrack,
    objects: mpsc::Sender<HlsObject>,
    clock: AttemptClock,
) -> Result<PhaseTiming, JobError> {
    let (channel_count, bit_rate) = if track.channels == 1 { ("1", "128k") } else { ("2", "192k") };
    let mut program = programs
        .ffmpeg(folder, "hls.log")
        .args(pcm_input(track))
        .args(["-map_metadata", "-1", "-fflags", "+bitexact", "-flags:a", "+bitexact"])
        .args(["-c:a", "aac", "-b:a", bit_rate, "-ac", channel_count])
        .args(["-f", "mp4", "-movflags", "+empty_moov+default_base_moof+delay_moov"])
        .args(["-frag_duration", FRAGMENT_MICROSECONDS, "-flush_packets", "1", "pipe:1"])
        .with_stdin()
        .with_stdout()
        .start()?;
    let stdin = program.stdin().expect("standard input was asked for");
    let stdout = program.stdout().expect("standard output was asked for");
    let (started, mut segmenter) =
        futures_util::try_join!(feed(&mut restored, stdin, clock), cut(stdout, &objects))?;
    finish(&mut program, "HLS").await?;
    segmenter.check_whole()?;
    // Only now is it sure that the last segment is all that was left and not what a dying encoder left behind.
    send(&objects, segmenter.rest()).await;
    Ok(clock.interval_since("encoding", started))
}

async fn send(objects: &mpsc::Sender<HlsObject>, made: impl IntoIterator<Item = HlsObject>) {
    for object in made {
        // The receiver is gone only when publishing has failed, and that failure is the one to tell.
        objects.send(object).await.unwrap_or_default();
    }
}

async fn cut(mut stdout: ChildStdout, objects: &mpsc::Sender<HlsObject>) -> Result<Segmenter, JobError> {
    let mut segmenter = Segmenter::default();
    let mut buffer = BytesMut::with_capacity(64 * 1024);
    loop {
        buffer.clear();
        let read =
            stdout.read_buf(&mut buffer).await.map_err(FileError::doing("read from the HLS encoder"))?;
        if read == 0 {
            return Ok(segmenter);
        }
        send(objects, segmenter.push(&buffer)?).await;
    }
}

/// Groups fragments into segments. Pure.
#[derive(Debug, Default)]
struct Segmenter {
    cutter: Fmp4Cutter,
    sequence: u32,
    data: BytesMut,
    fragments: usize,
    /// Since the stream's start, in units of the cutter's timescale.
    start: u64,
    end: u64,
}

impl Segmenter {
    fn push(&mut self, bytes: &[u8]) -> Result<Vec<HlsObject>, EncodeError> {
        let mut objects = Vec::new();
        for part in self.cutter.push(bytes)? {
            match part {
                Part::Init { data } => objects.push(HlsObject::Init(data)),
                Part::Fragment { data, duration } => {
                    self.data.extend_from_slice(&data);
                    self.fragments += 1;
                    self.end += duration;
                    let wanted =
                        FIRST_FRAGMENTS.get(self.sequence as usize).copied().unwrap_or(LATER_FRAGMENTS);
                    if self.fragments >= wanted {
                        objects.extend(self.rest());
                    }
                }
            }
        }
        Ok(objects)
    }

    /// What is left as a shorter segment.
    fn rest(&mut self) -> Option<HlsObject> {
        if self.data.is_empty() {
            return None;
        }
        let timescale = u64::from(self.cutter.timescale().unwrap_or(1));
        // Both ends are rounded on the stream's own time, so that rounding does not add up over the segments.
        let milliseconds = |time: u64| (time * 1000 + timescale / 2) / timescale;
        let duration = DurationMs(milliseconds(self.end) - milliseconds(self.start));
        let segment =
            HlsObject::Segment { sequence: self.sequence, data: self.data.split().freeze(), duration };
        self.sequence += 1;
        self.fragments = 0;
        self.start = self.end;
        Some(segment)
    }

    fn check_whole(&self) -> Result<(), EncodeError> {
        Ok(self.cutter.finish()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORDED: &[u8] = include_bytes!("../../tests/fixtures/aac-3s.mp4");

    #[test]
    fn segments_follow_the_schedule_are_numbered_without_gaps_and_keep_the_length() {
        let mut segmenter = Segmenter::default();
        let mut objects: Vec<HlsObject> =
            RECORDED.chunks(999).flat_map(|bytes| segmenter.push(bytes).unwrap()).collect();
        objects.extend(segmenter.rest());
        segmenter.check_whole().unwrap();

        assert!(matches!(objects[0], HlsObject::Init(_)));
        let told: Vec<(u32, u64)> = objects[1..]
            .iter()
            .map(|object| match object {
                HlsObject::Segment { sequence, duration, .. } => (*sequence, duration.0),
                HlsObject::Init(_) => panic!("one head only"),
            })
            .collect();
        assert_eq!(told[..2], [(0, 1_003), (1, 1_002)], "1.0027 s each, without drift");
        assert_eq!(told.iter().map(|(sequence, _)| *sequence).collect::<Vec<_>>(), [0, 1, 2]);
        let total: u64 = told.iter().map(|(_, duration)| duration).sum();
        assert!((3_100..3_145).contains(&total), "{total}");
    }
}
