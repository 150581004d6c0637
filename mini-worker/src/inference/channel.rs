//! One channel of one recording on its way through front end and engine.

use super::engine::{Engine, EngineError};
use super::front_end::{FrontEnd, SHORT_SAMPLES, remove_non_finite};

/// Takes any number of samples at a time and gives back, in the end, exactly as many.
pub struct Channel<S> {
    stream: S,
    front_end: Option<FrontEnd>,
    /// The first samples, kept while the recording may turn out too short for the model.
    head: Vec<f32>,
    /// Ready for the engine, less than a block.
    remainder: Vec<f32>,
    /// Output that still belongs to the time before the first sample.
    delay_left: usize,
    taken: u64,
    given: u64,
}

impl<S> Channel<S> {
    /// A channel at the start of a recording.
    pub fn open<E: Engine<Stream = S>>(engine: &E, front_end: bool) -> Self {
        Self {
            stream: engine.open(),
            front_end: front_end.then(FrontEnd::new),
            head: Vec::new(),
            remainder: Vec::new(),
            delay_left: engine.delay(),
            taken: 0,
            given: 0,
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
        self.run(engine, samples)
    }

    /// Restores the rest.
    pub fn finish<E: Engine<Stream = S>>(&mut self, engine: &mut E) -> Result<Vec<f32>, EngineError> {
        let mut samples = Vec::new();
        if let Some(front_end) = &mut self.front_end {
            if self.taken <= SHORT_SAMPLES as u64 {
                self.given = self.taken;
                return Ok(std::mem::take(&mut self.head));
            }
            samples = front_end.prepare_rest();
        }
        // Zeros push the last samples through the engine's delay.
        let total = self.remainder.len() + samples.len() + engine.delay();
        let padding = engine.delay() + total.next_multiple_of(engine.block()) - total;
        samples.resize(samples.len() + padding, 0.0);
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

        let before_start = self.delay_left.min(output.len());
        self.delay_left -= before_start;
        output.drain(..before_start);
        // The padding's own output is not part of the recording.
        let wanted = usize::try_from(self.taken - self.given).unwrap_or(usize::MAX);
        output.truncate(wanted);
        self.given += output.len() as u64;
        if let Some(front_end) = &mut self.front_end {
            front_end.undo(&mut output);
        }
        Ok(output)
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
        let mut channel = Channel::open(&Delay, front_end);
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
        assert!(through(true, &vec![0.0; 100_000], 7_000).iter().all(|&sample| sample == 0.0));
    }
}
