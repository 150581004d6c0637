//! What clients do with their key: uploads, jobs, the state of the whole.

use serde_json::json;
use shared_protocol::limits::MAX_BODY_BYTES;

use super::operation::{Access, Content, Group, Operation, get, post, put};
use crate::api::ApiError;
use crate::api::request::{CreateJob, CreateUpload};
use crate::api::view::{Health, JobList, JobView, StatusView, UploadCreated, UploadStored, UploadView};

pub(super) fn operations() -> Vec<Operation> {
    [service(), uploads(), jobs()].concat()
}

fn service() -> Vec<Operation> {
    let group = Group::Service;
    vec![
        get("getHealth", "/v1/health", group, Access::Nobody)
            .says("Whether the edge answers", "Needs no key.")
            .gives::<Health>(200, "It does."),
        get("getOpenApi", "/v1/openapi.json", group, Access::Nobody)
            .says("This document", "Needs no key; any web page may read it.")
            .answers(200, "An OpenAPI 3.1 document.", Content::Bytes(&["application/json"]))
            .with("ETag", "Names this version of the document."),
        get("getStatus", "/v1/status", group, Access::Client)
            .says(
                "Queue and workers",
                "Live jobs by state, and the workers that are connected or away for a short time.",
            )
            .asks_scheduler()
            .gives::<StatusView>(200, "The state now."),
    ]
}

fn uploads() -> Vec<Operation> {
    let group = Group::Uploads;
    vec![
        post("createUpload", "/v1/uploads", group, Access::Client)
            .says(
                "Announce a recording",
                "Nothing is stored yet: the answer says how to put the bytes, with a ticket that works for an hour.",
            )
            .takes::<CreateUpload>()
            .gives::<UploadCreated>(201, "Put the bytes as `put` says.")
            .fails([ApiError::UploadTooLarge { limit: MAX_BODY_BYTES }, media_type()]),
        put("putUpload", "/v1/uploads/{uploadId}/content", group, Access::UploadTicket)
            .says(
                "Put a recording's bytes",
                "Exactly as many as were announced, with a `Content-Length`. They are stored once: a second put answers as the first one when the size is the same.",
            )
            .takes_bytes()
            .gives::<UploadStored>(200, "The bytes are stored.")
            .fails([
                ApiError::SizeMismatch { expected: 0, actual: 0 },
                ApiError::ChecksumMismatch,
                ApiError::UploadExists,
            ]),
        get("getUpload", "/v1/uploads/{uploadId}", group, Access::Client)
            .says("An upload", "There is none until its bytes have arrived.")
            .gives::<UploadView>(200, "The upload.")
            .fails([ApiError::UploadNotFound]),
    ]
}

fn jobs() -> Vec<Operation> {
    let group = Group::Jobs;
    vec![
        post("createJob", "/v1/jobs", group, Access::Client)
            .says(
                "Queue a job",
                "It is durable before the answer. With an `Idempotency-Key` a request can be repeated: the answer is the job that the first one queued.",
            )
            .takes_idempotency_key()
            .takes::<CreateJob>()
            .asks_scheduler()
            .gives::<JobView>(201, "It is queued.")
            .with("Location", "Its path.")
            .gives::<JobView>(200, "An earlier request with the same key queued it.")
            .fails([
                ApiError::UploadNotFound,
                ApiError::IdempotencyMismatch { by: String::new() },
                ApiError::QueueFull { limit: 0 },
                ApiError::TenantFull { limit: 0 },
                ApiError::JobsNotCounted,
            ]),
        get("listJobs", "/v1/jobs", group, Access::Client)
            .says("Jobs", "Newest first.")
            .query(
                "state",
                "Those that something will still happen to, or those that have ended.",
                json!({ "type": "string", "enum": ["live", "ended"] }),
            )
            .pages()
            .asks_scheduler()
            .gives::<JobList>(200, "A page of them."),
        get("getJob", "/v1/jobs/{jobId}", group, Access::Client)
            .says("A job", "")
            .asks_scheduler()
            .gives::<JobView>(200, "The job as it is now.")
            .fails([ApiError::JobNotFound]),
        post("cancelJob", "/v1/jobs/{jobId}/cancel", group, Access::Client)
            .says("Cancel a job", "A body is not needed and not read.")
            .asks_scheduler()
            .gives::<JobView>(200, "It has ended, cancelled.")
            .gives::<JobView>(202, "Its worker was told and has to confirm.")
            .fails([ApiError::JobNotFound, ApiError::JobEnded { state: String::new() }]),
    ]
}

/// A tenant may be bound to some media types.
pub(super) fn media_type() -> ApiError {
    ApiError::MediaTypeNotAllowed { media_type: String::new(), allowed: String::new() }
}
