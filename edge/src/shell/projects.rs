//! Projects and generations as their clients see them.

use shared_protocol::{GenerationId, JobId, ProjectId, TenantId, TimestampMs, UploadId};
use uuid::Uuid;
use worker::{Env, Request, Response};

use super::body::{bounded_body, json_body};
use super::fault::Fault;
use super::project_upload::{self, Finished};
use super::{
    auth, call_project, call_scheduler, call_tenant, jobs, listening, now, project_events, respond, webhooks,
};
use crate::api::ApiError;
use crate::api::page::page;
use crate::api::projects::call::{Answer, Question};
use crate::api::projects::request::{self as project_request, CreateGeneration, CreateProject};
use crate::api::projects::route::ProjectRoute as Route;
use crate::api::projects::timeline::TimelineView;
use crate::api::projects::view::{
    PartsInstruction, ProjectCreated, ProjectEntryView, ProjectList, ProjectView, TranscriptTaken,
    TranscriptView,
};
use crate::api::request;
use crate::api::ticket::{Claims, PartsClaims, UPLOAD_TICKET_LIFETIME, UploadClaims};
use crate::api::view::PutInstruction;
use crate::project::{Head, Transcription, Upload, UploadState, UploadWay, announced};

/// Answers a client.
pub async fn handle(request: &mut Request, env: &Env, route: Route) -> Result<Response, Fault> {
    match route {
        Route::Create => create(request, env).await,
        Route::List => list(request, env).await,
        Route::Get(id) => {
            let answer = ask(request, env, &id, Question::Get).await?;
            project(request, answer)
        }
        Route::Events(id) => project_events::events(request, env, id).await,
        Route::Upload(id) => upload(request, env, &id).await,
        Route::CompleteUpload(id) => {
            let client = auth::writer(request, env).await?;
            complete_upload(request, env, &client.tenant, &id).await
        }
        Route::PutPart(id, number) => project_upload::put_part(request, env, &id, number).await,
        Route::Transcript(id) => transcript(request, env, &id).await,
        Route::PutTranscript(id) => put_transcript(request, env, &id).await,
        Route::Transcribe(id) => {
            let client = auth::writer(request, env).await?;
            let answer = call_project::ask(env, &id, &client.tenant, Question::Transcribe).await?;
            match answer {
                Answer::Project { project, .. } => Ok(respond::json(202, &project)?),
                other => Err(call_project::unexpected(&other)),
            }
        }
        Route::Generate(id) => generate(request, env, &id).await,
        Route::Generations(id) => {
            let (limit, before) = page(request.url()?.query_pairs())?;
            match ask(request, env, &id, Question::Generations { limit, before }).await? {
                Answer::Generations(list) => Ok(respond::json(200, &list)?),
                other => Err(call_project::unexpected(&other)),
            }
        }
        Route::Generation(id, generation) => {
            let answer = ask(request, env, &id, Question::Generation { id: generation }).await?;
            match answer {
                Answer::Generation { generation, .. } => respond::json_with_etag(request, &generation),
                other => Err(call_project::unexpected(&other)),
            }
        }
        Route::Cancel(id, generation) => {
            let client = auth::writer(request, env).await?;
            let question = Question::Cancel { id: generation };
            match call_project::ask(env, &id, &client.tenant, question).await? {
                Answer::Generation { generation, .. } => {
                    let status = if generation.state == "cancelled" { 200 } else { 202 };
                    Ok(respond::json(status, &generation)?)
                }
                other => Err(call_project::unexpected(&other)),
            }
        }
        Route::Files(id, generation) => {
            let client = auth::client(request, env).await?;
            let job = job_of(env, &client.tenant, &id, generation).await?;
            jobs::files_of(env, &client.tenant, &job).await
        }
        Route::Playback(id, generation) => {
            let client = auth::client(request, env).await?;
            let job = job_of(env, &client.tenant, &id, generation).await?;
            listening::create_playback_of(request, env, &client.tenant, &job).await
        }
        Route::Timeline(id, generation) => timeline(request, env, &id, generation).await,
    }
}

async fn ask(request: &Request, env: &Env, id: &ProjectId, question: Question) -> Result<Answer, Fault> {
    let client = auth::client(request, env).await?;
    call_project::ask(env, id, &client.tenant, question).await
}

fn project(request: &Request, answer: Answer) -> Result<Response, Fault> {
    match answer {
        Answer::Project { project, .. } => respond::json_with_etag(request, &project),
        other => Err(call_project::unexpected(&other)),
    }
}

fn idempotency_key(request: &Request) -> Result<Option<String>, Fault> {
    Ok(request.headers().get("Idempotency-Key")?.as_deref().map(request::idempotency_key).transpose()?)
}

fn fresh(prefix: &str) -> String {
    format!("{prefix}_{}", Uuid::now_v7().simple())
}

async fn create(request: &mut Request, env: &Env) -> Result<Response, Fault> {
    let client = auth::writer(request, env).await?;
    let key = idempotency_key(request)?;
    let settings = call_tenant::settings(env, &client.tenant).await?;
    let body = json_body(request).await?;
    let create = request::parse_json::<CreateProject>(&body)?.checked(settings.max_upload_bytes)?;
    let content_type = create.content_type.clone().unwrap_or_else(|| "application/octet-stream".to_owned());
    settings.check_media_type(&content_type)?;
    let id = match &key {
        Some(key) => project_request::project_of_key(&client.tenant, key),
        None => ProjectId::new(fresh("prj")).map_err(|_| ApiError::Internal)?,
    };
    let fingerprint = create.fingerprint();
    let upload_id = UploadId::new(fresh("upl")).map_err(|_| ApiError::Internal)?;
    let now = now();
    let part_size = create.part_size();
    let mut upload = announced(now, upload_id, create.name, create.size, content_type);
    upload.sha256 = create.sha256;
    if let Some(part_size) = part_size {
        upload.way = project_upload::begin_parts(env, &client.tenant, &upload, part_size).await?;
    }
    let announced = upload.clone();
    let head = Head {
        id: id.clone(),
        tenant: client.tenant.clone(),
        created_at: now,
        metadata: create.metadata,
        language: create.language,
        fingerprint,
        registered: false,
        upload,
        transcripts: Vec::new(),
        transcription: Transcription::default(),
        last_event: 0,
    };
    let answer = call_project::ask(env, &id, &client.tenant, Question::Create(Box::new(head))).await?;
    let Answer::Project { new, .. } = answer else { return Err(call_project::unexpected(&answer)) };
    let (project, upload) = upload_of(env, &client.tenant, &id).await?;
    // Not what the object said: the question is asked again when its first answer is lost, and then the project is there already.
    let new = new || upload.upload_id == announced.upload_id;
    if !new {
        // The project was there before; its upload is the one of then.
        project_upload::forget_parts(env, &client.tenant, &announced).await;
    }
    let mut response =
        respond::json(if new { 201 } else { 200 }, &created(env, &client.tenant, project, &upload, now)?)?;
    response.headers_mut().set("Location", &format!("/v1/projects/{id}"))?;
    Ok(response)
}

async fn upload_of(env: &Env, tenant: &TenantId, id: &ProjectId) -> Result<(ProjectView, Upload), Fault> {
    match call_project::ask(env, id, tenant, Question::Upload).await? {
        Answer::Upload { project, upload } => Ok((*project, *upload)),
        other => Err(call_project::unexpected(&other)),
    }
}

/// A project with how to put its recording, while that is missing.
fn created(
    env: &Env,
    tenant: &TenantId,
    project: ProjectView,
    upload: &Upload,
    now: TimestampMs,
) -> Result<ProjectCreated, Fault> {
    let mut created = ProjectCreated { project, put: None, parts: None, expires_at_ms: None };
    if !matches!(upload.state, UploadState::Pending) {
        return Ok(created);
    }
    let expires_at = now + UPLOAD_TICKET_LIFETIME;
    let claims = Claims::Upload(UploadClaims {
        tenant: tenant.clone(),
        upload_id: upload.upload_id.clone(),
        size: upload.size,
        name: upload.name.clone(),
        content_type: upload.content_type.clone(),
        sha256: upload.sha256.clone(),
        project_id: Some(created.project.project_id.clone()),
        parts: match &upload.way {
            UploadWay::Direct => None,
            UploadWay::Multipart { storage_id, part_size, .. } => {
                Some(PartsClaims { storage_id: storage_id.clone(), part_size: *part_size })
            }
        },
    });
    let ticket = auth::ticket_keys(env)?.sign(claims, expires_at);
    created.expires_at_ms = Some(expires_at);
    let headers = [("Minifleet-Ticket", ticket)].into();
    match (&upload.way, upload.part_count()) {
        (UploadWay::Multipart { part_size, .. }, Some(count)) => {
            created.parts = Some(PartsInstruction {
                method: "PUT",
                url: format!("/v1/projects/{}/upload/parts/{{part}}", created.project.project_id),
                headers,
                part_size: *part_size,
                count,
                missing: upload.missing_parts(),
            });
        }
        _ => {
            let url = format!("/v1/uploads/{}/content", upload.upload_id);
            created.put = Some(PutInstruction { method: "PUT", url, headers });
        }
    }
    Ok(created)
}

async fn upload(request: &Request, env: &Env, id: &ProjectId) -> Result<Response, Fault> {
    // Its ticket writes.
    let client = auth::writer(request, env).await?;
    let (project, upload) = upload_of(env, &client.tenant, id).await?;
    Ok(respond::json(200, &created(env, &client.tenant, project, &upload, now())?)?)
}

async fn complete_upload(
    request: &Request,
    env: &Env,
    tenant: &TenantId,
    id: &ProjectId,
) -> Result<Response, Fault> {
    let (project, upload) = upload_of(env, tenant, id).await?;
    if upload.is_complete() {
        return respond::json_with_etag(request, &project);
    }
    if upload.is_open() {
        match project_upload::finished(env, tenant, &upload).await? {
            Finished::Whole => {}
            Finished::Missing => return Err(ApiError::UploadIncomplete.into()),
            Finished::Spoilt => {
                call_project::ask(env, id, tenant, Question::UploadIsSpoilt).await?;
                return Err(ApiError::ChecksumMismatch.into());
            }
        }
    }
    let answer = call_project::ask(env, id, tenant, Question::CompleteUpload).await?;
    self::project(request, answer)
}

async fn list(request: &Request, env: &Env) -> Result<Response, Fault> {
    let client = auth::client(request, env).await?;
    let (limit, before) = page(request.url()?.query_pairs())?;
    let page = call_tenant::list_projects(env, &client.tenant, limit, before).await?;
    let entry = |entry: crate::tenant::ProjectEntry| ProjectEntryView {
        project_id: entry.project_id,
        name: entry.name,
        created_at_ms: entry.created_at,
    };
    let list = ProjectList {
        projects: page.projects.into_iter().map(entry).collect(),
        next_cursor: page.next_cursor.map(|next| next.to_string()),
    };
    Ok(respond::json(200, &list)?)
}

async fn transcript(request: &Request, env: &Env, id: &ProjectId) -> Result<Response, Fault> {
    let version = project_request::transcript_version(request.url()?.query_pairs())?;
    match ask(request, env, id, Question::Transcript { version }).await? {
        Answer::Transcript { version, transcript } => {
            respond::json_with_etag(request, &TranscriptView { version, transcript })
        }
        other => Err(call_project::unexpected(&other)),
    }
}

async fn put_transcript(request: &mut Request, env: &Env, id: &ProjectId) -> Result<Response, Fault> {
    let client = auth::writer(request, env).await?;
    let body = bounded_body(request, project_request::MAX_TRANSCRIPT_BYTES).await?;
    let transcript = project_request::transcript(&body)?;
    match call_project::ask(env, id, &client.tenant, Question::PutTranscript { transcript }).await? {
        Answer::TranscriptTaken { version } => Ok(respond::json(200, &TranscriptTaken { version })?),
        other => Err(call_project::unexpected(&other)),
    }
}

async fn generate(request: &mut Request, env: &Env, id: &ProjectId) -> Result<Response, Fault> {
    let client = auth::writer(request, env).await?;
    let idempotency_key = idempotency_key(request)?;
    let body = json_body(request).await?;
    let create: CreateGeneration =
        if body.is_empty() { CreateGeneration::default() } else { request::parse_json(&body)? };
    let wanted = create.checked()?;
    let mut admitted = call_tenant::admit(env, &client.tenant, now()).await;
    if let (Ok(()), Some(webhook)) = (&admitted, &wanted.webhook) {
        admitted = webhooks::expect_own(env, &client, webhook).await;
    }
    let question = Question::Generate {
        id: GenerationId::new(fresh("gen")).map_err(|_| ApiError::Internal)?,
        job_id: JobId::new(fresh("job")).map_err(|_| ApiError::Internal)?,
        request: Box::new(wanted),
        idempotency_key,
        only_known: admitted.is_err(),
    };
    let answer = call_project::ask(env, id, &client.tenant, question).await;
    // What was asked for before is answered, whatever the quota, and whatever became of its webhook.
    if let (Err(refused), Err(Fault::Api(ApiError::GenerationNotFound))) = (admitted, &answer) {
        return Err(refused);
    }
    match answer? {
        Answer::Generation { generation, new } => {
            let mut response = respond::json(if new { 201 } else { 200 }, &generation)?;
            let location = format!("/v1/projects/{id}/generations/{}", generation.generation_id);
            response.headers_mut().set("Location", &location)?;
            Ok(response)
        }
        other => Err(call_project::unexpected(&other)),
    }
}

/// The job of a generation that may have one.
async fn job_of(
    env: &Env,
    tenant: &TenantId,
    id: &ProjectId,
    generation: GenerationId,
) -> Result<JobId, Fault> {
    match call_project::ask(env, id, tenant, Question::Generation { id: generation }).await? {
        Answer::Generation { generation, .. } => Ok(generation.job_id),
        other => Err(call_project::unexpected(&other)),
    }
}

async fn timeline(
    request: &Request,
    env: &Env,
    id: &ProjectId,
    generation: GenerationId,
) -> Result<Response, Fault> {
    let client = auth::client(request, env).await?;
    let question = Question::Timeline { id: generation };
    let answer = call_project::ask(env, id, &client.tenant, question).await?;
    let Answer::Timeline(facts) = answer else { return Err(call_project::unexpected(&answer)) };
    let job = match call_scheduler::job(env, &client.tenant, &facts.generation.job_id).await {
        Ok(detail) => Some(detail.job),
        Err(Fault::Api(ApiError::JobNotFound)) => None,
        Err(fault) => return Err(fault),
    };
    let callbacks = call_scheduler::callbacks(env, &client.tenant, &facts.generation.job_id).await?;
    Ok(respond::json(200, &TimelineView::of(&facts, job.as_ref(), &callbacks, now()))?)
}
