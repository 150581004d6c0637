//! Jobs as their clients see them.

use shared_protocol::{JobId, OutputKind, Source, TenantId};
use uuid::Uuid;
use worker::{Env, Request, Response};

use super::body::json_body;
use super::fault::Fault;
use super::uploads::stored_upload;
use super::{auth, call_scheduler, call_tenant, now, respond};
use crate::api::ApiError;
use crate::api::call::{Call, Reply};
use crate::api::request::{self, CreateJob, ListJobs};
use crate::api::stems::StemsView;
use crate::api::view::FileList;
use crate::scheduler::JobRequest;

pub async fn job(request: &Request, env: &Env, id: &JobId) -> Result<Response, Fault> {
    let client = auth::client(request, env).await?;
    Ok(respond::json(200, &call_scheduler::job(env, &client.tenant, id).await?.job)?)
}

pub async fn create_job(request: &mut Request, env: &Env) -> Result<Response, Fault> {
    let client = auth::writer(request, env).await?;
    let idempotency_key =
        request.headers().get("Idempotency-Key")?.as_deref().map(request::idempotency_key).transpose()?;
    let create = request::parse_json::<CreateJob>(&json_body(request).await?)?.checked(now())?;
    let settings = call_tenant::settings(env, &client.tenant).await?;
    if !settings.allows_plain_jobs() {
        return Err(ApiError::JobsNotCounted.into());
    }
    let upload = stored_upload(env, &client.tenant, &create.upload_id).await?;
    let job_id = JobId::new(format!("job_{}", Uuid::now_v7().simple())).map_err(|_| ApiError::Internal)?;
    let request = JobRequest {
        source: Source { upload_id: upload.upload_id, name: upload.name, size: upload.size },
        content_type: Some(upload.content_type),
        sampler: create.sampler,
        outputs: create.outputs(),
        priority: create.priority,
        metadata: create.metadata,
        not_before: create.start_after,
        labels: create.labels,
        expected_seconds: create.expected_seconds,
        generation: None,
        webhook: None,
    };
    match call_scheduler::call(
        env,
        &Call::Submit {
            tenant: client.tenant,
            job_id,
            request: Box::new(request),
            idempotency_key,
            withdrawn: false,
            tenants_limit: settings.jobs_at_a_time(),
        },
    )
    .await?
    {
        Reply::Created(job) => {
            let mut response = respond::json(201, &job)?;
            response.headers_mut().set("Location", &format!("/v1/jobs/{}", job.job_id))?;
            Ok(response)
        }
        Reply::Job(detail) => Ok(respond::json(200, &detail.job)?),
        other => Err(call_scheduler::unexpected(&other)),
    }
}

pub async fn list_jobs(request: &Request, env: &Env) -> Result<Response, Fault> {
    let client = auth::client(request, env).await?;
    let list = ListJobs::parse(request.url()?.query_pairs())?;
    match call_scheduler::call(env, &Call::List { tenant: client.tenant, list }).await? {
        Reply::List(jobs) => Ok(respond::json(200, &jobs)?),
        other => Err(call_scheduler::unexpected(&other)),
    }
}

pub async fn cancel_job(request: &Request, env: &Env, job_id: JobId) -> Result<Response, Fault> {
    let client = auth::writer(request, env).await?;
    match call_scheduler::call(env, &Call::Cancel { tenant: client.tenant, job_id }).await? {
        Reply::Cancelled(job) => Ok(respond::json(200, &job)?),
        Reply::Cancelling(job) => Ok(respond::json(202, &job)?),
        other => Err(call_scheduler::unexpected(&other)),
    }
}

pub async fn files(request: &Request, env: &Env, id: &JobId) -> Result<Response, Fault> {
    let client = auth::client(request, env).await?;
    files_of(env, &client.tenant, id).await
}

pub async fn files_of(env: &Env, tenant: &TenantId, id: &JobId) -> Result<Response, Fault> {
    let detail = call_scheduler::job(env, tenant, id).await?;
    let files = detail.outcome.map(|outcome| outcome.files).unwrap_or_default();
    let mut list = FileList::of(&files, &FileList::base(id));
    if detail.job.outputs.contains(&OutputKind::Stems) {
        let base = format!("/v1/jobs/{id}/stems/");
        list.stems = Some(StemsView::of(&detail.job.state, detail.follow_up.as_ref(), &base, now()));
    }
    list.quality = detail.follow_up.and_then(|follow_up| follow_up.quality);
    Ok(respond::json(200, &list)?)
}
