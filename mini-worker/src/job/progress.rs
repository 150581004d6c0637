//! What the stages of a job report, and what a client sees of it.

use shared_protocol::{HlsSegment, Phase};
use tokio::sync::mpsc;

use crate::inference::SAMPLE_RATE;
use crate::session::ProgressUpdate;

/// Facts that may wait to be read. A reader that falls behind slows the job down rather than filling memory.
const MAX_WAITING_FACTS: usize = 64;

/// Something that a stage did.
#[derive(Debug, Clone, PartialEq)]
pub enum Fact {
    /// So much of the upload is here.
    Downloaded {
        /// Bytes here.
        bytes: u64,
        /// Bytes of the whole.
        of: u64,
    },
    /// The upload is here, and says that it is so long.
    Examined {
        /// Samples of each channel, when known.
        expected: Option<u64>,
    },
    /// So much is decoded.
    Decoded {
        /// Samples of each channel.
        frames: u64,
    },
    /// Everything is decoded.
    DecodedAll {
        /// Samples of each channel.
        frames: u64,
    },
    /// So much is restored.
    Restored {
        /// Samples of each channel.
        frames: u64,
    },
    /// Everything is restored.
    RestoredAll,
    /// A segment can be played.
    SegmentStored(HlsSegment),
    /// A final file is stored.
    FileStored {
        /// So many are.
        files: usize,
        /// Of so many.
        of: usize,
    },
}

/// Where stages report to.
#[derive(Debug, Clone)]
pub struct Reporter(mpsc::Sender<Fact>);

/// A reporter, and the other end of it.
pub fn reporter() -> (Reporter, mpsc::Receiver<Fact>) {
    let (sender, receiver) = mpsc::channel(MAX_WAITING_FACTS);
    (Reporter(sender), receiver)
}

impl Reporter {
    /// Tells a fact.
    pub async fn say(&self, fact: Fact) {
        // When nobody listens any more, nobody misses it.
        self.0.send(fact).await.unwrap_or_default();
    }
}

/// Shares of a job's progress: mostly the model's, because the others overlap with it.
const DOWNLOADED: f64 = 0.05;
const PREPARED: f64 = 0.08;
const RESTORED: f64 = 0.90;

/// Turns facts into what a client sees. Fractions never go back.
#[derive(Debug)]
pub struct ProgressModel {
    phase: Phase,
    fraction: f64,
    expected: Option<u64>,
}

impl Default for ProgressModel {
    fn default() -> Self {
        Self { phase: Phase::Downloading, fraction: 0.0, expected: None }
    }
}

impl ProgressModel {
    /// Takes a fact and says what a client sees now.
    pub fn take(&mut self, fact: Fact) -> ProgressUpdate {
        let mut segments = Vec::new();
        match fact {
            Fact::Downloaded { bytes, of } => self.reach(DOWNLOADED * share(bytes, of)),
            Fact::Examined { expected } => {
                self.phase = self.phase.max(Phase::PreparingAudio);
                self.expected = expected;
                self.reach(DOWNLOADED);
            }
            Fact::Decoded { frames } => {
                // A container's own idea of its length may be too short.
                self.expected = self.expected.map(|expected| expected.max(frames));
                self.reach((DOWNLOADED + PREPARED) / 2.0);
            }
            Fact::DecodedAll { frames } => self.expected = Some(frames),
            Fact::Restored { frames } => {
                self.phase = self.phase.max(Phase::Restoring);
                let done = self.expected.map_or(0.0, |expected| share(frames, expected));
                self.reach(PREPARED + (RESTORED - PREPARED) * done);
            }
            Fact::RestoredAll => {
                self.phase = Phase::Publishing;
                self.reach(RESTORED);
            }
            Fact::SegmentStored(segment) => segments.push(segment),
            Fact::FileStored { files, of } => {
                self.reach(RESTORED + (1.0 - RESTORED) * share(files as u64, of as u64));
            }
        }
        ProgressUpdate {
            phase: self.phase,
            fraction: self.fraction,
            audio_seconds: self.audio_seconds(),
            segments,
        }
    }

    /// Length of the recording, once it is known for sure or by its container.
    fn audio_seconds(&self) -> Option<f64> {
        self.expected.map(|frames| frames as f64 / f64::from(SAMPLE_RATE))
    }

    fn reach(&mut self, fraction: f64) {
        self.fraction = self.fraction.max(fraction);
    }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 1.0 } else { (part as f64 / whole as f64).min(1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_never_goes_back_whatever_the_container_claimed() {
        let mut model = ProgressModel::default();
        let facts = [
            Fact::Downloaded { bytes: 50, of: 100 },
            Fact::Downloaded { bytes: 100, of: 100 },
            Fact::Examined { expected: Some(48_000) },
            Fact::Decoded { frames: 40_000 },
            Fact::Restored { frames: 40_000 },
            Fact::Decoded { frames: 4_800_000 },
            Fact::Restored { frames: 100_000 },
            Fact::DecodedAll { frames: 9_600_000 },
            Fact::Restored { frames: 9_600_000 },
            Fact::RestoredAll,
            Fact::FileStored { files: 1, of: 2 },
            Fact::FileStored { files: 2, of: 2 },
        ];
        let updates: Vec<ProgressUpdate> = facts.into_iter().map(|fact| model.take(fact)).collect();
        assert!(updates.is_sorted_by(|a, b| a.fraction <= b.fraction && a.phase <= b.phase), "{updates:?}");
        assert_eq!(updates.last().unwrap().fraction, 1.0);
        assert_eq!(updates.last().unwrap().audio_seconds, Some(200.0));
    }

    #[test]
    fn an_unknown_length_is_not_a_division_by_zero() {
        let mut model = ProgressModel::default();
        model.take(Fact::Examined { expected: None });
        assert_eq!(model.take(Fact::Restored { frames: 10 }).fraction, PREPARED);
        assert_eq!(model.take(Fact::Downloaded { bytes: 0, of: 0 }).fraction, PREPARED);
    }
}
