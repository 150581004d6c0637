//! Stores what was made: playback segments while the rest is still restoring, final files at the end.

mod folder;

use std::io::Read;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use sha2::{Digest, Sha256};
use shared_protocol::{DurationMs, HlsSegment, PhaseTiming, PublishedFile};
use tokio::sync::mpsc;

pub use folder::FolderDestination;

use super::edge::{EdgeAccess, NewObject};
use super::error::{FileError, JobError};
use super::final_files::FinalFile;
use super::hls::HlsObject;
use super::progress::{Fact, Reporter};
use super::timing::{AttemptClock, Intervals};
use super::upload::Class;

/// Objects of one job that stand in the line of uploads or are on their way.
pub const MOST_IN_LINE: usize = 32;

/// Bytes of a file that are hashed in one go.
const HASHED_AT_ONCE: usize = 256 * 1024;

/// Where the objects of an attempt go.
#[derive(Debug, Clone)]
pub enum Destination {
    /// To the edge's storage.
    Edge(EdgeAccess),
    /// Into a folder of this machine.
    Folder(FolderDestination),
}

/// The bytes of an object.
#[derive(Debug, Clone)]
pub enum Content {
    /// In memory.
    Memory(Bytes),
    /// In a file of the job's folder.
    File(PathBuf),
}

/// What was stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Bytes.
    pub size: u64,
    /// SHA-256 in lower-case hex.
    pub sha256: String,
}

/// What was stored for playback.
#[derive(Debug, Default)]
pub struct PublishedHls {
    /// All segments.
    pub segments: Vec<HlsSegment>,
    /// When objects were being stored, and when the first segment was.
    pub timings: Vec<PhaseTiming>,
}

/// What was stored at the end.
#[derive(Debug, Default)]
pub struct PublishedFiles {
    /// All files.
    pub files: Vec<PublishedFile>,
    /// When they were being stored.
    pub timings: Vec<PhaseTiming>,
}

impl Destination {
    /// Stores one object under a path such as `hls/seg-00000.m4s`.
    pub(super) async fn put(
        &self,
        path: &str,
        content_type: &str,
        class: Class,
        content: Content,
    ) -> Result<Stored, JobError> {
        let stored = measure(&content).await?;
        let (size, sha256) = (stored.size, stored.sha256.as_str());
        match self {
            Self::Edge(edge) => {
                edge.put(NewObject { path, content_type, class, content: &content, size, sha256 }).await?;
            }
            Self::Folder(folder) => folder.put(path, content).await?,
        }
        Ok(stored)
    }
}

/// Size and hash of an object.
async fn measure(content: &Content) -> Result<Stored, JobError> {
    match content {
        Content::Memory(bytes) => {
            Ok(Stored { size: bytes.len() as u64, sha256: hex(&Sha256::digest(bytes)) })
        }
        Content::File(path) => {
            let path = path.clone();
            let hashing = tokio::task::spawn_blocking(move || hash_file(&path)).await;
            Ok(hashing
                .unwrap_or_else(|error| Err(std::io::Error::other(error)))
                .map_err(FileError::doing("read a final file"))?)
        }
    }
}

fn hash_file(path: &Path) -> std::io::Result<Stored> {
    let mut file = std::fs::File::open(path)?;
    let mut hash = Sha256::new();
    let mut size = 0;
    let mut buffer = vec![0; HASHED_AT_ONCE];
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok(Stored { size, sha256: hex(&hash.finalize()) });
        }
        hash.update(&buffer[..read]);
        size += read as u64;
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Stores playback objects as they come, several at once, and announces segments in their order, each only when it and
/// all before it are stored.
///
/// # Errors
/// When one could not be stored.
pub async fn publish_hls(
    destination: &Destination,
    objects: mpsc::Receiver<HlsObject>,
    clock: AttemptClock,
    reporter: &Reporter,
) -> Result<PublishedHls, JobError> {
    let mut published = PublishedHls::default();
    let mut intervals = Intervals::default();
    let puts = received(objects).map(|object| put_hls(destination, object, clock));
    let mut stored = std::pin::pin!(puts.buffered(MOST_IN_LINE));
    while let Some(result) = stored.next().await {
        let (started, segment) = result?;
        intervals.add(started, clock.now());
        let Some(segment) = segment else { continue };
        if published.segments.is_empty() {
            published.timings.push(clock.interval_so_far("first_segment"));
        }
        published.segments.push(segment.clone());
        reporter.say(Fact::SegmentStored(segment)).await;
    }
    if let Destination::Folder(folder) = destination
        && !published.segments.is_empty()
    {
        folder.write_playlist(&published.segments).await?;
    }
    published.timings.extend(intervals.timings("uploading"));
    Ok(published)
}

fn received(objects: mpsc::Receiver<HlsObject>) -> impl Stream<Item = HlsObject> {
    stream::unfold(objects, |mut objects| async move {
        let object = objects.recv().await?;
        Some((object, objects))
    })
}

async fn put_hls(
    destination: &Destination,
    object: HlsObject,
    clock: AttemptClock,
) -> Result<(DurationMs, Option<HlsSegment>), JobError> {
    let started = clock.now();
    match object {
        HlsObject::Init(data) => {
            destination.put("hls/init.mp4", "video/mp4", Class::Playback, Content::Memory(data)).await?;
            Ok((started, None))
        }
        HlsObject::Segment { sequence, data, duration } => {
            let path = format!("hls/seg-{sequence:05}.m4s");
            let content = Content::Memory(data);
            let stored = destination.put(&path, "video/iso.segment", Class::Playback, content).await?;
            Ok((started, Some(HlsSegment { sequence, duration_ms: duration, size: stored.size })))
        }
    }
}

/// Stores the final files of the job's folder, several at once.
///
/// # Errors
/// When one could not be stored.
pub async fn publish_files(
    destination: &Destination,
    folder: &Path,
    files: &[FinalFile],
    clock: AttemptClock,
    reporter: &Reporter,
) -> Result<PublishedFiles, JobError> {
    let started = clock.now();
    let puts = stream::iter(files.to_vec()).map(|file| put_file(destination, folder, file));
    let mut stored = std::pin::pin!(puts.buffered(MOST_IN_LINE));
    let mut published = PublishedFiles::default();
    while let Some(file) = stored.next().await {
        published.files.push(file?);
        reporter.say(Fact::FileStored { files: published.files.len(), of: files.len() }).await;
    }
    if !files.is_empty() {
        published.timings.push(clock.interval_since("uploading", started));
    }
    Ok(published)
}

async fn put_file(
    destination: &Destination,
    folder: &Path,
    file: FinalFile,
) -> Result<PublishedFile, JobError> {
    let content = Content::File(folder.join(file.name));
    let path = format!("files/{}", file.name);
    let Stored { size, sha256 } = destination.put(&path, file.content_type, Class::File, content).await?;
    let content_type = file.content_type.to_owned();
    Ok(PublishedFile { name: file.name.into(), kind: file.kind, size, sha256, content_type })
}
