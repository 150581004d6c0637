//! Terminal messages on disk until they are acknowledged: one file each, whole or not there. Beside them lie messages *in
//! case*: what is to be told of something that is still being made, should the process end meanwhile.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use shared_protocol::{MessageId, WorkerMessage};

/// Endings of the files' names.
const RESULT: &str = "json";
const IN_CASE: &str = "in-case";

/// The unacknowledged messages to one scheduler.
#[derive(Debug)]
pub struct Journal {
    folder: PathBuf,
    next: u64,
}

impl Journal {
    /// Opens the folder and reads what an earlier run left in it, oldest first, and last what was kept in case that run
    /// ended: it follows on results. A file that cannot be read as a message is put aside, and reported: it must not keep
    /// the worker from starting.
    ///
    /// # Errors
    /// When the folder cannot be made or read.
    pub fn open(folder: &Path) -> io::Result<(Self, Vec<WorkerMessage>)> {
        std::fs::create_dir_all(folder)?;
        let mut names = Vec::new();
        for entry in std::fs::read_dir(folder)? {
            names.extend(entry?.file_name().into_string());
        }
        names.sort();
        let next = names.iter().filter_map(|name| order_of(name)).max().map_or(0, |last| last + 1);
        let mut messages: Vec<WorkerMessage> = Vec::new();
        for ending in [RESULT, IN_CASE] {
            let of_kind = names.iter().map(|name| folder.join(name));
            for path in of_kind.filter(|path| path.extension().is_some_and(|found| found == ending)) {
                let message = serde_json::from_slice::<WorkerMessage>(&std::fs::read(&path)?).ok();
                match message.filter(|message| message.message_id().is_some()) {
                    // The case did not occur: what came instead of it is there.
                    Some(message) if messages.iter().any(|m| m.message_id() == message.message_id()) => {}
                    Some(message) => messages.push(message),
                    None => {
                        tracing::error!(path = %path.display(), "a journaled result cannot be read and is put aside");
                        std::fs::rename(&path, path.with_extension("unreadable"))?;
                    }
                }
            }
        }
        Ok((Self { folder: folder.into(), next }, messages))
    }

    /// Keeps a message safe: when this returns, it survives a loss of power.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn add(&mut self, message: &WorkerMessage) -> io::Result<()> {
        self.write(message, RESULT).await?;
        match message.message_id() {
            Some(id) => self.remove_with(id, &[IN_CASE]).await,
            None => Ok(()),
        }
    }

    /// Keeps a message safe that counts only if this process ends before one with the same id was added.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn add_in_case(&mut self, message: &WorkerMessage) -> io::Result<()> {
        self.write(message, IN_CASE).await
    }

    async fn write(&mut self, message: &WorkerMessage, ending: &str) -> io::Result<()> {
        let Some(id) = message.message_id() else { return Ok(()) };
        let name = format!("{:010}-{id}.{ending}", self.next);
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
        self.remove_with(id, &[RESULT, IN_CASE]).await
    }

    async fn remove_with(&self, id: &MessageId, endings: &[&str]) -> io::Result<()> {
        let folder = self.folder.clone();
        let endings: Vec<String> = endings.iter().map(|ending| format!("-{id}.{ending}")).collect();
        blocking(move || {
            for entry in std::fs::read_dir(&folder)? {
                let entry = entry?;
                let name = entry.file_name();
                if endings.iter().any(|ending| name.to_string_lossy().ends_with(ending)) {
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
    async fn what_was_kept_in_case_is_told_last_and_only_if_nothing_came_instead() {
        let folder = tempfile::tempdir().unwrap();
        let (mut journal, _) = Journal::open(folder.path()).unwrap();
        for number in 1..=3 {
            journal.add_in_case(&message(number)).await.unwrap();
        }
        for number in [4, 1] {
            journal.add(&message(number)).await.unwrap();
        }
        let (mut journal, left) = Journal::open(folder.path()).unwrap();
        assert_eq!(left, [message(4), message(1), message(2), message(3)]);
        let id = |number| message(number).message_id().cloned().unwrap();
        journal.remove(&id(1)).await.unwrap();
        journal.remove(&id(2)).await.unwrap();
        let (_, left) = Journal::open(folder.path()).unwrap();
        assert_eq!(left, [message(4), message(3)]);
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
