//! Projects: a recording with its transcripts and its generations.

use serde_json::json;

use super::operation::{Access, Content, Group, Operation, get, invalid, post, put};
use crate::api::ApiError;
use crate::api::projects::request::{CreateGeneration, CreateProject};
use crate::api::projects::timeline::TimelineView;
use crate::api::projects::view::{
    EventList, GenerationList, GenerationView, PartPut, ProjectCreated, ProjectList, ProjectView,
    TranscriptTaken, TranscriptView,
};
use crate::api::request::CreatePlayback;
use crate::api::view::{FileList, PlaybackCreated};
use shared_protocol::Transcript;

pub(super) fn operations() -> Vec<Operation> {
    [projects(), transcripts(), generations()].concat()
}

/// Something of one project, which is asked.
fn of_project(operation: Operation) -> Operation {
    operation.fails([ApiError::ProjectNotFound, ApiError::ProjectUnavailable])
}

fn look(id: &'static str, path: &'static str) -> Operation {
    of_project(get(id, path, Group::Projects, Access::Client))
}

fn act(id: &'static str, path: &'static str) -> Operation {
    of_project(post(id, path, Group::Projects, Access::Client))
}

fn of_generation(operation: Operation) -> Operation {
    operation.fails([ApiError::GenerationNotFound])
}

fn projects() -> Vec<Operation> {
    vec![
        act("createProject", "/v1/projects")
            .says(
                "Make a project",
                "For one recording, whose bytes are put as the answer says. With an `Idempotency-Key` a request can be repeated.",
            )
            .takes_idempotency_key()
            .takes::<CreateProject>()
            .gives::<ProjectCreated>(201, "It is there.")
            .with("Location", "Its path.")
            .gives::<ProjectCreated>(200, "An earlier request with the same key made it.")
            .with("Location", "Its path.")
            .fails([
                ApiError::UploadTooLarge { limit: 0 },
                super::clients::media_type(),
                ApiError::IdempotencyMismatch { by: String::new() },
            ]),
        get("listProjects", "/v1/projects", Group::Projects, Access::Client)
            .says("Projects", "Newest first.")
            .pages()
            .gives::<ProjectList>(200, "A page of them."),
        look("getProject", "/v1/projects/{projectId}")
            .says("A project", "")
            .gives::<ProjectView>(200, "The project as it is now.")
            .has_etag(),
        look("getProjectEvents", "/v1/projects/{projectId}/events")
            .says(
                "What happened to a project",
                "As a list, or with `Accept: text/event-stream` as server-sent events: a stream ends after 90 s and is taken up again with `Last-Event-ID`.",
            )
            .query("after", "The number of the last event that is known.", json!({ "type": "integer", "minimum": 0 }))
            .header("Last-Event-ID", "The same, as browsers send it.", json!({ "type": "string", "pattern": "^[0-9]{1,18}$" }))
            .answers(
                200,
                "What happened since.",
                Content::JsonOrEvents(|generator| generator.subschema_for::<EventList>()),
            )
            .has_etag(),
        look("getProjectUpload", "/v1/projects/{projectId}/upload")
            .says("How to put its recording", "With a new ticket, while the recording is missing.")
            .gives::<ProjectCreated>(200, "What of it is there."),
        of_project(put(
            "putPart",
            "/v1/projects/{projectId}/upload/parts/{part}",
            Group::Projects,
            Access::UploadTicket,
        ))
        .says("Put a part of its recording", "In any order, several at once; a part that is put again replaces the earlier one.")
        .takes_bytes()
        .gives::<PartPut>(200, "The part is stored.")
        .fails([
            invalid(),
            ApiError::SizeMismatch { expected: 0, actual: 0 },
            ApiError::PartsInvalid { reason: String::new() },
            ApiError::UploadNotInParts,
            ApiError::UploadAbandoned,
        ]),
        act("completeProjectUpload", "/v1/projects/{projectId}/upload/complete")
            .says("Say that its recording is there", "The edge finds out by itself half a minute later. A body is not needed and not read.")
            .gives::<ProjectView>(200, "It is.")
            .has_etag()
            .fails([
                ApiError::UploadIncomplete,
                ApiError::UploadAbandoned,
                ApiError::ChecksumMismatch,
                ApiError::PartsInvalid { reason: String::new() },
            ]),
    ]
}

fn transcripts() -> Vec<Operation> {
    vec![
        look("getTranscript", "/v1/projects/{projectId}/transcript")
            .says("Its transcript", "The latest version, unless said otherwise.")
            .query("version", "Which one, from 1.", json!({ "type": "integer", "minimum": 1 }))
            .gives::<TranscriptView>(200, "The transcript.")
            .has_etag()
            .fails([ApiError::TranscriptNotFound]),
        of_project(put(
            "putTranscript",
            "/v1/projects/{projectId}/transcript",
            Group::Projects,
            Access::Client,
        ))
        .says(
            "Give its transcript",
            "It becomes the latest version, and takes the place of a recogniser's that is under way.",
        )
        .takes::<Transcript>()
        .gives::<TranscriptTaken>(200, "It is taken.")
        .fails([ApiError::LimitReached { what: String::new(), limit: 0 }]),
        act("transcribeProject", "/v1/projects/{projectId}/transcription")
            .says(
                "Have it transcribed",
                "By the recogniser that the operator set up. A body is not needed and not read.",
            )
            .gives::<ProjectView>(202, "It will be.")
            .fails([
                ApiError::TranscriptionNotConfigured,
                ApiError::UploadAbandoned,
                ApiError::LimitReached { what: String::new(), limit: 0 },
            ]),
    ]
}

fn generations() -> Vec<Operation> {
    let one = |id, path| of_generation(look(id, path));
    vec![
        act("createGeneration", "/v1/projects/{projectId}/generations")
            .says(
                "Ask for a generation",
                "One restore of the project's recording. It may be asked for before the recording is there.",
            )
            .takes_idempotency_key()
            .may_take::<CreateGeneration>()
            .gives::<GenerationView>(201, "It is asked for.")
            .with("Location", "Its path.")
            .gives::<GenerationView>(200, "An earlier request with the same key asked for it.")
            .with("Location", "Its path.")
            .fails([
                ApiError::IdempotencyMismatch { by: String::new() },
                ApiError::QuotaExhausted { used_seconds: 0, quota_seconds: 0, next_month: String::new() },
                ApiError::UploadAbandoned,
                ApiError::LimitReached { what: String::new(), limit: 0 },
                ApiError::TranscriptionNotConfigured,
                // The one that it names.
                ApiError::WebhookNotFound,
            ])
            .asks_scheduler(),
        look("listGenerations", "/v1/projects/{projectId}/generations")
            .says("Its generations", "Newest first.")
            .pages()
            .gives::<GenerationList>(200, "A page of them."),
        one("getGeneration", "/v1/projects/{projectId}/generations/{generationId}")
            .says("A generation", "")
            .gives::<GenerationView>(200, "The generation as it is now.")
            .has_etag(),
        of_generation(act("cancelGeneration", "/v1/projects/{projectId}/generations/{generationId}/cancel"))
            .says("Cancel a generation", "A body is not needed and not read.")
            .gives::<GenerationView>(200, "It has ended, cancelled.")
            .gives::<GenerationView>(202, "It will end when its worker confirms.")
            .fails([ApiError::GenerationEnded { state: String::new() }]),
        one("listGenerationFiles", "/v1/projects/{projectId}/generations/{generationId}/files")
            .says("Its final files", "As those of its job.")
            .asks_scheduler()
            .gives::<FileList>(200, "The files.")
            .fails([ApiError::JobNotFound]),
        of_generation(act(
            "createGenerationPlayback",
            "/v1/projects/{projectId}/generations/{generationId}/playback",
        ))
        .says("Make a playback link", "As of its job.")
        .may_take::<CreatePlayback>()
        .asks_scheduler()
        .gives::<PlaybackCreated>(201, "The link, for players and for people.")
        .fails([ApiError::JobNotFound]),
        one("getTimeline", "/v1/projects/{projectId}/generations/{generationId}/timeline")
            .says(
                "Where its time went",
                "Intervals from the first request to the last, and how long any of them ran.",
            )
            .asks_scheduler()
            .gives::<TimelineView>(200, "The intervals so far."),
    ]
}
