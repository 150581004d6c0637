//! The vocabulary between a minifleet scheduler and its workers, and nothing else: messages, ids, limits, failure
//! codes and the versions of all of it. No policy, no IO, no clock.
//!
//! The conversation is told as a story in `docs/protocol.md`; golden examples of every message lie in `tests/golden`.

mod codec;
mod failure;
mod ids;
mod job;
pub mod limits;
mod scheduler_msg;
mod time;
mod transcript;
mod version;
mod worker_msg;

pub use codec::{DecodeError, Frame, Item, decode_frame, encode, encode_batch};
pub use failure::{FailureCode, JobFailure, RejectReason};
pub use ids::{
    Attempt, BootId, GenerationId, IdError, JobId, MessageId, ProjectId, TenantId, UploadId, WorkerId,
};
pub use job::{
    HlsSegment, JobOutcome, OutputKind, Phase, PhaseTiming, Priority, PublishedFile, QualityScores, Sampler,
    Source, StemFile,
};
pub use scheduler_msg::{Ack, Assign, Cancel, CancelReason, Pong, ProtocolError, SchedulerMessage, Welcome};
pub use time::{DurationMs, TimestampMs};
pub use transcript::{Transcript, TranscriptError, Word};
pub use version::{PROTOCOL_VERSION, ProtocolVersion};
pub use worker_msg::{
    Accept, Cancelled, Complete, Failed, Hello, LinkReport, Ping, Progress, Quality, Ready, Reject,
    RunningAttempt, SamplerSpeed, Stems, WorkerMessage,
};
