//! A project's brain, through its public commands only.

// Helpers of tests fail by panicking, as tests do.
#![allow(clippy::unwrap_used, missing_docs)]

mod cancelling;
mod joining;
mod restarting;
mod rig;
mod uploading;
