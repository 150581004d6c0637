//! The whole program, driven from outside: `mini-worker restore` on recordings that ffmpeg makes, and `mini-worker run`
//! with a scheduler that the test plays. Needs ffmpeg and the
//! model (`cargo run -p mini-worker -- models fetch`).

#![allow(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]

mod any_input;
mod bad_recordings;
mod fleet;
#[cfg_attr(
    not(target_os = "linux"),
    allow(unused, reason = "what only Linux can be asked has helpers of its own")
)]
mod lifecycle;
mod played_edge;
mod restore_options;
mod results;
mod stems;
mod studio;
mod transcripts;
