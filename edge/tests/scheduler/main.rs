//! The scheduler's brain, told as stories. Each test is named after what it protects.

// Helpers of tests fail by panicking, as tests do.
#![allow(clippy::unwrap_used, missing_docs)]

mod announcing;
mod any_order;
mod cancelling;
mod fairness;
mod following_up;
mod losing_workers;
mod one_job;
mod operating;
mod restarting;
mod rig;
mod routing;
