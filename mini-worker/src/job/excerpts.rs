//! What of a completed job is kept for the scorer: where its two timelines are, until the middle of both is read.

use std::io;
use std::sync::Arc;

use super::timeline::{SAMPLE_BYTES, Timeline};
use super::workspace::JobFolder;
use crate::inference::SAMPLE_RATE;
use crate::scorer::{Pair, middle, mix};

/// Frames read at once: a second.
const CHUNK: u64 = SAMPLE_RATE as u64;

/// A completed job that is to be scored. The job's folder stays until this is dropped.
#[derive(Debug)]
pub struct PendingScore {
    /// Held, because the timelines lie in it.
    pub(super) _folder: Arc<JobFolder>,
    pub(super) original: Timeline,
    pub(super) restored: Timeline,
    /// Of each timeline.
    pub(super) frames: u64,
}

impl PendingScore {
    /// The middle of both, mixed to one channel.
    ///
    /// # Errors
    /// When the timelines cannot be read.
    pub async fn read(self) -> io::Result<Pair> {
        Ok(Pair {
            original: excerpt(&self.original, self.frames).await?,
            restored: excerpt(&self.restored, self.frames).await?,
        })
    }
}

async fn excerpt(timeline: &Timeline, frames: u64) -> io::Result<Vec<f32>> {
    let range = middle(frames);
    let mut reader = timeline.read_from(range.start).await?;
    let mut left = range.end - range.start;
    let mut samples = Vec::with_capacity(usize::try_from(left).unwrap_or_default());
    while left > 0 {
        let Some(bytes) = reader.next(1, left.min(CHUNK)).await? else { break };
        left -= (bytes.len() / SAMPLE_BYTES / timeline.channels()) as u64;
        samples.extend(mix(&bytes, timeline.channels()));
    }
    Ok(samples)
}

#[cfg(test)]
mod tests {
    use super::super::timeline;
    use super::super::workspace::Workspace;
    use super::*;

    #[tokio::test]
    async fn the_scorer_hears_the_same_middle_of_both_and_the_folder_goes_with_the_reading() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(folder.path()).unwrap();
        let job = Arc::new(workspace.job_folder("dev-job_1-1").unwrap());
        let frames = 40 * 48_000_u64;
        let mut timelines = Vec::new();
        for (name, sign) in [("decoded.f32", 1.0_f32), ("restored.f32", -1.0)] {
            let (mut writer, timeline) = timeline::create(&job.file(name), 2).await.unwrap();
            // Each frame holds its own number in the left and nothing in the right channel.
            let bytes: Vec<u8> =
                (0..frames).flat_map(|n| [(sign * n as f32).to_le_bytes(), [0; 4]]).flatten().collect();
            writer.append(&bytes).await.unwrap();
            writer.end();
            timelines.push(timeline);
        }
        let [original, restored] = timelines.try_into().unwrap();
        let pending = PendingScore { _folder: Arc::clone(&job), original, restored, frames };
        let path = job.path().to_path_buf();
        drop(job);
        let pair = pending.read().await.unwrap();
        assert_eq!((pair.original.len(), pair.restored.len()), (30 * 48_000, 30 * 48_000));
        let first = 5.0 * 48_000.0;
        assert_eq!((pair.original[0], pair.restored[7]), (first / 2.0, -(first + 7.0) / 2.0));
        assert!(!path.exists());
    }
}
