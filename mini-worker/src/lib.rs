//! The native worker: restores speech with one copy of the model while downloads, decoding, encoding and uploads of
//! its jobs overlap around it.

pub mod inference;
pub mod models_command;
pub mod session;
pub mod storage;
