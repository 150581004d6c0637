//! A folder of this machine as destination: `restored.wav` and the like in it, playback in `hls/`.

use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};

use shared_protocol::HlsSegment;

use super::Content;
use crate::job::error::{FileError, JobError};

/// A folder that results are written into.
#[derive(Debug, Clone)]
pub struct FolderDestination {
    root: PathBuf,
}

impl FolderDestination {
    /// The folder; it is made when the first result comes.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Stores an object whole or not at all.
    pub(super) async fn put(&self, path: &str, content: Content) -> Result<(), JobError> {
        // The edge keeps final files apart from playback; in a folder they are what one looks for.
        let target = self.root.join(path.strip_prefix("files/").unwrap_or(path));
        let storing = tokio::task::spawn_blocking(move || store(&target, content)).await;
        let stored = storing.unwrap_or_else(|error| Err(io::Error::other(error)));
        Ok(stored.map_err(FileError::doing("write into the output folder"))?)
    }

    /// Writes the playlist of a finished recording.
    pub(super) async fn write_playlist(&self, segments: &[HlsSegment]) -> Result<(), JobError> {
        self.put("hls/index.m3u8", Content::Memory(playlist(segments).into())).await
    }
}

fn store(target: &Path, content: Content) -> io::Result<()> {
    if let Some(folder) = target.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut partial = target.as_os_str().to_owned();
    partial.push(".partial");
    let partial = PathBuf::from(partial);
    match content {
        Content::Memory(bytes) => std::fs::write(&partial, bytes)?,
        Content::File(path) => match std::fs::rename(&path, &partial) {
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                std::fs::copy(&path, &partial)?;
            }
            other => other?,
        },
    }
    std::fs::rename(&partial, target)
}

/// The playlist of a finished recording (RFC 8216).
fn playlist(segments: &[HlsSegment]) -> String {
    let longest = segments.iter().map(|segment| segment.duration_ms.0.div_ceil(1000)).max().unwrap_or(1);
    let mut text = format!(
        "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:{longest}\n#EXT-X-PLAYLIST-TYPE:VOD\n#EXT-X-MAP:URI=\"init.mp4\"\n"
    );
    for HlsSegment { sequence, duration_ms, .. } in segments {
        let seconds = duration_ms.as_secs_f64();
        write!(text, "#EXTINF:{seconds:.3},\nseg-{sequence:05}.m4s\n")
            .expect("writing into a String cannot fail");
    }
    text.push_str("#EXT-X-ENDLIST\n");
    text
}
