//! High-pass: takes out offset, rumble and the fundamental of hum, below speech.
//!
//! Without any shift of phase: the background is what is left when the restored speech is subtracted from the recording,
//! and a voice that is a few degrees off at 150 Hz (an ordinary second-order filter turns it by 45) would be heard in it.

/// Length of each moving average, samples. Four in a row have the response (sin(pi f L / 48000) / (pi f L / 48000))^4,
/// which is 0.293 at 80 Hz: subtracted from the signal, -3 dB are left there, -1.3 dB at 100 Hz, all from 150 Hz on, and
/// 12 dB less per octave below. Low male voices start at some 85 Hz.
const LENGTH: usize = 248;

/// How many there are. The response of four has no ripple to speak of (0.002) beyond its first zero at 194 Hz.
const STAGES: usize = 4;

/// How far the average lags behind the signal, samples (10 ms).
const LAG: usize = STAGES * (LENGTH - 1) / 2;

/// The signal less its own moving average.
#[derive(Debug)]
pub struct HighPass {
    averages: [MovingAverage; STAGES],
    /// The last [`LAG`] samples: the signal at the average's time.
    lagging: Ring<LAG, f32>,
    /// Samples still to come before the first that belongs to the recording.
    before_start: usize,
    /// Zeros in a row.
    silent: usize,
}

impl HighPass {
    /// At the start of a recording, silence before it.
    pub fn new() -> Self {
        Self {
            averages: std::array::from_fn(|_| MovingAverage::new()),
            lagging: Ring::new(),
            before_start: LAG,
            silent: 0,
        }
    }

    /// Takes samples; gives back those whose surroundings are known.
    pub fn filter(&mut self, samples: &[f32]) -> Vec<f32> {
        let filtered: Vec<f32> = samples.iter().map(|&sample| self.next(sample)).collect();
        let dropped = self.before_start.min(filtered.len());
        self.before_start -= dropped;
        filtered[dropped..].to_vec()
    }

    /// The samples held back, at the end of the recording.
    pub fn filter_rest(&mut self) -> Vec<f32> {
        self.filter(&[0.0; LAG])
    }

    fn next(&mut self, sample: f32) -> f32 {
        // Sums that are kept up by adding and subtracting hold a rounding error; silence shall be exactly zero.
        self.silent = if sample == 0.0 { self.silent + 1 } else { 0 };
        if self.silent == STAGES * LENGTH {
            self.averages = std::array::from_fn(|_| MovingAverage::new());
        }
        let average = self.averages.iter_mut().fold(f64::from(sample), |value, average| average.next(value));
        let lagging = self.lagging.exchange(sample);
        (f64::from(lagging) - average) as f32
    }
}

#[derive(Debug)]
struct MovingAverage {
    values: Ring<LENGTH, f64>,
    sum: f64,
}

impl MovingAverage {
    fn new() -> Self {
        Self { values: Ring::new(), sum: 0.0 }
    }

    fn next(&mut self, value: f64) -> f64 {
        self.sum += value - self.values.exchange(value);
        self.sum / LENGTH as f64
    }
}

/// The last `N` values.
#[derive(Debug)]
struct Ring<const N: usize, T> {
    values: Box<[T]>,
    oldest: usize,
}

impl<const N: usize, T: Copy + Default> Ring<N, T> {
    fn new() -> Self {
        Self { values: vec![T::default(); N].into_boxed_slice(), oldest: 0 }
    }

    /// Puts a value in the place of the oldest, which is given back.
    fn exchange(&mut self, value: T) -> T {
        let oldest = std::mem::replace(&mut self.values[self.oldest], value);
        self.oldest += 1;
        if self.oldest == N {
            self.oldest = 0;
        }
        oldest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::TAU;

    fn filter(signal: &[f32]) -> Vec<f32> {
        let mut high_pass = HighPass::new();
        let mut filtered = high_pass.filter(signal);
        filtered.extend(high_pass.filter_rest());
        assert_eq!(filtered.len(), signal.len());
        filtered
    }

    fn tone(frequency: f64) -> Vec<f32> {
        (0..96_000).map(|i| (TAU * frequency * f64::from(i) / 48_000.0).sin() as f32).collect()
    }

    /// Level of a tone after the filter, relative to before, dB, away from its ends.
    fn response_db(frequency: f64) -> f64 {
        let energy =
            |signal: &[f32]| signal[24_000..72_000].iter().map(|&s| f64::from(s).powi(2)).sum::<f64>();
        10.0 * (energy(&filter(&tone(frequency))) / energy(&tone(frequency))).log10()
    }

    #[test]
    fn eighty_hertz_loses_three_decibels_rumble_disappears_and_speech_passes() {
        assert!((response_db(80.0) + 3.1).abs() < 0.1, "{}", response_db(80.0));
        assert!(response_db(20.0) < -23.0, "{}", response_db(20.0));
        assert!(response_db(10.0) < -34.0);
        assert!(response_db(120.0) > -0.5);
        for speech in [150.0, 250.0, 1_000.0, 12_000.0] {
            assert!(response_db(speech).abs() < 0.15, "{speech} Hz: {}", response_db(speech));
        }
    }

    #[test]
    fn what_passes_is_not_shifted() {
        for frequency in [200.0, 1_000.0] {
            let (before, after) = (tone(frequency), filter(&tone(frequency)));
            let worst = (2_000..94_000).map(|i| (before[i] - after[i]).abs()).fold(0.0, f32::max);
            assert!(worst < 0.003, "{frequency} Hz: {worst}");
        }
    }

    #[test]
    fn an_offset_is_gone_and_silence_after_it_is_exactly_zero() {
        let mut signal = vec![0.5; 9_600];
        signal.extend([0.0; 4_800]);
        let filtered = filter(&signal);
        assert!(filtered[1_000..8_000].iter().all(|sample| sample.abs() < 1e-9));
        assert!(filtered[9_600 + STAGES * LENGTH..].iter().all(|&sample| sample == 0.0));
    }

    #[test]
    fn a_recording_shorter_than_the_filter_comes_back_with_its_length() {
        for length in [0, 1, LAG - 1, LAG, LAG + 1] {
            filter(&vec![0.25; length]);
        }
    }
}
