//! What happens to a session, and what it asks its shell to do.

use shared_protocol::{
    Assign, Attempt, DecodeError, DurationMs, HlsSegment, Item, JobFailure, JobId, JobOutcome, LinkReport,
    MessageId, ProtocolError, QualityScores, SamplerSpeed, SchedulerMessage, StemFile, Welcome,
    WorkerMessage,
};

use super::ProgressUpdate;

/// How an attempt's pipeline ended.
#[derive(Debug, Clone, PartialEq)]
pub enum JobEnd {
    /// Restored and published.
    Completed {
        /// All HLS segments.
        segments: Vec<HlsSegment>,
        /// What was made.
        outcome: JobOutcome,
    },
    /// It failed.
    Failed(JobFailure),
    /// It stopped, as an [`Effect::Stop`] asked.
    Stopped,
}

/// What happens to a session.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// A deadline passed.
    Tick,
    /// The connection that [`Effect::Connect`] asked for is open.
    LinkOpened,
    /// The connection is gone, or could not be made.
    LinkClosed,
    /// One message of a frame, readable or not.
    Received(Item<SchedulerMessage>),
    /// An attempt's pipeline reports.
    Progressed {
        /// The job.
        job_id: JobId,
        /// The attempt.
        attempt: Attempt,
        /// How far it is.
        update: ProgressUpdate,
    },
    /// An attempt's pipeline ended.
    Ended {
        /// The job.
        job_id: JobId,
        /// The attempt.
        attempt: Attempt,
        /// How.
        end: JobEnd,
    },
    /// An attempt is complete, and its stems are still to be made. Comes right before its [`Input::Ended`], and is answered
    /// with one [`Input::Followed`], unless the process ends before.
    StemsFollow {
        /// The job.
        job_id: JobId,
        /// The attempt.
        attempt: Attempt,
    },
    /// The stems of an attempt that completed here are stored, or will not come.
    Followed {
        /// The job.
        job_id: JobId,
        /// The attempt.
        attempt: Attempt,
        /// What is stored, or why it is not.
        stems: Result<Vec<StemFile>, JobFailure>,
    },
    /// An attempt that completed here was scored.
    Scored {
        /// The job.
        job_id: JobId,
        /// The scores, with the attempt.
        scores: QualityScores,
    },
    /// Seconds of inference left on this worker, but for what this session itself has accepted and the model does not know of
    /// yet ([`Session::inference_ahead`](super::Session::inference_ahead)). Both are reported, in `ready` and in every ping.
    Backlog(f64),
    /// How fast the worker is, as it measured it. Reported in `ready`.
    Measured {
        /// With each of its samplers.
        speeds: Vec<SamplerSpeed>,
        /// To and from storage, once something was moved.
        link: Option<LinkReport>,
    },
    /// So many of the worker's slots are taken by other environments.
    SlotsElsewhere(u32),
    /// Finish what runs, take nothing new.
    Drain,
    /// Stop what runs and hand it back.
    HandBack,
}

/// What the session asks its shell to do, in this order.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Open a connection; answer with [`Input::LinkOpened`] or [`Input::LinkClosed`].
    Connect,
    /// Drop the connection, without an answer: later input from it must not reach the session.
    Disconnect,
    /// Send a message on the open connection.
    Send(WorkerMessage),
    /// Keep a terminal message safe. It has to be done before any later [`Effect::Send`].
    Journal(WorkerMessage),
    /// Keep a message safe that is told only if this process ends before a message with the same id is journaled, by the
    /// next one. Has to be done before any later [`Effect::Journal`].
    JournalInCase(WorkerMessage),
    /// Remove a journaled message.
    Forget(MessageId),
    /// Run an accepted attempt; answer with [`Input::Progressed`] and one [`Input::Ended`].
    Start(Assign),
    /// Stop an attempt; its [`Input::Ended`] follows in any case.
    Stop {
        /// The job.
        job_id: JobId,
        /// The attempt.
        attempt: Attempt,
    },
    /// Write something to the log.
    Note(Note),
}

/// Something for the log.
#[derive(Debug, Clone, PartialEq)]
pub enum Note {
    /// The scheduler greeted this worker.
    Connected {
        /// Its environment's name.
        environment: String,
    },
    /// The scheduler was silent for too long.
    Silent,
    /// The next attempt to connect follows after a pause.
    Reconnecting {
        /// How long.
        pause: DurationMs,
    },
    /// A message could not be read. The link lives on.
    Unreadable(DecodeError),
    /// The scheduler could not handle a message of ours.
    PeerError(ProtocolError),
    /// The scheduler speaks another version of the protocol.
    OtherVersion(Welcome),
}
