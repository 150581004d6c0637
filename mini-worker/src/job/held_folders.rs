//! The completed jobs whose folders are held because stems or scores are still to be made of them: how many may wait with
//! their audio on the disk, and how many stems are made at once.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use shared_protocol::{FailureCode, JobFailure};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::disk::{Space, free_bytes};

/// Jobs whose stems are made at once: their encoders are nice to running jobs, and two keep an uplink busy.
const AT_ONCE: usize = 2;

/// Jobs that may wait: more would hardly have their turn within the scheduler's window.
const MOST_JOBS: usize = 200;

/// Bytes of audio that may lie on the disk for them: about seven hours of stereo. One job alone may have more.
const MOST_BYTES: u64 = 20_000_000_000;

/// The held folders. Clones are handles to the same ones.
#[derive(Debug, Clone)]
pub struct HeldFolders(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    work_folder: PathBuf,
    turns: Semaphore,
    held: Mutex<Held>,
}

/// Why nothing more is made of a job. Those that wait already go on: they are nearer to their turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FolderRefused {
    /// Jobs need the rest of the disk.
    #[error("The worker's disk has too little space for stems and scores.")]
    DiskLow,
    /// The uplink or the encoders do not keep up.
    #[error("Too many jobs wait for their stems and scores already.")]
    TooMany,
}

impl From<FolderRefused> for JobFailure {
    fn from(refused: FolderRefused) -> Self {
        Self::new(FailureCode::DiskFull, refused.to_string())
    }
}

/// What is held. Pure.
#[derive(Debug, Default)]
struct Held {
    jobs: usize,
    bytes: u64,
}

impl Held {
    fn take(&mut self, bytes: u64, space: Space) -> Result<(), FolderRefused> {
        if space == Space::VeryLow {
            return Err(FolderRefused::DiskLow);
        }
        if self.jobs >= MOST_JOBS || (self.jobs > 0 && self.bytes.saturating_add(bytes) > MOST_BYTES) {
            return Err(FolderRefused::TooMany);
        }
        self.jobs += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        Ok(())
    }

    fn give_back(&mut self, bytes: u64) {
        self.jobs = self.jobs.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(bytes);
    }
}

impl HeldFolders {
    /// None wait. Their audio lies below this folder.
    pub fn new(work_folder: &Path) -> Self {
        let work_folder = work_folder.to_path_buf();
        Self(Arc::new(Shared { work_folder, turns: Semaphore::new(AT_ONCE), held: Mutex::default() }))
    }

    /// A place for a job with so many bytes of audio.
    ///
    /// # Errors
    /// When nothing more is to be made of it.
    pub fn enter(&self, bytes: u64) -> Result<FolderPlace, FolderRefused> {
        // Where nobody can be asked, what is held is bounded all the same.
        let space = free_bytes(&self.0.work_folder).map_or(Space::Enough, Space::of);
        self.0.held().take(bytes, space)?;
        Ok(FolderPlace { shared: Arc::clone(&self.0), bytes })
    }
}

impl Shared {
    fn held(&self) -> MutexGuard<'_, Held> {
        // Nothing panics while it is held.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to wait. Dropping it gives it back; by then the job's folder has to be gone.
#[derive(Debug)]
pub struct FolderPlace {
    shared: Arc<Shared>,
    bytes: u64,
}

impl FolderPlace {
    /// Waits for the turn to make the stems; it ends with the value. None when there are no turns any more.
    pub async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        self.shared.turns.acquire().await.ok()
    }
}

impl Drop for FolderPlace {
    fn drop(&mut self) {
        self.shared.held().give_back(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_bounded_in_jobs_and_bytes_and_a_single_long_job_is_not_refused_for_its_length() {
        let mut held = Held::default();
        assert_eq!(held.take(10 * MOST_BYTES, Space::Enough), Ok(()));
        assert_eq!(held.take(1, Space::Enough), Err(FolderRefused::TooMany));
        held.give_back(10 * MOST_BYTES);
        for _ in 0..MOST_JOBS {
            assert_eq!(held.take(1_000, Space::Low), Ok(()));
        }
        assert_eq!(held.take(1_000, Space::Enough), Err(FolderRefused::TooMany));
        held.give_back(1_000);
        assert_eq!(held.take(1_000, Space::Enough), Ok(()), "a place that was given back is free");
    }

    #[test]
    fn on_a_nearly_full_disk_jobs_go_before_stems() {
        let mut held = Held::default();
        assert_eq!(held.take(1_000, Space::VeryLow), Err(FolderRefused::DiskLow));
        assert_eq!((held.jobs, held.bytes), (0, 0));
        let failure = JobFailure::from(FolderRefused::DiskLow);
        assert_eq!(failure.code, FailureCode::DiskFull);
    }
}
