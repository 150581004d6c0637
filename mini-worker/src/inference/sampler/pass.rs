//! One hearing of a signal by the model.

use crate::inference::engine::{Engine, EngineError};

/// Takes any number of samples at a time and gives back, in the end, exactly as many: the engine's delay is taken out.
pub struct Pass<S> {
    stream: S,
    /// Samples at the start of the recording that the model hears twice, and those of them that are here; `None` when it
    /// has heard them.
    opening: Option<(usize, Vec<f32>)>,
    /// Ready for the engine, less than a block.
    remainder: Vec<f32>,
    /// Output that still belongs to the time before the first sample.
    drop_left: usize,
    taken: u64,
    given: u64,
}

impl<S> Pass<S> {
    /// A pass at the start of a recording. The model hears the first `run_in` samples twice, so that it knows the voice
    /// and the noise when the recording begins; nothing comes back before they are complete.
    pub fn open<E: Engine<Stream = S>>(engine: &E, run_in: usize) -> Self {
        Self {
            stream: engine.open(),
            opening: (run_in > 0).then(|| (run_in, Vec::new())),
            remainder: Vec::new(),
            drop_left: engine.delay(),
            taken: 0,
            given: 0,
        }
    }

    /// Restores what can be restored with these samples.
    pub fn feed<E: Engine<Stream = S>>(
        &mut self,
        engine: &mut E,
        samples: Vec<f32>,
    ) -> Result<Vec<f32>, EngineError> {
        self.taken += samples.len() as u64;
        let Some((run_in, held)) = &mut self.opening else { return self.run(engine, samples) };
        held.extend_from_slice(&samples);
        if held.len() < *run_in {
            return Ok(Vec::new());
        }
        let run_in = *run_in;
        self.run_opening(engine, run_in)
    }

    /// Restores the rest.
    pub fn finish<E: Engine<Stream = S>>(&mut self, engine: &mut E) -> Result<Vec<f32>, EngineError> {
        let mut output = self.run_opening(engine, usize::MAX)?;
        // Zeros push the last samples through the engine's delay.
        let total = self.remainder.len() + engine.delay();
        let padding = engine.delay() + total.next_multiple_of(engine.block()) - total;
        output.extend(self.run(engine, vec![0.0; padding])?);
        Ok(output)
    }

    fn run_opening<E: Engine<Stream = S>>(
        &mut self,
        engine: &mut E,
        run_in: usize,
    ) -> Result<Vec<f32>, EngineError> {
        let Some((_, held)) = self.opening.take() else { return Ok(Vec::new()) };
        let run_in = run_in.min(held.len());
        self.drop_left += run_in;
        let mut samples = held[..run_in].to_vec();
        samples.extend(held);
        self.run(engine, samples)
    }

    fn run<E: Engine<Stream = S>>(
        &mut self,
        engine: &mut E,
        samples: Vec<f32>,
    ) -> Result<Vec<f32>, EngineError> {
        let mut input = std::mem::take(&mut self.remainder);
        if input.is_empty() {
            input = samples;
        } else {
            input.extend_from_slice(&samples);
        }
        self.remainder = input.split_off(input.len() - input.len() % engine.block());
        let mut output = if input.is_empty() { input } else { engine.process(&mut self.stream, &input)? };

        let dropped = self.drop_left.min(output.len());
        self.drop_left -= dropped;
        output.drain(..dropped);
        // The padding's own output is not part of the recording.
        let wanted = usize::try_from(self.taken - self.given).unwrap_or(usize::MAX);
        output.truncate(wanted);
        self.given += output.len() as u64;
        Ok(output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inference::channel::tests::{Delay, signal};

    #[test]
    fn a_run_in_changes_no_place_of_a_sample_and_no_length() {
        for (length, run_in) in [(0, 960), (1, 960), (959, 960), (960, 960), (10_003, 960), (10_003, 20_000)]
        {
            let signal = signal(length);
            for window in [1, 333, 20_000] {
                let mut pass = Pass::open(&Delay, run_in);
                let mut output = Vec::new();
                for part in signal.chunks(window) {
                    output.extend(pass.feed(&mut Delay, part.to_vec()).unwrap());
                }
                output.extend(pass.finish(&mut Delay).unwrap());
                assert_eq!(output, signal, "{length} samples, a run-in of {run_in}, windows of {window}");
            }
        }
    }
}
