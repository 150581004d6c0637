//! minifleet's edge: the scheduler's brain, which is pure, and the shell around it, which runs on the platform.
//!
//! `shell` exists for wasm32 only: the native build breaks as soon as a brain imports the platform.

pub mod api;
pub mod digest;
pub mod job_events;
pub mod outbox;
pub mod project;
pub mod records;
pub mod scheduler;
pub mod tenant;
pub mod transcription;

#[cfg(target_arch = "wasm32")]
mod shell;
