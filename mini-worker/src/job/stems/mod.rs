//! Stems: the restored speech, what the model removed, and the original, as FLAC in chunks and as a whole, stored after the
//! job is complete. Nothing of this touches the job any more.

mod manifest;
mod render;
mod split;

use std::path::Path;
use std::sync::Arc;

use futures_util::{StreamExt, stream, try_join};
use shared_protocol::StemFile;
use tokio::sync::mpsc;

use super::error::{FileError, JobError};
use super::probe::AudioTrack;
use super::program::MediaPrograms;
use super::publish::{Content, Destination, MOST_IN_LINE, Stored};
use super::timeline::Timeline;
use super::upload::Class;
use super::workspace::JobFolder;
use manifest::Manifest;
use render::{Studio, render};

/// Files of stems that may wait for the line of uploads; then rendering waits too, and the disk does not fill.
const MAX_WAITING_FILES: usize = 8;

/// The stems of a completed job, to be made. The job's folder stays until this is dropped.
#[derive(Debug)]
pub struct PendingStems {
    pub(super) folder: Arc<JobFolder>,
    pub(super) programs: MediaPrograms,
    pub(super) track: AudioTrack,
    pub(super) original: Timeline,
    pub(super) restored: Timeline,
    /// Of each timeline.
    pub(super) frames: u64,
    pub(super) destination: Destination,
}

impl PendingStems {
    /// Renders and stores all of it; the manifest is last.
    ///
    /// # Errors
    /// When something could not be rendered or stored.
    pub async fn publish(self) -> Result<Vec<StemFile>, JobError> {
        let folder = self.folder.path();
        let studio = Studio { programs: &self.programs, folder, track: &self.track };
        let open = FileError::doing("open the audio for stems");
        let original = self.original.read().await.map_err(&open)?;
        let restored = self.restored.read().await.map_err(&open)?;
        let (made, names) = mpsc::channel(MAX_WAITING_FILES);
        let (clipped, mut files) = try_join!(
            Box::pin(render(&studio, original, restored, self.frames, made)),
            Box::pin(store(&self.destination, folder, names)),
        )?;
        let manifest = Manifest::of(self.track.channels, self.frames, clipped, &files);
        let text = serde_json::to_vec_pretty(&manifest)
            .expect("a manifest has text keys only and no fallible serializers");
        files.push(
            put(&self.destination, "manifest.json", "application/json", Content::Memory(text.into())).await?,
        );
        Ok(files)
    }
}

/// Stores files of the job's folder as their names come, and removes each when it is stored.
async fn store(
    destination: &Destination,
    folder: &Path,
    names: mpsc::Receiver<String>,
) -> Result<Vec<StemFile>, JobError> {
    let names = stream::unfold(names, |mut names| async move { Some((names.recv().await?, names)) });
    let puts = names.map(|name| async move {
        let path = folder.join(&name);
        let stored = put(destination, &name, "audio/flac", Content::File(path.clone())).await?;
        // A folder as destination has taken it away already.
        tokio::fs::remove_file(path).await.unwrap_or_default();
        Ok::<_, JobError>(stored)
    });
    let mut stored = std::pin::pin!(puts.buffered(MOST_IN_LINE));
    let mut files = Vec::new();
    while let Some(file) = stored.next().await {
        files.push(file?);
    }
    Ok(files)
}

async fn put(
    destination: &Destination,
    name: &str,
    content_type: &str,
    content: Content,
) -> Result<StemFile, JobError> {
    let path = format!("stems/{name}");
    let Stored { size, sha256 } = destination.put(&path, content_type, Class::Stem, content).await?;
    Ok(StemFile { name: name.to_owned(), size, sha256 })
}
