//! Lets a transcript have a say: quieter between words.
//!
//! Recognisers miss words and misplace them. So a word reaches further than it was said to ([`MARGIN`]), and silence
//! between words is believed only as far as the model agrees: where it left speech standing, nothing is taken away.

use super::SAMPLE_RATE;
use crate::transcript::Transcript;
use std::collections::VecDeque;
use std::sync::Arc;

/// Step of the gains, samples (10 ms).
const HOP: usize = 480;

/// How much longer each word is taken to be at both ends, seconds.
const MARGIN: f64 = 0.2;

/// Restored speech below the first of these levels may be nothing, below the second it is nothing, dBFS RMS over 110 ms where
/// the speech itself is at -26 dBFS.
const DOUBT_DBFS: (f32, f32) = (-50.0, -62.0);

/// What is nothing and lies between words is made quieter by so much, dB.
const DEPTH_DB: f32 = 24.0;

/// Hops on each side over which the level is taken.
const LEVEL_REACH: usize = 5;

/// Weights of the hops around one, which smooth the gains: a raised cosine over 90 ms.
const SMOOTHING: [f32; 9] = [0.019_1, 0.069_1, 0.130_9, 0.180_9, 0.2, 0.180_9, 0.130_9, 0.069_1, 0.019_1];

/// Hops on each side that smoothing looks at.
const REACH: usize = SMOOTHING.len() / 2;

/// Conditions one channel as a stream: as many samples out as in, some 0.1 s later.
pub struct Conditioner {
    transcript: Arc<Transcript>,
    /// The first word that may still matter.
    word: usize,
    /// What was restored and was not given back.
    restored: VecDeque<f32>,
    /// Energy of the hop that is being filled, and its length.
    filling: (f32, usize),
    /// Mean squares of the last complete hops.
    energies: VecDeque<f32>,
    /// How many hops are complete.
    complete: usize,
    /// Extra attenuation in dB of the last hops, unsmoothed.
    raw: VecDeque<f32>,
    /// How many hops have a raw value.
    decided: usize,
    /// Gains at the middle of the last two smoothed hops: at the start and end of what is given back next.
    ends: VecDeque<f32>,
    /// How many hops are smoothed.
    smoothed: usize,
    given: usize,
}

impl Conditioner {
    /// At the start of a recording.
    pub fn new(transcript: Arc<Transcript>) -> Self {
        Self {
            transcript,
            word: 0,
            restored: VecDeque::new(),
            filling: (0.0, 0),
            energies: VecDeque::new(),
            complete: 0,
            raw: VecDeque::new(),
            decided: 0,
            ends: VecDeque::new(),
            smoothed: 0,
            given: 0,
        }
    }

    /// Takes restored samples; gives back those whose surroundings are known.
    pub fn feed(&mut self, restored: &[f32]) -> Vec<f32> {
        let mut output = Vec::new();
        for &sample in restored {
            self.restored.push_back(sample);
            self.filling.0 += sample * sample;
            self.filling.1 += 1;
            if self.filling.1 == HOP {
                self.complete_hop();
                if self.complete > LEVEL_REACH {
                    self.decide_hop();
                }
                if self.decided > self.smoothed + REACH {
                    self.smooth_hop();
                    self.give(&mut output);
                }
            }
        }
        output
    }

    /// The samples held back, at the end of the recording.
    pub fn finish(&mut self) -> Vec<f32> {
        let mut output = Vec::new();
        if self.filling.1 > 0 {
            self.complete_hop();
        }
        while self.decided < self.complete {
            self.decide_hop();
        }
        while self.smoothed < self.complete {
            self.smooth_hop();
            self.give(&mut output);
        }
        // Half a hop is left behind the last hop's middle.
        if let Some(&last) = self.ends.back() {
            self.ends.push_back(last);
            self.give_between(self.restored.len(), &mut output);
        }
        output
    }

    fn complete_hop(&mut self) {
        let (energy, length) = std::mem::take(&mut self.filling);
        self.energies.push_back(energy / length as f32);
        if self.energies.len() > 2 * LEVEL_REACH + 1 {
            self.energies.pop_front();
        }
        self.complete += 1;
    }

    /// Decides about the hop `decided`, from the levels around it.
    fn decide_hop(&mut self) {
        let hop = self.decided;
        let first_known = self.complete - self.energies.len();
        let around = hop.saturating_sub(LEVEL_REACH)..(hop + LEVEL_REACH + 1).min(self.complete);
        let around = around.start.max(first_known)..around.end;
        let sum: f32 = around.clone().map(|index| self.energies[index - first_known]).sum();
        let level = 10.0 * (sum / around.len().max(1) as f32 + 1e-12).log10();
        let nothing = ((DOUBT_DBFS.0 - level) / (DOUBT_DBFS.0 - DOUBT_DBFS.1)).clamp(0.0, 1.0);
        let attenuation = if self.is_spoken(hop) { 0.0 } else { DEPTH_DB * nothing };
        self.raw.push_back(attenuation);
        if self.raw.len() > 2 * REACH + 1 {
            self.raw.pop_front();
        }
        self.decided += 1;
    }

    fn is_spoken(&mut self, hop: usize) -> bool {
        let seconds = (hop as f64 + 0.5) * HOP as f64 / f64::from(SAMPLE_RATE);
        let words = self.transcript.spans();
        while words.get(self.word).is_some_and(|word| word.1 + MARGIN < seconds) {
            self.word += 1;
        }
        words.get(self.word).is_some_and(|word| word.0 - MARGIN <= seconds)
    }

    fn smooth_hop(&mut self) {
        let hop = self.smoothed;
        let first_known = self.decided - self.raw.len();
        let (mut sum, mut weights) = (0.0, 0.0);
        for (index, weight) in SMOOTHING.iter().enumerate() {
            let place = (hop + index).checked_sub(REACH + first_known);
            if let Some(attenuation) = place.and_then(|place| self.raw.get(place)) {
                sum += weight * attenuation;
                weights += weight;
            }
        }
        self.ends.push_back(10f32.powf(-sum / weights / 20.0));
        self.smoothed += 1;
    }

    /// Gives what lies before the middle of the last smoothed hop.
    fn give(&mut self, output: &mut Vec<f32>) {
        if self.ends.len() == 1 {
            let first = self.ends[0];
            self.ends.push_front(first);
        }
        let until = self.smoothed * HOP - HOP / 2;
        self.give_between(until - self.given, output);
    }

    fn give_between(&mut self, length: usize, output: &mut Vec<f32>) {
        let (before, after) = (self.ends[0], self.ends[1]);
        let length = length.min(self.restored.len());
        for (place, sample) in self.restored.drain(..length).enumerate() {
            output.push(sample * (before + place as f32 / length as f32 * (after - before)));
        }
        self.given += length;
        self.ends.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transcript(spans: &[(f64, f64)]) -> Arc<Transcript> {
        Arc::new(Transcript::from_spans(spans.to_vec()).unwrap())
    }

    fn through(spans: &[(f64, f64)], restored: &[f32], window: usize) -> Vec<f32> {
        let mut conditioner = Conditioner::new(transcript(spans));
        let mut output = Vec::new();
        for restored in restored.chunks(window) {
            output.extend(conditioner.feed(restored));
        }
        output.extend(conditioner.finish());
        output
    }

    fn tone(level_dbfs: f32, seconds: f64) -> Vec<f32> {
        let peak = 10f32.powf(level_dbfs / 20.0) * std::f32::consts::SQRT_2;
        (0..(seconds * 48_000.0) as usize).map(|i| peak * (i as f32 * 0.05).sin()).collect()
    }

    fn attenuation(before: &[f32], after: &[f32], second: f64) -> f32 {
        let at = (second * 48_000.0) as usize;
        let energy = |samples: &[f32]| samples[at..at + 4_800].iter().map(|s| s * s).sum::<f32>();
        10.0 * (energy(before) / energy(after)).log10()
    }

    #[test]
    fn what_the_model_holds_for_nothing_becomes_quieter_between_words_only() {
        let quiet = tone(-64.0, 4.0);
        let after = through(&[(0.0, 0.5), (2.0, 2.5)], &quiet, 96_000);
        for (second, expected) in [(0.2, 0.0), (1.2, 24.0), (2.2, 0.0), (3.5, 24.0)] {
            let found = attenuation(&quiet, &after, second);
            assert!((found - expected).abs() < 0.1, "at {second} s: {found} dB");
        }
    }

    #[test]
    fn speech_that_the_recogniser_missed_stays() {
        let speech = tone(-30.0, 3.0);
        let after = through(&[(0.0, 0.2)], &speech, 4_800);
        assert!(speech.iter().zip(&after).all(|(a, b)| (a - b).abs() < 1e-6));
    }

    #[test]
    fn a_long_line_around_short_ones_is_spoken_to_its_end() {
        let quiet = tone(-64.0, 4.0);
        let after = through(&[(0.0, 3.0), (0.1, 0.2)], &quiet, 96_000);
        assert!(attenuation(&quiet, &after, 2.5).abs() < 0.1);
    }

    #[test]
    fn every_length_is_kept_and_pieces_change_no_bit() {
        for length in [0, 1, 239, 240, 480, 481, 5_000, 100_003] {
            let mut signal = tone(-50.0, 2.2);
            signal.truncate(length);
            let spans = [(0.3, 0.4), (1.0, 1.2)];
            let whole = through(&spans, &signal, length.max(1));
            assert_eq!(whole.len(), length);
            assert_eq!(through(&spans, &signal, 777), whole, "{length}");
        }
    }
}
