//! One attempt as a task: runs the pipeline, passes its progress on, and always tells how it ended.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use shared_protocol::{Assign, FailureCode, JobFailure};
use tokio_util::sync::CancellationToken;

use super::state::JobEnd;
use super::{Event, follow_up};
use crate::config::{Environment, Secret};
use crate::job::call::HttpSetupError;
use crate::job::edge::EdgeAccess;
use crate::job::error::JobError;
use crate::job::publish::Destination;
use crate::job::workspace::Workspace;
use crate::job::{Finished, Job, JobSource, JobTranscript, Left, ProgressModel, Reporter, Tools, reporter};
use crate::slots::{AttemptKey, SlotPermit};

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
                (JobEnd::Stopped, Left::default())
            }
            end = work.catch_unwind() => end.unwrap_or_else(|_| (crashed(), Left::default())),
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
    let ((end, left), ()) = tokio::join!(working, telling);
    drop(permit);
    let stems_follow = left.stems.is_some();
    let follow_up = (!left.is_nothing()).then(CancellationToken::new);
    tell(&events, Event::Ended { key: key.clone(), end, stems_follow, follow_up: follow_up.clone() }).await;
    let Some(stop) = follow_up else { return };
    // One place for both: the folder is one.
    let place = shop.tools.held_folders.enter(left.bytes);
    left.make_room().await;
    let Left { stems, score, .. } = left;
    let stems = async {
        if let Some(stems) = stems {
            let stems = follow_up::stems(place.as_ref(), stems, &stop).await;
            tell(&events, Event::Followed { key: key.clone(), stems }).await;
        }
    };
    let scores = async {
        if let (Ok(_), Some(score), Some(desk)) = (&place, score, &shop.tools.desk)
            && let Some(scores) = follow_up::score(desk, score, key.2, &stop).await
        {
            tell(&events, Event::Scored { key: key.clone(), scores }).await;
        }
    };
    tokio::join!(Box::pin(stems), Box::pin(scores));
    tell(&events, Event::Done { key }).await;
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
) -> (JobEnd, Left) {
    tracing::info!(name = ?assign.source.name, size = assign.source.size, "the attempt starts");
    let job = match job_of(&shop.tools, environment, rank, assign) {
        Ok(job) => job,
        Err(error) => {
            let failure = JobFailure::new(FailureCode::Internal, error.to_string());
            return (JobEnd::Failed(failure), Left::default());
        }
    };
    match crate::job::run(&job, &shop.tools, &shop.workspace, reporter).await {
        Ok(Finished { segments, outcome, left }) => {
            tracing::info!(seconds = outcome.audio_seconds, "the attempt is complete");
            (JobEnd::Completed { segments, outcome }, left)
        }
        Err(error) => {
            tell_log(&error);
            (JobEnd::Failed(error.to_failure()), Left::default())
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
    let Assign { job_id, attempt, sampler, outputs, source, ticket, transcript_version } = assign;
    let folder_name = format!("{}-{job_id}-{attempt}", environment.name);
    let environment_rank = u8::try_from(rank).unwrap_or(u8::MAX);
    let uploads = tools.uploader.open_job(environment_rank);
    let edge = EdgeAccess::new(environment.url.clone(), job_id, attempt, Secret::new(ticket), uploads)?;
    Ok(Job {
        folder_name,
        environment_rank,
        sampler,
        transcript: transcript_version
            .map_or(JobTranscript::Unknown, |version| JobTranscript::Edge { edge: edge.clone(), version }),
        source: JobSource::Edge { edge: edge.clone(), size: source.size },
        outputs,
        destination: Destination::Edge(edge),
    })
}

fn crashed() -> JobEnd {
    tracing::error!("the attempt crashed");
    JobEnd::Failed(JobFailure::new(FailureCode::Internal, "The worker crashed on this recording."))
}
