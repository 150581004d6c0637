//! The built edge under real `workerd`, seen from outside: over HTTP by clients, over WebSocket by workers.
//!
//! Each test boots an edge of its own. Most of those that take seconds wait for a deadline of the protocol, and may well
//! wait side by side: `RUST_TEST_THREADS=8` shortens the whole.

#![allow(clippy::unwrap_used, reason = "whatever fails in here ends the test, which is right")]

mod access;
mod cancelling;
mod client_webhooks;
mod configuration;
mod conventions;
mod crashes;
mod dispatch;
mod downloads;
mod errors;
mod evictions;
mod fuzz;
mod generation_webhooks;
mod generations;
mod jobs;
mod losing_workers;
mod objects;
mod operating;
mod parts;
mod playback;
mod playlist;
mod projects;
mod stems;
mod tenants;
mod transcription;
mod uplink;
mod uploads;
mod webhooks;
mod worker_link;
