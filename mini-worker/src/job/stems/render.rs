//! Renders speech, background and original as FLAC: chunk after chunk, and the whole of each alongside.

use std::path::Path;

use tokio::fs::File;
use tokio::io::AsyncWriteExt;
use tokio::process::ChildStdin;
use tokio::sync::mpsc;

use super::manifest::{Stem, chunk_frames};
use super::split::{Split, split};
use crate::inference::SAMPLE_RATE;
use crate::job::encoder::finish;
use crate::job::error::{FileError, JobError};
use crate::job::probe::AudioTrack;
use crate::job::program::{Invocation, MediaPrograms, RunningProgram};
use crate::job::timeline::{SAMPLE_BYTES, TimelineReader};

/// Frames that are split at once.
const BLOCK_FRAMES: u64 = SAMPLE_RATE as u64;

const FLAC_24: [&str; 12] = [
    "-c:a",
    "flac",
    "-sample_fmt",
    "s32",
    "-bits_per_raw_sample",
    "24",
    "-map_metadata",
    "-1",
    "-fflags",
    "+bitexact",
    "-flags:a",
    "+bitexact",
];

/// Where stems are rendered, and with what.
pub(super) struct Studio<'a> {
    pub programs: &'a MediaPrograms,
    pub folder: &'a Path,
    pub track: &'a AudioTrack,
}

/// Renders two timelines that have ended, of `frames` frames each. Names of finished files leave as they are made; waits while too many are
/// not stored yet. Gives the number of clipped samples.
pub(super) async fn render(
    studio: &Studio<'_>,
    mut original: TimelineReader,
    mut restored: TimelineReader,
    frames: u64,
    made: mpsc::Sender<String>,
) -> Result<u64, JobError> {
    let mut masters = Vec::new();
    for stem in Stem::ALL {
        masters.push(Master::start(studio, stem)?);
    }
    let doing = FileError::doing("read the audio for stems");
    let chunk_frames = chunk_frames(frames);
    let (mut clipped, mut number) = (0, 0);
    loop {
        let mut raw = RawChunk::create(studio.folder).await?;
        let mut in_chunk = 0;
        while in_chunk < chunk_frames {
            let Some(before) = original.next(1, BLOCK_FRAMES).await.map_err(&doing)? else { break };
            let block = (before.len() / SAMPLE_BYTES / studio.track.channels) as u64;
            let Some(after) = restored.next(block, block).await.map_err(&doing)? else { break };
            let split = split(&before, &after);
            clipped += split.clipped;
            raw.write(&split).await?;
            for (master, bytes) in masters.iter_mut().zip(parts(&split)) {
                master.feed(bytes).await;
            }
            in_chunk += block;
        }
        if in_chunk == 0 {
            break;
        }
        raw.close().await?;
        encode_chunk(studio, number).await?;
        for stem in Stem::ALL {
            say(&made, stem.chunk_name(number)).await;
        }
        number += 1;
    }
    for master in masters {
        let name = master.stem.master_name();
        master.finish().await?;
        say(&made, name).await;
    }
    Ok(clipped)
}

/// The receiver is gone only when storing has failed, and that failure is the one to tell.
async fn say(made: &mpsc::Sender<String>, name: String) {
    made.send(name).await.unwrap_or_default();
}

/// In the order of [`Stem::ALL`].
fn parts(split: &Split) -> [&[u8]; 3] {
    [&split.speech, &split.background, &split.original]
}

fn pcm_input<'a>(invocation: Invocation<'a>, track: &AudioTrack, input: &str) -> Invocation<'a> {
    let (rate, channels) = (SAMPLE_RATE.to_string(), track.channels.to_string());
    let invocation = invocation.args(["-f", "s32le", "-ar", &rate, "-ac", &channels]);
    let layout = track.layout.iter().flat_map(|layout| ["-channel_layout", layout]);
    invocation.args(layout).args(["-i", input])
}

/// The whole of one stem, encoded while it is being split.
struct Master {
    stem: Stem,
    program: RunningProgram,
    stdin: ChildStdin,
}

impl Master {
    fn start(studio: &Studio<'_>, stem: Stem) -> Result<Self, JobError> {
        let log = match stem {
            Stem::Speech => "stem-speech.log",
            Stem::Background => "stem-background.log",
            Stem::Original => "stem-original.log",
        };
        let invocation = studio.programs.ffmpeg(studio.folder, log).args(["-y"]);
        let mut program = pcm_input(invocation, studio.track, "pipe:0")
            .args(FLAC_24)
            .args([format!("file:{}", stem.master_name())])
            .nice()
            .with_stdin()
            .start()?;
        let stdin = program.stdin().expect("standard input was asked for");
        Ok(Self { stem, program, stdin })
    }

    /// An encoder that ended early is told by [`Self::finish`].
    async fn feed(&mut self, bytes: &[u8]) {
        self.stdin.write_all(bytes).await.unwrap_or_default();
    }

    async fn finish(mut self) -> Result<(), JobError> {
        drop(self.stdin);
        finish(&mut self.program, "stem").await
    }
}

/// The samples of one chunk before they are encoded.
struct RawChunk([File; 3]);

fn raw_name(stem: Stem) -> String {
    format!("stem-{}.raw", stem.name())
}

impl RawChunk {
    async fn create(folder: &Path) -> Result<Self, JobError> {
        let doing = FileError::doing("make the files for stems");
        let [speech, background, original] = Stem::ALL.map(|stem| File::create(folder.join(raw_name(stem))));
        let files = futures_util::try_join!(speech, background, original).map_err(doing)?;
        Ok(Self(files.into()))
    }

    async fn write(&mut self, split: &Split) -> Result<(), JobError> {
        for (file, bytes) in self.0.iter_mut().zip(parts(split)) {
            file.write_all(bytes).await.map_err(FileError::doing("write the stems"))?;
        }
        Ok(())
    }

    async fn close(self) -> Result<(), JobError> {
        for mut file in self.0 {
            file.flush().await.map_err(FileError::doing("write the stems"))?;
        }
        Ok(())
    }
}

/// One ffmpeg for each chunk, so that chunks end at the same sample in all stems and each is a file of its own length.
async fn encode_chunk(studio: &Studio<'_>, number: u64) -> Result<(), JobError> {
    let mut invocation = studio.programs.ffmpeg(studio.folder, "stem-chunk.log").args(["-y"]);
    for stem in Stem::ALL {
        invocation = pcm_input(invocation, studio.track, &format!("file:{}", raw_name(stem)));
    }
    for (index, stem) in Stem::ALL.into_iter().enumerate() {
        let (map, output) = (format!("{index}:a"), format!("file:{}", stem.chunk_name(number)));
        invocation = invocation.args(["-map", &map]).args(FLAC_24).args([output]);
    }
    finish(&mut invocation.nice().start()?, "stem").await
}
