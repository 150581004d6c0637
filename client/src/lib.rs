//! Client library of the minifleet HTTP API (`docs/api.md`).
//!
//! A [`Client`] is made from an address and a key ([`config::Profile`]) and is cheap to clone. Its methods are grouped by
//! what they are about: [`uploads`] of a [`source`], [`jobs`], [`watch`], [`projects`] and their [`events`], [`usage`], [`files`], [`playback`], [`fleet`], [`webhooks`]. Operators have an
//! [`admin::Admin`] instead.
//!
//! ```no_run
//! # async fn example() -> Result<(), minifleet_client::Error> {
//! use minifleet_client::{Client, config, jobs::NewJob, source::Source, watch::WaitOptions};
//!
//! let client = Client::new(&config::find(None)?)?;
//! let source = Source::read("talk.mp3".as_ref()).await?;
//! let upload = client.upload(&source, |_| {}).await?;
//! let job = client.create_job(&NewJob::of_upload(&upload.upload_id)).await?;
//! let job = client.wait(&job.job_id, WaitOptions::default()).await?;
//! for file in client.job_files(&job.job_id).await? {
//!     client.download(&file, file.name.as_ref(), |_| {}).await?;
//! }
//! # Ok(()) }
//! ```
//!
//! Every call can be repeated without doing its work twice (jobs carry an idempotency key, uploads are write-once), so
//! the library repeats them by itself when the service is busy or a connection breaks.

pub mod admin;
pub mod config;
pub mod errors;
pub mod events;
pub mod files;
pub mod fleet;
pub mod jobs;
pub mod playback;
pub mod projects;
pub mod source;
pub mod timings;
pub mod uploads;
pub mod usage;
pub mod watch;
pub mod webhooks;

mod http;
mod retry;
mod timeouts;
mod transfer;
mod wire;

pub use errors::{Error, ErrorKind, Problem};
pub use http::Client;
pub use timeouts::Timeouts;
pub use transfer::Progress;
