//! The native worker: restores speech with one copy of the model while downloads, decoding, encoding and uploads of
//! its jobs overlap around it.

pub mod bench_command;
pub mod config;
pub mod descriptors;
pub mod disk;
pub mod exit;
pub mod inference;
pub mod job;
pub mod metrics;
pub mod models_command;
mod random;
pub mod restore_command;
pub mod run_command;
pub mod scorer;
pub mod session;
pub mod shutdown;
pub mod slots;
pub mod storage;
pub mod telemetry;
pub mod transcript;
