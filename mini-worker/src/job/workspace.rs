//! The folders that jobs work in. Each attempt has one of its own, which goes away with it.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use super::error::FileError;

/// The folders below the work folder that are emptied at start, and the only ones: of jobs, and for what programs and
/// libraries put into `TMPDIR`.
const JOBS: &str = "jobs";
const TEMPORARY: &str = "tmp";

/// The work folder of this process.
#[derive(Debug)]
pub struct Workspace {
    jobs: PathBuf,
    /// Held while this process runs: two workers in one folder would sweep each other's jobs away.
    _lock: File,
}

/// Why the work folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// It cannot be made, locked or emptied.
    #[error("cannot use the work folder {path}: {source}", path = path.display())]
    Unusable {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Another process has it.
    #[error("another worker uses the work folder {path}: stop it, or set another `work_folder`", path = path.display())]
    InUse {
        /// The folder.
        path: PathBuf,
    },
}

impl Workspace {
    /// Takes the folder for this process and removes what an earlier one left behind in it.
    ///
    /// # Errors
    /// When another process uses it, or it cannot be made or emptied.
    pub fn open(folder: &Path) -> Result<Self, WorkspaceError> {
        let unusable = |source| WorkspaceError::Unusable { path: folder.into(), source };
        let jobs = folder.join(JOBS);
        std::fs::create_dir_all(folder).map_err(unusable)?;
        // A relative folder would be another one in the programs that are started inside of it.
        let jobs = std::path::absolute(jobs).map_err(unusable)?;
        let lock = File::create(folder.join("lock")).map_err(unusable)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(WorkspaceError::InUse { path: folder.into() }),
            Err(TryLockError::Error(source)) => return Err(unusable(source)),
        }
        for swept in [&jobs, &folder.join(TEMPORARY)] {
            match std::fs::remove_dir_all(swept) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(unusable(error)),
                _ => {}
            }
            std::fs::create_dir(swept).map_err(unusable)?;
        }
        Ok(Self { jobs, _lock: lock })
    }

    /// What `TMPDIR` is to be for a process with this work folder. It exists once the folder is open.
    ///
    /// # Errors
    /// When the current directory cannot be read.
    pub fn temporary_folder(folder: &Path) -> io::Result<PathBuf> {
        std::path::absolute(folder.join(TEMPORARY))
    }

    /// A fresh folder for one attempt.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn job_folder(&self, name: &str) -> Result<JobFolder, FileError> {
        let path = self.jobs.join(name);
        std::fs::create_dir(&path).map_err(FileError::doing("make the job's folder"))?;
        Ok(JobFolder { path })
    }
}

/// One attempt's folder. Dropping it removes it with all it holds.
#[derive(Debug)]
pub struct JobFolder {
    path: PathBuf,
}

impl JobFolder {
    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Removes everything but the timelines: what is stored already needs no disk while something else still waits.
    pub async fn keep_audio_only(&self) {
        let Ok(mut entries) = tokio::fs::read_dir(&self.path).await else { return };
        while let Ok(Some(entry)) = entries.next_entry().await {
            let path = entry.path();
            if path.extension().is_none_or(|ending| ending != "f32") {
                // What stays goes with the folder.
                tokio::fs::remove_file(path).await.unwrap_or_default();
            }
        }
    }
}

impl Drop for JobFolder {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.path) {
            tracing::warn!(folder = %self.path.display(), %error, "a job's folder could not be removed; it goes at the next start");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_takes_the_jobs_of_an_earlier_run_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("jobs/dev-job_1-1")).unwrap();
        std::fs::write(folder.path().join("holiday.jpg"), "x").unwrap();
        std::fs::create_dir_all(folder.path().join("tmp/compiled-model")).unwrap();
        let workspace = Workspace::open(folder.path()).unwrap();
        assert!(!folder.path().join("jobs/dev-job_1-1").exists());
        assert!(folder.path().join("holiday.jpg").exists());
        assert!(folder.path().join("tmp").exists() && !folder.path().join("tmp/compiled-model").exists());

        let job = workspace.job_folder("dev-job_1-2").unwrap();
        std::fs::write(job.file("source"), "x").unwrap();
        assert!(matches!(Workspace::open(folder.path()), Err(WorkspaceError::InUse { .. })));
        assert!(job.file("source").exists(), "the second worker swept nothing");
        drop(job);
        assert!(!folder.path().join("jobs/dev-job_1-2").exists());
    }
}
