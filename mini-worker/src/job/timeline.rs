//! Audio that grows in a file while others already read it: interleaved 32-bit floats, little endian, 48 kHz.
//!
//! The file is the buffer between two stages. However far one runs ahead of the other, memory holds one chunk of each.

use std::io;
use std::path::{Path, PathBuf};

use tokio::fs::File;
use tokio::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};
use tokio::sync::watch;

use crate::inference::Planar;

/// Bytes of one sample.
pub const SAMPLE_BYTES: usize = 4;

#[derive(Debug, Clone, Copy, Default)]
struct Extent {
    frames: u64,
    ended: bool,
}

/// The end that grows.
#[derive(Debug)]
pub struct TimelineWriter {
    file: File,
    frame_bytes: usize,
    frames: u64,
    extent: watch::Sender<Extent>,
}

/// A timeline as its readers know it.
#[derive(Debug, Clone)]
pub struct Timeline {
    path: PathBuf,
    channels: usize,
    extent: watch::Receiver<Extent>,
}

/// One reader, at its own position.
#[derive(Debug)]
pub struct TimelineReader {
    file: File,
    channels: usize,
    position: u64,
    extent: watch::Receiver<Extent>,
}

/// Makes an empty timeline.
///
/// # Errors
/// When the file cannot be made.
pub async fn create(path: &Path, channels: usize) -> io::Result<(TimelineWriter, Timeline)> {
    let file = File::create(path).await?;
    let (sender, extent) = watch::channel(Extent::default());
    let writer = TimelineWriter { file, frame_bytes: channels * SAMPLE_BYTES, frames: 0, extent: sender };
    Ok((writer, Timeline { path: path.into(), channels, extent }))
}

impl TimelineWriter {
    /// Appends whole frames (one sample of each channel).
    ///
    /// # Errors
    /// When the file cannot be written.
    pub async fn append(&mut self, frames: &[u8]) -> io::Result<()> {
        debug_assert!(frames.len().is_multiple_of(self.frame_bytes), "whole frames only");
        self.file.write_all(frames).await?;
        self.file.flush().await?;
        self.frames += (frames.len() / self.frame_bytes) as u64;
        // Nobody may be reading any more: then nobody has to know.
        self.extent.send_replace(Extent { frames: self.frames, ended: false });
        Ok(())
    }

    /// Frames so far.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Says that this was all.
    pub fn end(self) {
        self.extent.send_replace(Extent { frames: self.frames, ended: true });
    }
}

impl Timeline {
    /// A reader at the beginning.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub async fn read(&self) -> io::Result<TimelineReader> {
        let file = File::open(&self.path).await?;
        Ok(TimelineReader { file, channels: self.channels, position: 0, extent: self.extent.clone() })
    }

    /// A reader at a frame that is there already.
    ///
    /// # Errors
    /// When the file cannot be opened or has no such place.
    pub async fn read_from(&self, frame: u64) -> io::Result<TimelineReader> {
        let mut reader = self.read().await?;
        let bytes = frame * (self.channels * SAMPLE_BYTES) as u64;
        reader.file.seek(io::SeekFrom::Start(bytes)).await?;
        reader.position = frame;
        Ok(reader)
    }

    /// Channels of each frame.
    pub fn channels(&self) -> usize {
        self.channels
    }
}

impl TimelineReader {
    /// Waits until there is something to read, or the timeline has ended.
    ///
    /// # Errors
    /// When its writer went away without an end.
    pub async fn begun(&mut self) -> io::Result<()> {
        self.extent
            .wait_for(|extent| extent.ended || extent.frames > 0)
            .await
            .map(|_| ())
            .map_err(writer_gone)
    }

    /// The next frames: at least `least` unless the timeline ends before, at most `most`. Waits for them. None at the end.
    ///
    /// # Errors
    /// When the file cannot be read, or its writer went away without an end.
    pub async fn next(&mut self, least: u64, most: u64) -> io::Result<Option<Vec<u8>>> {
        let position = self.position;
        let extent = *self
            .extent
            .wait_for(|extent| extent.ended || extent.frames >= position + least)
            .await
            .map_err(writer_gone)?;
        let frames = (extent.frames - position).min(most);
        if frames == 0 {
            return Ok(None);
        }
        let mut bytes = vec![0; frames as usize * self.channels * SAMPLE_BYTES];
        self.file.read_exact(&mut bytes).await?;
        self.position += frames;
        Ok(Some(bytes))
    }
}

fn writer_gone(_: watch::error::RecvError) -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the stage before has stopped")
}

/// Interleaved bytes as one `Vec` per channel.
pub fn to_planar(bytes: &[u8], channels: usize) -> Planar {
    let mut planar = vec![Vec::with_capacity(bytes.len() / SAMPLE_BYTES / channels); channels];
    for (index, sample) in bytes.as_chunks::<SAMPLE_BYTES>().0.iter().enumerate() {
        planar[index % channels].push(f32::from_le_bytes(*sample));
    }
    planar
}

/// One `Vec` per channel, all of one length, as interleaved bytes.
pub fn to_interleaved(planar: &Planar) -> Vec<u8> {
    let frames = planar.iter().map(Vec::len).min().unwrap_or(0);
    let mut bytes = Vec::with_capacity(frames * planar.len() * SAMPLE_BYTES);
    for frame in 0..frames {
        for channel in planar {
            bytes.extend_from_slice(&channel[frame].to_le_bytes());
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_reader_follows_a_growing_timeline_to_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let (mut writer, timeline) = create(&folder.path().join("t"), 2).await.unwrap();
        let mut reader = timeline.read().await.unwrap();
        let planar = vec![vec![0.0, 1.0, 2.0], vec![0.5, 1.5, 2.5]];
        let follow = async {
            let mut lengths = Vec::new();
            let mut all = Vec::new();
            while let Some(bytes) = reader.next(2, 4).await.unwrap() {
                lengths.push(bytes.len() / 8);
                all.extend(bytes);
            }
            (lengths, to_planar(&all, 2))
        };
        let grow = async {
            writer.append(&to_interleaved(&planar)).await.unwrap();
            tokio::task::yield_now().await;
            writer.append(&to_interleaved(&planar)).await.unwrap();
            writer.append(&to_interleaved(&vec![vec![9.0], vec![9.5]])).await.unwrap();
            assert_eq!(writer.frames(), 7);
            writer.end();
        };
        let ((lengths, all), ()) = tokio::join!(follow, grow);
        assert_eq!(lengths.iter().sum::<usize>(), 7);
        assert!(lengths.iter().all(|l| *l <= 4), "{lengths:?}");
        assert_eq!(
            all,
            vec![vec![0.0, 1.0, 2.0, 0.0, 1.0, 2.0, 9.0], vec![0.5, 1.5, 2.5, 0.5, 1.5, 2.5, 9.5]]
        );
    }

    #[tokio::test]
    async fn a_writer_that_vanishes_is_an_error_and_no_end() {
        let folder = tempfile::tempdir().unwrap();
        let (mut writer, timeline) = create(&folder.path().join("t"), 1).await.unwrap();
        writer.append(&[0; 4]).await.unwrap();
        let mut reader = timeline.read().await.unwrap();
        drop(writer);
        assert!(reader.next(2, 4).await.is_err(), "half of what was wanted is not the whole");
    }
}
