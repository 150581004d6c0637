//! Samplers: how often the model hears a recording, and what is made of its answers.
//!
//! `flash` hears it once. `pro` hears it three times at different speeds, averages what it understood, and gives back of
//! the recording itself where that is nearer to the voice. `docs/quality.md` has the measurements of both, and of
//! everything that was tried and is not here.

mod mix;
mod pass;
mod pro;
mod resample;

pub use pass::Pass;
pub use pro::{Pro, RUN_IN};
pub use resample::Resampler;

use super::engine::{Engine, EngineError};
use shared_protocol::Sampler;

/// A sampler at work on one channel: takes any number of samples at a time and gives back, in the end, exactly as many.
pub enum Sampling<S> {
    /// One pass.
    Flash(Pass<S>),
    /// Three passes, averaged and mixed.
    Pro(Box<Pro<S>>),
}

impl<S> Sampling<S> {
    /// At the start of a recording.
    pub fn open<E: Engine<Stream = S>>(sampler: Sampler, engine: &E) -> Self {
        match sampler {
            Sampler::Flash => Self::Flash(Pass::open(engine, 0)),
            Sampler::Pro => Self::Pro(Box::new(Pro::open(engine, RUN_IN))),
        }
    }

    /// The same without what is done once at a start: as in the middle of a recording, for measuring speed.
    pub fn open_under_way<E: Engine<Stream = S>>(sampler: Sampler, engine: &E) -> Self {
        match sampler {
            Sampler::Flash => Self::open(sampler, engine),
            Sampler::Pro => Self::Pro(Box::new(Pro::open(engine, 0))),
        }
    }

    /// Restores what can be restored with these samples.
    pub fn feed<E: Engine<Stream = S>>(
        &mut self,
        engine: &mut E,
        samples: Vec<f32>,
    ) -> Result<Vec<f32>, EngineError> {
        match self {
            Self::Flash(pass) => pass.feed(engine, samples),
            Self::Pro(pro) => pro.feed(engine, &samples),
        }
    }

    /// Restores the rest.
    pub fn finish<E: Engine<Stream = S>>(&mut self, engine: &mut E) -> Result<Vec<f32>, EngineError> {
        match self {
            Self::Flash(pass) => pass.finish(engine),
            Self::Pro(pro) => pro.finish(engine),
        }
    }
}

/// Seconds of audio of one channel that a sampler restores once more at a recording's start.
pub fn repeated_seconds(sampler: Sampler) -> f64 {
    match sampler {
        Sampler::Flash => 0.0,
        Sampler::Pro => RUN_IN as f64 / f64::from(super::SAMPLE_RATE),
    }
}
