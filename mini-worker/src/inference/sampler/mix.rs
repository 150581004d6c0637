//! Makes the best of what the model said and what was recorded, place by place in time and frequency.
//!
//! The model takes a little of the voice along with the noise. Where speech stands well above what was taken away, the
//! recording itself is nearer to the clean voice than the model's answer is; where it hardly does, the model is too
//! careful. How much of each is best (least squares) was measured on mixtures whose clean speech is known, by the ratio
//! of both in a band, and is one curve for each of the two.

use crate::inference::deepfilternet3::features::band_widths;
use crate::inference::deepfilternet3::parameters::{BANDS, BINS, HOP};
use crate::inference::deepfilternet3::spectrum::Transform;
use realfft::num_complex::Complex32;
use std::collections::VecDeque;

/// Frames on each side over which a band's energies are averaged (20 ms each way).
const REACH: usize = 2;

/// Energy below which nothing is there: -160 dBFS in a band.
const NOTHING: f32 = 1e-16;

/// Ratio of the restored speech to what was taken away, dB; weight of the restored speech; weight of the recording. In
/// between lines, outside the ends. These are 0.65 of the way from doing nothing to the least squares, so that pauses stay
/// quiet; where next to nothing is speech, nothing of the recording comes back.
const CURVE: [(f32, f32, f32); 13] = [
    (-18.0, 1.364, 0.000),
    (-12.0, 1.303, 0.000),
    (-7.5, 1.238, 0.014),
    (-4.5, 1.172, 0.026),
    (-1.5, 1.116, 0.046),
    (1.5, 1.066, 0.069),
    (4.5, 1.015, 0.085),
    (7.5, 0.973, 0.094),
    (10.5, 0.933, 0.117),
    (13.5, 0.886, 0.151),
    (17.5, 0.823, 0.203),
    (22.5, 0.726, 0.289),
    (28.0, 0.597, 0.410),
];

/// Mixes two aligned signals as a stream.
pub struct Mixer {
    transform: Transform,
    widths: [usize; BANDS],
    recorded: Analysis,
    restored: Analysis,
    /// Up to [`REACH`] frames before the one that is next, itself, and those after it that are here.
    frames: VecDeque<Frame>,
    /// Place in `frames` of the next one to be mixed.
    next: usize,
    overlap: Vec<f32>,
    /// Output that belongs to the time before the first sample.
    drop_left: usize,
    taken: u64,
    given: u64,
}

struct Analysis {
    waiting: Vec<f32>,
    previous: Vec<f32>,
}

struct Frame {
    recorded: Vec<Complex32>,
    restored: Vec<Complex32>,
    /// Energies of each band: of the restored speech, and of what was taken away.
    energies: [(f32, f32); BANDS],
}

impl Mixer {
    /// At the start of a recording.
    pub fn new() -> Self {
        let analysis = || Analysis { waiting: Vec::new(), previous: vec![0.0; HOP] };
        Self {
            transform: Transform::new(),
            widths: band_widths(),
            recorded: analysis(),
            restored: analysis(),
            frames: VecDeque::new(),
            next: 0,
            overlap: vec![0.0; HOP],
            drop_left: HOP,
            taken: 0,
            given: 0,
        }
    }

    /// Takes the next samples of both, as many of each; gives back those whose surroundings are known.
    pub fn feed(&mut self, recorded: &[f32], restored: &[f32]) -> Vec<f32> {
        self.taken += recorded.len() as u64;
        self.recorded.waiting.extend_from_slice(recorded);
        self.restored.waiting.extend_from_slice(restored);
        let mut output = Vec::new();
        while self.recorded.waiting.len() >= HOP && self.restored.waiting.len() >= HOP {
            let frame = self.analyse();
            self.frames.push_back(frame);
            if self.frames.len() > self.next + REACH {
                self.mix_next(&mut output);
            }
        }
        let dropped = self.drop_left.min(output.len());
        self.drop_left -= dropped;
        output.drain(..dropped);
        let wanted = usize::try_from(self.taken - self.given).unwrap_or(usize::MAX);
        output.truncate(wanted);
        self.given += output.len() as u64;
        output
    }

    /// The samples held back, at the end.
    pub fn finish(&mut self) -> Vec<f32> {
        let taken = self.taken;
        let silence = vec![0.0; HOP * (REACH + 2)];
        let mut output = self.feed(&silence, &silence);
        self.taken = taken;
        let surplus = usize::try_from(self.given.saturating_sub(taken)).unwrap_or(0);
        output.truncate(output.len().saturating_sub(surplus));
        output
    }

    fn analyse(&mut self) -> Frame {
        let recorded = self.recorded.next(&mut self.transform);
        let restored = self.restored.next(&mut self.transform);
        let mut energies = [(0.0, 0.0); BANDS];
        let mut start = 0;
        for (&width, energy) in self.widths.iter().zip(&mut energies) {
            for bin in start..start + width {
                energy.0 += restored[bin].norm_sqr();
                energy.1 += (recorded[bin] - restored[bin]).norm_sqr();
            }
            start += width;
        }
        Frame { recorded, restored, energies }
    }

    fn mix_next(&mut self, output: &mut Vec<f32>) {
        let mut spectrum = vec![Complex32::default(); BINS];
        let frame = &self.frames[self.next];
        let mut start = 0;
        for (band, &width) in self.widths.iter().enumerate() {
            let sum = |pick: fn(&(f32, f32)) -> f32| -> f32 {
                self.frames.iter().map(|frame| pick(&frame.energies[band])).sum()
            };
            let (speech, taken_away) = (sum(|e| e.0), sum(|e| e.1));
            let ratio = 10.0 * ((speech + NOTHING) / (taken_away + NOTHING)).log10();
            let (of_restored, of_recorded) = weights(ratio);
            let bins = start..start + width;
            let sources = frame.restored[bins.clone()].iter().zip(&frame.recorded[bins.clone()]);
            for (value, (restored, recorded)) in spectrum[bins.clone()].iter_mut().zip(sources) {
                *value = restored * of_restored + recorded * of_recorded;
            }
            start = bins.end;
        }
        let mut hop = vec![0.0; HOP];
        self.transform.synthesise(&mut spectrum, &mut self.overlap, &mut hop);
        output.extend(hop);
        if self.next == REACH {
            self.frames.pop_front();
        } else {
            self.next += 1;
        }
    }
}

impl Analysis {
    fn next(&mut self, transform: &mut Transform) -> Vec<Complex32> {
        let hop: Vec<f32> = self.waiting.drain(..HOP).collect();
        let mut spectrum = vec![Complex32::default(); BINS];
        transform.analyse(&self.previous, &hop, &mut spectrum);
        self.previous = hop;
        spectrum
    }
}

/// Weights of the restored speech and of the recording at a ratio in dB.
fn weights(ratio: f32) -> (f32, f32) {
    let after = CURVE.partition_point(|point| point.0 <= ratio);
    let (Some(before), Some(after)) = (after.checked_sub(1).map(|i| CURVE[i]), CURVE.get(after)) else {
        let end = if after == 0 { CURVE[0] } else { CURVE[CURVE.len() - 1] };
        return (end.1, end.2);
    };
    let place = (ratio - before.0) / (after.0 - before.0);
    (before.1 + place * (after.1 - before.1), before.2 + place * (after.2 - before.2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inference::channel::tests::signal;

    fn through(recorded: &[f32], restored: &[f32], window: usize) -> Vec<f32> {
        let mut mixer = Mixer::new();
        let mut output = Vec::new();
        for (recorded, restored) in recorded.chunks(window).zip(restored.chunks(window)) {
            output.extend(mixer.feed(recorded, restored));
        }
        output.extend(mixer.finish());
        output
    }

    #[test]
    fn what_the_model_left_alone_is_the_recording_and_what_it_took_away_stays_away() {
        let recorded = signal(20_000);
        let same = through(&recorded, &recorded, 20_000);
        let worst = same.iter().zip(&recorded).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(worst < 0.01, "{worst}");
        let silence = vec![0.0; 20_000];
        assert!(through(&recorded, &silence, 20_000).iter().all(|&sample| sample.abs() < 1e-6));
    }

    #[test]
    fn every_length_is_kept_and_pieces_change_no_bit() {
        for length in [0, 1, 479, 480, 481, 5_000] {
            let recorded = signal(length);
            let restored: Vec<f32> = recorded.iter().map(|sample| 0.7 * sample).collect();
            let whole = through(&recorded, &restored, length.max(1));
            assert_eq!(whole.len(), length);
            assert_eq!(through(&recorded, &restored, 77), whole, "{length}");
        }
    }

    #[test]
    fn the_louder_speech_is_against_the_rest_the_more_of_the_recording_comes_back() {
        for pair in CURVE.windows(2) {
            assert!(pair[0].0 < pair[1].0 && pair[0].2 <= pair[1].2);
        }
        assert_eq!(weights(-60.0), (CURVE[0].1, CURVE[0].2));
        assert_eq!(weights(60.0), (CURVE[12].1, CURVE[12].2));
        let between = weights((CURVE[5].0 + CURVE[6].0) / 2.0);
        assert!((between.1 - (CURVE[5].2 + CURVE[6].2) / 2.0).abs() < 1e-6);
        // Where nothing was taken away both are the same, and together they are the recording again.
        assert!((CURVE[12].1 + CURVE[12].2 - 1.0).abs() < 0.01);
    }
}
