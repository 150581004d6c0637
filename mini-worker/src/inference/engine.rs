//! What every engine does: restores mono audio block by block, carrying what it knows in a stream of the caller's.

/// A model ready to run. One thread owns it.
///
/// What one channel of one job carries from window to window lives in a [`Engine::Stream`], which outlives the engine
/// that made it: when an engine has to be loaded again, its streams go on.
pub trait Engine {
    /// State of one channel.
    type Stream;

    /// Names model, revision and runtime, for reports.
    fn name(&self) -> &str;

    /// How many samples are restored at once.
    fn block(&self) -> usize;

    /// How many samples the output lags behind the input.
    fn delay(&self) -> usize;

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
    /// A run failed.
    #[error("the model failed on a window: {0}")]
    Run(String),
}
