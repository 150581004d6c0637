//! Estimates how speech sounds to people without a clean reference: DNSMOS P.835.
//!
//! The network (Reddy, Gopal and Cutler, 2022) predicts three mean opinion scores of ITU-T P.835 for each stretch of
//! 9.01 s; a polynomial per scale calibrates them, and the stretches' scores are averaged. The figures are those of the
//! authors' reference program to four decimals.

mod calibration;

pub use calibration::Scores;

use crate::inference::engine::EngineError;
use crate::inference::onnx::runtime::environment;
use ort::session::Session;
use ort::session::builder::GraphOptimizationLevel;
use ort::value::TensorRef;
use std::path::Path;

/// Samples per second of what is scored.
pub const SAMPLE_RATE: usize = 16_000;

/// Samples in one stretch: 9.01 s.
pub const STRETCH: usize = 144_160;

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
}

/// The network, ready to run on one thread.
pub struct Scorer {
    session: Session,
}

impl Scorer {
    /// Loads `sig_bak_ovr.onnx`. `ort_library` is the library of ONNX Runtime; a process that has loaded one keeps it.
    pub fn load(onnx_path: &Path, ort_library: &Path) -> Result<Self, ScoreError> {
        let refused = |reason: String| EngineError::Load { what: onnx_path.display().to_string(), reason };
        let environment = environment(ort_library)?;
        let model = std::fs::read(onnx_path).map_err(|e| refused(e.to_string()))?;
        // No arena: the memory of one stretch would stay with the process for good.
        let build = || -> ort::Result<Session> {
            Session::builder(&environment)?
                .with_intra_threads(1)?
                .with_optimization_level(GraphOptimizationLevel::Level3)?
                .with_execution_providers([ort::ep::CPU::default().with_arena_allocator(false).build()])?
                .commit_from_memory(&model)
        };
        let session = build().map_err(|e| refused(e.to_string()))?;
        Ok(Self { session })
    }

    /// Scores mono samples at 16 kHz, one stretch every `hop_seconds`; the reference program takes 1. What is shorter than
    /// a stretch is repeated until it fills one, as the reference program does.
    pub fn score(&mut self, samples_16k: &[f32], hop_seconds: usize) -> Result<Scores, ScoreError> {
        if samples_16k.is_empty() {
            return Err(ScoreError::Empty);
        }
        if hop_seconds == 0 {
            return Err(ScoreError::HopTooShort);
        }
        if let Some(index) = samples_16k.iter().position(|sample| !sample.is_finite()) {
            return Err(ScoreError::NotFinite(index));
        }
        let mut repeated = Vec::new();
        let samples = if samples_16k.len() >= STRETCH {
            samples_16k
        } else {
            repeated.extend_from_slice(samples_16k);
            while repeated.len() < STRETCH {
                repeated.extend_from_within(..);
            }
            &repeated
        };
        let mut sum = Scores::default();
        let mut count = 0u32;
        for start in stretches(samples.len(), hop_seconds) {
            sum = sum + self.stretch(&samples[start..start + STRETCH])?;
            count += 1;
        }
        Ok(sum / f64::from(count))
    }

    fn stretch(&mut self, samples: &[f32]) -> Result<Scores, ScoreError> {
        let failed = |e: ort::Error| ScoreError::Run(e.to_string());
        let input = TensorRef::from_array_view(([1usize, STRETCH], samples)).map_err(failed)?;
        let outputs = self.session.run(ort::inputs!["input_1" => input]).map_err(failed)?;
        let (_, raw) = outputs[0].try_extract_tensor::<f32>().map_err(failed)?;
        match *raw {
            [signal, background, overall] => Ok(Scores::calibrated(signal, background, overall)),
            _ => Err(ScoreError::Run(format!("it gave {} numbers instead of 3", raw.len()))),
        }
    }
}

/// Where stretches begin. The number of hops is the reference program's: whole seconds minus 9.01, rounded towards 0,
/// plus one; so the last part of a second is never looked at.
fn stretches(length: usize, hop_seconds: usize) -> impl Iterator<Item = usize> {
    let hops = ((length / SAMPLE_RATE) as f64 - 9.01) as i64 + 1;
    let hops = usize::try_from(hops).unwrap_or(0).max(1);
    (0..hops).step_by(hop_seconds).map(|hop| hop * SAMPLE_RATE).filter(move |start| start + STRETCH <= length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starts(length: usize, hop: usize) -> Vec<usize> {
        stretches(length, hop).map(|start| start / SAMPLE_RATE).collect()
    }

    #[test]
    fn stretches_lie_where_the_reference_program_puts_them() {
        assert_eq!(starts(STRETCH, 1), [0], "exactly one");
        assert_eq!(starts(10 * SAMPLE_RATE, 1), [0], "10 s hold 0.99 hops");
        assert_eq!(starts(12 * SAMPLE_RATE, 1), [0, 1, 2]);
        assert_eq!(starts(30 * SAMPLE_RATE, 9), [0, 9, 18]);
    }
}
