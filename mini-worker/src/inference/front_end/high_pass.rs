//! High-pass: takes out offset, hum's fundamental and rumble below speech.

use crate::inference::SAMPLE_RATE;
use std::f64::consts::{FRAC_1_SQRT_2, TAU};

/// Where the response is -3 dB. Low male voices start at some 85 Hz.
const CUTOFF_HZ: f64 = 80.0;

/// Below this the memory is cleared, so that silence becomes digital silence and not a slow tail of subnormal numbers.
const INAUDIBLE: f64 = 1e-20;

/// Butterworth, second order, 12 dB per octave. Coefficients from R. Bristow-Johnson, "Cookbook formulae for audio
/// equalizer biquad filter coefficients" (HPF, Q = 1/sqrt 2); transposed direct form II in double precision.
#[derive(Debug)]
pub struct HighPass {
    b: [f64; 3],
    a: [f64; 2],
    memory: [f64; 2],
}

impl HighPass {
    /// At rest.
    pub fn new() -> Self {
        let omega = TAU * CUTOFF_HZ / f64::from(SAMPLE_RATE);
        let alpha = omega.sin() / (2.0 * FRAC_1_SQRT_2);
        let a0 = 1.0 + alpha;
        let b0 = (1.0 + omega.cos()) / 2.0 / a0;
        Self { b: [b0, -2.0 * b0, b0], a: [-2.0 * omega.cos() / a0, (1.0 - alpha) / a0], memory: [0.0; 2] }
    }

    /// The next sample.
    pub fn filter(&mut self, sample: f32) -> f32 {
        let x = f64::from(sample);
        let y = self.b[0] * x + self.memory[0];
        self.memory[0] = self.b[1] * x - self.a[0] * y + self.memory[1];
        self.memory[1] = self.b[2] * x - self.a[1] * y;
        if x == 0.0 && self.memory.iter().all(|value| value.abs() < INAUDIBLE) {
            self.memory = [0.0; 2];
        }
        y as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Level of a sine after the filter, relative to before, dB; the first second is left for settling.
    fn response_db(frequency: f64) -> f64 {
        let mut filter = HighPass::new();
        let mut energy = [0.0; 2];
        for i in 0..96_000 {
            let x = (TAU * frequency * f64::from(i) / 48_000.0).sin() as f32;
            let y = filter.filter(x);
            if i >= 48_000 {
                energy[0] += f64::from(x).powi(2);
                energy[1] += f64::from(y).powi(2);
            }
        }
        10.0 * (energy[1] / energy[0]).log10()
    }

    #[test]
    fn eighty_hertz_loses_three_decibels_rumble_disappears_and_speech_passes() {
        assert!((response_db(80.0) + 3.01).abs() < 0.05);
        assert!((response_db(20.0) + 24.1).abs() < 0.3, "12 dB per octave: {}", response_db(20.0));
        assert!(response_db(200.0) > -0.2);
        assert!(response_db(8_000.0).abs() < 0.01);
    }

    #[test]
    fn an_offset_is_gone_after_a_moment_and_silence_becomes_exactly_zero() {
        let mut filter = HighPass::new();
        let last = (0..9_600).map(|_| filter.filter(0.5)).last().unwrap();
        assert!(last.abs() < 1e-6);
        let last = (0..9_600).map(|_| filter.filter(0.0)).last().unwrap();
        assert_eq!(last, 0.0);
    }
}
