//! Changes the rate of a signal by a ratio of small numbers, as a stream: so the model hears a voice a little deeper or
//! higher.

use std::f64::consts::PI;

/// Zero crossings of the kernel on each side. With [`BETA`] everything up to 0.85 of half the lower rate (18.3 kHz of 43.2
/// kHz) passes within 0.01 dB, and what would be mirrored is 70 dB down.
const CROSSINGS: usize = 24;

/// Shape of the Kaiser window of the kernel.
const BETA: f64 = 7.0;

/// Where the kernel's response is half, relative to half the lower rate.
const CUTOFF: f64 = 0.95;

/// Resamples by `up / down`. Output `n` is the signal at the time of sample `n * down / up`: nothing is delayed, and how
/// the signal is cut into pieces changes no bit.
#[derive(Debug)]
pub struct Resampler {
    up: usize,
    down: usize,
    /// Samples that the kernel reaches to each side.
    reach: usize,
    /// The kernel at each of the `up` fractions of a sample, `2 * reach` values each.
    phases: Vec<Vec<f32>>,
    /// The signal from sample `start - reach` on.
    buffer: Vec<f32>,
    start: u64,
    taken: u64,
    given: u64,
}

impl Resampler {
    /// At the start of a signal, silence before it. Both numbers are positive.
    pub fn new(up: usize, down: usize) -> Self {
        let (up, down) = (up.max(1), down.max(1));
        let bandwidth = CUTOFF * (up as f64 / down as f64).min(1.0);
        let reach = (CROSSINGS as f64 / bandwidth).ceil() as usize;
        let phases = (0..up).map(|phase| kernel(phase as f64 / up as f64, reach, bandwidth)).collect();
        Self { up, down, reach, phases, buffer: vec![0.0; reach], start: 0, taken: 0, given: 0 }
    }

    /// Takes samples; gives back those whose surroundings are known.
    pub fn feed(&mut self, samples: &[f32]) -> Vec<f32> {
        self.taken += samples.len() as u64;
        self.buffer.extend_from_slice(samples);
        self.available()
    }

    /// The samples held back, at the end of the signal: `ceil(taken * up / down)` in all.
    pub fn finish(&mut self) -> Vec<f32> {
        let total = (self.taken * self.up as u64).div_ceil(self.down as u64);
        self.buffer.resize(self.buffer.len() + self.reach + 1, 0.0);
        let mut output = self.available();
        let surplus = usize::try_from(self.given.saturating_sub(total)).unwrap_or(0);
        output.truncate(output.len().saturating_sub(surplus));
        output
    }

    fn available(&mut self) -> Vec<f32> {
        let mut output = Vec::new();
        loop {
            let position = self.given * self.down as u64;
            let (whole, phase) = (position / self.up as u64, (position % self.up as u64) as usize);
            // The kernel covers samples whole - reach + 1 to whole + reach.
            let first = (whole + 1 - self.start) as usize;
            let Some(seen) = self.buffer.get(first..first + 2 * self.reach) else { break };
            output.push(dot(seen, &self.phases[phase]));
            self.given += 1;
        }
        let next = self.given * self.down as u64 / self.up as u64;
        let passed = ((next - self.start) as usize).min(self.buffer.len());
        self.buffer.drain(..passed);
        self.start += passed as u64;
        output
    }
}

/// Values for the samples at `-reach + 1 ..= reach` around a place that lies `fraction` behind sample 0. Their sum is one.
fn kernel(fraction: f64, reach: usize, bandwidth: f64) -> Vec<f32> {
    let value = |index: usize| {
        let distance = index as f64 - (reach as f64 - 1.0) - fraction;
        let angle = PI * distance * bandwidth;
        let sinc = if angle == 0.0 { 1.0 } else { angle.sin() / angle };
        let place = distance / reach as f64;
        sinc * bessel((1.0 - place * place).max(0.0).sqrt() * BETA)
    };
    let values: Vec<f64> = (0..2 * reach).map(value).collect();
    let sum: f64 = values.iter().sum();
    values.into_iter().map(|value| (value / sum) as f32).collect()
}

/// The modified Bessel function of the first kind, order zero, by its power series.
fn bessel(x: f64) -> f64 {
    let (mut sum, mut term) = (1.0, 1.0);
    for k in 1..60 {
        term *= (x / (2.0 * f64::from(k))).powi(2);
        sum += term;
    }
    sum
}

/// Sum of products in eight lanes, which the compiler turns into vector instructions.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let (mut lanes, mut rest) = ([0f32; 8], 0.0);
    let (a_chunks, b_chunks) = (a.chunks_exact(8), b.chunks_exact(8));
    for (x, y) in a_chunks.remainder().iter().zip(b_chunks.remainder()) {
        rest += x * y;
    }
    for (a, b) in a_chunks.zip(b_chunks) {
        for lane in 0..8 {
            lanes[lane] += a[lane] * b[lane];
        }
    }
    rest + lanes.iter().sum::<f32>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn through(up: usize, down: usize, signal: &[f32], window: usize) -> Vec<f32> {
        let mut resampler = Resampler::new(up, down);
        let mut output: Vec<f32> = signal.chunks(window).flat_map(|part| resampler.feed(part)).collect();
        output.extend(resampler.finish());
        output
    }

    fn tone(hertz: f64, rate: f64, length: usize) -> Vec<f32> {
        (0..length).map(|i| (std::f64::consts::TAU * hertz * i as f64 / rate).sin() as f32).collect()
    }

    #[test]
    fn tones_keep_their_place_and_height_and_only_their_rate_changes() {
        for (up, down) in [(9, 10), (11, 10), (10, 9), (10, 11)] {
            let rate = 48_000.0 * up as f64 / down as f64;
            for hertz in [100.0, 1_000.0, 12_000.0, 18_000.0] {
                let output = through(up, down, &tone(hertz, 48_000.0, 9_600), 9_600);
                let expected = tone(hertz, rate, output.len());
                let middle = 500..output.len() - 500;
                let worst = middle.map(|i| (output[i] - expected[i]).abs()).fold(0.0, f32::max);
                assert!(worst < 1e-3, "{up}/{down}, {hertz} Hz: {worst}");
            }
        }
    }

    #[test]
    fn what_the_lower_rate_cannot_hold_is_gone() {
        let output = through(9, 10, &tone(22_500.0, 48_000.0, 9_600), 9_600);
        let worst = output[500..8_000].iter().fold(0f32, |peak, s| peak.max(s.abs()));
        assert!(worst < 1e-3, "{worst}");
    }

    #[test]
    fn lengths_are_exact_and_pieces_change_no_bit() {
        for length in [0, 1, 9, 10, 11, 1_000, 4_801] {
            let signal = tone(440.0, 48_000.0, length);
            let whole = through(9, 10, &signal, length.max(1));
            assert_eq!(whole.len(), (length * 9).div_ceil(10));
            for window in [1, 7, 480] {
                assert_eq!(through(9, 10, &signal, window), whole, "{length} by {window}");
            }
            let back = through(10, 9, &whole, 333);
            assert!(back.len() >= length, "nothing is missing on the way back");
        }
    }
}
