//! One channel of one recording on its way through front end and engine.

use super::condition::Conditioner;
use super::engine::{Engine, EngineError};
use super::front_end::{FrontEnd, SHORT_SAMPLES, remove_non_finite};
use super::sampler::Sampling;
use crate::transcript::Transcript;
use shared_protocol::Sampler;
use std::sync::Arc;

/// Takes any number of samples at a time and gives back, in the end, exactly as many.
pub struct Channel<S> {
    sampling: Sampling<S>,
    front_end: Option<FrontEnd>,
    conditioner: Option<Conditioner>,
    /// The first samples, kept while the recording may turn out too short for the model.
    head: Vec<f32>,
    taken: u64,
}

impl<S> Channel<S> {
    /// A channel at the start of a recording.
    pub fn open<E: Engine<Stream = S>>(engine: &E, sampler: Sampler, front_end: bool) -> Self {
        Self::with(Sampling::open(sampler, engine), front_end)
    }

    /// The same with a transcript to go by. Without a front end it has no say: it needs to know the level of speech.
    #[must_use]
    pub fn conditioned_by(mut self, transcript: Arc<Transcript>) -> Self {
        self.conditioner = self.front_end.is_some().then(|| Conditioner::new(transcript));
        self
    }

    /// A channel that measures speed: without what a sampler does once at a start.
    pub fn open_under_way<E: Engine<Stream = S>>(engine: &E, sampler: Sampler) -> Self {
        Self::with(Sampling::open_under_way(sampler, engine), true)
    }

    fn with(sampling: Sampling<S>, front_end: bool) -> Self {
        Self {
            sampling,
            front_end: front_end.then(FrontEnd::new),
            conditioner: None,
            head: Vec::new(),
            taken: 0,
        }
    }

    /// Restores what can be restored with these samples.
    pub fn restore<E: Engine<Stream = S>>(
        &mut self,
        engine: &mut E,
        mut samples: Vec<f32>,
    ) -> Result<Vec<f32>, EngineError> {
        self.taken += samples.len() as u64;
        if let Some(front_end) = &mut self.front_end {
            remove_non_finite(&mut samples);
            let room = (SHORT_SAMPLES - self.head.len()).min(samples.len());
            self.head.extend_from_slice(&samples[..room]);
            samples = front_end.prepare(&samples);
        }
        let output = self.sample(engine, samples)?;
        Ok(self.undo(output))
    }

    /// Restores the rest.
    pub fn finish<E: Engine<Stream = S>>(&mut self, engine: &mut E) -> Result<Vec<f32>, EngineError> {
        let mut output = Vec::new();
        if let Some(front_end) = &mut self.front_end {
            if self.taken <= SHORT_SAMPLES as u64 {
                return Ok(std::mem::take(&mut self.head));
            }
            let rest = front_end.prepare_rest();
            output = self.sample(engine, rest)?;
        }
        let rest = self.sampling.finish(engine)?;
        match &mut self.conditioner {
            Some(conditioner) => {
                output.extend(conditioner.feed(&rest));
                output.extend(conditioner.finish());
            }
            None => output.extend(rest),
        }
        Ok(self.undo(output))
    }

    fn sample<E: Engine<Stream = S>>(
        &mut self,
        engine: &mut E,
        samples: Vec<f32>,
    ) -> Result<Vec<f32>, EngineError> {
        let output = self.sampling.feed(engine, samples)?;
        Ok(match &mut self.conditioner {
            Some(conditioner) => conditioner.feed(&output),
            None => output,
        })
    }

    fn undo(&mut self, mut restored: Vec<f32>) -> Vec<f32> {
        if let Some(front_end) = &mut self.front_end {
            front_end.undo(&mut restored);
        }
        restored
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// An engine that only delays, by 1,440 samples like the real one.
    pub struct Delay;

    impl Engine for Delay {
        type Stream = Vec<f32>;

        fn name(&self) -> &str {
            "delay"
        }

        fn block(&self) -> usize {
            480
        }

        fn delay(&self) -> usize {
            1440
        }

        fn open(&self) -> Vec<f32> {
            vec![0.0; 1440]
        }

        fn process(&mut self, stream: &mut Vec<f32>, input: &[f32]) -> Result<Vec<f32>, EngineError> {
            assert_eq!(input.len() % 480, 0);
            stream.extend_from_slice(input);
            Ok(stream.drain(..input.len()).collect())
        }
    }

    /// Speech-like: a tone whose level changes, with a pause, far from every clock of the code under test.
    pub fn signal(length: usize) -> Vec<f32> {
        let level =
            |i: usize| if i % 70_001 > 50_000 { 0.0 } else { 0.02 + 0.2 * (i as f32 * 3e-5).sin().abs() };
        (0..length).map(|i| level(i) * (i as f32 * 0.0711).sin()).collect()
    }

    fn through(front_end: bool, signal: &[f32], window: usize) -> Vec<f32> {
        through_sampler(Sampler::Flash, front_end, signal, window)
    }

    fn through_sampler(sampler: Sampler, front_end: bool, signal: &[f32], window: usize) -> Vec<f32> {
        let mut channel = Channel::open(&Delay, sampler, front_end);
        let mut output = Vec::new();
        for part in signal.chunks(window) {
            output.extend(channel.restore(&mut Delay, part.to_vec()).unwrap());
        }
        output.extend(channel.finish(&mut Delay).unwrap());
        output
    }

    #[test]
    fn as_many_samples_come_out_as_went_in_at_their_place_whatever_the_windows() {
        for length in [0, 1, 479, 480, 481, 960, 961, 1439, 1441, 48_000, 100_003] {
            let signal = signal(length);
            for window in [1, 77, 480, 96_000] {
                assert_eq!(through(false, &signal, window.max(1)), signal, "{length} by {window}");
            }
        }
    }

    #[test]
    fn the_front_end_gives_the_same_bits_whatever_the_windows() {
        let signal = signal(200_003);
        let whole = through(true, &signal, usize::MAX);
        assert_eq!(whole.len(), signal.len());
        for window in [1, 333, 4_800, 96_000] {
            assert!(through(true, &signal, window) == whole, "windows of {window}");
        }
    }

    #[test]
    fn pro_gives_the_same_bits_whatever_the_windows_and_as_many_samples_as_went_in() {
        for length in [0, 1, 960, 961, 5_003, 143_999, 144_000, 250_003] {
            let signal = signal(length);
            let whole = through_sampler(Sampler::Pro, true, &signal, usize::MAX);
            assert_eq!(whole.len(), length);
            for window in [777, 96_000] {
                assert!(
                    through_sampler(Sampler::Pro, true, &signal, window) == whole,
                    "{length} by {window}"
                );
            }
        }
    }

    #[test]
    fn pro_puts_every_sample_in_its_place() {
        // A model that changes nothing: average and mixture are the recording itself.
        let signal = signal(250_003);
        let restored = through_sampler(Sampler::Pro, true, &signal, 96_000);
        let expected = through(true, &signal, 96_000);
        let energy = |samples: &mut dyn Iterator<Item = f32>| samples.map(|s| f64::from(s * s)).sum::<f64>();
        let error = energy(&mut restored.iter().zip(&expected).map(|(a, b)| a - b));
        let ratio = 10.0 * (energy(&mut expected.iter().copied()) / error).log10();
        // One sample too early or late in one hearing of three would leave 32 dB.
        assert!(ratio > 38.0, "{ratio} dB");
    }

    #[test]
    fn twenty_milliseconds_or_less_are_given_back_as_they_are_but_for_what_is_no_number() {
        let mut short = signal(960);
        assert_eq!(through(true, &short, 100), short);
        short[5] = f32::NAN;
        let output = through(true, &short, 960);
        assert_eq!((output.len(), output[5], output[6]), (960, 0.0, short[6]));
        assert_ne!(through(true, &signal(961), 100), signal(961), "longer ones are restored");
    }

    #[test]
    fn silence_stays_silence() {
        for sampler in [Sampler::Flash, Sampler::Pro] {
            let restored = through_sampler(sampler, true, &vec![0.0; 200_000], 7_000);
            assert!(restored.iter().all(|&sample| sample == 0.0));
        }
    }
}
