//! What is made of an attempt when it is complete: stems and scores. Whatever happens to them, the job stays complete.

use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use shared_protocol::limits::STEMS_WINDOW;
use shared_protocol::{Attempt, FailureCode, JobFailure, QualityScores, StemFile};
use tokio_util::sync::CancellationToken;

use crate::job::PendingScore;
use crate::job::held_folders::{FolderPlace, FolderRefused};
use crate::job::stems::PendingStems;
use crate::scorer::Desk;

/// What follows has to be told within the scheduler's window; a minute of it is left for telling.
const TIME: Duration = Duration::from_millis(STEMS_WINDOW.0 - 60_000);

/// Makes the stems of a completed attempt, within their time.
pub(super) async fn stems(
    place: Result<&FolderPlace, &FolderRefused>,
    stems: PendingStems,
    stop: &CancellationToken,
) -> Result<Vec<StemFile>, JobFailure> {
    let started = Instant::now();
    let place = place.map_err(|&refused| {
        tracing::warn!(%refused, "nothing more is made of the job, which itself is complete");
        JobFailure::from(refused)
    })?;
    let making = async {
        let _turn = place.turn().await;
        stems.publish().await
    };
    let making = AssertUnwindSafe(tokio::time::timeout(TIME, Box::pin(making))).catch_unwind();
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
            let text = format!("The stems were not stored within {} minutes.", TIME.as_secs() / 60);
            Err(JobFailure::new(FailureCode::UploadFailed, text))
        }
        Err(_) => {
            tracing::error!("making the stems crashed; the job itself is complete");
            Err(JobFailure::new(FailureCode::Internal, "The worker crashed on the stems."))
        }
    }
}

/// Scores a completed attempt, within its time. None when it could not be scored, which is told in the log only: nobody
/// waits for scores.
pub(super) async fn score(
    desk: &Desk,
    pending: PendingScore,
    attempt: Attempt,
    stop: &CancellationToken,
) -> Option<QualityScores> {
    let scoring = tokio::time::timeout(TIME, Box::pin(opinion(desk, pending)));
    let result = tokio::select! {
        () = stop.cancelled() => return None,
        result = scoring => result,
    };
    match result {
        Ok(Ok((original, restored))) => {
            tracing::info!(original, restored, scorer = desk.name(), "the job is scored");
            Some(QualityScores { scorer: desk.name().to_owned(), original, restored, attempt })
        }
        Ok(Err(reason)) => {
            tracing::warn!(reason, "the job could not be scored");
            None
        }
        Err(_) => {
            tracing::warn!("the job was not scored within its time");
            None
        }
    }
}

async fn opinion(desk: &Desk, pending: PendingScore) -> Result<(f64, f64), String> {
    let _turn = desk.turn().await;
    let pair = pending.read().await.map_err(|error| error.to_string())?;
    let opinion = desk.score(pair).await.map_err(|error| error.to_string())?;
    Ok((opinion.original, opinion.restored))
}
