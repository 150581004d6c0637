//! What the checks are told: what really happened, from outside of both brains.

use edge::outbox::{DeliveryOutcome, Endpoint, Outbox, Row};
use edge::scheduler::{Announcement, ConnectionId, Job, Meta, Playlist, Scheduler, WorkerControl};
use shared_protocol::{Attempt, JobId, SchedulerMessage, TenantId, TimestampMs, WorkerId, WorkerMessage};

use crate::sim::backend::Request;
use crate::sim::store::Store;

/// How a run of an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HowEnded {
    /// Its result is stored.
    Completed,
    /// It failed.
    Failed,
    /// It was stopped.
    Stopped,
    /// Its process died.
    Died,
    /// It killed its process.
    Killed,
}

/// What operators decide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Pause a tenant, or the queue.
    Pause(Option<TenantId>),
    /// Resume it.
    Resume(Option<TenantId>),
    /// Drain a worker.
    Drain(WorkerId),
    /// Undrain it.
    Undrain(WorkerId),
    /// Bench it for so many milliseconds.
    Bench(WorkerId, u64),
    /// Unbench it.
    Unbench(WorkerId),
    /// Cancel a job.
    Cancel(JobId),
    /// Retry an ended job.
    Retry(JobId),
    /// Discard a quarantined job.
    Discard(JobId),
}

/// One attempt that runs somewhere.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The environment.
    pub env: usize,
    /// The worker.
    pub worker: WorkerId,
    /// The job.
    pub job: JobId,
    /// The attempt.
    pub attempt: Attempt,
}

/// One thing that happened.
pub enum Fact<'a> {
    /// The run begins.
    Begins {
        /// Whether alarms and objects are reliable in this run, so that bounds hold to the second.
        reliable: bool,
        /// Whether every worker can do every job, and nothing waits for a time or a resumed tenant.
        uniform: bool,
        /// The bound of live jobs.
        max_live_jobs: usize,
    },
    /// A worker's message was handled in a turn that was persisted. Comes before what it led to.
    Heard {
        /// The environment.
        env: usize,
        /// Over which connection.
        connection: ConnectionId,
        /// Who spoke, as far as the truth knows.
        worker: &'a WorkerId,
        /// What.
        message: &'a WorkerMessage,
    },
    /// A job's row was written.
    Saved {
        /// The environment.
        env: usize,
        /// The row before.
        before: Option<&'a Job>,
        /// The row now.
        after: &'a Job,
        /// All rows now.
        store: &'a Store,
    },
    /// A playlist was written.
    PlaylistSaved {
        /// The environment.
        env: usize,
        /// Whose.
        job: &'a JobId,
        /// The list before.
        before: Option<&'a Playlist>,
        /// The list now.
        after: &'a Playlist,
    },
    /// The row about the whole was written.
    MetaSaved {
        /// The environment.
        env: usize,
        /// The row now.
        after: &'a Meta,
    },
    /// What holds for a worker was written.
    ControlSaved {
        /// The environment.
        env: usize,
        /// The worker.
        worker: &'a WorkerId,
        /// What holds.
        control: Option<&'a WorkerControl>,
    },
    /// An attempt was offered, durably; it may never be sent.
    Offered {
        /// The environment.
        env: usize,
        /// The job's row with the offer.
        job: &'a Job,
        /// Over which connection.
        connection: ConnectionId,
        /// All rows.
        store: &'a Store,
    },
    /// The scheduler sent a message.
    Sent {
        /// The environment.
        env: usize,
        /// The message.
        message: &'a SchedulerMessage,
        /// All rows.
        store: &'a Store,
    },
    /// A turn was persisted and all that it wanted was done.
    TurnEnded {
        /// The environment.
        env: usize,
        /// The brain.
        brain: &'a Scheduler,
        /// The outbox.
        outbox: &'a Outbox,
        /// All rows.
        store: &'a Store,
        /// The brain as it would be restored now; made now and then only.
        restored: Option<&'a Scheduler>,
        /// Whether anything of a job changed.
        changed: bool,
    },
    /// A brain was restored.
    Restored {
        /// The environment.
        env: usize,
        /// The brain.
        brain: &'a Scheduler,
        /// All rows.
        store: &'a Store,
    },
    /// A transaction failed, or was said to: what was heard in it may be forgotten.
    TurnFailed {
        /// The environment.
        env: usize,
        /// The rows were written all the same.
        persisted: bool,
    },
    /// The object was evicted between two effects of a turn: some of what it wanted to send and to keep is lost.
    Interrupted {
        /// The environment.
        env: usize,
    },
    /// A client got the answer that its job exists.
    Answered {
        /// The environment.
        env: usize,
        /// Which request.
        request: usize,
        /// The job's id.
        job: &'a JobId,
        /// All rows.
        store: &'a Store,
    },
    /// An operator's wish is under way: from now on it may hold or not.
    Commanding {
        /// The environment.
        env: usize,
        /// The wish.
        command: &'a Command,
    },
    /// An operator's wish holds.
    Commanded {
        /// The environment.
        env: usize,
        /// The wish.
        command: &'a Command,
    },
    /// A worker's process runs, with these slots.
    WorkerStarted {
        /// The worker.
        worker: &'a WorkerId,
        /// Jobs at once.
        slots: u32,
    },
    /// A worker's clock jumped ahead: what it measures across the jump is too long.
    ClockStepped {
        /// The worker.
        worker: &'a WorkerId,
    },
    /// An attempt runs.
    Started {
        /// Where.
        place: &'a Place,
    },
    /// A run of an attempt ended.
    Ended {
        /// Where.
        place: &'a Place,
        /// How.
        how: HowEnded,
    },
    /// The pipeline stored segments.
    Stored {
        /// Where.
        place: &'a Place,
        /// So many in all.
        segments: u32,
    },
    /// A session was told to stop an attempt; `stopping` says whether it does, or has none of it.
    ToldToStop {
        /// Where.
        place: &'a Place,
        /// Whether it obeys.
        stopping: bool,
    },
    /// A terminal message is on a worker's disk.
    Journaled {
        /// The environment.
        env: usize,
        /// Whose.
        worker: &'a WorkerId,
        /// The message.
        message: &'a WorkerMessage,
    },
    /// A session wants a terminal message sent.
    WorkerSays {
        /// The environment.
        env: usize,
        /// Who.
        worker: &'a WorkerId,
        /// The message.
        message: &'a WorkerMessage,
    },
    /// A session sends messages.
    WorkerSent {
        /// The environment.
        env: usize,
        /// Who.
        worker: &'a WorkerId,
        /// The messages of one frame.
        messages: &'a [WorkerMessage],
    },
    /// A terminal message was removed from a worker's disk, or its disk was lost.
    Unjournaled {
        /// The environment.
        env: usize,
        /// Whose.
        worker: &'a WorkerId,
        /// The message.
        message: &'a WorkerMessage,
        /// The disk was lost.
        disk_lost: bool,
    },
    /// Everybody looks at everything, now and then.
    Glance {
        /// The environment.
        env: usize,
        /// All rows.
        store: &'a Store,
        /// The object can be reached.
        reachable: bool,
    },
    /// The scheduler announced something in a turn that was persisted.
    Announced {
        /// The environment.
        env: usize,
        /// What.
        announcement: &'a Announcement,
    },
    /// A webhook's row was written. Comes after all that was announced in the turn.
    WebhookSaved {
        /// The environment.
        env: usize,
        /// The row before.
        before: Option<&'a Row>,
        /// The row now.
        after: &'a Row,
        /// Its place among all rows that were ever made.
        ordinal: u64,
    },
    /// A webhook's row was deleted.
    WebhookDeleted {
        /// The environment.
        env: usize,
        /// The row.
        row: &'a Row,
    },
    /// An endpoint's row was written.
    EndpointSaved {
        /// The environment.
        env: usize,
        /// The row.
        endpoint: &'a Endpoint,
    },
    /// A webhook's request left the object.
    WebhookSent {
        /// Its number, never used again.
        number: u64,
        /// The request.
        request: &'a Request,
    },
    /// The object cut a request off.
    WebhookCutOff {
        /// Its number.
        number: u64,
    },
    /// A webhook's request reached its endpoint.
    WebhookArrived {
        /// The request.
        request: &'a Request,
        /// Whether the endpoint took it to heart: it may not have said so.
        taken: bool,
    },
    /// What came of a request was handled in a turn that was persisted. Comes before what it led to.
    WebhookAnswered {
        /// The request.
        request: &'a Request,
        /// What came of it.
        outcome: &'a DeliveryOutcome,
    },
    /// The faults end.
    Healed,
    /// The run is over.
    Over {
        /// The environment.
        env: usize,
        /// All rows.
        store: &'a Store,
    },
}

/// When something happened.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// By the scheduler's clock.
    pub now: TimestampMs,
}
