//! One attempt as a task: runs the pipeline, passes its progress on, and always tells how it ended.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use shared_protocol::limits::STEMS_WINDOW;
use shared_protocol::{Assign, FailureCode, JobFailure, StemFile};
use tokio_util::sync::CancellationToken;

use super::Event;
use super::state::JobEnd;
use crate::config::{Environment, Secret};
use crate::job::call::HttpSetupError;
use crate::job::edge::EdgeAccess;
use crate::job::error::JobError;
use crate::job::publish::Destination;
use crate::job::stems::PendingStems;
use crate::job::workspace::Workspace;
use crate::job::{Finished, Job, JobSource, ProgressModel, Reporter, Tools, reporter};
use crate::slots::{AttemptKey, SlotPermit};

/// Stems have to be told of within the scheduler's window; a minute of it is left for telling.
const STEMS_TIME: Duration = Duration::from_millis(STEMS_WINDOW.0 - 60_000);

/// What attempts share.
#[derive(Clone)]
pub(super) struct Shop {
    pub tools: Tools,
    pub workspace: Arc<Workspace>,
}

/// Runs an attempt to its end, and then makes what follows on it. The slot is open again before the end is told.
pub(super) async fn run(
    shop: Shop,
    environment: Environment,
    key: AttemptKey,
    assign: Assign,
    permit: SlotPermit,
    events: tokio::sync::mpsc::Sender<Event>,
) {
    let (reporter, mut facts) = reporter();
    let working = async {
        let work = AssertUnwindSafe(Box::pin(work(&shop, &environment, key.0, assign, &reporter)));
        let end = tokio::select! {
            () = permit.stop.cancelled() => {
                tracing::info!("the attempt was stopped");
                (JobEnd::Stopped, None)
            }
            end = work.catch_unwind() => end.unwrap_or_else(|_| (crashed(), None)),
        };
        // Progress ends when the last reporter is gone.
        drop(reporter);
        end
    };
    let telling = async {
        let mut model = ProgressModel::default();
        while let Some(fact) = facts.recv().await {
            tell(&events, Event::Progressed { key: key.clone(), update: model.take(fact) }).await;
        }
    };
    let ((end, stems), ()) = tokio::join!(working, telling);
    drop(permit);
    let follow_up = stems.as_ref().map(|_| CancellationToken::new());
    tell(&events, Event::Ended { key: key.clone(), end, follow_up: follow_up.clone() }).await;
    if let (Some(stems), Some(stop)) = (stems, follow_up) {
        let stems = follow(&shop.tools, stems, &stop).await;
        tell(&events, Event::Followed { key, stems }).await;
    }
}

/// Makes the stems of a completed attempt, within their time.
async fn follow(
    tools: &Tools,
    stems: PendingStems,
    stop: &CancellationToken,
) -> Result<Vec<StemFile>, JobFailure> {
    let started = Instant::now();
    let place = match tools.waiting_stems.enter(stems.bytes()) {
        Ok(place) => place,
        Err(refused) => {
            tracing::warn!(%refused, "the stems are not made; the job itself is complete");
            return Err(refused.into());
        }
    };
    let making = async {
        stems.make_room().await;
        let _turn = place.turn().await;
        stems.publish().await
    };
    let making = AssertUnwindSafe(tokio::time::timeout(STEMS_TIME, Box::pin(making))).catch_unwind();
    let result = tokio::select! {
        () = stop.cancelled() => {
            let text = "The worker was stopped before the stems were stored.";
            return Err(JobFailure::new(FailureCode::WorkerStopping, text));
        }
        result = making => result,
    };
    match result {
        Ok(Ok(Ok(files))) => {
            tracing::info!(
                files = files.len(),
                seconds = started.elapsed().as_secs_f64(),
                "the stems are stored"
            );
            Ok(files)
        }
        Ok(Ok(Err(error))) => {
            tracing::warn!(%error, "the stems could not be made; the job itself is complete");
            Err(error.to_failure())
        }
        Ok(Err(_)) => {
            tracing::warn!("the stems were not stored within their time; the job itself is complete");
            let text = format!("The stems were not stored within {} minutes.", STEMS_TIME.as_secs() / 60);
            Err(JobFailure::new(FailureCode::UploadFailed, text))
        }
        Err(_) => {
            tracing::error!("making the stems crashed; the job itself is complete");
            Err(JobFailure::new(FailureCode::Internal, "The worker crashed on the stems."))
        }
    }
}

/// The loop that reads these is gone only when the process ends.
async fn tell(events: &tokio::sync::mpsc::Sender<Event>, event: Event) {
    events.send(event).await.unwrap_or_default();
}

async fn work(
    shop: &Shop,
    environment: &Environment,
    rank: usize,
    assign: Assign,
    reporter: &Reporter,
) -> (JobEnd, Option<PendingStems>) {
    tracing::info!(name = ?assign.source.name, size = assign.source.size, "the attempt starts");
    let job = match job_of(&shop.tools, environment, rank, assign) {
        Ok(job) => job,
        Err(error) => {
            let failure = JobFailure::new(FailureCode::Internal, error.to_string());
            return (JobEnd::Failed(failure), None);
        }
    };
    match crate::job::run(&job, &shop.tools, &shop.workspace, reporter).await {
        Ok(Finished { segments, outcome, stems }) => {
            tracing::info!(seconds = outcome.audio_seconds, "the attempt is complete");
            (JobEnd::Completed { segments, outcome }, stems)
        }
        Err(error) => {
            tell_log(&error);
            (JobEnd::Failed(error.to_failure()), None)
        }
    }
}

/// A fault of the recording is nobody's but its owner's; any other one somebody wants to look at.
fn tell_log(error: &JobError) {
    let code = error.code();
    if code.retryable() {
        tracing::warn!(?code, %error, "the attempt failed");
    } else {
        tracing::info!(?code, %error, "the recording cannot be restored");
    }
}

fn job_of(
    tools: &Tools,
    environment: &Environment,
    rank: usize,
    assign: Assign,
) -> Result<Job, HttpSetupError> {
    let Assign { job_id, attempt, outputs, source, ticket, .. } = assign;
    let folder_name = format!("{}-{job_id}-{attempt}", environment.name);
    let environment_rank = u8::try_from(rank).unwrap_or(u8::MAX);
    let uploads = tools.uploader.open_job(environment_rank);
    let edge = EdgeAccess::new(environment.url.clone(), job_id, attempt, Secret::new(ticket), uploads)?;
    Ok(Job {
        folder_name,
        environment_rank,
        source: JobSource::Edge { edge: edge.clone(), size: source.size },
        outputs,
        destination: Destination::Edge(edge),
    })
}

fn crashed() -> JobEnd {
    tracing::error!("the attempt crashed");
    JobEnd::Failed(JobFailure::new(FailureCode::Internal, "The worker crashed on this recording."))
}
