//! Every error of the API, and the one table of its statuses and codes.
//!
//! The text of a variant is the `detail` of the answer: what happened, and what to do.

use serde::Serialize;

use super::key::KeyListError;
use super::range::RangeError;
use super::request::RequestError;
use super::ticket::{TicketError, TicketKeyError};
use crate::tenant::settings::UploadRefused;

/// One condition that a client can meet.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApiError {
    /// No such path.
    #[error("There is nothing at this path. The paths are listed at /docs.")]
    RouteNotFound,
    /// The path exists for other methods.
    #[error("This path answers {allow} only.")]
    MethodNotAllowed {
        /// The value of the `Allow` header.
        allow: String,
    },
    /// No `Authorization` header.
    #[error("Send a key: Authorization: Bearer <key>.")]
    KeyMissing,
    /// A key that is in no list.
    #[error("The key is not valid here. Ask the operator for a key of this environment and role.")]
    KeyInvalid,
    /// An operator's key, or a client's, that allows only looking.
    #[error("This key may look and not change anything. Use one that may.")]
    KeyReadOnly,
    /// No ticket.
    #[error("Send the ticket that came with the upload or the job in the header Minifleet-Ticket.")]
    TicketMissing,
    /// A ticket that this environment did not sign, or that is for something else.
    #[error("The ticket is not valid for this. Use it unchanged, for exactly what it was given for.")]
    TicketInvalid,
    /// Its time is over.
    #[error("The ticket has expired. Ask for a new one.")]
    TicketExpired,
    /// The request cannot be understood.
    #[error("{detail}")]
    InvalidRequest {
        /// The field concerned, if it is one.
        field: Option<&'static str>,
        /// What is wrong with it, and what would be right.
        detail: String,
    },
    /// A body without a length.
    #[error("Send the body with a Content-Length; bodies of unknown length are not taken.")]
    LengthRequired,
    /// A JSON body beyond its bound.
    #[error("The request is larger than {limit} bytes.")]
    RequestTooLarge {
        /// Bytes.
        limit: u64,
    },
    /// A file beyond its bound.
    #[error("The file is larger than {limit} bytes. Cut it, or compress it (FLAC and MP3 are fine).")]
    UploadTooLarge {
        /// Bytes.
        limit: u64,
    },
    /// The body is not as long as announced.
    #[error("The body has {actual} bytes where {expected} were announced. Send the whole file, unchanged.")]
    SizeMismatch {
        /// Bytes announced.
        expected: u64,
        /// Bytes of the body.
        actual: u64,
    },
    /// The bytes are not those that were announced.
    #[error("The SHA-256 of the body differs from the announced one; nothing was stored. Send it again.")]
    ChecksumMismatch,
    /// Another content is there.
    #[error("This upload has a content of another size already. Create a new upload.")]
    UploadExists,
    /// No such upload of this tenant, or its content has not arrived.
    #[error("There is no such upload. Create one, put its content, then use its uploadId.")]
    UploadNotFound,
    /// Another object is there.
    #[error("Other bytes are stored under this name already. Objects of an attempt are written once.")]
    ObjectExists,
    /// Parts that are gone, or make no object.
    #[error("The parts do not make an object: {reason}. Announce it again and put all parts anew.")]
    PartsInvalid {
        /// Storage's words.
        reason: String,
    },
    /// No such job of this tenant.
    #[error("There is no such job.")]
    JobNotFound,
    /// Too late to cancel.
    #[error("The job is {state} already.")]
    JobEnded {
        /// How it ended.
        state: String,
    },
    /// An operator wants what the job's state does not allow.
    #[error("The job is {state}: only {wanted} jobs can be {verb}.")]
    WrongState {
        /// Its state's name.
        state: String,
        /// The states in which it could be done.
        wanted: String,
        /// What was to be done.
        verb: String,
    },
    /// No such webhook.
    #[error("There is no such webhook. It may have been deleted.")]
    WebhookNotFound,
    /// A webhook has no such dead letter.
    #[error("The webhook has no such dead letter. It may have been replayed already, or be too old.")]
    DeadLetterNotFound,
    /// A webhook cannot be like that.
    #[error("The webhook cannot be like that: {reason}.")]
    WebhookNotValid {
        /// Why.
        reason: String,
    },
    /// The bound of webhooks is reached.
    #[error("There are {limit} webhooks, which is the limit. Delete one first.")]
    TooManyWebhooks {
        /// The bound.
        limit: usize,
    },
    /// The key belongs to another request.
    #[error(
        "The Idempotency-Key was used before for another request, by {by}. Use a new key for a new request."
    )]
    IdempotencyMismatch {
        /// Whose key it is: `job job_...`.
        by: String,
    },
    /// No such project of this tenant.
    #[error("There is no such project.")]
    ProjectNotFound,
    /// No such generation.
    #[error("The project has no such generation.")]
    GenerationNotFound,
    /// No transcript, or no such version.
    #[error("The project has no such transcript. Give one, or ask for a generation that requires one.")]
    TranscriptNotFound,
    /// The recording did not come in time.
    #[error("The upload was given up because its content did not arrive in time. Make a new project.")]
    UploadAbandoned,
    /// The recording is not there.
    #[error("The content of the upload is not there. Put it first; GET the project's upload for how.")]
    UploadIncomplete,
    /// The upload comes in one request.
    #[error("The upload does not come in parts. GET the project's upload for how to put its content.")]
    UploadNotInParts,
    /// Too late.
    #[error("The generation is {state} already.")]
    GenerationEnded {
        /// How it ended.
        state: String,
    },
    /// A bound of one project is reached.
    #[error("There are {limit} {what}, which is the limit.")]
    LimitReached {
        /// Of what.
        what: String,
        /// How many.
        limit: usize,
    },
    /// Nobody transcribes here.
    #[error(
        "No recogniser is set up here. Give the transcript yourself, or ask the operator to set TRANSCRIPTION_URL."
    )]
    TranscriptionNotConfigured,
    /// The bound of live jobs is reached.
    #[error("{limit} jobs are waiting or running, which is the limit. Try again later.")]
    QueueFull {
        /// The bound.
        limit: usize,
    },
    /// The tenant's own bound of live jobs is reached.
    #[error(
        "{limit} of your jobs are waiting or running, which is your limit. Try again later, or ask the operator for more."
    )]
    TenantFull {
        /// The bound.
        limit: usize,
    },
    /// No such key of this tenant.
    #[error("This tenant has no such key, or it is not valid any more. GET its keys for their ids.")]
    KeyNotFound,
    /// The bound of a tenant's valid keys is reached.
    #[error("The tenant has {limit} valid keys, which is the limit. Revoke one first.")]
    TooManyKeys {
        /// The bound.
        limit: usize,
    },
    /// A media type that the tenant may not upload.
    #[error("Files of the type {media_type:?} are not taken here, only: {allowed}.")]
    MediaTypeNotAllowed {
        /// What was announced.
        media_type: String,
        /// Beginnings of what may be.
        allowed: String,
    },
    /// Too many requests.
    #[error("{what} Try again in {retry_after_seconds} s.")]
    RateLimited {
        /// What there were too many of.
        what: &'static str,
        /// When there is room again.
        retry_after_seconds: u32,
    },
    /// The tenant has a quota, and this would not count.
    #[error(
        "This tenant has a quota, which counts generations only. Make a project (POST /v1/projects) and a generation of it; with the command: minifleet generate."
    )]
    JobsNotCounted,
    /// This month's quota is used up.
    #[error(
        "This month's quota is used up: {used_seconds} of {quota_seconds} seconds of audio. The month ends on {next_month}-01 00:00 UTC; until then ask the operator for more."
    )]
    QuotaExhausted {
        /// Seconds of audio charged in this month.
        used_seconds: u64,
        /// Seconds of audio in a month.
        quota_seconds: u64,
        /// The month after this one, `YYYY-MM`.
        next_month: String,
    },
    /// No segment is listed.
    #[error("Nothing of this job can be played yet. Try again in a second.")]
    NotPlayableYet,
    /// The job makes no HLS.
    #[error("This job makes no HLS output. Create one with \"hls\" among its outputs.")]
    NoPlayback,
    /// No such file or segment.
    #[error(
        "There is no such file. Files are there once the job is completed; GET its files for their names."
    )]
    FileNotFound,
    /// A range beyond the end.
    #[error("The range lies beyond the end of the {size} bytes.")]
    RangeNotSatisfiable {
        /// Bytes of the whole.
        size: u64,
    },
    /// A plain request where a WebSocket is spoken.
    #[error("Connect here with a WebSocket.")]
    UpgradeRequired,
    /// The operator's fault.
    #[error("The environment is not set up: {what}. Its operator has to mend that.")]
    Misconfigured {
        /// Which setting, and what is wrong with it. Never its value.
        what: String,
    },
    /// The scheduler did not answer.
    #[error("The scheduler does not answer. Try again in some seconds.")]
    SchedulerUnavailable,
    /// A tenant's object did not answer.
    #[error("What is kept of this tenant cannot be reached. Try again in some seconds.")]
    TenantUnavailable,
    /// A project did not answer.
    #[error("The project does not answer. Try again in some seconds.")]
    ProjectUnavailable,
    /// Ours.
    #[error("A fault of the service. Try again; if it happens again, report the requestId.")]
    Internal,
}

/// What the table says of one condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// HTTP status.
    pub status: u16,
    /// Stable name.
    pub code: &'static str,
    /// The same in words.
    pub title: &'static str,
    /// Seconds after which to try again, where that helps.
    pub retry_after_seconds: Option<u32>,
}

const fn row(status: u16, code: &'static str, title: &'static str) -> Row {
    Row { status, code, title, retry_after_seconds: None }
}

const fn row_retry(status: u16, code: &'static str, title: &'static str, seconds: u32) -> Row {
    Row { status, code, title, retry_after_seconds: Some(seconds) }
}

impl ApiError {
    /// The table of statuses and codes.
    pub const fn row(&self) -> Row {
        match self {
            Self::RouteNotFound => row(404, "route_not_found", "No such path"),
            Self::MethodNotAllowed { .. } => row(405, "method_not_allowed", "Method not allowed"),
            Self::KeyMissing => row(401, "key_missing", "Key missing"),
            Self::KeyInvalid => row(401, "key_invalid", "Key not valid"),
            Self::KeyReadOnly => row(403, "key_read_only", "Key allows only looking"),
            Self::TicketMissing => row(401, "ticket_missing", "Ticket missing"),
            Self::TicketInvalid => row(403, "ticket_invalid", "Ticket not valid"),
            Self::TicketExpired => row(403, "ticket_expired", "Ticket expired"),
            Self::InvalidRequest { .. } => row(400, "invalid_request", "Request not valid"),
            Self::LengthRequired => row(411, "length_required", "Content-Length missing"),
            Self::RequestTooLarge { .. } => row(413, "request_too_large", "Request too large"),
            Self::UploadTooLarge { .. } => row(413, "upload_too_large", "File too large"),
            Self::SizeMismatch { .. } => row(422, "size_mismatch", "Size differs"),
            Self::ChecksumMismatch => row(422, "checksum_mismatch", "Checksum differs"),
            Self::UploadExists => row(409, "upload_exists", "Upload exists"),
            Self::UploadNotFound => row(404, "upload_not_found", "No such upload"),
            Self::ObjectExists => row(409, "object_exists", "Object exists"),
            Self::PartsInvalid { .. } => row(409, "parts_invalid", "Parts do not fit"),
            Self::JobNotFound => row(404, "job_not_found", "No such job"),
            Self::JobEnded { .. } => row(409, "job_ended", "Job has ended"),
            Self::WrongState { .. } => row(409, "wrong_state", "Job is in another state"),
            Self::WebhookNotFound => row(404, "webhook_not_found", "No such webhook"),
            Self::DeadLetterNotFound => row(404, "dead_letter_not_found", "No such dead letter"),
            Self::WebhookNotValid { .. } => row(422, "webhook_not_valid", "Webhook not valid"),
            Self::TooManyWebhooks { .. } => row(409, "too_many_webhooks", "Too many webhooks"),
            Self::IdempotencyMismatch { .. } => row(409, "idempotency_mismatch", "Key of another request"),
            Self::QueueFull { .. } => row_retry(429, "queue_full", "Queue full", 30),
            Self::TenantFull { .. } => row_retry(429, "tenant_full", "Too many live jobs", 30),
            Self::JobsNotCounted => row(403, "jobs_not_counted", "Quota counts generations"),
            Self::KeyNotFound => row(404, "key_not_found", "No such key"),
            Self::TooManyKeys { .. } => row(409, "too_many_keys", "Too many keys"),
            Self::MediaTypeNotAllowed { .. } => row(415, "media_type_not_allowed", "Media type not allowed"),
            Self::RateLimited { retry_after_seconds, .. } => {
                row_retry(429, "rate_limited", "Too many requests", *retry_after_seconds)
            }
            Self::QuotaExhausted { .. } => row(429, "quota_exhausted", "Quota used up"),
            Self::NotPlayableYet => row_retry(404, "not_playable_yet", "Not playable yet", 1),
            Self::NoPlayback => row(404, "no_playback", "No playback"),
            Self::FileNotFound => row(404, "file_not_found", "No such file"),
            Self::RangeNotSatisfiable { .. } => row(416, "range_not_satisfiable", "Range not satisfiable"),
            Self::UpgradeRequired => row(426, "upgrade_required", "WebSocket expected"),
            Self::Misconfigured { .. } => row(503, "misconfigured", "Environment not set up"),
            Self::SchedulerUnavailable => {
                row_retry(503, "scheduler_unavailable", "Scheduler does not answer", 5)
            }
            Self::TenantUnavailable => row_retry(503, "tenant_unavailable", "Tenant cannot be reached", 5),
            Self::ProjectNotFound => row(404, "project_not_found", "No such project"),
            Self::GenerationNotFound => row(404, "generation_not_found", "No such generation"),
            Self::TranscriptNotFound => row(404, "transcript_not_found", "No such transcript"),
            Self::UploadAbandoned => row(409, "upload_abandoned", "Upload given up"),
            Self::UploadIncomplete => row(409, "upload_incomplete", "Upload not complete"),
            Self::UploadNotInParts => row(409, "upload_not_in_parts", "Upload not in parts"),
            Self::GenerationEnded { .. } => row(409, "generation_ended", "Generation ended"),
            Self::LimitReached { .. } => row(409, "limit_reached", "Limit reached"),
            Self::TranscriptionNotConfigured => {
                row(422, "transcription_not_configured", "No recogniser set up")
            }
            Self::ProjectUnavailable => row_retry(503, "project_unavailable", "Project unavailable", 5),
            Self::Internal => row(500, "internal", "Internal fault"),
        }
    }

    /// The request's field that is at fault, if it is one.
    pub fn field(&self) -> Option<&'static str> {
        match self {
            Self::InvalidRequest { field, .. } => *field,
            _ => None,
        }
    }

    /// The body of the answer.
    pub fn problem<'a>(&self, request_id: &'a str) -> Problem<'a> {
        let row = self.row();
        Problem {
            kind: format!("urn:minifleet:problem:{}", row.code),
            title: row.title,
            status: row.status,
            detail: self.to_string(),
            code: row.code,
            request_id,
            field: self.field(),
            retry_after_seconds: row.retry_after_seconds,
        }
    }
}

/// RFC 9457 problem details.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Problem<'a> {
    /// A URI that names the kind of problem; it identifies and need not resolve.
    #[serde(rename = "type")]
    pub kind: String,
    /// The kind in words.
    pub title: &'static str,
    /// HTTP status.
    pub status: u16,
    /// This occurrence: what happened, and what to do.
    pub detail: String,
    /// The kind's stable name.
    pub code: &'static str,
    /// For the operator's logs.
    pub request_id: &'a str,
    /// The request's field at fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<&'static str>,
    /// When trying again may help.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_seconds: Option<u32>,
}

impl From<TicketError> for ApiError {
    fn from(error: TicketError) -> Self {
        match error {
            TicketError::Expired => Self::TicketExpired,
            TicketError::Malformed | TicketError::UnknownKey | TicketError::BadSignature => {
                Self::TicketInvalid
            }
        }
    }
}

impl From<UploadRefused> for ApiError {
    fn from(refused: UploadRefused) -> Self {
        match refused {
            UploadRefused::TooLarge { limit } => Self::UploadTooLarge { limit },
            UploadRefused::MediaType { media_type, allowed } => {
                Self::MediaTypeNotAllowed { media_type, allowed: allowed.join(", ") }
            }
        }
    }
}

impl From<TicketKeyError> for ApiError {
    fn from(error: TicketKeyError) -> Self {
        Self::Misconfigured { what: error.to_string() }
    }
}

impl From<KeyListError> for ApiError {
    fn from(error: KeyListError) -> Self {
        Self::Misconfigured { what: error.to_string() }
    }
}

impl From<RangeError> for ApiError {
    fn from(error: RangeError) -> Self {
        let RangeError::NotSatisfiable { size } = error;
        Self::RangeNotSatisfiable { size }
    }
}

impl From<RequestError> for ApiError {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::TooLarge { limit } => Self::UploadTooLarge { limit },
            RequestError::Json(reason) => Self::InvalidRequest {
                field: None,
                detail: format!("The body is not the JSON that is expected here: {reason}."),
            },
            RequestError::Field { field, reason } => {
                Self::InvalidRequest { field: Some(field), detail: format!("{field}: {reason}.") }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_says_what_to_do_and_carries_its_stable_code() {
        let json = serde_json::to_value(ApiError::QueueFull { limit: 7 }.problem("req_1")).unwrap();
        assert_eq!(
            json,
            serde_json::json!({
                "type": "urn:minifleet:problem:queue_full",
                "title": "Queue full",
                "status": 429,
                "detail": "7 jobs are waiting or running, which is the limit. Try again later.",
                "code": "queue_full",
                "requestId": "req_1",
                "retryAfterSeconds": 30,
            })
        );
    }

    /// Reads the table's own source, so that no condition can be left out of the comparison.
    #[test]
    fn the_documented_table_of_codes_is_this_one() {
        let source = include_str!("error.rs").split("#[cfg(test)]").next().unwrap_or_default();
        let documented = include_str!("../../../docs/api.md");
        let rows: Vec<(&str, &str)> = source
            .split("=> ")
            .filter_map(|arm| {
                let arm = arm.trim_start_matches(['{', '\n', ' ']);
                let call = arm.strip_prefix("row(").or_else(|| arm.strip_prefix("row_retry("))?;
                let mut arguments = call.split(", ");
                Some((arguments.next()?, arguments.next()?.trim_matches('"')))
            })
            .collect();
        assert!(rows.len() > 25, "the source has another form: {rows:?}");
        for (status, code) in &rows {
            assert!(
                documented.contains(&format!("| `{code}` | {status} |")),
                "{code} {status} is not documented"
            );
        }
        // A row of another table begins with a method, which is in capitals.
        let is_code = |line: &&str| {
            line.strip_prefix("| `").is_some_and(|code| code.starts_with(|c: char| c.is_ascii_lowercase()))
        };
        let documented_rows = documented.lines().filter(is_code).count();
        assert_eq!(documented_rows, rows.len(), "docs/api.md lists a code that is gone");
    }
}
