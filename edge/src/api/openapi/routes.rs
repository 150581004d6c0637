//! The tables of operations against the table of paths: neither has what the other lacks.

use super::render::documented_codes;
use super::{Operation, operations};
use crate::api::admin::route::{AdminRoute, BulkVerb, JobVerb, WorkerVerb};
use crate::api::projects::route::ProjectRoute;
use crate::api::route::{self, Media, Method, Route};
use crate::api::tenants::route::TenantRoute;
use crate::api::webhooks::route::WebhookRoute;

/// The operation that a route is, by its name; none of a worker's. A new route has to be named here.
fn operation_of(route: &Route) -> Option<&'static str> {
    Some(match route {
        Route::Health => "getHealth",
        Route::OpenApi => "getOpenApi",
        Route::Status => "getStatus",
        Route::CreateUpload => "createUpload",
        Route::PutUpload(_) => "putUpload",
        Route::Upload(_) => "getUpload",
        Route::CreateJob => "createJob",
        Route::ListJobs => "listJobs",
        Route::Job(_) => "getJob",
        Route::CancelJob(_) => "cancelJob",
        Route::Files(_) => "listFiles",
        Route::CreatePlayback(_) => "createPlayback",
        Route::Media(_, Media::Playlist) => "getPlaylist",
        Route::Media(_, Media::Segment(..)) => "getSegment",
        Route::Media(_, Media::Original) => "getOriginal",
        Route::Media(_, Media::File(_)) => "getFile",
        Route::Media(_, Media::Stem(_)) => "getStem",
        Route::PlayState(_) => "getPlaybackState",
        Route::Play(_, Media::Playlist) => "getPlaybackPlaylist",
        Route::Play(_, Media::Segment(..)) => "getPlaybackSegment",
        Route::Play(_, Media::Original) => "getPlaybackOriginal",
        Route::Play(_, Media::File(_)) => "getPlaybackFile",
        // Stems are for their client alone: no path of a link leads to them.
        Route::Play(_, Media::Stem(_)) => return None,
        Route::WorkerConnect
        | Route::WorkerUpload
        | Route::WorkerTranscript
        | Route::WorkerObject(..)
        | Route::WorkerParts(..) => {
            return None;
        }
        Route::Projects(route) => match route {
            ProjectRoute::Create => "createProject",
            ProjectRoute::List => "listProjects",
            ProjectRoute::Get(_) => "getProject",
            ProjectRoute::Events(_) => "getProjectEvents",
            ProjectRoute::Upload(_) => "getProjectUpload",
            ProjectRoute::CompleteUpload(_) => "completeProjectUpload",
            ProjectRoute::PutPart(..) => "putPart",
            ProjectRoute::Transcript(_) => "getTranscript",
            ProjectRoute::PutTranscript(_) => "putTranscript",
            ProjectRoute::Transcribe(_) => "transcribeProject",
            ProjectRoute::Generate(_) => "createGeneration",
            ProjectRoute::Generations(_) => "listGenerations",
            ProjectRoute::Generation(..) => "getGeneration",
            ProjectRoute::Cancel(..) => "cancelGeneration",
            ProjectRoute::Files(..) => "listGenerationFiles",
            ProjectRoute::Playback(..) => "createGenerationPlayback",
            ProjectRoute::Timeline(..) => "getTimeline",
        },
        Route::Usage => "getUsage",
        Route::Tenants(route) => match route {
            TenantRoute::List => "listTenants",
            TenantRoute::Get(_) => "getTenant",
            TenantRoute::Update(_) => "updateTenant",
            TenantRoute::Usage(_) => "getTenantUsage",
            TenantRoute::Keys(_) => "listKeys",
            TenantRoute::CreateKey(_) => "createKey",
            TenantRoute::RotateKey(..) => "rotateKey",
            TenantRoute::RevokeKey(..) => "revokeKey",
        },
        Route::Webhooks(route) => match route {
            WebhookRoute::List => "listWebhooks",
            WebhookRoute::Create => "createWebhook",
            WebhookRoute::Get(_) => "getWebhook",
            WebhookRoute::Update(_) => "updateWebhook",
            WebhookRoute::Delete(_) => "deleteWebhook",
            WebhookRoute::RotateSecret(_) => "rotateWebhookSecret",
            WebhookRoute::EndRotation(_) => "endWebhookRotation",
            WebhookRoute::Test(_) => "testWebhook",
            WebhookRoute::DeadLetters(_) => "listDeadLetters",
            WebhookRoute::Deliveries(_) => "listDeliveries",
            WebhookRoute::Replay(_) => "replayDeadLetters",
        },
        Route::ClientWebhooks(route) => match route {
            WebhookRoute::List => "listOwnWebhooks",
            WebhookRoute::Create => "createOwnWebhook",
            WebhookRoute::Get(_) => "getOwnWebhook",
            WebhookRoute::Update(_) => "updateOwnWebhook",
            WebhookRoute::Delete(_) => "deleteOwnWebhook",
            WebhookRoute::RotateSecret(_) => "rotateOwnWebhookSecret",
            WebhookRoute::EndRotation(_) => "endOwnWebhookRotation",
            WebhookRoute::Test(_) => "testOwnWebhook",
            WebhookRoute::DeadLetters(_) => "listOwnDeadLetters",
            WebhookRoute::Deliveries(_) => "listOwnDeliveries",
            WebhookRoute::Replay(_) => "replayOwnDeadLetters",
        },
        Route::Admin(route) => match route {
            AdminRoute::Queue => "getQueue",
            AdminRoute::Pause => "pauseQueue",
            AdminRoute::Resume => "resumeQueue",
            AdminRoute::Workers => "listWorkers",
            AdminRoute::Worker(_, WorkerVerb::Drain) => "drainWorker",
            AdminRoute::Worker(_, WorkerVerb::Undrain) => "undrainWorker",
            AdminRoute::Worker(_, WorkerVerb::Bench) => "benchWorker",
            AdminRoute::Worker(_, WorkerVerb::Unbench) => "unbenchWorker",
            AdminRoute::Jobs => "listAllJobs",
            AdminRoute::Job(_) => "getWholeJob",
            AdminRoute::ActOnJob(_, JobVerb::Cancel) => "cancelAnyJob",
            AdminRoute::ActOnJob(_, JobVerb::Retry) => "retryJob",
            AdminRoute::ActOnJob(_, JobVerb::Discard) => "discardJob",
            AdminRoute::Bulk(BulkVerb::Cancel) => "cancelJobs",
            AdminRoute::Bulk(BulkVerb::Retry) => "retryJobs",
            AdminRoute::Audit => "getAuditLog",
            AdminRoute::Usage => "getSchedulerUsage",
            AdminRoute::Metrics => "getMetrics",
        },
    })
}

/// Codes that only the paths of workers answer with, or a path that is none.
const NOT_OF_OPERATIONS: [&str; 3] = ["method_not_allowed", "object_exists", "upgrade_required"];

/// A path of an operation, with a value for each name in braces.
fn example(operation: &Operation) -> String {
    [
        ("{attempt}", "1"),
        ("{part}", "1"),
        ("{segment}", "init.mp4"),
        ("{ticket}", "claims.signature"),
        ("{name}", "restored.wav"),
    ]
    .iter()
    .fold(operation.path.to_owned(), |path, (name, value)| path.replace(name, value))
    .replace(['{', '}'], "")
}

fn methods(operation: &Operation) -> Vec<Method> {
    let head = (operation.method == Method::Get).then_some(Method::Head);
    std::iter::once(operation.method).chain(head).collect()
}

#[test]
fn every_operation_is_the_route_of_its_path() {
    for operation in operations() {
        for method in methods(&operation) {
            let route = route::find(Some(method), &example(&operation))
                .unwrap_or_else(|error| panic!("{} {}: {error}", method.name(), operation.path));
            assert_eq!(operation_of(&route), Some(operation.id), "{} {}", method.name(), operation.path);
        }
    }
}

/// Reads the names off this file's own source: the compiler sees to it that every route is there.
#[test]
fn every_route_is_an_operation() {
    let source = include_str!("routes.rs");
    let body = source.split("fn operation_of").nth(1).and_then(|rest| rest.split("\n}\n").next()).unwrap();
    let named: Vec<&str> = body.split("=> \"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let ids: Vec<&str> = operations().iter().map(|operation| operation.id).collect();
    assert!(named.len() > 30, "the source has another form: {named:?}");
    for name in &named {
        assert!(ids.contains(name), "the route {name} is in no table of operations");
    }
    assert_eq!(ids.len(), named.len(), "an operation is in the tables twice");
}

#[test]
fn a_path_answers_the_methods_of_its_operations_and_no_others() {
    let all = operations();
    for operation in &all {
        let path = example(operation);
        let documented: Vec<&str> = Method::ALL
            .into_iter()
            .filter(|method| {
                all.iter().any(|other| other.path == operation.path && methods(other).contains(method))
            })
            .map(Method::name)
            .collect();
        assert_eq!(route::methods(&path), documented, "{path}");
    }
}

#[test]
fn every_documented_code_is_some_operations() {
    let documented = include_str!("../../../../docs/api.md");
    let codes: Vec<&str> = documented
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once('`').map(|(code, _)| code))
        // Tables of requests begin with a method.
        .filter(|code| code.bytes().all(|c| c.is_ascii_lowercase() || c == b'_'))
        .collect();
    assert!(codes.len() > 25, "the table has another form: {codes:?}");
    let of_operations = documented_codes();
    for code in &codes {
        assert_eq!(
            of_operations.contains(code),
            !NOT_OF_OPERATIONS.contains(code),
            "{code}: which operation answers with it?"
        );
    }
    assert!(of_operations.iter().all(|code| codes.contains(code)));
}
