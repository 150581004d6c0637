//! DeepFilterNet3 on ONNX Runtime.

mod deep_filter;
mod features;
mod network;
pub mod parameters;
mod protobuf;
pub(crate) mod runtime;
mod spectrum;
mod stateful;

use super::engine::{Engine, EngineError};
use crate::storage::Bundle;
use features::{Normaliser, band_widths};
use network::{Features, Network, NetworkState};
use parameters::{BANDS, BINS, DELAY, FILTER_FRAMES, FILTERED_BINS, HOP};
use realfft::num_complex::Complex32;
use spectrum::Transform;

/// Frames of every run of the graphs (0.5 s). Always the same number, because the order of the sums in a matrix product
/// may depend on it (a single frame gives other last bits than two do): so windows cannot matter, on any machine. Runs of
/// 2 s are 9 % faster and take twice the memory.
pub const FRAMES_PER_RUN: usize = 50;

/// The engine.
pub struct OnnxEngine {
    name: String,
    network: Network,
    transform: Transform,
    widths: [usize; BANDS],
    frames: usize,
}

/// What one channel carries from window to window, some 150 KB.
pub struct OnnxStream {
    normaliser: Normaliser,
    network: NetworkState,
    /// The last hop of the input.
    previous: Vec<f32>,
    /// The last spectra, which the filter reaches back to.
    history: Vec<Complex32>,
    /// The second half of the last frame of the output.
    overlap: Vec<f32>,
}

impl OnnxEngine {
    /// Loads the bundle's model. `threads` is how many threads one operation of the model may use.
    pub fn load(bundle: &Bundle, threads: usize) -> Result<Self, EngineError> {
        Self::load_with(bundle, threads, FRAMES_PER_RUN)
    }

    /// The same with another number of frames per run, for tests and measurements.
    pub fn load_with(bundle: &Bundle, threads: usize, frames: usize) -> Result<Self, EngineError> {
        let path = bundle.model_config();
        let config = std::fs::read_to_string(path)
            .map_err(|e| EngineError::Load { what: path.display().to_string(), reason: e.to_string() })?;
        parameters::check(&config)?;
        Ok(Self {
            name: format!("DeepFilterNet3 {} on ONNX Runtime (CPU)", bundle.revision()),
            network: Network::load(bundle, threads)?,
            transform: Transform::new(),
            widths: band_widths(),
            frames: frames.max(1),
        })
    }

    fn run(&mut self, stream: &mut OnnxStream, input: &[f32], output: &mut [f32]) -> Result<(), EngineError> {
        let frames = input.len() / HOP;
        let mut spectra = stream.history.clone();
        spectra.resize((FILTER_FRAMES - 1 + frames) * BINS, Complex32::default());
        let features = self.analyse(stream, input, &mut spectra[(FILTER_FRAMES - 1) * BINS..]);
        let decision = self.network.run(frames, &features, &mut stream.network)?;

        let mut restored = vec![Complex32::default(); BINS];
        let gains = decision.gains.chunks_exact(BANDS);
        let coefficients = decision.coefficients.chunks_exact(deep_filter::COEFFICIENTS);
        for (frame, ((gains, coefficients), hop)) in
            gains.zip(coefficients).zip(output.chunks_exact_mut(HOP)).enumerate()
        {
            let seen = &spectra[frame * BINS..][..FILTER_FRAMES * BINS];
            deep_filter::apply(&self.widths, seen, gains, coefficients, &mut restored);
            self.transform.synthesise(&mut restored, &mut stream.overlap, hop);
        }
        stream.history.copy_from_slice(&spectra[frames * BINS..]);
        Ok(())
    }

    fn analyse(&mut self, stream: &mut OnnxStream, input: &[f32], spectra: &mut [Complex32]) -> Features {
        let frames = input.len() / HOP;
        let mut features = Features {
            levels: vec![0.0; frames * BANDS],
            real: vec![0.0; frames * FILTERED_BINS],
            imaginary: vec![0.0; frames * FILTERED_BINS],
        };
        for (frame, (hop, spectrum)) in
            input.chunks_exact(HOP).zip(spectra.chunks_exact_mut(BINS)).enumerate()
        {
            self.transform.analyse(&stream.previous, hop, spectrum);
            stream.previous.copy_from_slice(hop);
            stream.normaliser.features(
                &self.widths,
                spectrum,
                &mut features.levels[frame * BANDS..][..BANDS],
                &mut features.real[frame * FILTERED_BINS..][..FILTERED_BINS],
                &mut features.imaginary[frame * FILTERED_BINS..][..FILTERED_BINS],
            );
        }
        features
    }
}

impl Engine for OnnxEngine {
    type Stream = OnnxStream;

    fn name(&self) -> &str {
        &self.name
    }

    fn block(&self) -> usize {
        self.frames.saturating_mul(HOP)
    }

    fn delay(&self) -> usize {
        DELAY
    }

    fn open(&self) -> OnnxStream {
        OnnxStream {
            normaliser: Normaliser::new(),
            network: NetworkState::new(),
            previous: vec![0.0; HOP],
            history: vec![Complex32::default(); (FILTER_FRAMES - 1) * BINS],
            overlap: vec![0.0; HOP],
        }
    }

    fn process(&mut self, stream: &mut OnnxStream, input: &[f32]) -> Result<Vec<f32>, EngineError> {
        let block = self.block();
        if !input.len().is_multiple_of(block) {
            return Err(EngineError::Run(format!("{} samples are not whole blocks of {block}", input.len())));
        }
        let mut output = vec![0.0; input.len()];
        for (input, output) in input.chunks_exact(block).zip(output.chunks_exact_mut(block)) {
            self.run(stream, input, output)?;
        }
        Ok(output)
    }
}
