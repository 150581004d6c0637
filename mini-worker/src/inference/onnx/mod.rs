//! DeepFilterNet3 on ONNX Runtime.

mod assignment;
mod fixed;
mod network;
pub(crate) mod protobuf;
pub(crate) mod runtime;
mod stateful;
pub mod tensors;

use super::deepfilternet3::parameters::{DELAY, HOP};
use super::deepfilternet3::{FRAMES_PER_RUN, SignalPath, SignalState, require_blocks};
use super::engine::{Engine, EngineError};
use super::selection::Provider;
use crate::storage::Bundle;
use fixed::Place;
use network::{Network, NetworkState};

/// The engine.
pub struct OnnxEngine {
    name: String,
    network: Network,
    signal: SignalPath,
    frames: usize,
}

/// What one channel carries from window to window, some 150 KB.
pub struct OnnxStream {
    network: NetworkState,
    signal: SignalState,
}

impl OnnxEngine {
    /// Loads the bundle's model for the processor. `threads` is how many threads one operation of the model may use.
    pub fn load(bundle: &Bundle, threads: usize) -> Result<Self, EngineError> {
        Self::load_on(bundle, Provider::Cpu, threads)
    }

    /// Loads the bundle's model for a provider.
    ///
    /// # Errors
    /// [`EngineError::NoProvider`] when this build, this machine or this library cannot give what was asked for. It is
    /// never replaced by another one.
    pub fn load_on(bundle: &Bundle, provider: Provider, threads: usize) -> Result<Self, EngineError> {
        Self::load_with(bundle, provider, threads, FRAMES_PER_RUN)
    }

    /// The same with another number of frames per run, for tests and measurements.
    pub fn load_with(
        bundle: &Bundle,
        provider: Provider,
        threads: usize,
        frames: usize,
    ) -> Result<Self, EngineError> {
        let place = (provider == Provider::Cuda).then_some(Place::Cuda);
        Self::load_at(bundle, provider, threads, frames, place)
    }

    /// The processor with the fixed places and numbers of frames that CUDA needs, for tests: they change nothing.
    pub fn load_fixed(bundle: &Bundle, threads: usize) -> Result<Self, EngineError> {
        Self::load_at(bundle, Provider::Cpu, threads, FRAMES_PER_RUN, Some(Place::Processor))
    }

    fn load_at(
        bundle: &Bundle,
        provider: Provider,
        threads: usize,
        frames: usize,
        place: Option<Place>,
    ) -> Result<Self, EngineError> {
        let frames = frames.max(1);
        let network = Network::load(bundle, provider, threads, frames, place)?;
        Ok(Self {
            name: format!("DeepFilterNet3 {} on ONNX Runtime ({})", bundle.revision(), network.runs_on()),
            network,
            signal: SignalPath::new(bundle)?,
            frames,
        })
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
        OnnxStream { network: NetworkState::new(), signal: SignalState::at_start() }
    }

    fn process(&mut self, stream: &mut OnnxStream, input: &[f32]) -> Result<Vec<f32>, EngineError> {
        let block = self.block();
        require_blocks(input.len(), block)?;
        let mut output = vec![0.0; input.len()];
        for (input, output) in input.chunks_exact(block).zip(output.chunks_exact_mut(block)) {
            let (spectra, features) = self.signal.analyse(&mut stream.signal, input);
            let decision = self.network.run(self.frames, &features, &mut stream.network)?;
            self.signal.synthesise(&mut stream.signal, &spectra, &decision, output);
        }
        Ok(output)
    }
}
