//! Short-time Fourier transform and its inverse by overlap-add, as the model was trained with.
//!
//! Source of window and scaling: `DFState` in libDF (<https://github.com/Rikorose/DeepFilterNet>, `libDF/src/lib.rs`).

use super::parameters::{BINS, HOP, WINDOW};
use realfft::num_complex::Complex32;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use std::f64::consts::FRAC_PI_2;
use std::sync::Arc;

/// Plans and buffers of the transform. Without memory between calls: the streams keep theirs.
pub struct Transform {
    forward: Arc<dyn RealToComplex<f32>>,
    inverse: Arc<dyn ComplexToReal<f32>>,
    window: Vec<f32>,
    buffer: Vec<f32>,
    forward_scratch: Vec<Complex32>,
    inverse_scratch: Vec<Complex32>,
}

/// The Vorbis window: its square and the square shifted by half add up to one.
fn vorbis_window() -> Vec<f32> {
    let value = |i: usize| {
        let sine = (FRAC_PI_2 * (i as f64 + 0.5) / HOP as f64).sin();
        (FRAC_PI_2 * sine * sine).sin() as f32
    };
    (0..WINDOW).map(value).collect()
}

impl Transform {
    /// Plans the transform.
    pub fn new() -> Self {
        let mut planner = RealFftPlanner::new();
        let forward = planner.plan_fft_forward(WINDOW);
        let inverse = planner.plan_fft_inverse(WINDOW);
        Self {
            window: vorbis_window(),
            buffer: vec![0.0; WINDOW],
            forward_scratch: forward.make_scratch_vec(),
            inverse_scratch: inverse.make_scratch_vec(),
            forward,
            inverse,
        }
    }

    /// The spectrum of a hop and the one before it, scaled by 1 / 960.
    pub fn analyse(&mut self, previous: &[f32], current: &[f32], spectrum: &mut [Complex32]) {
        for i in 0..HOP {
            self.buffer[i] = previous[i] * self.window[i];
            self.buffer[HOP + i] = current[i] * self.window[HOP + i];
        }
        self.forward
            .process_with_scratch(&mut self.buffer, spectrum, &mut self.forward_scratch)
            .expect("the lengths are those that the plan was made for");
        let scale = 1.0 / ((WINDOW * WINDOW) as f32 / (2 * HOP) as f32);
        for value in spectrum {
            *value *= scale;
        }
    }

    /// The hop that a spectrum completes. `overlap` carries the other half of the window to the next call.
    pub fn synthesise(&mut self, spectrum: &mut [Complex32], overlap: &mut [f32], output: &mut [f32]) {
        spectrum[0].im = 0.0;
        spectrum[BINS - 1].im = 0.0;
        self.inverse
            .process_with_scratch(spectrum, &mut self.buffer, &mut self.inverse_scratch)
            .expect("the lengths are those that the plan was made for, and the outer bins are real");
        for i in 0..HOP {
            output[i] = self.buffer[i] * self.window[i] + overlap[i];
            overlap[i] = self.buffer[HOP + i] * self.window[HOP + i];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn synthesis_of_an_unchanged_spectrum_gives_the_signal_back_one_hop_late() {
        let signal: Vec<f32> =
            (0..HOP * 8).map(|i| (i as f32 * 0.37).sin() * 0.3 + (i as f32 * 0.011).cos()).collect();
        let mut transform = Transform::new();
        let (mut previous, mut overlap) = (vec![0.0; HOP], vec![0.0; HOP]);
        let mut spectrum = vec![Complex32::default(); BINS];
        let mut output = vec![0.0; signal.len()];
        for (hop, out) in signal.chunks(HOP).zip(output.chunks_mut(HOP)) {
            transform.analyse(&previous, hop, &mut spectrum);
            transform.synthesise(&mut spectrum, &mut overlap, out);
            previous.copy_from_slice(hop);
        }
        for (restored, original) in output[HOP..].iter().zip(&signal) {
            assert!((restored - original).abs() < 2e-6);
        }
    }

    #[test]
    fn a_full_scale_tone_of_one_bin_has_the_expected_height() {
        let tone = |i: usize| (std::f32::consts::TAU * 100.0 * i as f32 / WINDOW as f32).cos();
        let signal: Vec<f32> = (0..WINDOW).map(tone).collect();
        let mut spectrum = vec![Complex32::default(); BINS];
        Transform::new().analyse(&signal[..HOP], &signal[HOP..], &mut spectrum);
        let mean = vorbis_window().iter().sum::<f32>() / WINDOW as f32;
        assert!((spectrum[100].norm() - mean / 2.0).abs() < 1e-5);
    }
}
