//! The links to the schedulers.

mod backoff;
mod outstanding;
mod running;
pub mod state;

pub use backoff::Backoff;
pub use running::ProgressUpdate;
