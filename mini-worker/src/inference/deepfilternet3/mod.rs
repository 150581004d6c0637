//! DeepFilterNet3 without its network: what goes into the network, and what is done with its answer. The same for every
//! engine, so that engines can differ in the network's arithmetic only.

mod deep_filter;
pub(super) mod features;
pub mod parameters;
pub(super) mod spectrum;
pub mod weights;

pub use deep_filter::COEFFICIENTS;

use super::engine::EngineError;
use crate::storage::Bundle;
use features::{Normaliser, band_widths};
use parameters::{BANDS, BINS, FILTER_FRAMES, FILTERED_BINS, HOP};
use realfft::num_complex::Complex32;
use spectrum::Transform;

/// Frames of every run of the network (0.5 s). Always the same number, because the order of the sums in a matrix product
/// may depend on it (a single frame gives other last bits than two do): so windows cannot matter, on any machine. Runs of
/// 2 s are 9 % faster and take twice the memory.
pub const FRAMES_PER_RUN: usize = 50;

/// What the network sees of a window, frame after frame.
pub struct Features {
    /// Levels of the bands.
    pub levels: Vec<f32>,
    /// Real parts of the lowest frequencies.
    pub real: Vec<f32>,
    /// Imaginary parts of the lowest frequencies.
    pub imaginary: Vec<f32>,
}

/// What the network says about a window, frame after frame.
pub struct Decision {
    /// Gains of the bands.
    pub gains: Vec<f32>,
    /// Filters of the lowest frequencies: [`COEFFICIENTS`] numbers for each frame, ordered frequency, frame, (real,
    /// imaginary).
    pub coefficients: Vec<f32>,
}

/// The way from samples to features, and from decisions to samples.
pub struct SignalPath {
    transform: Transform,
    widths: [usize; BANDS],
}

/// What one channel carries from window to window on that way.
pub struct SignalState {
    normaliser: Normaliser,
    /// The last hop of the input.
    previous: Vec<f32>,
    /// The last spectra, which the filter reaches back to.
    history: Vec<Complex32>,
    /// The second half of the last frame of the output.
    overlap: Vec<f32>,
}

/// The spectra of a window, behind those that the filter reaches back to.
pub struct Spectra(Vec<Complex32>);

impl SignalState {
    /// At the start of a recording.
    pub fn at_start() -> Self {
        Self {
            normaliser: Normaliser::new(),
            previous: vec![0.0; HOP],
            history: vec![Complex32::default(); (FILTER_FRAMES - 1) * BINS],
            overlap: vec![0.0; HOP],
        }
    }
}

impl SignalPath {
    /// Plans the transform, after a look at the model's own parameters: `config.ini` has to be what this program is made
    /// for.
    pub fn new(bundle: &Bundle) -> Result<Self, EngineError> {
        let path = bundle.model_config();
        let config = std::fs::read_to_string(path)
            .map_err(|e| EngineError::Load { what: path.display().to_string(), reason: e.to_string() })?;
        parameters::check(&config)?;
        Ok(Self { transform: Transform::new(), widths: band_widths() })
    }

    /// Transforms whole hops of samples.
    pub fn analyse(&mut self, state: &mut SignalState, input: &[f32]) -> (Spectra, Features) {
        let frames = input.len() / HOP;
        let mut spectra = state.history.clone();
        spectra.resize((FILTER_FRAMES - 1 + frames) * BINS, Complex32::default());
        let mut features = Features {
            levels: vec![0.0; frames * BANDS],
            real: vec![0.0; frames * FILTERED_BINS],
            imaginary: vec![0.0; frames * FILTERED_BINS],
        };
        let new = spectra[(FILTER_FRAMES - 1) * BINS..].chunks_exact_mut(BINS);
        for (frame, (hop, spectrum)) in input.chunks_exact(HOP).zip(new).enumerate() {
            self.transform.analyse(&state.previous, hop, spectrum);
            state.previous.copy_from_slice(hop);
            state.normaliser.features(
                &self.widths,
                spectrum,
                &mut features.levels[frame * BANDS..][..BANDS],
                &mut features.real[frame * FILTERED_BINS..][..FILTERED_BINS],
                &mut features.imaginary[frame * FILTERED_BINS..][..FILTERED_BINS],
            );
        }
        (Spectra(spectra), features)
    }

    /// Applies the decision and transforms back, into as many samples as were analysed.
    pub fn synthesise(
        &mut self,
        state: &mut SignalState,
        spectra: &Spectra,
        decision: &Decision,
        output: &mut [f32],
    ) {
        let frames = output.len() / HOP;
        let mut restored = vec![Complex32::default(); BINS];
        let gains = decision.gains.chunks_exact(BANDS);
        let coefficients = decision.coefficients.chunks_exact(COEFFICIENTS);
        for (frame, ((gains, coefficients), hop)) in
            gains.zip(coefficients).zip(output.chunks_exact_mut(HOP)).enumerate()
        {
            let seen = &spectra.0[frame * BINS..][..FILTER_FRAMES * BINS];
            deep_filter::apply(&self.widths, seen, gains, coefficients, &mut restored);
            self.transform.synthesise(&mut restored, &mut state.overlap, hop);
        }
        state.history.copy_from_slice(&spectra.0[frames * BINS..]);
    }
}

/// Checks that samples are whole blocks, as [`super::engine::Engine::process`] demands.
pub fn require_blocks(samples: usize, block: usize) -> Result<(), EngineError> {
    if samples.is_multiple_of(block) {
        return Ok(());
    }
    Err(EngineError::Run(format!("{samples} samples are not whole blocks of {block}")))
}
