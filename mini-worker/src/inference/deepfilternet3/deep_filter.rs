//! Applies what the model says to a spectrum: a gain for each band, and in the lowest frequencies a filter over five frames
//! instead.
//!
//! H. Schröter et al., "DeepFilterNet: Perceptually Motivated Real-Time Speech Enhancement", 2023 (arXiv:2305.08227).

use super::parameters::{BANDS, BINS, FILTER_FRAMES, FILTERED_BINS, LOOKAHEAD_FRAMES};
use realfft::num_complex::Complex32;

/// Numbers that the model gives for one frame's filter: real and imaginary part for each frequency and frame.
pub const COEFFICIENTS: usize = FILTERED_BINS * FILTER_FRAMES * 2;

/// Restores one frame.
///
/// `frames` are [`FILTER_FRAMES`] spectra, oldest first; the restored one is [`LOOKAHEAD_FRAMES`] before the newest, which
/// the model has seen. `gains` are one per band, `coefficients` are ordered frequency, frame, (real, imaginary).
pub fn apply(
    widths: &[usize; BANDS],
    frames: &[Complex32],
    gains: &[f32],
    coefficients: &[f32],
    restored: &mut [Complex32],
) {
    let noisy = &frames[(FILTER_FRAMES - 1 - LOOKAHEAD_FRAMES) * BINS..][..BINS];
    let mut start = 0;
    for (&width, &gain) in widths.iter().zip(gains) {
        for bin in start..start + width {
            restored[bin] = noisy[bin] * gain;
        }
        start += width;
    }
    for (bin, filter) in coefficients.chunks_exact(FILTER_FRAMES * 2).enumerate() {
        let mut sum = Complex32::default();
        for (frame, tap) in filter.chunks_exact(2).enumerate() {
            sum += frames[frame * BINS + bin] * Complex32::new(tap[0], tap[1]);
        }
        restored[bin] = sum;
    }
}

#[cfg(test)]
mod tests {
    use super::super::features::band_widths;
    use super::*;

    #[test]
    fn low_frequencies_are_filtered_over_frames_and_high_ones_scaled_by_their_band() {
        let widths = band_widths();
        let value = |frame: usize, bin: usize| Complex32::new((frame * 1000 + bin) as f32, 1.0);
        let frames: Vec<_> = (0..FILTER_FRAMES).flat_map(|f| (0..BINS).map(move |b| value(f, b))).collect();
        let gains: [f32; BANDS] = std::array::from_fn(|band| band as f32);
        let mut coefficients = vec![0.0; COEFFICIENTS];
        // Bin 3: the oldest frame times i, plus twice the newest.
        coefficients[3 * FILTER_FRAMES * 2 + 1] = 1.0;
        coefficients[3 * FILTER_FRAMES * 2 + 8] = 2.0;
        let mut restored = vec![Complex32::default(); BINS];
        apply(&widths, &frames, &gains, &coefficients, &mut restored);
        assert_eq!(restored[3], value(0, 3) * Complex32::i() + value(4, 3) * 2.0);
        assert_eq!(restored[4], Complex32::default(), "below 4.8 kHz only the filter counts");
        assert_eq!(restored[480], value(2, 480) * 31.0, "the frame two before the newest");
        assert_eq!(restored[96], value(2, 96) * 21.0);
    }
}
