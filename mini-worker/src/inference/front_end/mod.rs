//! Brings a recording into the shape that the model was trained on, and back.
//!
//! Before the model: what is no number becomes zero, a high-pass takes out rumble and offset (an offset passes through
//! the model), and the level is moved to where the model works. After it: the level is moved back and peaks are
//! limited. Every stage is a stream: how a recording is cut into windows changes nothing.

mod high_pass;
mod level;
mod limiter;

use high_pass::HighPass;
use level::Leveller;
pub use limiter::{THRESHOLD, limit};

/// Recordings of at most this many samples (20 ms, one frame of the model) are not restored: there is no speech in them,
/// and the model has nothing to go by.
pub const SHORT_SAMPLES: usize = 960;

/// The front end of one channel.
#[derive(Debug)]
pub struct FrontEnd {
    high_pass: HighPass,
    leveller: Leveller,
}

impl FrontEnd {
    /// At the start of a recording.
    pub fn new() -> Self {
        Self { high_pass: HighPass::new(), leveller: Leveller::new() }
    }

    /// Takes finite samples; gives back those that are ready for the model, about a second later.
    pub fn prepare(&mut self, samples: &[f32]) -> Vec<f32> {
        let filtered = self.high_pass.filter(samples);
        self.leveller.raise(&filtered)
    }

    /// The samples held back, at the end of the recording.
    pub fn prepare_rest(&mut self) -> Vec<f32> {
        let filtered = self.high_pass.filter_rest();
        let mut samples = self.leveller.raise(&filtered);
        samples.extend(self.leveller.raise_rest());
        samples
    }

    /// Undoes the level of the next restored samples, and limits them.
    pub fn undo(&mut self, restored: &mut [f32]) {
        self.leveller.undo(restored);
        for sample in restored {
            *sample = limit(*sample);
        }
    }
}

impl Default for FrontEnd {
    fn default() -> Self {
        Self::new()
    }
}

/// Infinities and NaN become zero: one of them would spoil everything after it.
pub fn remove_non_finite(samples: &mut [f32]) {
    for sample in samples {
        if !sample.is_finite() {
            *sample = 0.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_becomes_zero_and_nothing_else_changes() {
        let mut samples = [0.5, f32::NAN, f32::INFINITY, -1.5, f32::NEG_INFINITY, f32::MIN_POSITIVE];
        remove_non_finite(&mut samples);
        assert_eq!(samples, [0.5, 0.0, 0.0, -1.5, 0.0, f32::MIN_POSITIVE]);
    }

    #[test]
    fn undoing_gives_back_the_filtered_signal_and_limits_its_peaks() {
        let tone: Vec<f32> = (0..96_000).map(|i| 0.001 * (i as f32 * 0.13).sin()).collect();
        let mut front_end = FrontEnd::new();
        let mut restored = front_end.prepare(&tone);
        restored.extend(front_end.prepare_rest());
        let loud = restored.iter().fold(0.0f32, |peak, s| peak.max(s.abs()));
        assert!((0.06..0.08).contains(&loud), "raised to -26 dBFS RMS: {loud}");
        front_end.undo(&mut restored);
        let mut high_pass = HighPass::new();
        let mut filtered = high_pass.filter(&tone);
        filtered.extend(high_pass.filter_rest());
        assert_eq!(restored.len(), filtered.len());
        assert!(restored.iter().zip(&filtered).all(|(a, b)| (a - b).abs() < 1e-9));
        let mut peak = [2.0];
        FrontEnd::new().undo(&mut peak);
        assert!(peak[0] <= 1.0);
    }
}
