//! What the stateless Worker asks of the scheduler's object, and its answers. One JSON body each way; never seen from
//! outside.

use serde::{Deserialize, Serialize};
use shared_protocol::{Attempt, GenerationId, JobId, JobOutcome, TenantId, TimestampMs, UploadId};

use super::admin::call::{Actor, AdminCall};
use super::error::ApiError;
use super::request::ListJobs;
use super::view::{JobList, JobView, StatusView};
use super::webhooks::call::{Scope, WebhookCall};
use crate::outbox::{Callback, EndpointId, EventId, EventKind};
use crate::scheduler::{AuditEntry, FollowUp, Job, JobRequest, OperatorError, Playlist, SubmitError};

/// Path of a call on the object.
pub const CALL_PATH: &str = "/call";

/// Path of a worker's WebSocket on the object.
pub const CONNECT_PATH: &str = "/connect";

/// Header that carries the name of the worker's key to the object.
pub const WORKER_KEY_HEADER: &str = "Minifleet-Worker-Key";

/// A question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "call")]
pub enum Call {
    /// Queue a job.
    #[serde(rename_all = "camelCase")]
    Submit {
        /// Whose.
        tenant: TenantId,
        /// A fresh id.
        job_id: JobId,
        /// What.
        request: Box<JobRequest>,
        /// The client's key.
        idempotency_key: Option<String>,
        /// Wanted no more: taken as cancelled, so that an earlier call of the same which is still on its way starts nothing.
        #[serde(default)]
        withdrawn: bool,
        /// How many live jobs the tenant may have.
        #[serde(default)]
        tenants_limit: Option<usize>,
    },
    /// Tell webhooks what happened to a generation.
    Announce(Box<Announced>),
    /// Look a job up.
    #[serde(rename_all = "camelCase")]
    Job {
        /// Whose.
        tenant: TenantId,
        /// Which.
        job_id: JobId,
    },
    /// Cancel a job.
    #[serde(rename_all = "camelCase")]
    Cancel {
        /// Whose.
        tenant: TenantId,
        /// Which.
        job_id: JobId,
    },
    /// List jobs.
    #[serde(rename_all = "camelCase")]
    List {
        /// Whose.
        tenant: TenantId,
        /// Which.
        list: ListJobs,
    },
    /// The state of queue and workers.
    Status {
        /// Who asks: whose jobs are named.
        tenant: TenantId,
    },
    /// Do whatever is due, should an alarm have been lost.
    Poke,
    /// What an operator asks or orders.
    Admin(AdminCall),
    /// Keep entries about acts that were done in other objects, each once.
    Audit {
        /// The entries.
        entries: Vec<AuditEntry>,
    },
    /// About webhooks.
    Webhooks {
        /// Which of them there are for whoever asks.
        scope: Scope,
        /// Who.
        actor: Actor,
        /// What.
        order: WebhookCall,
    },
    /// When webhooks were told of a job.
    #[serde(rename_all = "camelCase")]
    Callbacks {
        /// Whose.
        tenant: TenantId,
        /// Which.
        job_id: JobId,
    },
}

/// An event of a generation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Announced {
    /// Its id, the same however often it is told.
    pub id: EventId,
    /// Whose.
    pub tenant: TenantId,
    /// The generation's job: its events and the generation's go out in one order.
    pub job_id: JobId,
    /// The generation.
    pub generation: GenerationId,
    /// What happened.
    pub kind: EventKind,
    /// When.
    pub at: TimestampMs,
    /// The one of its tenant's webhooks that is told.
    pub only: Option<EndpointId>,
    /// What there is to say about it.
    pub data: serde_json::Value,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "reply")]
pub enum Reply {
    /// The job is queued now.
    Created(Box<JobView>),
    /// A job.
    Job(Box<JobDetail>),
    /// It will end when its worker confirms.
    Cancelling(Box<JobView>),
    /// It has ended, cancelled.
    Cancelled(Box<JobView>),
    /// Jobs.
    List(JobList),
    /// State.
    Status(StatusView),
    /// Done.
    Poked,
    /// It waits in the outbox now, or nobody wants it.
    Announced,
    /// The entries are kept.
    Audited,
    /// When webhooks were told of a job.
    Callbacks {
        /// Each event at each webhook, as far as it is still known.
        callbacks: Vec<Callback>,
    },
    /// An answer for an operator, or about webhooks, as it goes out.
    #[serde(rename_all = "camelCase")]
    Admin {
        /// Its HTTP status.
        status: u16,
        /// Its body.
        document: serde_json::Value,
    },
    /// The job was not taken, or is not there.
    Refused(Refusal),
}

/// A job with what listeners need.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobDetail {
    /// The job.
    pub job: JobView,
    /// The upload that it restores.
    pub upload_id: UploadId,
    /// What can be played.
    pub playlist: Playlist,
    /// The attempt whose result was taken.
    pub accepted: Option<Attempt>,
    /// What it made.
    pub outcome: Option<JobOutcome>,
    /// What followed on it, where something follows.
    pub follow_up: Option<FollowUp>,
}

impl JobDetail {
    /// A job with what listeners need, and nothing that followed yet.
    pub fn of(job: &Job) -> Self {
        Self {
            job: JobView::of(job),
            upload_id: job.request.source.upload_id.clone(),
            playlist: job.playlist.clone(),
            accepted: job.accepted,
            outcome: job.outcome.clone(),
            follow_up: None,
        }
    }
}

/// Why the scheduler refuses a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "refusal")]
pub enum Refusal {
    /// No such job of this tenant.
    NotFound,
    /// The bound of live jobs is reached.
    QueueFull {
        /// The bound.
        limit: usize,
    },
    /// The tenant's own bound of live jobs is reached.
    TenantFull {
        /// The bound.
        limit: usize,
    },
    /// The key belongs to another request.
    #[serde(rename_all = "camelCase")]
    IdempotencyMismatch {
        /// Whose key it is.
        job_id: JobId,
    },
    /// Too late to cancel.
    Ended {
        /// How it ended.
        state: String,
    },
    /// The operator's key allows only looking.
    KeyReadOnly,
    /// An operator wants what the job's state does not allow.
    WrongState {
        /// Its state's name.
        state: String,
        /// The states in which it could be done.
        wanted: String,
        /// What was to be done.
        verb: String,
    },
    /// No such webhook.
    WebhookNotFound,
    /// A webhook has no such dead letter.
    DeadLetterNotFound,
    /// A webhook cannot be like that.
    WebhookNotValid {
        /// Why.
        reason: String,
    },
    /// The bound of webhooks is reached.
    TooManyWebhooks {
        /// The bound.
        limit: usize,
    },
}

impl From<OperatorError> for Refusal {
    fn from(error: OperatorError) -> Self {
        match error {
            OperatorError::WrongState { state, wanted, verb, .. } => {
                Self::WrongState { state: state.to_owned(), wanted: wanted.to_owned(), verb: verb.to_owned() }
            }
            OperatorError::QueueFull { limit } => Self::QueueFull { limit },
        }
    }
}

impl From<SubmitError> for Refusal {
    fn from(error: SubmitError) -> Self {
        match error {
            SubmitError::QueueFull { limit } => Self::QueueFull { limit },
            SubmitError::TenantFull { limit } => Self::TenantFull { limit },
            SubmitError::IdempotencyMismatch { job_id } => Self::IdempotencyMismatch { job_id },
        }
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::NotFound => Self::JobNotFound,
            Refusal::QueueFull { limit } => Self::QueueFull { limit },
            Refusal::TenantFull { limit } => Self::TenantFull { limit },
            Refusal::IdempotencyMismatch { job_id } => {
                Self::IdempotencyMismatch { by: format!("job {job_id}") }
            }
            Refusal::Ended { state } => Self::JobEnded { state },
            Refusal::KeyReadOnly => Self::KeyReadOnly,
            Refusal::WebhookNotFound => Self::WebhookNotFound,
            Refusal::DeadLetterNotFound => Self::DeadLetterNotFound,
            Refusal::WebhookNotValid { reason } => Self::WebhookNotValid { reason },
            Refusal::TooManyWebhooks { limit } => Self::TooManyWebhooks { limit },
            Refusal::WrongState { state, wanted, verb } => Self::WrongState { state, wanted, verb },
        }
    }
}
