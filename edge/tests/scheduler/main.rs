//! The scheduler's brain, told as stories. Each test is named after what it protects.

mod any_order;
mod cancelling;
mod losing_workers;
mod one_job;
mod restarting;
mod rig;
