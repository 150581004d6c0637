//! Estimates how speech sounds to people without a clean reference: DNSMOS P.835.
//!
//! The network (Reddy, Gopal and Cutler, 2022) predicts three mean opinion scores of ITU-T P.835 for each stretch of
//! 9.01 s; a polynomial per scale calibrates them, and the stretches' scores are averaged. The figures are those of the
//! authors' reference program to four decimals. Other networks of the same kind can be described (see [`ScorerModel`]).

mod desk;
mod excerpt;
mod model;
mod scales;

pub use desk::{Desk, DeskReadiness, Opinion, Pair};
pub use excerpt::{EXCERPT_FRAMES, at_rate, middle, mix};
pub use model::{Polynomial, ScorerModel};
pub use scales::Scores;

use crate::inference::engine::EngineError;
use crate::inference::onnx::runtime::environment;
use ort::session::Session;
use ort::session::builder::GraphOptimizationLevel;
use ort::value::TensorRef;
use std::path::Path;

/// Why a recording could not be scored.
#[derive(Debug, thiserror::Error)]
pub enum ScoreError {
    /// The model or its runtime could not be loaded.
    #[error(transparent)]
    Load(#[from] EngineError),
    /// There is nothing to score.
    #[error("a recording without samples has no quality to score")]
    Empty,
    /// NaN or infinity would spoil every score.
    #[error("sample {0} is not a finite number; a recording to be scored must not hold such samples")]
    NotFinite(usize),
    /// The distance between stretches must be at least one second.
    #[error("the distance between scored stretches must be at least 1 s")]
    HopTooShort,
    /// A run failed.
    #[error("the quality model failed: {0}")]
    Run(String),
    /// The network gives other numbers than its description says.
    #[error(
        "the quality model gave {found} numbers instead of {expected}; see `calibration` in its description"
    )]
    Output {
        /// How many there should be.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// The thread has ended.
    #[error("the thread that scores has ended")]
    Stopped,
}

/// The network, ready to run on one thread.
pub struct Scorer {
    session: Session,
    input: String,
    model: ScorerModel,
}

impl Scorer {
    /// Loads a network. `ort_library` is the library of ONNX Runtime; a process that has loaded one keeps it.
    pub fn load(model: ScorerModel, ort_library: &Path) -> Result<Self, ScoreError> {
        let refused = |reason: String| EngineError::Load { what: model.path.display().to_string(), reason };
        let environment = environment(ort_library)?;
        let bytes = std::fs::read(&model.path).map_err(|e| refused(e.to_string()))?;
        // No arena: the memory of one stretch would stay with the process for good.
        let build = || -> ort::Result<Session> {
            Session::builder(&environment)?
                .with_intra_threads(1)?
                .with_optimization_level(GraphOptimizationLevel::Level3)?
                .with_execution_providers([ort::ep::CPU::default().with_arena_allocator(false).build()])?
                .commit_from_memory(&bytes)
        };
        let session = build().map_err(|e| refused(e.to_string()))?;
        let input = session.inputs().first().map(|input| input.name().to_owned());
        let input = input.ok_or_else(|| refused("it has no input".to_owned()))?;
        Ok(Self { session, input, model })
    }

    /// What it is.
    pub fn model(&self) -> &ScorerModel {
        &self.model
    }

    /// DNSMOS's three scales; see [`Self::scales`].
    pub fn score(&mut self, samples: &[f32], hop_seconds: usize) -> Result<Scores, ScoreError> {
        let scales = self.scales(samples, hop_seconds)?;
        match *scales {
            [signal, background, overall] => Ok(Scores { overall, signal, background }),
            _ => Err(ScoreError::Output { expected: 3, found: scales.len() }),
        }
    }

    /// The recording as a whole; see [`Self::scales`].
    pub fn overall(&mut self, samples: &[f32], hop_seconds: usize) -> Result<f64, ScoreError> {
        let scales = self.scales(samples, hop_seconds)?;
        let expected = self.model.overall + 1;
        scales.get(self.model.overall).copied().ok_or(ScoreError::Output { expected, found: scales.len() })
    }

    /// Scores mono samples at the model's rate on all its scales, one stretch every `hop_seconds`; DNSMOS's reference program
    /// takes 1. What is shorter than a stretch is repeated until it fills one, as that program does.
    pub fn scales(&mut self, samples: &[f32], hop_seconds: usize) -> Result<Vec<f64>, ScoreError> {
        if samples.is_empty() {
            return Err(ScoreError::Empty);
        }
        if hop_seconds == 0 {
            return Err(ScoreError::HopTooShort);
        }
        if let Some(index) = samples.iter().position(|sample| !sample.is_finite()) {
            return Err(ScoreError::NotFinite(index));
        }
        let stretch = self.model.stretch;
        let mut repeated = Vec::new();
        let samples = if samples.len() >= stretch {
            samples
        } else {
            repeated.extend_from_slice(samples);
            while repeated.len() < stretch {
                repeated.extend_from_within(..);
            }
            &repeated
        };
        let mut sums = vec![0.0; self.model.calibration.len()];
        let mut count = 0u32;
        for start in stretches(samples.len(), stretch, self.model.sample_rate as usize, hop_seconds) {
            let scales = self.stretch(&samples[start..start + stretch])?;
            sums.iter_mut().zip(scales).for_each(|(sum, scale)| *sum += scale);
            count += 1;
        }
        Ok(sums.into_iter().map(|sum| sum / f64::from(count)).collect())
    }

    fn stretch(&mut self, samples: &[f32]) -> Result<Vec<f64>, ScoreError> {
        let failed = |e: ort::Error| ScoreError::Run(e.to_string());
        let input = TensorRef::from_array_view(([1usize, samples.len()], samples)).map_err(failed)?;
        let outputs = self.session.run(ort::inputs![self.input.as_str() => input]).map_err(failed)?;
        let (_, raw) = outputs[0].try_extract_tensor::<f32>().map_err(failed)?;
        let expected = self.model.calibration.len();
        self.model.calibrated(raw).ok_or(ScoreError::Output { expected, found: raw.len() })
    }
}

/// Where stretches begin. The number of hops is that of DNSMOS's reference program: whole seconds minus a stretch's, rounded
/// towards 0, plus one; so the last part of a second is never looked at.
fn stretches(length: usize, stretch: usize, rate: usize, hop_seconds: usize) -> impl Iterator<Item = usize> {
    let hops = ((length / rate) as f64 - stretch as f64 / rate as f64) as i64 + 1;
    let hops = usize::try_from(hops).unwrap_or(0).max(1);
    (0..hops).step_by(hop_seconds).map(move |hop| hop * rate).filter(move |start| start + stretch <= length)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE_RATE: usize = 16_000;
    const STRETCH: usize = 144_160;

    fn starts(length: usize, hop: usize) -> Vec<usize> {
        stretches(length, STRETCH, SAMPLE_RATE, hop).map(|start| start / SAMPLE_RATE).collect()
    }

    #[test]
    fn stretches_lie_where_the_reference_program_puts_them() {
        assert_eq!(starts(STRETCH, 1), [0], "exactly one");
        assert_eq!(starts(10 * SAMPLE_RATE, 1), [0], "10 s hold 0.99 hops");
        assert_eq!(starts(12 * SAMPLE_RATE, 1), [0, 1, 2]);
        assert_eq!(starts(30 * SAMPLE_RATE, 9), [0, 9, 18]);
    }
}
