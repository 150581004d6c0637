//! Three hearings at three speeds, averaged, and mixed with the recording.

use super::mix::Mixer;
use super::pass::Pass;
use super::resample::Resampler;
use crate::inference::engine::{Engine, EngineError};
use std::collections::VecDeque;

/// How much of the recording's start the model hears twice, samples (3 s at 48 kHz). Its idea of what is usual in each band
/// starts from a fixed guess and needs that long to become that of the recording.
pub const RUN_IN: usize = 3 * crate::inference::SAMPLE_RATE as usize;

/// The rates of the hearings, relative to the recording's: the model errs differently on a voice that is a tenth higher
/// or deeper, so the average errs less. Further apart (6/5, 4/3) the hearings themselves are worse.
const SPEEDS: [(usize, usize); 3] = [(1, 1), (9, 10), (11, 10)];

/// The sampler of one channel.
pub struct Pro<S> {
    hearings: [Hearing<S>; SPEEDS.len()],
    /// The recording, as far as it was not mixed yet.
    recorded: VecDeque<f32>,
    mixer: Mixer,
}

struct Hearing<S> {
    /// To the speed of this hearing, and back.
    rates: Option<(Resampler, Resampler)>,
    pass: Pass<S>,
    restored: VecDeque<f32>,
}

impl<S> Pro<S> {
    /// At the start of a recording.
    pub fn open<E: Engine<Stream = S>>(engine: &E, run_in: usize) -> Self {
        Self {
            hearings: SPEEDS.map(|(up, down)| Hearing {
                rates: (up != down).then(|| (Resampler::new(up, down), Resampler::new(down, up))),
                pass: Pass::open(engine, run_in * up / down),
                restored: VecDeque::new(),
            }),
            recorded: VecDeque::new(),
            mixer: Mixer::new(),
        }
    }

    /// Restores what can be restored with these samples.
    pub fn feed<E: Engine<Stream = S>>(
        &mut self,
        engine: &mut E,
        samples: &[f32],
    ) -> Result<Vec<f32>, EngineError> {
        self.recorded.extend(samples);
        for hearing in &mut self.hearings {
            hearing.feed(engine, samples)?;
        }
        Ok(self.mix())
    }

    /// Restores the rest.
    pub fn finish<E: Engine<Stream = S>>(&mut self, engine: &mut E) -> Result<Vec<f32>, EngineError> {
        for hearing in &mut self.hearings {
            hearing.finish(engine)?;
        }
        let mut output = self.mix();
        output.extend(self.mixer.finish());
        Ok(output)
    }

    fn mix(&mut self) -> Vec<f32> {
        let ready = self.hearings.iter().map(|hearing| hearing.restored.len());
        let ready = ready.fold(self.recorded.len(), usize::min);
        let recorded: Vec<f32> = self.recorded.drain(..ready).collect();
        let mut mean = vec![0.0; ready];
        for hearing in &mut self.hearings {
            for (sum, sample) in mean.iter_mut().zip(hearing.restored.drain(..ready)) {
                *sum += sample / SPEEDS.len() as f32;
            }
        }
        self.mixer.feed(&recorded, &mean)
    }
}

impl<S> Hearing<S> {
    fn feed<E: Engine<Stream = S>>(&mut self, engine: &mut E, samples: &[f32]) -> Result<(), EngineError> {
        let Some((there, back)) = &mut self.rates else {
            self.restored.extend(self.pass.feed(engine, samples.to_vec())?);
            return Ok(());
        };
        let restored = self.pass.feed(engine, there.feed(samples))?;
        self.restored.extend(back.feed(&restored));
        Ok(())
    }

    fn finish<E: Engine<Stream = S>>(&mut self, engine: &mut E) -> Result<(), EngineError> {
        let Some((there, back)) = &mut self.rates else {
            self.restored.extend(self.pass.finish(engine)?);
            return Ok(());
        };
        let mut restored = self.pass.feed(engine, there.finish())?;
        restored.extend(self.pass.finish(engine)?);
        self.restored.extend(back.feed(&restored));
        // At least as many as the recording has; what is beyond is not used.
        self.restored.extend(back.finish());
        Ok(())
    }
}
