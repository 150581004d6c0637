use super::{decibels, dot};

/// Scale-invariant signal-to-distortion ratio in dB (Le Roux, Wisdom, Erdogan and Hershey, 2019), after the removal of
/// each signal's mean. Infinite when the estimate is the reference but for its level; `None` when one of them is silent or
/// their lengths differ.
pub fn si_sdr(estimate: &[f32], reference: &[f32]) -> Option<f64> {
    if estimate.len() != reference.len() || estimate.is_empty() {
        return None;
    }
    let (estimate, reference) = (without_mean(estimate), without_mean(reference));
    let energy = dot(&reference, &reference);
    if energy == 0.0 || dot(&estimate, &estimate) == 0.0 {
        return None;
    }
    let scale = dot(&estimate, &reference) / energy;
    let target = scale * scale * energy;
    let distortion: f64 = estimate
        .iter()
        .zip(&reference)
        .map(|(&e, &r)| {
            let rest = f64::from(e) - scale * f64::from(r);
            rest * rest
        })
        .sum();
    Some(decibels(target, distortion))
}

fn without_mean(samples: &[f32]) -> Vec<f32> {
    let mean = samples.iter().map(|&s| f64::from(s)).sum::<f64>() / samples.len() as f64;
    samples.iter().map(|&s| (f64::from(s) - mean) as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two whole periods of sine and cosine: orthogonal, without a mean.
    fn pair() -> (Vec<f32>, Vec<f32>) {
        let angle = |i: usize| i as f32 * std::f32::consts::TAU / 500.0;
        ((0..1000).map(|i| angle(i).sin()).collect(), (0..1000).map(|i| angle(i).cos()).collect())
    }

    #[test]
    fn noise_at_a_tenth_of_the_amplitude_gives_20_db_at_any_level_and_offset() {
        let (speech, noise) = pair();
        for (level, offset) in [(1.0, 0.0), (0.01, 0.0), (7.0, 0.3), (-1.0, 0.0)] {
            let noisy: Vec<f32> =
                speech.iter().zip(&noise).map(|(s, n)| level * (s + 0.1 * n) + offset).collect();
            let ratio = si_sdr(&noisy, &speech).unwrap();
            assert!((ratio - 20.0).abs() < 1e-3, "{ratio} at {level}");
        }
    }

    #[test]
    fn silence_and_unequal_lengths_have_no_ratio() {
        let (speech, noise) = pair();
        assert_eq!(si_sdr(&[0.0; 1000], &speech), None);
        assert_eq!(si_sdr(&speech, &[0.5; 1000]), None);
        assert_eq!(si_sdr(&speech[..999], &speech), None);
        assert_eq!(si_sdr(&[], &[]), None);
        assert!(si_sdr(&noise, &speech).unwrap() < -60.0, "orthogonal: nothing of the speech is there");
        assert!(si_sdr(&speech, &speech).unwrap() > 150.0, "the same");
    }
}
