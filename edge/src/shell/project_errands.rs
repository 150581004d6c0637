//! The errands of a project: who is asked what, and what the answers are.

use shared_protocol::{DurationMs, GenerationId, TenantId};
use worker::Env;

use super::fault::Fault;
use super::project_drive::ProjectDrive;
use super::project_upload::Finished;
use super::{analytics, call_scheduler, call_tenant, project_upload, transcribe};
use crate::api::ApiError;
use crate::api::call::{Announced, Call, Reply};
use crate::api::object_key;
use crate::api::view::JobView;
use crate::outbox::EventId;
use crate::project::errand::Errand;
use crate::project::{Audio, ErrandOutcome, Failure, JobNews};
use crate::tenant::{ProjectEntry, UsageRow};
use crate::transcription::{TranscriptionFailure, TranscriptionOutcome};

/// A full queue is asked again after this.
const QUEUE_FULL_PAUSE: DurationMs = DurationMs::from_secs(10);

/// Runs an errand. Nothing when the project's state does not ask for it any more.
pub async fn run(drive: &ProjectDrive, errand: &Errand) -> Option<ErrandOutcome> {
    let env = drive.env();
    let (head, tenant) = drive.with_brain(|brain| (brain.head().clone(), brain.head().tenant.clone()))?;
    let key = object_key::upload(&tenant, &head.upload.upload_id);
    let outcome = match errand {
        Errand::Register => {
            let entry =
                ProjectEntry { project_id: head.id, name: head.upload.name, created_at: head.created_at };
            call_tenant::add_project(env, &tenant, &entry).await.map(|()| ErrandOutcome::Done)
        }
        Errand::CheckUpload => {
            project_upload::finished(env, &tenant, &head.upload).await.map(|finished| match finished {
                Finished::Whole => ErrandOutcome::UploadFound,
                Finished::Missing => ErrandOutcome::UploadMissing,
                Finished::Spoilt => ErrandOutcome::UploadSpoilt,
            })
        }
        Errand::SweepUpload => {
            project_upload::sweep(env, &key, &head.upload).await.map(|()| ErrandOutcome::Done)
        }
        Errand::Transcribe(_) => Ok(transcribed(env, &key, &head.upload, head.language.as_deref()).await),
        Errand::Dispatch(id) => dispatch(drive, &tenant, id).await?,
        Errand::Cancel(id) => {
            let job_id = drive.with_brain(|brain| Some(brain.generation(id)?.job_id.clone())).flatten()?;
            job(call_scheduler::call(env, &Call::Cancel { tenant: tenant.clone(), job_id: job_id.clone() })
                .await)
            .or_else_job(env, &tenant, &job_id)
            .await
        }
        Errand::Reconcile(id) => {
            let job_id = drive.with_brain(|brain| Some(brain.generation(id)?.job_id.clone())).flatten()?;
            job(call_scheduler::call(env, &Call::Job { tenant: tenant.clone(), job_id }).await).plain()
        }
        Errand::RecordUsage(id) => {
            let row = drive.with_brain(|brain| usage_row(brain.generation(id)?, &head)).flatten()?;
            let recorded = call_tenant::record_usage(env, &row).await;
            if recorded.is_ok() {
                drive.with_brain(|brain| {
                    let generation = brain.generation(id)?;
                    let Audio::Ready(ready) = &generation.audio else { return None };
                    analytics::generation_is_ready(env, tenant.as_str(), generation, ready);
                    Some(())
                });
            }
            recorded.map(|()| ErrandOutcome::Done)
        }
        Errand::Announce(sequence) => announce(drive, &tenant, *sequence).await,
    };
    Some(outcome.unwrap_or_else(|fault| ErrandOutcome::Unanswered { after: None, detail: fault.to_string() }))
}

fn usage_row(generation: &crate::project::Generation, head: &crate::project::Head) -> Option<UsageRow> {
    let Audio::Ready(ready) = &generation.audio else { return None };
    Some(UsageRow {
        tenant: head.tenant.clone(),
        generation_id: generation.id.clone(),
        project_id: head.id.clone(),
        job_id: generation.job_id.clone(),
        sampler: generation.request.sampler,
        audio_seconds: ready.audio_seconds,
        at: ready.at,
    })
}

/// Asks the scheduler to take a job: for the first time, or because it did not answer before.
async fn dispatch(
    drive: &ProjectDrive,
    tenant: &TenantId,
    id: &GenerationId,
) -> Option<Result<ErrandOutcome, Fault>> {
    let (job_id, request, withdrawn) = drive.with_brain(|brain| brain.job_request(id)).flatten()?;
    let tenants_limit = match withdrawn {
        // No bound keeps it out: its tenant need not be asked.
        true => None,
        false => match call_tenant::settings(drive.env(), tenant).await {
            Ok(settings) => settings.jobs_at_a_time(),
            Err(fault) => return Some(Err(fault)),
        },
    };
    let call = Call::Submit {
        tenant: tenant.clone(),
        job_id,
        request: Box::new(request),
        idempotency_key: None,
        withdrawn,
        tenants_limit,
    };
    Some(match call_scheduler::call(drive.env(), &call).await {
        Ok(Reply::Created(job)) => Ok(ErrandOutcome::Job(JobNews::of(&job))),
        Ok(Reply::Job(detail)) => Ok(ErrandOutcome::Job(JobNews::of(&detail.job))),
        Ok(other) => Err(call_scheduler::unexpected(&other)),
        Err(Fault::Api(error @ (ApiError::QueueFull { .. } | ApiError::TenantFull { .. }))) => {
            let failure = Failure {
                code: error.row().code.to_owned(),
                message: error.to_string(),
                advice: String::new(),
            };
            Ok(ErrandOutcome::NotTaken { after: Some(QUEUE_FULL_PAUSE), failure })
        }
        Err(fault) => Err(fault),
    })
}

/// What the scheduler says of a job.
struct OfJob(Result<Option<JobView>, Fault>);

fn job(reply: Result<Reply, Fault>) -> OfJob {
    OfJob(match reply {
        Ok(Reply::Job(detail)) => Ok(Some(detail.job)),
        Ok(Reply::Created(job) | Reply::Cancelled(job) | Reply::Cancelling(job)) => Ok(Some(*job)),
        Ok(other) => Err(call_scheduler::unexpected(&other)),
        Err(Fault::Api(ApiError::JobNotFound)) => Ok(None),
        Err(fault) => Err(fault),
    })
}

impl OfJob {
    fn plain(self) -> Result<ErrandOutcome, Fault> {
        self.0.map(|job| job.map_or(ErrandOutcome::JobMissing, |job| ErrandOutcome::Job(JobNews::of(&job))))
    }

    /// A job that has ended cannot be cancelled: how it ended is asked for then.
    async fn or_else_job(
        self,
        env: &Env,
        tenant: &TenantId,
        job_id: &shared_protocol::JobId,
    ) -> Result<ErrandOutcome, Fault> {
        match self.0 {
            Err(Fault::Api(ApiError::JobEnded { .. })) => {
                let call = Call::Job { tenant: tenant.clone(), job_id: job_id.clone() };
                job(call_scheduler::call(env, &call).await).plain()
            }
            other => OfJob(other).plain(),
        }
    }
}

async fn announce(drive: &ProjectDrive, tenant: &TenantId, sequence: u64) -> Result<ErrandOutcome, Fault> {
    let event = drive.store().event(sequence)?;
    let told = event.and_then(|event| Some((event.name.webhook()?, event.generation.clone()?, event)));
    // An event that is not there any more, or is told to nobody, has been told.
    let Some((kind, generation, event)) = told else { return Ok(ErrandOutcome::Done) };
    let id = EventId::new(format!("msg_{}_{sequence}", event.project_id)).map_err(|_| ApiError::Internal)?;
    let announced = Announced {
        id,
        tenant: tenant.clone(),
        job_id: generation.job_id.clone(),
        generation: generation.generation_id.clone(),
        kind,
        at: event.at_ms,
        only: generation.webhook_id.clone(),
        data: serde_json::json!({
            "tenant": tenant,
            "jobId": generation.job_id,
            "projectId": event.project_id,
            "generationId": generation.generation_id,
            "generation": generation,
        }),
    };
    match call_scheduler::call(drive.env(), &Call::Announce(Box::new(announced))).await? {
        Reply::Announced => Ok(ErrandOutcome::Done),
        other => Err(call_scheduler::unexpected(&other)),
    }
}

async fn transcribed(
    env: &Env,
    key: &str,
    upload: &crate::project::Upload,
    language: Option<&str>,
) -> ErrandOutcome {
    let failed = |failure: &TranscriptionFailure, retryable, after| ErrandOutcome::TranscriptionFailed {
        failure: Failure {
            code: failure.code.as_str().to_owned(),
            message: failure.message.clone(),
            advice: failure.code.advice().to_owned(),
        },
        retryable,
        after,
    };
    let mut settings = match transcribe::settings(env) {
        Ok(settings) => settings,
        Err(failure) => return failed(&failure, false, None),
    };
    if let Some(language) = language {
        settings.language = Some(language.to_owned());
    }
    match transcribe::transcribe(env, &settings, key, &upload.name, &upload.content_type).await {
        TranscriptionOutcome::Done(transcript) => ErrandOutcome::Transcribed(transcript),
        TranscriptionOutcome::Retry { failure, after } => failed(&failure, true, after),
        TranscriptionOutcome::Failed(failure) => failed(&failure, false, None),
    }
}
