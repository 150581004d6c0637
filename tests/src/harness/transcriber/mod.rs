//! Recognisers: one that answers as the test decides, and the real one of `scripts/transcriber`.

mod form;
mod real;
mod scripted;

pub use form::ReceivedFile;
pub use real::Transcriber;
pub use scripted::{ReceivedTranscription, ScriptedTranscriber, TranscriberAnswer};
