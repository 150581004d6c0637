//! The whole life of a job.
//!
//! Stages overlap: while the recording is still being decoded its beginning is restored, encoded, and stored for
//! playback. Between stages lie files that grow (timelines), so memory holds a chunk of each however long the recording
//! is. An attempt is one future: dropping it, as a cancel does, stops every stage, kills every child and removes the
//! job's folder.

pub mod call;
mod decode;
mod download;
pub mod edge;
mod encoder;
pub mod error;
mod excerpts;
mod final_files;
mod fmp4;
pub mod held_folders;
mod hls;
mod parts;
mod probe;
pub mod program;
mod progress;
pub mod publish;
mod restore;
pub mod stems;
mod timeline;
mod timing;
mod transcript;
pub mod upload;
pub mod workspace;

use std::sync::{Arc, Weak};

use futures_util::{join, try_join};
use shared_protocol::{HlsSegment, JobOutcome, OutputKind, Sampler};
use tokio::sync::mpsc;

pub use download::JobSource;
pub use excerpts::PendingScore;
pub use progress::{Fact, ProgressModel, Reporter, reporter};
pub use transcript::JobTranscript;

use crate::inference::{Inference, RestoreSpec, SAMPLE_RATE};
use crate::scorer::Desk;
use error::{FileError, JobError, RestoreError};
use held_folders::HeldFolders;
use program::MediaPrograms;
use publish::Destination;
use stems::PendingStems;
use timeline::SAMPLE_BYTES;
use timing::AttemptClock;
use upload::Uploader;
use workspace::{JobFolder, Workspace};

/// Playback objects that may wait for the line of uploads; then the encoder waits too. With those in the line
/// ([`publish::MOST_IN_LINE`]) 32 of a job wait and 8 are on their way.
const MAX_WAITING_OBJECTS: usize = 8;

/// What jobs share.
#[derive(Clone)]
pub struct Tools {
    /// ffmpeg and ffprobe.
    pub programs: MediaPrograms,
    /// The one copy of the model.
    pub inference: Inference,
    /// The uploads of all jobs.
    pub uploader: Uploader,
    /// Completed jobs whose folders are held for their stems and scores.
    pub held_folders: HeldFolders,
    /// Who scores completed jobs, if anybody does.
    pub desk: Option<Desk>,
    /// Longer recordings are refused.
    pub max_audio_minutes: u32,
}

/// One attempt.
#[derive(Debug)]
pub struct Job {
    /// Name of its folder, unique among the jobs that run.
    pub folder_name: String,
    /// 0 goes first at the model.
    pub environment_rank: u8,
    /// How to restore.
    pub sampler: Sampler,
    /// When words are spoken, if that is known.
    pub transcript: JobTranscript,
    /// What to restore.
    pub source: JobSource,
    /// What to leave behind.
    pub outputs: Vec<OutputKind>,
    /// Where.
    pub destination: Destination,
}

/// What a job made.
#[derive(Debug)]
pub struct Finished {
    /// All segments for playback.
    pub segments: Vec<HlsSegment>,
    /// What is told of it.
    pub outcome: JobOutcome,
    /// What is still to be made of it.
    pub left: Left,
}

/// What is still to be made of a completed job. Its folder stays until both are gone.
#[derive(Debug, Default)]
pub struct Left {
    /// When they were asked for.
    pub stems: Option<PendingStems>,
    /// When there is a scorer.
    pub score: Option<PendingScore>,
    /// Bytes of both timelines, which stay on the disk meanwhile.
    pub bytes: u64,
    folder: Weak<JobFolder>,
}

impl Left {
    /// Whether nothing is.
    pub fn is_nothing(&self) -> bool {
        self.stems.is_none() && self.score.is_none()
    }

    /// Takes everything but the audio out of the job's folder: what is stored already needs no disk while this waits.
    pub async fn make_room(&self) {
        if let Some(folder) = self.folder.upgrade() {
            folder.keep_audio_only().await;
        }
    }
}

/// Runs a job from its upload to its last stored file.
///
/// # Errors
/// [`JobError`] of the stage that failed first.
pub async fn run(
    job: &Job,
    tools: &Tools,
    workspace: &Workspace,
    reporter: &Reporter,
) -> Result<Finished, JobError> {
    let clock = AttemptClock::start();
    let programs = &tools.programs;
    let limit = tools.max_audio_minutes;
    let job_folder = workspace.job_folder(&job.folder_name)?;
    let folder = job_folder.path();
    let has_hls = job.outputs.contains(&OutputKind::Hls);

    let (downloading, transcript) =
        join!(download::fetch(&job.source, &job_folder, clock, reporter), job.transcript.bring());
    let downloading = downloading?;
    let track = probe::probe(programs, folder, limit).await?;
    let channels = track.channels;
    let files = final_files::plan(&job.outputs, channels, programs)?;
    reporter.say(Fact::Examined { expected: track.expected_samples() }).await;

    let spec = RestoreSpec {
        environment_rank: job.environment_rank,
        sampler: job.sampler,
        transcript,
        channels,
        expected_samples: track.expected_samples(),
    };
    let session = tools.inference.open(spec).await.map_err(RestoreError::Engine)?;
    let open = FileError::doing("make the files for decoded and restored audio");
    let (decoded_end, decoded_timeline) =
        timeline::create(&job_folder.file("decoded.f32"), channels).await.map_err(&open)?;
    let (restored_end, restored_timeline) =
        timeline::create(&job_folder.file("restored.f32"), channels).await.map_err(&open)?;
    let to_restore = decoded_timeline.read().await.map_err(&open)?;
    let to_hls = restored_timeline.read().await.map_err(&open)?;
    let to_files = restored_timeline.read().await.map_err(&open)?;
    let (objects, to_publish) = mpsc::channel(MAX_WAITING_OBJECTS);

    // Stored as soon as they are whole, while the last segments are still on their way.
    let final_files = async {
        let encoding = final_files::encode(programs, folder, to_files, &track, &files, clock).await?;
        let published = publish::publish_files(&job.destination, folder, &files, clock, reporter).await?;
        Ok((encoding, published))
    };
    // In the order of the audio's way, because the first failure in this order is the one that is told.
    let (decoded, model, hls_encoding, (file_encoding, published), hls) = try_join!(
        Box::pin(decode::decode(programs, folder, &track, limit, decoded_end, clock, reporter)),
        Box::pin(restore::restore(session, to_restore, restored_end, channels, clock, reporter)),
        Box::pin(hls::encode_if(has_hls, programs, folder, to_hls, &track, objects, clock)),
        Box::pin(final_files),
        Box::pin(publish::publish_hls(&job.destination, to_publish, clock, reporter)),
    )?;

    let audio_seconds = decoded.samples as f64 / f64::from(SAMPLE_RATE);
    let mut timings = vec![downloading, decoded.timing];
    timings.extend(model.timings);
    timings.extend(hls_encoding.into_iter().chain(file_encoding));
    timings.extend(hls.timings);
    timings.extend(published.timings);
    let timings = timing::without_overlaps(timings);
    let outcome = JobOutcome {
        files: published.files,
        hls_segments: u32::try_from(hls.segments.len()).unwrap_or(u32::MAX),
        audio_seconds,
        channels: u16::try_from(channels).unwrap_or(u16::MAX),
        real_time_factor: model.computed_seconds / audio_seconds,
        timings,
    };
    let frames = decoded.samples;
    let folder = Arc::new(job_folder);
    let held = Arc::downgrade(&folder);
    let score = tools.desk.is_some().then(|| PendingScore {
        _folder: Arc::clone(&folder),
        original: decoded_timeline.clone(),
        restored: restored_timeline.clone(),
        frames,
    });
    let stems = job.outputs.contains(&OutputKind::Stems).then(|| PendingStems {
        folder,
        programs: programs.clone(),
        track,
        original: decoded_timeline,
        restored: restored_timeline,
        frames,
        destination: job.destination.clone(),
    });
    let left = Left { stems, score, bytes: 2 * frames * (channels * SAMPLE_BYTES) as u64, folder: held };
    Ok(Finished { segments: hls.segments, outcome, left })
}
