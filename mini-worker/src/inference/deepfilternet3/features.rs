//! What the model sees of a frame: levels of 32 bands, and the lowest 96 frequencies, both normalised to their own recent
//! past.
//!
//! Source of every constant: libDF (<https://github.com/Rikorose/DeepFilterNet>, `libDF/src/lib.rs`: `erb_fb`,
//! `band_mean_norm_erb`, `band_unit_norm`, `MEAN_NORM_INIT`, `UNIT_NORM_INIT`).

use super::parameters::{BANDS, BINS, FILTERED_BINS, MIN_BAND_BINS, WINDOW};
use crate::inference::SAMPLE_RATE;
use realfft::num_complex::Complex32;

/// Smoothing per frame: exp(-hop / tau) for hops of 10 ms and tau = 1 s, rounded as in training.
const SMOOTHING: f32 = 0.99;

/// Starting values of the mean level, from the lowest to the highest band, dB.
const MEAN_START: (f32, f32) = (-60.0, -90.0);

/// Starting values of the mean magnitude, from the lowest to the highest frequency.
const UNIT_START: (f32, f32) = (0.001, 0.0001);

/// Levels are divided by this, dB.
const LEVEL_SCALE: f32 = 40.0;

/// How many frequencies each band has. Bands are equally wide on the ERB scale (Glasberg and Moore 1990:
/// ERB = 24.7 (0.00437 f + 1), from which the factor 9.265 = 1 / (24.7 * 0.00437)), at least two frequencies each.
pub fn band_widths() -> [usize; BANDS] {
    let to_erb = |hertz: f32| 9.265 * (hertz / (24.7 * 9.265)).ln_1p();
    let to_hertz = |erb: f32| 24.7 * 9.265 * ((erb / 9.265).exp() - 1.0);
    let bin_hertz = SAMPLE_RATE as f32 / WINDOW as f32;
    let low = to_erb(0.0);
    let step = (to_erb(SAMPLE_RATE as f32 / 2.0) - low) / BANDS as f32;

    let mut widths = [0; BANDS];
    let (mut previous, mut borrowed) = (0i32, 0i32);
    for (band, width) in widths.iter_mut().enumerate() {
        let edge = (to_hertz(low + (band + 1) as f32 * step) / bin_hertz).round() as i32;
        let wanted = edge - previous - borrowed;
        let given = wanted.max(MIN_BAND_BINS as i32);
        borrowed = given - wanted;
        *width = given.unsigned_abs() as usize;
        previous = edge;
    }
    // The last band takes the frequency at half the sampling rate, too, and ends there.
    let others: usize = widths[..BANDS - 1].iter().sum();
    widths[BANDS - 1] = BINS - others;
    widths
}

/// The running means of one channel.
#[derive(Debug, Clone)]
pub struct Normaliser {
    mean_level: [f32; BANDS],
    mean_magnitude: [f32; FILTERED_BINS],
}

fn ramp<const N: usize>((first, last): (f32, f32)) -> [f32; N] {
    let step = (last - first) / (N - 1) as f32;
    std::array::from_fn(|i| first + i as f32 * step)
}

impl Normaliser {
    /// At the start of a recording.
    pub fn new() -> Self {
        Self { mean_level: ramp(MEAN_START), mean_magnitude: ramp(UNIT_START) }
    }

    /// The features of one frame: `levels` of the bands, and real and imaginary parts of the lowest frequencies.
    pub fn features(
        &mut self,
        widths: &[usize; BANDS],
        spectrum: &[Complex32],
        levels: &mut [f32],
        real: &mut [f32],
        imaginary: &mut [f32],
    ) {
        let mut start = 0;
        for (band, &width) in widths.iter().enumerate() {
            let share = 1.0 / width as f32;
            let mut power = 0.0;
            for value in &spectrum[start..start + width] {
                power += (value.re * value.re + value.im * value.im) * share;
            }
            start += width;
            let level = (power + 1e-10).log10() * 10.0;
            let mean = &mut self.mean_level[band];
            *mean = level * (1.0 - SMOOTHING) + *mean * SMOOTHING;
            levels[band] = (level - *mean) / LEVEL_SCALE;
        }
        for (bin, value) in spectrum[..FILTERED_BINS].iter().enumerate() {
            let mean = &mut self.mean_magnitude[bin];
            *mean = value.norm() * (1.0 - SMOOTHING) + *mean * SMOOTHING;
            let root = mean.sqrt();
            real[bin] = value.re / root;
            imaginary[bin] = value.im / root;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bands_are_those_of_the_trained_model() {
        let expected = [
            2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 5, 5, 7, 7, 8, 10, 12, 13, 15, 18, 20, 24, 28, 31, 37, 42,
            50, 56, 67,
        ];
        assert_eq!(band_widths(), expected);
        assert_eq!(expected.iter().sum::<usize>(), BINS);
    }

    #[test]
    fn the_first_frame_is_measured_against_the_starting_values() {
        let mut spectrum = vec![Complex32::default(); BINS];
        spectrum[0] = Complex32::new(0.1, 0.0);
        spectrum[1] = Complex32::new(0.0, -0.1);
        let mut normaliser = Normaliser::new();
        let (mut levels, mut re, mut im) = ([0.0; BANDS], [0.0; FILTERED_BINS], [0.0; FILTERED_BINS]);
        normaliser.features(&band_widths(), &spectrum, &mut levels, &mut re, &mut im);
        // Band 0: mean power 0.01, -20 dB; mean -60 * 0.99 - 20 * 0.01 = -59.6.
        assert!((levels[0] - (59.6 - 20.0) / 40.0).abs() < 1e-5);
        // The highest band: silence, -100 dB, against -90.1.
        assert!((levels[BANDS - 1] + 9.9 / 40.0).abs() < 1e-5);
        // Bin 0: 0.1 / sqrt(0.1 * 0.01 + 0.001 * 0.99).
        assert!((re[0] - 0.1 / 0.00199f32.sqrt()).abs() < 1e-4 && im[0] == 0.0);
        assert!(re[1] == 0.0 && im[1] < -2.0);
    }

    #[test]
    fn the_means_forget_with_a_time_constant_of_about_a_second() {
        let spectrum = vec![Complex32::default(); BINS];
        let mut normaliser = Normaliser::new();
        let (mut levels, mut re, mut im) = ([0.0; BANDS], [0.0; FILTERED_BINS], [0.0; FILTERED_BINS]);
        for _ in 0..100 {
            normaliser.features(&band_widths(), &spectrum, &mut levels, &mut re, &mut im);
        }
        // From -60 towards -100: 40 dB * 0.99^100 are left.
        assert!((levels[0] + 40.0 * 0.99f32.powi(100) / 40.0).abs() < 1e-3);
    }
}
