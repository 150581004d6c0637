//! Keeps peaks below full scale: the model's output of clipped input reaches 1.3.

/// Where limiting begins: -1 dBFS.
pub const THRESHOLD: f32 = 0.891_250_9;

/// Leaves samples up to [`THRESHOLD`] as they are and bends larger ones smoothly towards full scale, which they do not
/// pass. Without memory: each sample for itself.
pub fn limit(sample: f32) -> f32 {
    let excess = sample.abs() - THRESHOLD;
    if excess <= 0.0 {
        return sample;
    }
    let room = 1.0 - THRESHOLD;
    (THRESHOLD + room * (excess / room).tanh()).copysign(sample)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn up_to_minus_one_decibel_nothing_changes_and_beyond_it_never_passes_full_scale() {
        for sample in [0.0, 0.5, -0.89, THRESHOLD, -THRESHOLD] {
            assert_eq!(limit(sample), sample);
        }
        let mut before = THRESHOLD;
        for step in 1..200 {
            let after = limit(THRESHOLD + 0.01 * step as f32);
            assert!(after >= before && after <= 1.0, "monotonic, at most full scale");
            assert_eq!(limit(-(THRESHOLD + 0.01 * step as f32)), -after);
            before = after;
        }
        assert!((limit(THRESHOLD + 0.001) - THRESHOLD - 0.001).abs() < 1e-6, "no edge at the threshold");
        assert!((limit(1.0) - 0.974).abs() < 1e-3);
    }
}
