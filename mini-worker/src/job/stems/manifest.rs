//! What `stems/manifest.json` says: stored last, so whoever can read it can read all that it lists.

use serde::Serialize;
use shared_protocol::StemFile;

use crate::inference::SAMPLE_RATE;

/// Frames in each chunk but the last one of a recording of usual length: 30 s.
const USUAL_CHUNK_FRAMES: u64 = 30 * SAMPLE_RATE as u64;

/// Most chunks of one stem: all stems' files are listed in one message.
const MAX_CHUNKS: u64 = 300;

/// One of the three signals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stem {
    /// What was restored.
    Speech,
    /// What the model removed.
    Background,
    /// The recording as it was, decoded.
    Original,
}

impl Stem {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Speech, Self::Background, Self::Original];

    /// Its name in names of files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Speech => "speech",
            Self::Background => "background",
            Self::Original => "original",
        }
    }

    /// The whole of it.
    pub fn master_name(self) -> String {
        format!("{}.flac", self.name())
    }

    /// One chunk of it.
    pub fn chunk_name(self, number: u64) -> String {
        format!("{}-{number:05}.flac", self.name())
    }
}

/// Frames in each chunk but the last one, in whole seconds.
pub fn chunk_frames(frames: u64) -> u64 {
    let second = u64::from(SAMPLE_RATE);
    frames.div_ceil(MAX_CHUNKS).div_ceil(second).saturating_mul(second).max(USUAL_CHUNK_FRAMES)
}

/// The document.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    version: u32,
    sample_rate: u32,
    channels: usize,
    frames: u64,
    chunk_frames: u64,
    /// Samples at which speech and background do not add up to the original.
    clipped_samples: u64,
    stems: Vec<StemEntry>,
}

#[derive(Debug, Serialize)]
struct StemEntry {
    name: &'static str,
    master: Option<StemFile>,
    chunks: Vec<StemFile>,
}

impl Manifest {
    /// Of these files.
    pub fn of(channels: usize, frames: u64, clipped_samples: u64, files: &[StemFile]) -> Self {
        let entry = |stem: Stem| {
            let chunk = format!("{}-", stem.name());
            StemEntry {
                name: stem.name(),
                master: files.iter().find(|file| file.name == stem.master_name()).cloned(),
                chunks: files.iter().filter(|file| file.name.starts_with(&chunk)).cloned().collect(),
            }
        };
        Self {
            version: 1,
            sample_rate: SAMPLE_RATE,
            channels,
            frames,
            chunk_frames: chunk_frames(frames),
            clipped_samples,
            stems: Stem::ALL.map(entry).into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_have_half_a_minute_and_their_list_fits_into_a_message_however_long_the_recording_is() {
        let second = u64::from(SAMPLE_RATE);
        assert_eq!(chunk_frames(12 * second), 30 * second);
        for hours in [1, 2, 3, 8, 24] {
            let frames = hours * 3_600 * second + 17;
            let chunk = chunk_frames(frames);
            assert!(frames.div_ceil(chunk) <= MAX_CHUNKS && chunk.is_multiple_of(second), "{hours}: {chunk}");
        }
        let file = |number| StemFile {
            name: Stem::Background.chunk_name(number),
            size: u64::from(u32::MAX),
            sha256: "0".repeat(64),
        };
        let files: Vec<StemFile> = (0..3 * MAX_CHUNKS + 4).map(file).collect();
        let text = serde_json::to_string(&files).unwrap();
        assert!(text.len() < shared_protocol::limits::MAX_FRAME_BYTES * 3 / 4, "{}", text.len());
    }
}
