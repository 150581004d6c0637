//! What the scheduler wants done. The shell does it in this order of kinds: save, then send.

use shared_protocol::{
    Attempt, JobId, MessageId, OutputKind, Sampler, SchedulerMessage, Source, TenantId, TimestampMs, WorkerId,
};

use super::ConnectionId;
use super::Meta;
use super::announcement::Announcement;
use super::audit::AuditEntry;
use super::fleet::{WorkerControl, WorkerSnapshot};
use super::follow_up::FollowUp;
use super::job::{Job, TranscriptRef};
use super::playlist::Playlist;

/// One thing to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Write a job's row. Has to be durable before any later send is seen by a peer.
    SaveJob(Box<Job>),
    /// Write a job's playlist. As durable as its row.
    SavePlaylist {
        /// Whose.
        job_id: JobId,
        /// The whole list.
        playlist: Playlist,
    },
    /// Write the one row about the scheduler as a whole.
    SaveMeta(Box<Meta>),
    /// Write what holds for a worker, or take it away.
    SaveControl {
        /// Whom it concerns.
        worker: WorkerId,
        /// What holds; nothing any more when absent.
        control: Option<WorkerControl>,
    },
    /// Write the receipt of a terminal message.
    SaveReceipt {
        /// The message.
        message_id: MessageId,
        /// The job that it is about.
        job_id: JobId,
        /// When it was handled.
        at: TimestampMs,
    },
    /// Throw receipts away.
    DropReceipts(Vec<MessageId>),
    /// Write what followed on a completed job.
    SaveFollowUp(Box<FollowUp>),
    /// Tell listeners. What is to reach them is as durable as the change that it tells of.
    Announce(Announcement),
    /// Write down what an operator did.
    SaveAudit(Box<AuditEntry>),
    /// Keep what is known of a worker with its socket.
    Remember {
        /// The socket.
        connection: ConnectionId,
        /// What to keep.
        snapshot: Box<WorkerSnapshot>,
    },
    /// Send an offer, with a ticket for exactly this attempt, which only the shell can sign.
    Offer {
        /// The socket.
        connection: ConnectionId,
        /// What to offer.
        offer: Box<Offer>,
    },
    /// Send a message.
    Send {
        /// The socket.
        connection: ConnectionId,
        /// What to send.
        message: SchedulerMessage,
    },
    /// Close a socket.
    Close {
        /// The socket.
        connection: ConnectionId,
        /// Why, for the peer's log.
        reason: CloseReason,
    },
}

/// An offer before it is signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// The job.
    pub job_id: JobId,
    /// The attempt.
    pub attempt: Attempt,
    /// Its owner: part of the upload's key in storage.
    pub tenant: TenantId,
    /// How to restore.
    pub sampler: Sampler,
    /// What to leave behind.
    pub outputs: Vec<OutputKind>,
    /// What to restore.
    pub source: Source,
    /// What it may go by.
    pub transcript: Option<TranscriptRef>,
}

/// Why the scheduler closes a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CloseReason {
    /// The same worker has connected again.
    Replaced,
    /// The worker speaks another version of the protocol.
    VersionMismatch,
    /// Nothing was heard for too long.
    Silent,
    /// It did not say who it is.
    NoHello,
}

impl CloseReason {
    /// WebSocket close code, from the range for applications.
    pub fn code(self) -> u16 {
        match self {
            Self::Replaced => 4000,
            Self::VersionMismatch => 4001,
            Self::Silent => 4002,
            Self::NoHello => 4004,
        }
    }

    /// For the peer's log.
    pub fn text(self) -> &'static str {
        match self {
            Self::Replaced => "replaced by a newer connection of this worker",
            Self::VersionMismatch => "this scheduler speaks another version of the protocol",
            Self::Silent => "nothing was heard for too long",
            Self::NoHello => "no hello was said in time",
        }
    }
}
