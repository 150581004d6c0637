//! Terminal messages on disk until they are acknowledged: one file each, whole or not there.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use shared_protocol::{MessageId, WorkerMessage};

/// The unacknowledged messages to one scheduler.
#[derive(Debug)]
pub struct Journal {
    folder: PathBuf,
    next: u64,
}

impl Journal {
    /// Opens the folder and reads what an earlier run left in it, oldest first. A file that cannot be read as a message
    /// is put aside, and reported: it must not keep the worker from starting.
    ///
    /// # Errors
    /// When the folder cannot be made or read.
    pub fn open(folder: &Path) -> io::Result<(Self, Vec<WorkerMessage>)> {
        std::fs::create_dir_all(folder)?;
        let mut names = Vec::new();
        for entry in std::fs::read_dir(folder)? {
            names.extend(entry?.file_name().into_string().ok().filter(|name| name.ends_with(".json")));
        }
        names.sort();
        let mut messages = Vec::new();
        for name in &names {
            let path = folder.join(name);
            match serde_json::from_slice::<WorkerMessage>(&std::fs::read(&path)?) {
                Ok(message) if message.message_id().is_some() => messages.push(message),
                Ok(_) | Err(_) => {
                    tracing::error!(path = %path.display(), "a journaled result cannot be read and is put aside");
                    std::fs::rename(&path, path.with_extension("unreadable"))?;
                }
            }
        }
        let next = names.last().and_then(|name| order_of(name)).map_or(0, |last| last + 1);
        Ok((Self { folder: folder.into(), next }, messages))
    }

    /// Keeps a message safe: when this returns, it survives a loss of power.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn add(&mut self, message: &WorkerMessage) -> io::Result<()> {
        let Some(id) = message.message_id() else { return Ok(()) };
        let name = format!("{:010}-{id}.json", self.next);
        self.next += 1;
        let folder = self.folder.clone();
        let text = shared_protocol::encode(message);
        blocking(move || write_whole(&folder, &name, text.as_bytes())).await
    }

    /// Removes an acknowledged message.
    ///
    /// # Errors
    /// When it cannot be removed; then it is sent once more after the next start, which does no harm.
    pub async fn remove(&mut self, id: &MessageId) -> io::Result<()> {
        let folder = self.folder.clone();
        let ending = format!("-{id}.json");
        blocking(move || {
            for entry in std::fs::read_dir(&folder)? {
                let entry = entry?;
                if entry.file_name().to_string_lossy().ends_with(&ending) {
                    std::fs::remove_file(entry.path())?;
                }
            }
            Ok(())
        })
        .await
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(io::Error::other(error)))
}

/// Writes a file so that its name only ever stands for all of it, and lasts.
fn write_whole(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let partial = folder.join(format!("{name}.partial"));
    let mut file = File::create(&partial)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(&partial, folder.join(name))?;
    File::open(folder)?.sync_all()
}

fn order_of(name: &str) -> Option<u64> {
    name.split_once('-')?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared_protocol::{Attempt, Cancelled, JobId};

    fn message(number: u32) -> WorkerMessage {
        WorkerMessage::Cancelled(Cancelled {
            message_id: MessageId::new(format!("msg_{number}")).unwrap(),
            job_id: JobId::new("job_1").unwrap(),
            attempt: Attempt(number),
        })
    }

    #[tokio::test]
    async fn results_survive_a_restart_in_their_order_until_they_are_acknowledged() {
        let folder = tempfile::tempdir().unwrap();
        let (mut journal, _) = Journal::open(folder.path()).unwrap();
        for number in 0..12 {
            journal.add(&message(number)).await.unwrap();
        }
        journal.remove(message(3).message_id().unwrap()).await.unwrap();

        let (mut journal, left) = Journal::open(folder.path()).unwrap();
        let expected: Vec<WorkerMessage> = (0..12).filter(|n| *n != 3).map(message).collect();
        assert_eq!(left, expected);
        journal.add(&message(12)).await.unwrap();
        let (_, left) = Journal::open(folder.path()).unwrap();
        assert_eq!(left.last(), Some(&message(12)), "a new one goes behind those of earlier runs");
    }

    #[tokio::test]
    async fn a_damaged_file_is_put_aside_and_keeps_nothing_else_back() {
        let folder = tempfile::tempdir().unwrap();
        let (mut journal, _) = Journal::open(folder.path()).unwrap();
        journal.add(&message(1)).await.unwrap();
        std::fs::write(folder.path().join("0000000000-a.json"), "{\"type\":\"job.com").unwrap();
        std::fs::write(folder.path().join("0000000009-b.json.partial"), "half").unwrap();
        let (_, left) = Journal::open(folder.path()).unwrap();
        assert_eq!(left, [message(1)]);
        assert!(folder.path().join("0000000000-a.unreadable").exists());
    }
}
