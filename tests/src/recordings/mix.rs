//! Signals: cutting, levelling, joining, mixing at a signal-to-noise ratio, convolving with a room. Pure functions.

use super::chance::Chance;
use super::wav::SAMPLE_RATE;
use realfft::RealFftPlanner;

/// Length of the fade at the edges of a cut.
const FADE: usize = SAMPLE_RATE as usize / 200;

/// Highest sample of a mixture.
const PEAK: f32 = 0.95;

/// Level of the tone that fills pauses between joined words, so that none is digital silence: -72 dBFS.
const PAUSE_LEVEL: f32 = 0.000_251;

/// Root mean square; 0 for nothing.
pub fn rms(samples: &[f32]) -> f32 {
    if samples.is_empty() {
        return 0.0;
    }
    let sum: f64 = samples.iter().map(|&s| f64::from(s) * f64::from(s)).sum();
    (sum / samples.len() as f64).sqrt() as f32
}

/// Highest magnitude.
pub fn peak(samples: &[f32]) -> f32 {
    samples.iter().fold(0.0, |highest, s| highest.max(s.abs()))
}

/// Scales to a root mean square. Silence stays silence.
pub fn to_rms(samples: &mut [f32], level: f32) {
    let now = rms(samples);
    if now > 0.0 {
        scale(samples, level / now);
    }
}

/// Scales to a highest magnitude. Silence stays silence.
pub fn to_peak(samples: &mut [f32], level: f32) {
    let now = peak(samples);
    if now > 0.0 {
        scale(samples, level / now);
    }
}

/// Multiplies every sample.
pub fn scale(samples: &mut [f32], gain: f32) {
    samples.iter_mut().for_each(|s| *s *= gain);
}

/// Fades both edges over 5 ms.
pub fn fade(samples: &mut [f32]) {
    let length = FADE.min(samples.len() / 2);
    let end = samples.len();
    for i in 0..length {
        let gain = i as f32 / length as f32;
        samples[i] *= gain;
        samples[end - 1 - i] *= gain;
    }
}

/// Seconds as a number of samples.
pub fn samples_in(seconds: f64) -> usize {
    (seconds * f64::from(SAMPLE_RATE)).round() as usize
}

/// The part from `start` on, at most `length` long; shorter when the signal ends.
pub fn cut(samples: &[f32], start: usize, length: usize) -> Vec<f32> {
    let start = start.min(samples.len());
    samples[start..samples.len().min(start + length)].to_vec()
}

/// Joins words recorded one by one: silence around each is removed, levels are made equal, and pauses of `gap` samples
/// are filled with a faint noise.
pub fn join(words: &[Vec<f32>], gap: usize, length: usize, chance: &mut Chance) -> Vec<f32> {
    let mut joined = Vec::with_capacity(length);
    for word in words {
        let mut word = trim(word);
        to_rms(&mut word, 0.06);
        fade(&mut word);
        joined.extend_from_slice(&word);
        joined.resize(joined.len() + gap, 0.0);
        if joined.len() >= length {
            break;
        }
    }
    joined.truncate(length);
    joined.iter_mut().for_each(|s| *s += PAUSE_LEVEL * chance.normal());
    joined
}

/// Removes what is more than 40 dB below the loudest 10 ms at both ends, with a margin of 30 ms.
fn trim(samples: &[f32]) -> Vec<f32> {
    let window = samples_in(0.01);
    let levels: Vec<f32> = samples.chunks(window).map(rms).collect();
    let floor = levels.iter().fold(0f32, |a, &b| a.max(b)) * 0.01;
    let loud = |level: &f32| *level > floor;
    let (Some(first), Some(last)) = (levels.iter().position(loud), levels.iter().rposition(loud)) else {
        return Vec::new();
    };
    let margin = 3 * window;
    samples[(first * window).saturating_sub(margin)..samples.len().min((last + 1) * window + margin)].to_vec()
}

/// A part of `noise` chosen by chance, repeated when it is shorter than `length`.
pub fn excerpt(noise: &[f32], length: usize, chance: &mut Chance) -> Vec<f32> {
    let start = chance.below(noise.len().saturating_sub(length));
    noise.iter().copied().cycle().skip(start).take(length).collect()
}

/// Adds `noise` so that the mean power of `speech` is `snr_db` above that of the noise, then lowers the sum if it would
/// peak above 0.95.
pub fn at_snr(speech: &[f32], noise: &[f32], snr_db: f32) -> Vec<f32> {
    let quiet = rms(noise);
    let gain = if quiet > 0.0 { rms(speech) / quiet / 10f32.powf(snr_db / 20.0) } else { 0.0 };
    let mut mixture: Vec<f32> = speech.iter().zip(noise).map(|(s, n)| s + n * gain).collect();
    let highest = peak(&mixture);
    if highest > PEAK {
        scale(&mut mixture, PEAK / highest);
    }
    mixture
}

/// Convolves with an impulse response and keeps the length of `signal`.
pub fn convolve(signal: &[f32], response: &[f32]) -> Vec<f32> {
    if signal.is_empty() || response.is_empty() {
        return vec![0.0; signal.len()];
    }
    let size = (signal.len() + response.len()).next_power_of_two();
    let mut planner = RealFftPlanner::<f32>::new();
    let (forward, inverse) = (planner.plan_fft_forward(size), planner.plan_fft_inverse(size));
    let spectrum = |samples: &[f32]| {
        let mut padded = samples.to_vec();
        padded.resize(size, 0.0);
        let mut bins = forward.make_output_vec();
        forward.process(&mut padded, &mut bins).expect("the buffers come from the plan");
        bins
    };
    let mut product = spectrum(signal);
    for (a, b) in product.iter_mut().zip(spectrum(response)) {
        *a *= b / size as f32;
    }
    // Both are real at 0 Hz and at the highest frequency; rounding may leave a trace that the inverse refuses.
    product[0].im = 0.0;
    product[size / 2].im = 0.0;
    let mut result = inverse.make_output_vec();
    inverse.process(&mut product, &mut result).expect("the buffers come from the plan");
    result.truncate(signal.len());
    result
}

/// Removes what lies below the voice: nothing is left below 60 Hz, all above 80 Hz, without a shift of phase. A reference
/// that holds the rumble of its recording would make every restoring that removes it look wrong.
pub fn without_rumble(samples: &[f32]) -> Vec<f32> {
    let size = (samples.len() + SAMPLE_RATE as usize).next_power_of_two();
    let mut planner = RealFftPlanner::<f32>::new();
    let (forward, inverse) = (planner.plan_fft_forward(size), planner.plan_fft_inverse(size));
    let mut padded = samples.to_vec();
    padded.resize(size, 0.0);
    let mut bins = forward.make_output_vec();
    forward.process(&mut padded, &mut bins).expect("the buffers come from the plan");
    for (index, bin) in bins.iter_mut().enumerate() {
        let frequency = index as f32 * SAMPLE_RATE as f32 / size as f32;
        let rise = ((frequency - 60.0) / 20.0).clamp(0.0, 1.0);
        *bin *= (0.5 - 0.5 * (std::f32::consts::PI * rise).cos()) / size as f32;
    }
    bins[size / 2].im = 0.0;
    let mut result = inverse.make_output_vec();
    inverse.process(&mut bins, &mut result).expect("the buffers come from the plan");
    result.truncate(samples.len());
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mixture_has_the_ratio_that_was_asked_for_and_never_clips() {
        let mut chance = Chance::named("a test");
        let speech: Vec<f32> = (0..48_000).map(|i| 0.9 * (i as f32 * 0.05).sin()).collect();
        let noise: Vec<f32> = (0..48_000).map(|_| chance.normal()).collect();
        let mixture = at_snr(&speech, &noise, 5.0);
        assert!(peak(&mixture) <= PEAK + 1e-6);
        let product = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| f64::from(x * y)).sum::<f64>();
        let gain = product(&mixture, &speech) / product(&speech, &speech);
        let rest: Vec<f32> = mixture.iter().zip(&speech).map(|(m, s)| m - gain as f32 * s).collect();
        let snr = 20.0 * (f64::from(rms(&speech)) * gain / f64::from(rms(&rest))).log10();
        assert!((snr - 5.0).abs() < 0.05, "{snr}");
    }

    #[test]
    fn convolving_with_a_delayed_echo_adds_it() {
        let mut signal = vec![0.0; 100];
        signal[10] = 1.0;
        let echoed = convolve(&signal, &[1.0, 0.0, 0.0, -0.5]);
        assert!(
            (echoed[10] - 1.0).abs() < 1e-6 && (echoed[13] + 0.5).abs() < 1e-6 && echoed[12].abs() < 1e-6
        );
    }

    #[test]
    fn rumble_is_removed_and_the_voice_is_not() {
        let tone = |hertz: f32| -> Vec<f32> {
            let step = hertz * std::f32::consts::TAU / SAMPLE_RATE as f32;
            (0..48_000)
                .map(|i| (i as f32 * step).sin() * (i as f32 / 48_000.0 * std::f32::consts::PI).sin())
                .collect()
        };
        assert!(rms(&without_rumble(&tone(40.0))) < 1e-3);
        let voice = tone(120.0);
        let off: Vec<f32> = without_rumble(&voice).iter().zip(&voice).map(|(a, b)| a - b).collect();
        assert!(rms(&off) < 1e-3, "{}", rms(&off));
    }

    #[test]
    fn joined_words_lose_their_silence_and_no_pause_is_digital_silence() {
        let mut word = vec![0.0; 48_000];
        word[20_000..24_000].fill(0.3);
        let joined = join(&[word.clone(), word], 4_800, 100_000, &mut Chance::named("join"));
        assert!(joined.len() < 30_000, "{}", joined.len());
        assert!(joined.chunks(480).all(|chunk| rms(chunk) > 1e-5));
    }

    #[test]
    fn the_numbers_are_the_same_on_every_machine() {
        let mut chance = Chance::named("train");
        let again: Vec<u64> = {
            let mut c = Chance::named("train");
            (0..3).map(|_| c.bits()).collect()
        };
        assert_eq!((0..3).map(|_| chance.bits()).collect::<Vec<_>>(), again);
        assert_ne!(Chance::named("rain").bits(), again[0]);
    }
}
