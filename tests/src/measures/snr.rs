use super::decibels;

/// Signal-to-noise ratio in dB of `estimate`, where everything that differs from `reference` is noise. Infinite when
/// nothing differs.
pub fn snr(estimate: &[f32], reference: &[f32]) -> f64 {
    let (signal, noise) = energies(estimate, reference);
    if noise == 0.0 { f64::INFINITY } else { decibels(signal, noise) }
}

/// Mean of the signal-to-noise ratios of segments of `segment` samples, each limited to -10..35 dB (Hansen and Pellom,
/// 1998), over segments that are within 40 dB of the loudest. `None` when the reference is silent.
pub fn segmental_snr(estimate: &[f32], reference: &[f32], segment: usize) -> Option<f64> {
    let parts = estimate.chunks_exact(segment).zip(reference.chunks_exact(segment));
    let parts: Vec<(f64, f64)> = parts.map(|(e, r)| energies(e, r)).collect();
    let loudest = parts.iter().fold(0f64, |highest, part| highest.max(part.0));
    let ratios: Vec<f64> = parts
        .into_iter()
        .filter(|&(signal, _)| signal > 0.0 && signal >= loudest * 1e-4)
        .map(|(signal, noise)| if noise == 0.0 { 35.0 } else { decibels(signal, noise).clamp(-10.0, 35.0) })
        .collect();
    (!ratios.is_empty()).then(|| ratios.iter().sum::<f64>() / ratios.len() as f64)
}

/// Energy of the reference, and of the difference.
fn energies(estimate: &[f32], reference: &[f32]) -> (f64, f64) {
    estimate.iter().zip(reference).fold((0.0, 0.0), |(signal, noise), (&e, &r)| {
        let (e, r) = (f64::from(e), f64::from(r));
        (signal + r * r, noise + (e - r) * (e - r))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_a_hundredth_is_40_db() {
        let reference: Vec<f32> = (0..960).map(|i| (i as f32 * 0.1).sin()).collect();
        let estimate: Vec<f32> = reference.iter().map(|r| r * 1.01).collect();
        assert!((snr(&estimate, &reference) - 40.0).abs() < 0.01);
        assert_eq!(snr(&reference, &reference), f64::INFINITY);
    }

    #[test]
    fn segments_are_limited_averaged_and_pauses_left_out() {
        let mut reference = vec![0.5f32; 480];
        reference.extend([0.5; 480]);
        reference.extend([0.000_1; 480]);
        let mut estimate = reference.clone();
        // First segment exact (limited to 35), second with noise at 20 dB, third a pause full of noise.
        estimate[480..960].iter_mut().for_each(|s| *s += 0.05);
        estimate[960..].iter_mut().for_each(|s| *s += 0.3);
        let mean = segmental_snr(&estimate, &reference, 480).unwrap();
        assert!((mean - 27.5).abs() < 0.01, "{mean}");
        assert_eq!(segmental_snr(&[0.1; 480], &[0.0; 480], 480), None);
    }
}
