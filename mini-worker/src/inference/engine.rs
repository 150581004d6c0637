//! What every engine does: restores mono audio block by block, carrying what it knows in a stream of the caller's.

use crate::storage::BundleError;

use super::selection::{Provider, SelectionError};

/// A model ready to run. One thread owns it.
///
/// What one channel of one job carries from window to window lives in a [`Engine::Stream`], which outlives the engine
/// that made it: when an engine has to be loaded again, its streams go on.
pub trait Engine {
    /// State of one channel.
    type Stream;

    /// Names model, revision, runtime and what it really runs on, for logs and reports.
    fn name(&self) -> &str;

    /// How many samples are restored at once.
    fn block(&self) -> usize;

    /// How many samples the output lags behind the input.
    fn delay(&self) -> usize;

    /// Bytes that the runtime holds for weights and buffers, if it keeps count of them.
    fn memory_bytes(&self) -> Option<u64> {
        None
    }

    /// A stream at the start of a recording.
    fn open(&self) -> Self::Stream;

    /// Restores `input`, whose length is a multiple of [`Engine::block`], and returns as many samples. How a signal is cut
    /// into inputs changes no bit of the output.
    ///
    /// After an error or a panic the stream is of no further use; others are not affected.
    fn process(&mut self, stream: &mut Self::Stream, input: &[f32]) -> Result<Vec<f32>, EngineError>;
}

/// Why an engine could not be loaded or run.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The model or its runtime could not be loaded.
    #[error("{what} could not be loaded: {reason}")]
    Load {
        /// The file or part.
        what: String,
        /// What was said.
        reason: String,
    },
    /// The model's graph is not the one that this program knows.
    #[error("{what} is not the expected model: {reason}")]
    UnexpectedModel {
        /// The file.
        what: String,
        /// What differs.
        reason: String,
    },
    /// The model's files are not there or not right.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// This build, this machine or this library cannot give what was asked for.
    #[error(transparent)]
    Selection(#[from] SelectionError),
    /// The library does not have the provider, or it does not run on this machine.
    #[error("the provider \"{provider}\" cannot be used: {reason}. {remedy}")]
    NoProvider {
        /// What was asked for.
        provider: Provider,
        /// What was found.
        reason: String,
        /// What to do.
        remedy: &'static str,
    },
    /// A run failed.
    #[error("the model failed on a window: {0}")]
    Run(String),
}
