//! The `Scheduler` Durable Object: one for each environment.

use std::panic::AssertUnwindSafe;
use std::rc::Rc;

use shared_protocol::limits::MAX_TEXT_LENGTH;
use shared_protocol::{
    DecodeError, DurationMs, JobId, ProtocolError, TenantId, TimestampMs, WorkerMessage, decode_frame,
};
use worker::{
    DurableObject, Env, Request, Response, Result, State, WebSocket, WebSocketIncomingMessage, console_warn,
    durable_object,
};

use super::drive::Drive;
use super::{now, respond, retention, sockets};
use crate::api::call::{Announced, CONNECT_PATH, Call, JobDetail, Refusal, Reply, WORKER_KEY_HEADER};
use crate::api::request::ListJobs;
use crate::api::view::{JobList, JobView, StatusView};
use crate::outbox::{Event, Outbox};
use crate::scheduler::{CancelOutcome, FollowUp, Job, JobRequest, JobState, NewJob, Submitted};

/// Characters of a message type that is repeated in an `error`.
const MAX_KIND_LENGTH: usize = 64;

/// The scheduler's object.
#[durable_object]
pub struct Scheduler {
    pub(super) drive: AssertUnwindSafe<Rc<Drive>>,
    /// For how long the rows of ended jobs are kept.
    retention: Option<DurationMs>,
}

impl DurableObject for Scheduler {
    fn new(state: State, env: Env) -> Self {
        Self { retention: retention::of(&env), drive: AssertUnwindSafe(Drive::new(state, &env)) }
    }

    async fn fetch(&self, mut request: Request) -> Result<Response> {
        self.drive.usage().request();
        if request.path() == CONNECT_PATH {
            let key_id = request.headers().get(WORKER_KEY_HEADER)?.unwrap_or_default();
            return self.accept_worker(&key_id).await;
        }
        let call = serde_json::from_str(&request.text().await?)?;
        respond::json(200, &self.answer(call).await?)
    }

    async fn alarm(&self) -> Result<Response> {
        self.drive.alarm().await?;
        Response::empty()
    }

    async fn websocket_message(&self, socket: WebSocket, message: WebSocketIncomingMessage) -> Result<()> {
        self.drive.usage().frame_in();
        let WebSocketIncomingMessage::String(text) = message else {
            let reason = "frames are text".to_owned();
            sockets::refuse(&socket, unreadable(&DecodeError::Malformed { reason, kind: None }));
            return Ok(());
        };
        let Some(attachment) = sockets::attachment(&socket)? else {
            console_warn!("a socket without an attachment spoke");
            return Ok(());
        };
        let mut messages = Vec::new();
        for item in decode_frame::<WorkerMessage>(&text) {
            match item {
                Ok(message) => messages.push(message),
                Err(error) => sockets::refuse(&socket, unreadable(&error)),
            }
        }
        if messages.is_empty() {
            return Ok(());
        }
        // A frame is one turn: its messages share a transaction.
        self.drive
            .turn(|brain, now| {
                for message in messages {
                    brain.handle_message(now, attachment.connection, message);
                }
            })
            .await
    }

    async fn websocket_close(
        &self,
        socket: WebSocket,
        code: usize,
        reason: String,
        _was_clean: bool,
    ) -> Result<()> {
        sockets::answer_close(&socket, code, &reason);
        self.closed(&socket).await
    }

    async fn websocket_error(&self, socket: WebSocket, error: worker::Error) -> Result<()> {
        console_warn!("a socket failed: {error}");
        self.closed(&socket).await
    }
}

impl Scheduler {
    async fn accept_worker(&self, key_id: &str) -> Result<Response> {
        // Runs the migrations, should this be the object's first event.
        self.drive.turn(|_, _| ()).await?;
        let connection = self.drive.store().next_connection()?;
        self.drive.turn(|brain, now| brain.handle_connected(now, connection)).await?;
        sockets::accept(self.drive.state(), connection, key_id)
    }

    async fn closed(&self, socket: &WebSocket) -> Result<()> {
        let Some(attachment) = sockets::attachment(socket)? else { return Ok(()) };
        self.drive.turn(|brain, now| brain.handle_closed(now, attachment.connection)).await
    }

    async fn answer(&self, call: Call) -> Result<Reply> {
        match call {
            Call::Submit { tenant, job_id, request, withdrawn: true, .. } => {
                self.submit_withdrawn(tenant, job_id, *request).await
            }
            Call::Submit { tenant, job_id, request, idempotency_key, tenants_limit, .. } => {
                self.submit(tenant, job_id, *request, idempotency_key, tenants_limit).await
            }
            Call::Announce(announced) => {
                self.drive.turn_of_both(|brains, now| announce(&mut brains.outbox, now, *announced)).await?;
                Ok(Reply::Announced)
            }
            Call::Job { tenant, job_id } => {
                let Some(job) = self.find(&tenant, &job_id).await? else {
                    return Ok(Reply::Refused(Refusal::NotFound));
                };
                let follow_up = self.follow_up(&job).await?;
                Ok(Reply::Job(Box::new(JobDetail { follow_up, ..JobDetail::of(&job) })))
            }
            Call::Cancel { tenant, job_id } => self.cancel(&tenant, &job_id).await,
            Call::List { tenant, list } => self.list(&tenant, list).await,
            Call::Status { tenant } => {
                Ok(Reply::Status(self.drive.turn(|brain, _| StatusView::of(brain, &tenant)).await?))
            }
            Call::Poke => {
                self.drive.poke().await?;
                if let Some(retention) = self.retention {
                    self.drive.store().sweep_ended_jobs(TimestampMs(now().0.saturating_sub(retention.0)))?;
                }
                Ok(Reply::Poked)
            }
            Call::Admin(call) => self.admin(call).await,
            Call::Audit { entries } => self.audit(entries).await,
            Call::Webhooks { scope, actor, order } => self.webhooks(&scope, actor, order).await,
            Call::Callbacks { tenant, job_id } => self.callbacks(&tenant, &job_id).await,
        }
    }

    async fn submit(
        &self,
        tenant: TenantId,
        id: JobId,
        request: JobRequest,
        idempotency_key: Option<String>,
        tenants_limit: Option<usize>,
    ) -> Result<Reply> {
        // A call that is repeated, because its first answer was lost, finds the job that the first one made.
        if let Some(job) = self.find(&tenant, &id).await? {
            return Ok(Reply::Created(Box::new(JobView::of(&job))));
        }
        let known = match &idempotency_key {
            Some(key) => self.drive.store().known_key(&tenant, key)?,
            None => None,
        };
        let new = NewJob { id, tenant: tenant.clone(), request, idempotency_key };
        let submitted =
            self.drive.turn(|brain, now| brain.submit_within(now, new, known, tenants_limit)).await?;
        match submitted {
            Err(error) => Ok(Reply::Refused(error.into())),
            Ok(Submitted::New(id)) => {
                let job = self.find(&tenant, &id).await?;
                Ok(job.map_or(Reply::Refused(Refusal::NotFound), |job| {
                    Reply::Created(Box::new(JobView::of(&job)))
                }))
            }
            Ok(Submitted::Known(id)) => {
                let job = self.find(&tenant, &id).await?;
                Ok(job.map_or(Reply::Refused(Refusal::NotFound), |job| {
                    Reply::Job(Box::new(JobDetail::of(&job)))
                }))
            }
        }
    }

    /// Takes a job as cancelled; one that was taken before is cancelled.
    async fn submit_withdrawn(&self, tenant: TenantId, id: JobId, request: JobRequest) -> Result<Reply> {
        if self.find(&tenant, &id).await?.is_none() {
            let new = NewJob { id: id.clone(), tenant: tenant.clone(), request, idempotency_key: None };
            self.drive.turn(|brain, now| brain.submit_withdrawn(now, new)).await?;
        } else {
            self.drive.turn(|brain, now| brain.cancel(now, &id)).await?;
        }
        let job = self.find(&tenant, &id).await?;
        Ok(job.map_or(Reply::Refused(Refusal::NotFound), |job| Reply::Job(Box::new(JobDetail::of(&job)))))
    }

    async fn cancel(&self, tenant: &TenantId, id: &JobId) -> Result<Reply> {
        if self.find(tenant, id).await?.is_none() {
            return Ok(Reply::Refused(Refusal::NotFound));
        }
        let outcome = self.drive.turn(|brain, now| brain.cancel(now, id)).await?;
        let Some(job) = self.find(tenant, id).await? else { return Ok(Reply::Refused(Refusal::NotFound)) };
        let view = Box::new(JobView::of(&job));
        Ok(match outcome {
            CancelOutcome::Requested => Reply::Cancelling(view),
            CancelOutcome::Cancelled => Reply::Cancelled(view),
            CancelOutcome::NotLive if job.state == JobState::Cancelled => Reply::Cancelled(view),
            CancelOutcome::NotLive => Reply::Refused(Refusal::Ended { state: view.state }),
        })
    }

    async fn list(&self, tenant: &TenantId, list: ListJobs) -> Result<Reply> {
        self.drive.turn(|_, _| ()).await?;
        let mut jobs = self.drive.store().list(tenant, list)?;
        let limit = usize::try_from(list.limit).unwrap_or(usize::MAX);
        let has_more = jobs.len() > limit;
        jobs.truncate(limit);
        let next_cursor = jobs.last().filter(|_| has_more).map(|job| job.sequence.to_string());
        // Rows of live jobs lack their latest progress.
        let view =
            |brain: &crate::scheduler::Scheduler, job: &Job| JobView::of(brain.job(&job.id).unwrap_or(job));
        let jobs = self.drive.turn(|brain, _| jobs.iter().map(|job| view(brain, job)).collect()).await?;
        Ok(Reply::List(JobList { jobs, next_cursor }))
    }

    /// What followed on a job, where something can: from memory while its window is open, from its row afterwards.
    async fn follow_up(&self, job: &Job) -> Result<Option<FollowUp>> {
        if job.state != JobState::Completed {
            return Ok(None);
        }
        match self.drive.turn(|brain, _| brain.follow_up(&job.id).cloned()).await? {
            Some(follow_up) => Ok(Some(follow_up)),
            None => self.drive.store().follow_up(&job.id),
        }
    }

    /// A tenant's job: from memory while it is live, from its row when it has ended.
    pub(super) async fn find(&self, tenant: &TenantId, id: &JobId) -> Result<Option<Job>> {
        let live = self.drive.turn(|brain, _| brain.job(id).cloned()).await?;
        let job = match live {
            Some(job) => Some(job),
            None => self.drive.store().job(id)?,
        };
        Ok(job.filter(|job| job.tenant == *tenant))
    }
}

/// The answer to a message that cannot be read. It repeats what came, cut to a bound.
fn unreadable(error: &DecodeError) -> ProtocolError {
    ProtocolError {
        code: error.code().to_owned(),
        message: error.to_string().chars().take(MAX_TEXT_LENGTH).collect(),
        regarding: error.kind().map(|kind| kind.chars().take(MAX_KIND_LENGTH).collect()),
    }
}

/// Tells webhooks what happened to a generation. One that is told again, because the answer to its first telling was lost, keeps
/// its id, by which receivers know it.
fn announce(outbox: &mut Outbox, now: TimestampMs, announced: Announced) {
    let Announced { id, tenant, job_id, generation, kind, at, only, data } = announced;
    let generation = Some(generation);
    let event = Event { id, tenant, job_id, in_project: false, generation, only, kind, at, data };
    outbox.drop_ended(now, &event.tenant, &event.job_id, kind);
    outbox.publish(now, &event);
}
