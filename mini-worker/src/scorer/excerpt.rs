//! What of a recording is scored: its middle 30 s, mixed to one channel, at the model's rate.

use super::ScoreError;
use crate::inference::SAMPLE_RATE;
use rubato::audioadapter_buffers::direct::InterleavedSlice;
use rubato::{Fft, FixedSync, Resampler as _};
use std::ops::Range;

/// Longest excerpt, in frames at 48 kHz.
pub const EXCERPT_FRAMES: u64 = 30 * SAMPLE_RATE as u64;

/// Frames that the resampler takes at once.
const CHUNK: usize = 1024;

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

/// Brings excerpts to a model's rate.
pub struct Resampler {
    fft: Option<Fft<f32>>,
    rate: u32,
}

impl Resampler {
    /// From 48 kHz to `rate`.
    ///
    /// # Errors
    /// When there is no such resampler.
    pub fn to(rate: u32) -> Result<Self, ScoreError> {
        if rate == SAMPLE_RATE {
            return Ok(Self { fft: None, rate });
        }
        let fft = Fft::new(SAMPLE_RATE as usize, rate as usize, CHUNK, 1, FixedSync::Both);
        Ok(Self { fft: Some(fft.map_err(|_| ScoreError::Rate(rate))?), rate })
    }

    /// Resamples a whole excerpt; the result starts with it and is as long in time.
    ///
    /// # Errors
    /// When the resampler fails.
    pub fn run(&mut self, samples: Vec<f32>) -> Result<Vec<f32>, ScoreError> {
        let rate = self.rate;
        let Some(fft) = &mut self.fft else { return Ok(samples) };
        let input = InterleavedSlice::new(&samples, 1, samples.len()).map_err(|_| ScoreError::Rate(rate))?;
        let output = fft.process_all(&input, samples.len(), None).map_err(|_| ScoreError::Rate(rate))?;
        Ok(output.take_data())
    }
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
        let mut resampler = Resampler::to(16_000).unwrap();
        let kept = tone(1_000.0, 48_000);
        // Two channels, the second of another sign but for a tenth: the mix is a twentieth of it.
        let interleaved: Vec<u8> =
            kept.iter().flat_map(|s| [s.to_le_bytes(), (-0.9 * s).to_le_bytes()]).flatten().collect();
        let mixed = resampler.run(mix(&interleaved, 2).collect()).unwrap();
        assert_eq!(mixed.len(), 16_000);
        for (place, expected) in [(4_000_usize, 12_000_usize), (9_001, 27_003)] {
            assert!((mixed[place] - 0.05 * kept[expected]).abs() < 1e-3, "no delay at {place}");
        }
        let too_high = resampler.run(tone(11_000.0, 48_000)).unwrap();
        assert!(rms(&too_high[500..15_500]) < 1e-3, "what would fold back is gone: {}", rms(&too_high));
    }

    #[test]
    fn what_is_no_number_is_silence() {
        let bytes: Vec<u8> =
            [1.0, f32::NAN, f32::INFINITY, 0.5].iter().flat_map(|s| s.to_le_bytes()).collect();
        let mono: Vec<f32> = mix(&bytes, 1).collect();
        assert_eq!(mono, [1.0, 0.0, 0.0, 0.5]);
        assert_eq!(Resampler::to(48_000).unwrap().run(mono).unwrap(), [1.0, 0.0, 0.0, 0.5]);
    }
}
