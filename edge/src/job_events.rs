//! Job events: what the scheduler announces, as events of the outbox. What they look like to a backend is in `docs/webhooks.md`.
//!
//! **Usage, by the shell and by the simulation alike: before a turn tell the scheduler whether anybody listens
//! ([`Outbox::has_endpoints`] to [`crate::scheduler::Scheduler::set_listened_to`]), after it [`publish`] its effects, and
//! save the effects of both in one transaction.**

use serde::Serialize;
use shared_protocol::{
    Attempt, GenerationId, JobId, ProjectId, QualityScores, StemFile, TenantId, TimestampMs,
};

use crate::api::view::{FailureView, FileList, FileView, JobView};
use crate::outbox::{Audience, EndpointId, Event, EventId, EventKind, Outbox};
use crate::scheduler::{Announcement, Effect, FollowUp, GenerationRef, Job, JobChange, News};

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
        let Subject { tenant, job_id, kind, generation, webhook } = subject(news);
        outbox.drop_ended(now, tenant, job_id, kind);
        let audience = Audience { tenant, in_project: generation.is_some(), only: webhook };
        if !outbox.is_wanted(audience, kind) {
            continue;
        }
        let event = Event {
            id: EventId::from_number(fresh_id()),
            tenant: tenant.clone(),
            job_id: job_id.clone(),
            in_project: audience.in_project,
            generation: generation.map(|of| of.generation_id.clone()),
            only: webhook.cloned(),
            kind,
            at: *at,
            data: data(news),
        };
        outbox.publish(now, &event);
    }
}

/// Which job it is about, and what happened.
struct Subject<'a> {
    tenant: &'a TenantId,
    job_id: &'a JobId,
    kind: EventKind,
    generation: Option<&'a GenerationRef>,
    webhook: Option<&'a EndpointId>,
}

fn subject(news: &News) -> Subject<'_> {
    match news {
        News::Job { change, job } => Subject {
            tenant: &job.tenant,
            job_id: &job.id,
            kind: kind(*change),
            generation: job.request.generation.as_ref(),
            webhook: job.request.webhook.as_ref(),
        },
        News::Stems(follow_up) => subject_of_follow_up(follow_up, EventKind::Stems),
        News::Quality(follow_up) => subject_of_follow_up(follow_up, EventKind::Quality),
    }
}

fn subject_of_follow_up(follow_up: &FollowUp, kind: EventKind) -> Subject<'_> {
    let FollowUp { tenant, job_id, generation, webhook, .. } = follow_up;
    Subject { tenant, job_id, kind, generation: generation.as_ref(), webhook: webhook.as_ref() }
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
#[serde(rename_all = "camelCase")]
struct Envelope<'a> {
    #[serde(flatten)]
    data: Data<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    project_id: Option<&'a ProjectId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    generation_id: Option<&'a GenerationId>,
}

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
    let generation = subject(news).generation;
    let envelope = Envelope {
        data,
        project_id: generation.map(|of| &of.project_id),
        generation_id: generation.map(|of| &of.generation_id),
    };
    serde_json::to_value(envelope).expect("it has text keys only and no fallible serializers")
}

fn files(job: &Job) -> Vec<FileView> {
    let files = job.outcome.as_ref().map(|outcome| outcome.files.as_slice()).unwrap_or_default();
    FileList::of(files, &FileList::base(&job.id)).files
}
