//! DeepFilterNet3 on MLX, Apple's library for arrays on the GPU of Apple silicon; on Linux it computes on the processor.
//!
//! Everything of MLX lives in the one thread that loaded the engine: a stream of MLX belongs to the thread that made it.

mod layers;
mod network;
mod weights;

use super::deepfilternet3::parameters::{DELAY, HOP};
use super::deepfilternet3::{FRAMES_PER_RUN, SignalPath, SignalState, require_blocks};
use super::engine::{Engine, EngineError};
use super::selection::{Precision, Provider};
use crate::storage::Bundle;
use mlx_rs::{Device, Dtype, Stream, memory, with_stream};
use network::{Network, NetworkState};
use weights::Weights;

/// The engine.
pub struct MlxEngine {
    name: String,
    network: Network,
    signal: SignalPath,
    stream: Stream,
}

/// What one channel carries from window to window, some 150 KB.
pub struct MlxStream {
    network: NetworkState,
    signal: SignalState,
}

impl MlxEngine {
    /// Loads the bundle's converted weights.
    ///
    /// # Errors
    /// [`EngineError::NoProvider`] when the device is not there.
    pub fn load(bundle: &Bundle, provider: Provider, precision: Precision) -> Result<Self, EngineError> {
        let (device, device_name) = device(provider)?;
        let stream = Stream::new_with_device(&device);
        let (dtype, bits) = match precision {
            Precision::Float32 => (Dtype::Float32, None),
            Precision::Float16 => (Dtype::Float16, None),
            Precision::Int8 => (Dtype::Float32, Some(8)),
            Precision::Int4 => (Dtype::Float32, Some(4)),
        };
        let weights = bundle.mlx_weights()?;
        let weights = if dtype == Dtype::Float16 { weights.halves } else { weights.floats };
        let network = with_stream(&stream, || Network::take(&mut Weights::read(&weights)?, dtype, bits))?;
        let name = format!("DeepFilterNet3 {} on MLX ({device_name}, {precision})", bundle.revision());
        Ok(Self { name, network, signal: SignalPath::new(bundle)?, stream })
    }

    /// Restores one block of each of several channels in one run of the network. The answer is that of one after the
    /// other but for rounding: the order of the sums in a matrix product may depend on how many rows it has.
    pub fn process_together(
        &mut self,
        streams: &mut [&mut MlxStream],
        inputs: &[&[f32]],
    ) -> Result<Vec<Vec<f32>>, EngineError> {
        let (mut spectra, mut features) = (Vec::new(), Vec::new());
        for (stream, input) in streams.iter_mut().zip(inputs) {
            if input.len() != self.block() {
                return Err(EngineError::Run(format!("{} samples are not one block", input.len())));
            }
            let (of_window, seen) = self.signal.analyse(&mut stream.signal, input);
            spectra.push(of_window);
            features.push(seen);
        }
        let mut states: Vec<&mut NetworkState> =
            streams.iter_mut().map(|stream| &mut stream.network).collect();
        let decisions =
            with_stream(&self.stream, || self.network.run(FRAMES_PER_RUN, &features, &mut states))?;
        let mut outputs = Vec::new();
        for ((stream, spectra), decision) in streams.iter_mut().zip(&spectra).zip(&decisions) {
            let mut output = vec![0.0; FRAMES_PER_RUN * HOP];
            self.signal.synthesise(&mut stream.signal, spectra, decision, &mut output);
            outputs.push(output);
        }
        Ok(outputs)
    }
}

/// The device, and what MLX calls it.
fn device(provider: Provider) -> Result<(Device, &'static str), EngineError> {
    if provider != Provider::Metal {
        return Ok((Device::cpu(), "CPU"));
    }
    // The GPU's first stream tells whether there is one: without Metal it is an error.
    let device = Device::gpu();
    match Stream::try_default_on_device(&device) {
        Ok(_) => Ok((device, "Metal")),
        Err(error) => Err(EngineError::NoProvider {
            provider,
            reason: format!("MLX has no GPU here ({})", error.what().lines().next().unwrap_or_default()),
            remedy: "Set provider = \"cpu\", or engine = \"onnx\"",
        }),
    }
}

impl Engine for MlxEngine {
    type Stream = MlxStream;

    fn name(&self) -> &str {
        &self.name
    }

    fn block(&self) -> usize {
        FRAMES_PER_RUN * HOP
    }

    fn delay(&self) -> usize {
        DELAY
    }

    fn memory_bytes(&self) -> Option<u64> {
        let (active, cached) = (memory::active_memory().ok()?, memory::cache_memory().ok()?);
        Some((active + cached) as u64)
    }

    fn open(&self) -> MlxStream {
        let network = with_stream(&self.stream, || self.network.start());
        MlxStream { network, signal: SignalState::at_start() }
    }

    fn process(&mut self, stream: &mut MlxStream, input: &[f32]) -> Result<Vec<f32>, EngineError> {
        require_blocks(input.len(), self.block())?;
        let mut output = Vec::with_capacity(input.len());
        for block in input.chunks_exact(self.block()) {
            let restored = self.process_together(&mut [stream], &[block])?;
            output.extend(restored.into_iter().flatten());
        }
        Ok(output)
    }
}
