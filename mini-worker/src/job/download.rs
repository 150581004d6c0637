//! Brings the recording into the job's folder, as the file `source`.

use std::path::PathBuf;

use shared_protocol::PhaseTiming;

use super::edge::EdgeAccess;
use super::error::{DownloadError, FileError, JobError};
use super::progress::{Fact, Reporter};
use super::timing::AttemptClock;
use super::workspace::JobFolder;

/// Where the recording is.
#[derive(Debug)]
pub enum JobSource {
    /// In the edge's storage.
    Edge {
        /// Access to it.
        edge: EdgeAccess,
        /// Bytes.
        size: u64,
    },
    /// On this machine.
    File(PathBuf),
}

/// Brings it. Its own name is left behind: what it is, its content says.
///
/// # Errors
/// When it cannot be had, or is empty.
pub async fn fetch(
    source: &JobSource,
    folder: &JobFolder,
    clock: AttemptClock,
    reporter: &Reporter,
) -> Result<PhaseTiming, JobError> {
    let target = folder.file("source");
    let start = clock.now();
    let size = match source {
        JobSource::Edge { size: 0, .. } => return Err(DownloadError::Empty.into()),
        JobSource::Edge { edge, size } => {
            edge.download(*size, &target, reporter).await?;
            *size
        }
        JobSource::File(path) => {
            let doing = FileError::doing("read the file");
            let path = tokio::fs::canonicalize(path).await.map_err(&doing)?;
            let metadata = tokio::fs::metadata(&path).await.map_err(&doing)?;
            tokio::fs::symlink(&path, &target).await.map_err(&doing)?;
            metadata.len()
        }
    };
    reporter.say(Fact::Downloaded { bytes: size, of: size }).await;
    Ok(clock.interval_since("downloading", start))
}
