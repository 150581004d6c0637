//! The stateless Worker: keys and tickets, the table of paths, answers.

use uuid::Uuid;
use worker::{Env, Request, Response, console_error};

use super::fault::Fault;
use super::{
    admin, auth, body, call_scheduler, client_key, description, jobs, listening, parts, projects, respond,
    settings, tenants, uploads, webhooks, workers,
};
use crate::api::ApiError;
use crate::api::call::{Call, Reply};
use crate::api::cors::{self, Origins};
use crate::api::route::{self, Route};
use crate::api::view::Health;

/// Answers a request. Whatever goes wrong is an answer too.
pub async fn handle(mut request: Request, env: &Env) -> worker::Result<Response> {
    let request_id = format!("req_{}", Uuid::now_v7().simple());
    let path = request.path();
    let origins = settings::variable::<Origins>(env, cors::CORS_ORIGINS);
    let readers = cors::answer(&path, origins.as_ref(), request.headers().get("Origin")?.as_deref());
    let methods = route::methods(&path);
    let mut response = if request.inner().method() == "OPTIONS" && !methods.is_empty() {
        respond::options(&methods, readers.allow_origin.is_some())?
    } else {
        match dispatch(&mut request, env, &path, &request_id).await {
            Ok(response) => response,
            Err(fault) => {
                if let Err(error) = body::discard_unread(&mut request).await {
                    console_error!("{request_id}: the rest of a refused body could not be read: {error}");
                }
                let error = match fault {
                    Fault::Api(error) => {
                        if error.row().status >= 500 {
                            console_error!("{request_id}: {error}");
                        }
                        error
                    }
                    Fault::Platform(error) => {
                        console_error!("{request_id}: {error}");
                        ApiError::Internal
                    }
                };
                respond::problem(&error, &request_id)?
            }
        }
    };
    // A socket's answer is the object's own and cannot be changed.
    if response.status_code() != 101 {
        let headers = response.headers_mut();
        headers.set("X-Request-Id", &request_id)?;
        respond::set_readers(headers, &readers)?;
        if let Some((limit, allowance)) = client_key::allowance(&request) {
            respond::set_rate_limit(headers, limit, allowance)?;
        }
    }
    Ok(response)
}

async fn dispatch(request: &mut Request, env: &Env, path: &str, request_id: &str) -> Result<Response, Fault> {
    let method = route::Method::parse(&request.inner().method());
    match route::find(method, path)? {
        Route::Health => health(env),
        Route::OpenApi => description::open_api(request, env).await,
        Route::Status => status(request, env).await,
        Route::Usage => tenants::usage(request, env).await,
        Route::CreateUpload => uploads::create_upload(request, env).await,
        Route::PutUpload(id) => uploads::put_upload(request, env, &id).await,
        Route::Upload(id) => uploads::upload(request, env, &id).await,
        Route::CreateJob => jobs::create_job(request, env).await,
        Route::ListJobs => jobs::list_jobs(request, env).await,
        Route::Job(id) => jobs::job(request, env, &id).await,
        Route::CancelJob(id) => jobs::cancel_job(request, env, id).await,
        Route::Files(id) => jobs::files(request, env, &id).await,
        Route::CreatePlayback(id) => listening::create_playback(request, env, &id).await,
        Route::Media(id, media) => listening::with_key(request, env, id, media).await,
        Route::PlayState(ticket) => listening::state(env, &ticket).await,
        Route::Play(ticket, media) => listening::with_link(request, env, &ticket, media).await,
        Route::Projects(route) => projects::handle(request, env, route).await,
        Route::WorkerConnect => workers::connect(request, env).await,
        Route::WorkerUpload => workers::upload(request, env).await,
        Route::WorkerTranscript => workers::transcript(request, env).await,
        Route::WorkerObject(job, attempt, object) => {
            workers::put_object(request, env, &job, attempt, &object).await
        }
        Route::Tenants(route) => tenants::handle(request, env, route, request_id).await,
        Route::ClientWebhooks(route) => webhooks::for_client(request, env, route, request_id).await,
        Route::Webhooks(route) => webhooks::for_operator(request, env, route, request_id).await,
        Route::Admin(route) => admin::handle(request, env, route, request_id).await,
        Route::WorkerParts(job, attempt, object, step) => {
            parts::step(request, env, &job, attempt, &object, step).await
        }
    }
}

fn health(env: &Env) -> Result<Response, Fault> {
    let deployment =
        env.get_binding::<worker::WorkerVersionMetadata>("VERSION").ok().map(|version| version.id());
    let health =
        Health { ok: true, environment: environment(env), version: env!("CARGO_PKG_VERSION"), deployment };
    Ok(respond::json(200, &health)?)
}

/// The environment's name.
pub fn environment(env: &Env) -> String {
    env.var("ENVIRONMENT").map_or_else(|_| "default".to_owned(), |name| name.to_string())
}

async fn status(request: &Request, env: &Env) -> Result<Response, Fault> {
    let client = auth::client(request, env).await?;
    match call_scheduler::call(env, &Call::Status { tenant: client.tenant }).await? {
        Reply::Status(status) => Ok(respond::json(200, &status)?),
        other => Err(call_scheduler::unexpected(&other)),
    }
}
