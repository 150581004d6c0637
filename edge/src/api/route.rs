//! The table of paths.

use shared_protocol::{Attempt, JobId, UploadId};

use super::admin::route::{self as admin_route, AdminRoute};
use super::error::ApiError;
use super::object_key::{AttemptObject, is_file_name};
use super::parts::PartsStep;
use super::projects::route::{self as project_route, ProjectRoute};
use super::tenants::route::{self as tenant_route, TenantRoute};
use super::webhooks::route::{self as webhook_route, WebhookRoute};

/// Methods that some path takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// `GET`
    Get,
    /// `HEAD`: as `GET`, without the body.
    Head,
    /// `POST`
    Post,
    /// `PUT`
    Put,
}

impl Method {
    /// All of them, in the order in which `Allow` lists them.
    pub(super) const ALL: [Self; 4] = [Self::Get, Self::Head, Self::Post, Self::Put];

    /// Reads a method's name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }

    /// Its name in requests.
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
        }
    }
}

/// What a request is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// Whether the edge answers. No key.
    Health,
    /// This API's description. No key.
    OpenApi,
    /// Queue and workers. Client's key.
    Status,
    /// Client's key.
    CreateUpload,
    /// Upload's ticket.
    PutUpload(UploadId),
    /// Client's key.
    Upload(UploadId),
    /// Client's key.
    CreateJob,
    /// Client's key.
    ListJobs,
    /// Client's key, as all that follow of a job.
    Job(JobId),
    /// Cancel.
    CancelJob(JobId),
    /// List of final files.
    Files(JobId),
    /// Make a playback link.
    CreatePlayback(JobId),
    /// Something to hear or save.
    Media(JobId, Media),
    /// Playback link: state.
    PlayState(String),
    /// Playback link: something to hear or save.
    Play(String, Media),
    /// Worker's key.
    WorkerConnect,
    /// Job's ticket: the upload.
    WorkerUpload,
    /// Job's ticket: the transcript that its restore may go by.
    WorkerTranscript,
    /// Job's ticket: store an object.
    WorkerObject(JobId, Attempt, AttemptObject),
    /// Client's key: projects, but for the parts of an upload, which need its ticket.
    Projects(ProjectRoute),
    /// What the tenant used. Client's key.
    Usage,
    /// Operator's key: tenants and their keys.
    Tenants(TenantRoute),
    /// Client's key: its tenant's own webhooks.
    ClientWebhooks(WebhookRoute),
    /// Operator's key: webhooks.
    Webhooks(WebhookRoute),
    /// Operator's key: everything else.
    Admin(AdminRoute),
    /// Job's ticket: store an object in parts.
    WorkerParts(JobId, Attempt, AttemptObject, PartsStep),
}

/// Bytes of a job that are read the same way with a key and with a playback link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Media {
    /// The playlist.
    Playlist,
    /// An init segment or a segment.
    Segment(Attempt, AttemptObject),
    /// The upload.
    Original,
    /// A final file.
    File(String),
    /// An object of the stems.
    Stem(String),
}

/// Finds what a request is for. `HEAD` is for what `GET` is for.
///
/// # Errors
/// [`ApiError::RouteNotFound`], or [`ApiError::MethodNotAllowed`] when the path exists for other methods.
pub fn find(method: Option<Method>, path: &str) -> Result<Route, ApiError> {
    let segments = segments(path);
    if let Some(route) = method.and_then(|method| lookup(method, &segments)) {
        return Ok(route);
    }
    match methods(path) {
        allowed if allowed.is_empty() => Err(ApiError::RouteNotFound),
        allowed => Err(ApiError::MethodNotAllowed { allow: allowed.join(", ") }),
    }
}

/// The methods that a path takes, besides `OPTIONS`; none when there is no such path.
pub fn methods(path: &str) -> Vec<&'static str> {
    let segments = segments(path);
    let takes = |method: &Method| lookup(*method, &segments).is_some();
    Method::ALL.into_iter().filter(takes).map(Method::name).collect()
}

fn segments(path: &str) -> Vec<&str> {
    path.strip_prefix('/').unwrap_or(path).split('/').collect()
}

fn lookup(method: Method, segments: &[&str]) -> Option<Route> {
    use Method::{Get, Head, Post, Put};
    let ["v1", segments @ ..] = segments else { return None };
    let method = if method == Head { Get } else { method };
    Some(match (method, segments) {
        (Get, ["health"]) => Route::Health,
        (Get, ["openapi.json"]) => Route::OpenApi,
        (Get, ["status"]) => Route::Status,
        (Get, ["usage"]) => Route::Usage,

        (Post, ["uploads"]) => Route::CreateUpload,
        (Get, ["uploads", id]) => Route::Upload(UploadId::new(*id).ok()?),
        (Put, ["uploads", id, "content"]) => Route::PutUpload(UploadId::new(*id).ok()?),

        (Post, ["jobs"]) => Route::CreateJob,
        (Get, ["jobs"]) => Route::ListJobs,
        (Get, ["jobs", id]) => Route::Job(job(id)?),
        (Post, ["jobs", id, "cancel"]) => Route::CancelJob(job(id)?),
        (Post, ["jobs", id, "playback"]) => Route::CreatePlayback(job(id)?),
        (Get, ["jobs", id, "files"]) => Route::Files(job(id)?),
        (Get, ["jobs", id, "hls", "index.m3u8"]) => Route::Media(job(id)?, Media::Playlist),
        (Get, ["jobs", id, "hls", attempt, name]) => Route::Media(job(id)?, segment(attempt, name)?),
        (Get, ["jobs", id, "original"]) => Route::Media(job(id)?, Media::Original),
        (Get, ["jobs", id, "files", name]) => Route::Media(job(id)?, file(name)?),
        (Get, ["jobs", id, "stems", name]) => Route::Media(job(id)?, stem(name)?),

        (Get, ["play", ticket, "state"]) => Route::PlayState((*ticket).to_owned()),
        (Get, ["play", ticket, "index.m3u8"]) => play(ticket, Media::Playlist),
        (Get, ["play", ticket, "original"]) => play(ticket, Media::Original),
        (Get, ["play", ticket, "files", name]) => play(ticket, file(name)?),
        (Get, ["play", ticket, attempt, name]) => play(ticket, segment(attempt, name)?),

        (_, ["projects", segments @ ..]) => Route::Projects(project_route::lookup(method, segments)?),
        (Get, ["worker", "connect"]) => Route::WorkerConnect,
        (Get, ["worker", "upload"]) => Route::WorkerUpload,
        (Get, ["worker", "transcript"]) => Route::WorkerTranscript,
        (Put, ["worker", "objects", id, attempt, folder, name]) => Route::WorkerObject(
            job(id)?,
            self::attempt(attempt)?,
            AttemptObject::parse(&format!("{folder}/{name}"))?,
        ),
        (_, ["webhooks", segments @ ..]) => Route::ClientWebhooks(webhook_route::lookup(method, segments)?),
        (_, ["admin", "webhooks", segments @ ..]) => {
            Route::Webhooks(webhook_route::lookup(method, segments)?)
        }
        (_, ["admin", "tenants", segments @ ..]) => Route::Tenants(tenant_route::lookup(method, segments)?),
        (_, ["admin", segments @ ..]) => Route::Admin(admin_route::lookup(method, segments)?),
        (Post, ["worker", "parts", id, attempt, folder, name]) => {
            parts(id, attempt, folder, name, PartsStep::Create)?
        }
        (Put, ["worker", "parts", id, attempt, folder, name, number]) => {
            let step = PartsStep::parse(number).filter(|step| matches!(step, PartsStep::Put(_)))?;
            parts(id, attempt, folder, name, step)?
        }
        (Post, ["worker", "parts", id, attempt, folder, name, step]) => {
            let step = PartsStep::parse(step).filter(|step| !matches!(step, PartsStep::Put(_)))?;
            parts(id, attempt, folder, name, step)?
        }
        _ => return None,
    })
}

fn job(id: &str) -> Option<JobId> {
    JobId::new(id).ok()
}

/// From 1, in its one spelling.
fn attempt(text: &str) -> Option<Attempt> {
    let number: u32 = text.parse().ok()?;
    (number > 0 && number.to_string() == text).then_some(Attempt(number))
}

fn parts(id: &str, attempt: &str, folder: &str, name: &str, step: PartsStep) -> Option<Route> {
    let object = AttemptObject::parse(&format!("{folder}/{name}"))?;
    Some(Route::WorkerParts(job(id)?, self::attempt(attempt)?, object, step))
}

fn segment(number: &str, name: &str) -> Option<Media> {
    Some(Media::Segment(attempt(number)?, AttemptObject::parse_hls(name)?))
}

fn file(name: &str) -> Option<Media> {
    is_file_name(name).then(|| Media::File(name.to_owned()))
}

fn stem(name: &str) -> Option<Media> {
    is_file_name(name).then(|| Media::Stem(name.to_owned()))
}

fn play(ticket: &str, media: Media) -> Route {
    Route::Play(ticket.to_owned(), media)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(path: &str) -> Result<Route, ApiError> {
        find(Some(Method::Get), path)
    }

    #[test]
    fn players_find_what_playlists_name() {
        let id = JobId::new("job_1").unwrap();
        let segment = Media::Segment(Attempt(2), AttemptObject::HlsSegment(7));
        assert_eq!(get("/v1/jobs/job_1/hls/index.m3u8"), Ok(Route::Media(id.clone(), Media::Playlist)));
        assert_eq!(get("/v1/jobs/job_1/hls/2/seg-00007.m4s"), Ok(Route::Media(id, segment.clone())));
        assert_eq!(get("/v1/play/t.s/index.m3u8"), Ok(Route::Play("t.s".into(), Media::Playlist)));
        assert_eq!(get("/v1/play/t.s/2/seg-00007.m4s"), Ok(Route::Play("t.s".into(), segment)));
        assert_eq!(
            find(Some(Method::Head), "/v1/play/t.s/files/restored.wav"),
            Ok(Route::Play("t.s".into(), Media::File("restored.wav".into())))
        );
    }

    #[test]
    fn another_method_is_told_which_ones_the_path_takes() {
        let not_allowed = |allow: &str| Err(ApiError::MethodNotAllowed { allow: allow.into() });
        assert_eq!(find(Some(Method::Put), "/v1/jobs"), not_allowed("GET, HEAD, POST"));
        assert_eq!(find(None, "/v1/jobs/job_1/original"), not_allowed("GET, HEAD"));
        assert_eq!(get("/v1/worker/objects/job_1/1/hls/init.mp4"), not_allowed("PUT"));
    }

    #[test]
    fn what_is_not_in_the_table_is_not_there() {
        for path in [
            "",
            "/",
            "/v1",
            "/v1/",
            "/v2/health",
            "/v1/jobs/",
            "/v1/jobs/../x",
            "/v1/jobs/a%2fb",
            "/v1/jobs/job_1/hls/0/init.mp4",
            "/v1/jobs/job_1/hls/01/init.mp4",
            "/v1/jobs/job_1/hls/1/other.mp4",
            "/v1/worker/objects/job_1/1/other/x",
            "/v1/worker/parts/job_1/1/files/a.wav/0",
            "/v1/worker/parts/job_1/0/files/a.wav",
            "/v1/worker/parts/job_1/1/files",
            "/v1/jobs/job_1/files/.x",
            "/v1/health/",
            "//v1/health",
        ] {
            assert_eq!(get(path), Err(ApiError::RouteNotFound), "{path:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_path_panics(path in "(/[a-z0-9./%_-]{0,12}){0,8}") {
            let _answer = find(Some(Method::Get), &path);
        }
    }
}
