//! Job events: what the scheduler announces, as events of the outbox. What they look like to a backend is in `docs/webhooks.md`.
//!
//! **Usage, by the shell and by the simulation alike: before a turn tell the scheduler whether anybody listens
//! ([`Outbox::has_endpoints`] to [`crate::scheduler::Scheduler::set_listened_to`]), after it [`publish`] its effects, and
//! save the effects of both in one transaction.**

use serde::Serialize;
use shared_protocol::{Attempt, JobId, QualityScores, StemFile, TenantId, TimestampMs};

use crate::api::view::{FailureView, FileList, FileView, JobView};
use crate::outbox::{Event, EventId, EventKind, Outbox};
use crate::scheduler::{Announcement, Effect, FollowUp, Job, JobChange, News};

/// Publishes every announcement among the effects of a turn, in order. `fresh_id` gives a number that no event had before,
/// such as 128 random bits; it is asked only for events that somebody wants.
pub fn publish(
    outbox: &mut Outbox,
    now: TimestampMs,
    effects: &[Effect],
    mut fresh_id: impl FnMut() -> u128,
) {
    for effect in effects {
        let Effect::Announce(Announcement { at, news }) = effect else { continue };
        let (tenant, job_id, kind) = subject(news);
        outbox.drop_ended(now, tenant, job_id, kind);
        if !outbox.is_wanted(tenant, kind) {
            continue;
        }
        let event = Event {
            id: EventId::from_number(fresh_id()),
            tenant: tenant.clone(),
            job_id: job_id.clone(),
            kind,
            at: *at,
            data: data(news),
        };
        outbox.publish(now, &event);
    }
}

/// Whose job it is about, which one, and what happened.
fn subject(news: &News) -> (&TenantId, &JobId, EventKind) {
    match news {
        News::Job { change, job } => (&job.tenant, &job.id, kind(*change)),
        News::Stems(follow_up) => (&follow_up.tenant, &follow_up.job_id, EventKind::Stems),
        News::Quality(follow_up) => (&follow_up.tenant, &follow_up.job_id, EventKind::Quality),
    }
}

fn kind(change: JobChange) -> EventKind {
    match change {
        JobChange::Queued => EventKind::Queued,
        JobChange::Started => EventKind::Started,
        JobChange::PhaseChanged => EventKind::PhaseChanged,
        JobChange::Progressed => EventKind::Progress,
        JobChange::Playable => EventKind::Playable,
        JobChange::Completed => EventKind::Completed,
        JobChange::Failed => EventKind::Failed,
        JobChange::Cancelled => EventKind::Cancelled,
    }
}

/// The `data` of an event.
#[derive(Serialize)]
#[serde(rename_all = "camelCase", untagged)]
enum Data<'a> {
    #[serde(rename_all = "camelCase")]
    Job {
        tenant: &'a TenantId,
        job_id: &'a JobId,
        job: Box<JobView>,
        /// Of a completed job.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        files: Vec<FileView>,
    },
    #[serde(rename_all = "camelCase")]
    Stems {
        tenant: &'a TenantId,
        job_id: &'a JobId,
        attempt: Attempt,
        stems: &'a [StemFile],
        failure: Option<FailureView>,
    },
    #[serde(rename_all = "camelCase")]
    Quality { tenant: &'a TenantId, job_id: &'a JobId, attempt: Attempt, quality: &'a Option<QualityScores> },
}

fn data(news: &News) -> serde_json::Value {
    let data = match news {
        News::Job { change, job } => Data::Job {
            tenant: &job.tenant,
            job_id: &job.id,
            job: Box::new(JobView::of(job)),
            files: if *change == JobChange::Completed { files(job) } else { Vec::new() },
        },
        News::Stems(follow_up) => {
            let FollowUp { tenant, job_id, attempt, stems, stems_failure, .. } = &**follow_up;
            Data::Stems {
                tenant,
                job_id,
                attempt: *attempt,
                stems: stems.as_deref().unwrap_or_default(),
                failure: stems_failure.as_ref().map(FailureView::of),
            }
        }
        News::Quality(follow_up) => {
            let FollowUp { tenant, job_id, attempt, quality, .. } = &**follow_up;
            Data::Quality { tenant, job_id, attempt: *attempt, quality }
        }
    };
    serde_json::to_value(data).expect("it has text keys only and no fallible serializers")
}

fn files(job: &Job) -> Vec<FileView> {
    let files = job.outcome.as_ref().map(|outcome| outcome.files.as_slice()).unwrap_or_default();
    FileList::of(files, &FileList::base(&job.id)).files
}
