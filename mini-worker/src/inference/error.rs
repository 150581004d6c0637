//! What can go wrong while restoring.

use super::engine::EngineError;

/// Why a recording, or a window of it, could not be restored.
#[derive(Debug, thiserror::Error)]
pub enum InferenceError {
    /// The operating system gave no thread.
    #[error("the inference thread could not be started: {0}")]
    Thread(#[source] std::io::Error),
    /// The model could not be loaded or failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The model's code panicked. The session is lost; others go on.
    #[error("the model crashed on a window: {0}")]
    Panicked(String),
    /// The inference thread has ended.
    #[error("inference has stopped")]
    Stopped,
    /// A window does not fit its session.
    #[error("a window has to hold {channels} channels of one length, at least one sample each; {found}")]
    Window {
        /// Channels of the session.
        channels: usize,
        /// What was given.
        found: String,
    },
    /// The session was opened without channels.
    #[error("a recording without channels cannot be restored")]
    NoChannels,
    /// An earlier window failed, or its answer was not waited for: what follows would not fit on.
    #[error("this restoration was broken off by an earlier failure; start it anew")]
    Broken,
    /// The session was finished already.
    #[error("this restoration is finished")]
    Finished,
}
