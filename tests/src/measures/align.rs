use super::dot;

/// By how many samples `signal` lags behind `reference` (negative: it is early), at most `reach` either way: the lag with
/// the highest cross-correlation.
pub fn delay_between(signal: &[f32], reference: &[f32], reach: usize) -> isize {
    let reach = reach as isize;
    let correlation = |lag: isize| {
        if lag >= 0 {
            dot(signal.get(lag as usize..).unwrap_or_default(), reference)
        } else {
            dot(signal, reference.get(lag.unsigned_abs()..).unwrap_or_default())
        }
    };
    let mut best = (0, correlation(0));
    for lag in -reach..=reach {
        let found = correlation(lag);
        if found > best.1 {
            best = (lag, found);
        }
    }
    best.0
}

/// The parts of both that belong together once `signal` is moved by its delay, cut to one length.
pub fn align<'a>(signal: &'a [f32], reference: &'a [f32], reach: usize) -> (&'a [f32], &'a [f32]) {
    let lag = delay_between(signal, reference, reach);
    let (signal, reference) = if lag >= 0 {
        (signal.get(lag as usize..).unwrap_or_default(), reference)
    } else {
        (signal, reference.get(lag.unsigned_abs()..).unwrap_or_default())
    };
    let length = signal.len().min(reference.len());
    (&signal[..length], &reference[..length])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recordings::chance::Chance;

    #[test]
    fn a_delay_is_found_and_undone_in_both_directions() {
        let mut chance = Chance::named("delay");
        let reference: Vec<f32> = (0..4000).map(|_| chance.normal()).collect();
        let late: Vec<f32> = [vec![0.0; 37], reference.clone()].concat();
        let early = reference[21..].to_vec();
        assert_eq!(delay_between(&late, &reference, 100), 37);
        assert_eq!(delay_between(&early, &reference, 100), -21);
        let (a, b) = align(&early, &reference, 100);
        assert_eq!(a, b);
        assert_eq!(a.len(), 4000 - 21);
        assert_eq!(align(&late, &reference, 100).0, &reference[..]);
    }
}
