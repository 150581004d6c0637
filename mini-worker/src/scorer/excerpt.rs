//! What of a recording is scored: its middle 30 s, mixed to one channel, at the model's rate.

use crate::inference::{Resampler, SAMPLE_RATE};
use std::ops::Range;

/// Longest excerpt, in frames at 48 kHz.
pub const EXCERPT_FRAMES: u64 = 30 * SAMPLE_RATE as u64;

/// The middle of so many frames, at most [`EXCERPT_FRAMES`] of them.
pub fn middle(frames: u64) -> Range<u64> {
    let length = frames.min(EXCERPT_FRAMES);
    let start = (frames - length) / 2;
    start..start + length
}

/// Mixes interleaved little-endian 32-bit floats to one channel. What is no number is silence.
pub fn mix(interleaved: &[u8], channels: usize) -> impl Iterator<Item = f32> {
    let channels = channels.max(1);
    let sample = |bytes: &[u8; 4]| {
        let sample = f32::from_le_bytes(*bytes);
        if sample.is_finite() { sample } else { 0.0 }
    };
    let frames = interleaved.as_chunks::<4>().0.chunks_exact(channels);
    frames.map(move |frame| frame.iter().map(sample).sum::<f32>() / channels as f32)
}

/// Brings an excerpt to a model's rate; the result starts with it and is as long in time.
pub fn at_rate(samples: Vec<f32>, rate: u32) -> Vec<f32> {
    let divisor = greatest_common_divisor(rate, SAMPLE_RATE);
    let (up, down) = (rate / divisor, SAMPLE_RATE / divisor);
    if up == down {
        return samples;
    }
    let mut resampler = Resampler::new(up as usize, down as usize);
    let mut output = resampler.feed(&samples);
    output.extend(resampler.finish());
    output
}

fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_thirty_seconds_of_a_long_recording_and_all_of_a_short_one() {
        let second = u64::from(SAMPLE_RATE);
        assert_eq!(middle(100 * second), 35 * second..65 * second);
        assert_eq!(middle(7), 0..7);
        assert_eq!(middle(0), 0..0);
        assert_eq!(middle(EXCERPT_FRAMES + 1), 0..EXCERPT_FRAMES);
    }

    fn tone(hertz: f32, frames: usize) -> Vec<f32> {
        (0..frames).map(|i| (i as f32 * hertz * std::f32::consts::TAU / 48_000.0).sin()).collect()
    }

    fn rms(samples: &[f32]) -> f32 {
        (samples.iter().map(|s| s * s).sum::<f32>() / samples.len() as f32).sqrt()
    }

    #[test]
    fn an_excerpt_keeps_its_length_its_place_and_what_the_model_can_hear() {
        let kept = tone(1_000.0, 48_000);
        // Two channels, the second of another sign but for a tenth: the mix is a twentieth of it.
        let interleaved: Vec<u8> =
            kept.iter().flat_map(|s| [s.to_le_bytes(), (-0.9 * s).to_le_bytes()]).flatten().collect();
        let mixed = at_rate(mix(&interleaved, 2).collect(), 16_000);
        assert_eq!(mixed.len(), 16_000);
        for (place, expected) in [(4_000_usize, 12_000_usize), (9_001, 27_003)] {
            assert!((mixed[place] - 0.05 * kept[expected]).abs() < 1e-3, "no delay at {place}");
        }
        let too_high = at_rate(tone(11_000.0, 48_000), 16_000);
        assert!(rms(&too_high[500..15_500]) < 1e-3, "what would fold back is gone: {}", rms(&too_high));
    }

    #[test]
    fn what_is_no_number_is_silence() {
        let bytes: Vec<u8> =
            [1.0, f32::NAN, f32::INFINITY, 0.5].iter().flat_map(|s| s.to_le_bytes()).collect();
        let mono: Vec<f32> = mix(&bytes, 1).collect();
        assert_eq!(mono, [1.0, 0.0, 0.0, 0.5]);
        assert_eq!(at_rate(mono, 48_000), [1.0, 0.0, 0.0, 0.5]);
        assert_eq!(at_rate(vec![0.5; 480], 44_100).len(), 441);
    }
}
