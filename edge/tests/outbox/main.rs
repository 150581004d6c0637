//! Stories of the outbox: what backends are told, in which order, and what happens when they do not answer.
#![allow(clippy::unwrap_used, reason = "tests")]

mod any_order;
mod endpoints;
mod failures;
mod logging;
mod ordering;
mod restarting;
mod rig;
