//! The links to the schedulers.

mod backoff;
mod outstanding;
mod running;
pub mod state;

pub use running::ProgressUpdate;
