//! One recording's way: upload, job, waiting, download. Ctrl-C stops it at any point and withdraws its job.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::time::{Duration, Instant};

use minifleet_client::files::{JobFile, StemsState};
use minifleet_client::jobs::{Job, JobState, NewJob};
use minifleet_client::source::Source;
use minifleet_client::watch::{WaitOptions, WatchEvent};
use minifleet_client::{Client, Error};
use shared_protocol::limits::STEMS_WINDOW;
use shared_protocol::{JobId, OutputKind};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio_util::sync::CancellationToken;

use super::args::RestoreArgs;
use super::exit::{Exit, Failure};
use super::inputs::{Input, result_name};
use super::listen;
use super::patience::patiently;
use super::progress::{Event, Reporter, Track};
use super::report::{Outcome, RestoreResult, Transfer, WrittenFile};
use super::{text, waiting, withdraw};

/// After Ctrl-C a request that makes a job may finish for so long, since it is not known yet whether there is a job.
const CREATION_GRACE: Duration = Duration::from_secs(5);

/// A job that is queued for so long gets a sentence about why.
const EXPLAIN_QUEUE_AFTER: Duration = Duration::from_secs(5);

/// What all recordings of a run share.
pub struct Pipeline<'a> {
    pub client: &'a Client,
    pub args: &'a RestoreArgs,
    pub reporter: &'a Reporter,
    /// Uploads and downloads at a time.
    pub transfers: &'a Semaphore,
    pub interrupt: &'a CancellationToken,
    pub wait: WaitOptions,
    /// The recordings themselves, which no result may overwrite.
    pub originals: &'a BTreeSet<PathBuf>,
}

/// Why a recording did not come to its end.
enum Stop {
    Interrupted,
    Failed(Failure),
}

impl<E: Into<Failure>> From<E> for Stop {
    fn from(failure: E) -> Self {
        Stop::Failed(failure.into())
    }
}

impl Pipeline<'_> {
    /// Restores one recording. Whatever happens is in the result.
    pub async fn run(&self, input: &Input) -> RestoreResult {
        let started = Instant::now();
        let mut track = self.reporter.track(&input.label);
        let mut result = RestoreResult::new(&input.label);
        let ended = match Box::pin(self.steps(input, &mut result, &mut track)).await {
            Ok(()) => Outcome::Restored,
            Err(Stop::Failed(failure)) => {
                let outcome = result.outcome_of_failure();
                result.fail(&failure);
                outcome
            }
            Err(Stop::Interrupted) => {
                let (failure, outcome) = withdraw::withdraw(self.client, &result).await;
                result.fail(&failure);
                outcome
            }
        };
        result.finish(ended, started.elapsed());
        track.report(&Event::Ended { outcome: ended.label(), message: result.error_message() });
        result
    }

    async fn steps(&self, input: &Input, result: &mut RestoreResult, track: &mut Track) -> Result<(), Stop> {
        let job_id = self.queue(input, result, track).await?;
        let job = self.watch(&job_id, result, track).await?;
        match job.state {
            JobState::Completed => {}
            JobState::Cancelled => {
                let message = format!("job {} was cancelled by somebody else", job.job_id);
                return Err(Failure::Own { exit: Exit::JobFailed, code: "job_cancelled", message }.into());
            }
            _ => return Err(job_failure(&job).into()),
        }
        if !self.args.no_download {
            self.download(input, &job.job_id, result, track).await?;
            if self.args.outputs.contains(&OutputKind::Stems) {
                self.download_stems(input, &job.job_id, result, track).await?;
            }
        }
        Ok(())
    }

    /// Waits for the stems, which follow on the completion, and fetches the whole of each.
    async fn download_stems(
        &self,
        input: &Input,
        job_id: &JobId,
        result: &mut RestoreResult,
        track: &mut Track,
    ) -> Result<(), Stop> {
        track.report(&Event::Note("the stems follow; waiting for them"));
        let waiting_since = Instant::now();
        let stems = loop {
            let listing = patiently(&self.wait, track, async |_| self.client.job_outputs(job_id).await);
            let outputs = self.unless_interrupted(listing).await??;
            let Some(stems) = outputs.stems else {
                return Err(stems_failure("the service makes none").into());
            };
            match stems.state {
                StemsState::Ready => break stems,
                StemsState::Failed => {
                    let reason = stems.failure.map_or("no reason was given".to_owned(), |f| f.message);
                    return Err(stems_failure(&reason).into());
                }
                StemsState::Waiting | StemsState::Unknown => {}
            }
            if waiting_since.elapsed() > Duration::from_millis(STEMS_WINDOW.0) {
                return Err(stems_failure("they did not come within their time").into());
            }
            self.unless_interrupted(tokio::time::sleep(self.wait.last_interval)).await?;
        };
        let files: Vec<JobFile> = stems.masters().cloned().collect();
        self.fetch(input, &files, result, track).await
    }

    /// Uploads the recording and makes a job for it.
    async fn queue(
        &self,
        input: &Input,
        result: &mut RestoreResult,
        track: &mut Track,
    ) -> Result<JobId, Stop> {
        let permit = self.permit().await?;
        track.report(&Event::Reading);
        let source = self.unless_interrupted(Source::read(&input.path)).await?.map_err(Error::from)?;
        let began = Instant::now();
        let sending = self.client.upload(&source, |progress| track.report(&Event::Uploading(progress)));
        let stored = self.unless_interrupted(sending).await??;
        let took = began.elapsed();
        drop(permit);
        result.upload = Some(Transfer { bytes: stored.size, seconds: took.as_secs_f64() });
        track.report(&Event::Uploaded { upload_id: &stored.upload_id, bytes: stored.size, took });

        let mut outputs = self.args.outputs.clone();
        if !outputs.is_empty() && !outputs.contains(&OutputKind::Hls) {
            outputs.insert(0, OutputKind::Hls);
        }
        let new_job = NewJob {
            sampler: self.args.sampler,
            outputs,
            priority: self.args.priority,
            metadata: self.args.metadata.iter().cloned().collect(),
            start_after: self.args.start_in.map(text::minutes_from_now),
            labels: self.args.labels.clone(),
            expected_seconds: self.args.expected_seconds,
            ..NewJob::of_upload(&stored.upload_id)
        };
        let job = self.create_job(&new_job, track).await?;
        track.report(&Event::Queued { job_id: &job.job_id });
        let job_id = job.job_id.clone();
        result.job_id = Some(job_id.clone());
        result.job = Some(job);
        Ok(job_id)
    }

    /// Makes the job. An interruption waits a little for the answer, so that the job can be withdrawn.
    async fn create_job(&self, new_job: &NewJob, track: &mut Track) -> Result<Job, Stop> {
        let grace = async {
            self.interrupt.cancelled().await;
            tokio::time::sleep(CREATION_GRACE).await;
        };
        tokio::select! {
            job = patiently(&self.wait, track, async |_| self.client.create_job(new_job).await) => Ok(job?),
            () = grace => Err(Stop::Interrupted),
        }
    }

    /// Waits for the job's end; as soon as there is something to hear, says where.
    async fn watch(
        &self,
        job_id: &JobId,
        result: &mut RestoreResult,
        track: &mut Track,
    ) -> Result<Job, Stop> {
        let mut watch = self.client.watch(job_id, self.wait);
        let mut queued = true;
        let mut queued_for_long = pin!(tokio::time::sleep(EXPLAIN_QUEUE_AFTER));
        loop {
            let event = tokio::select! {
                event = self.unless_interrupted(watch.next()) => event??,
                () = &mut queued_for_long, if queued => {
                    queued = false;
                    if let Some(reason) = self.unless_interrupted(waiting::reason(self.client)).await? {
                        track.report(&Event::Note(&reason));
                    }
                    continue;
                }
            };
            match event {
                WatchEvent::Changed(mut job) => {
                    queued &= job.state == JobState::Queued;
                    // An ended job may not say any more who has restored it.
                    job.worker =
                        job.worker.or_else(|| result.job.as_mut().and_then(|known| known.worker.take()));
                    result.job = Some((*job).clone());
                    track.report(&Event::Job(&job));
                    let audible = job.is_playable() || job.state == JobState::Completed;
                    if audible && result.listen.is_none() {
                        self.unless_interrupted(self.make_link(&job, result, track)).await?;
                    }
                    if job.state.is_settled() {
                        return Ok(*job);
                    }
                }
                WatchEvent::Away { since, reason } => {
                    track.report(&Event::Away { since, reason: &reason.to_string() });
                }
                WatchEvent::Back { after } => track.report(&Event::Back { after }),
            }
        }
    }

    /// A link that cannot be made does not spoil a restore; the next change of the job tries again.
    async fn make_link(&self, job: &Job, result: &mut RestoreResult, track: &mut Track) {
        match self.client.playback_link(&job.job_id, None).await {
            Ok(link) => {
                track.report(&Event::Playable(&link));
                if self.args.open
                    && let Err(error) = listen::open_in_browser(&link.page)
                {
                    track.report(&Event::Note(&format!("the listening page could not be opened: {error}")));
                }
                result.listen = Some(link);
            }
            Err(error) if job.state.is_settled() => {
                track.report(&Event::Note(&format!("no link for listening: {error}")));
            }
            Err(_) => {}
        }
    }

    async fn download(
        &self,
        input: &Input,
        job_id: &JobId,
        result: &mut RestoreResult,
        track: &mut Track,
    ) -> Result<(), Stop> {
        let listing = patiently(&self.wait, track, async |_| self.client.job_files(job_id).await);
        let files = self.unless_interrupted(listing).await??;
        self.fetch(input, &files, result, track).await
    }

    async fn fetch(
        &self,
        input: &Input,
        files: &[JobFile],
        result: &mut RestoreResult,
        track: &mut Track,
    ) -> Result<(), Stop> {
        let _permit = self.permit().await?;
        let folder = self.args.output.join(&input.folder);
        make_folder(&folder).await?;
        let began = Instant::now();
        for file in files {
            let path = folder.join(result_name(&input.stem, &file.name));
            self.refuse_to_overwrite_an_original(&path)?;
            let fetching = patiently(&self.wait, track, async |track| {
                let on_progress = |progress| track.report(&Event::Downloading { name: &file.name, progress });
                self.client.download(file, &path, on_progress).await
            });
            self.unless_interrupted(fetching).await??;
            track.report(&Event::Downloaded { name: &file.name, path: &path });
            result.files.push(WrittenFile::of(file, path));
        }
        let bytes: u64 = files.iter().map(|file| file.size).sum();
        let before = result.download.take().unwrap_or(Transfer { bytes: 0, seconds: 0.0 });
        let seconds = before.seconds + began.elapsed().as_secs_f64();
        result.download = Some(Transfer { bytes: before.bytes + bytes, seconds });
        Ok(())
    }

    fn refuse_to_overwrite_an_original(&self, path: &Path) -> Result<(), Failure> {
        match path.canonicalize() {
            Ok(existing) if self.originals.contains(&existing) => Err(Failure::usage(
                "would_overwrite_input",
                format!(
                    "{} is one of the recordings to restore: choose another folder with -o",
                    path.display()
                ),
            )),
            _ => Ok(()),
        }
    }

    /// One of the transfers that may run at a time.
    async fn permit(&self) -> Result<SemaphorePermit<'_>, Stop> {
        let permit = self.unless_interrupted(self.transfers.acquire()).await?;
        Ok(permit.expect("the semaphore lives as long as the pipeline and is never closed"))
    }

    async fn unless_interrupted<T>(&self, work: impl Future<Output = T>) -> Result<T, Stop> {
        tokio::select! {
            biased;
            () = self.interrupt.cancelled() => Err(Stop::Interrupted),
            done = work => Ok(done),
        }
    }
}

/// The job itself is restored, and its files are there.
fn stems_failure(reason: &str) -> Failure {
    let message =
        format!("there are no stems: {}. The restored files are there.", reason.trim_end_matches('.'));
    Failure::Own { exit: Exit::JobFailed, code: "stems_failed", message }
}

/// Makes a folder and those above it.
pub async fn make_folder(folder: &Path) -> Result<(), Failure> {
    tokio::fs::create_dir_all(folder)
        .await
        .map_err(|error| Failure::local(&format!("make the folder {}", folder.display()), &error))
}

/// A failed job as a failure of the command.
pub fn job_failure(job: &Job) -> Failure {
    let message = match &job.failure {
        Some(failure) => {
            let advice = failure.advice.as_deref().map(|advice| format!(" {advice}")).unwrap_or_default();
            format!("{} ({}).{advice}", failure.message.trim_end_matches('.'), failure.code)
        }
        None if job.state == JobState::Quarantined => {
            let advice = "workers were lost while they ran it; an operator has to look at it";
            format!("job {} is quarantined: {advice}", job.job_id)
        }
        None => format!("job {} ended as {} without a reason", job.job_id, job.state.label()),
    };
    Failure::Own { exit: Exit::JobFailed, code: "job_failed", message }
}
