//! Moves speech to the level that the model works at, slowly, and moves the result back.
//!
//! Below about -50 dBFS the model takes speech for noise. So each channel is raised (or lowered) to -26 dBFS, by a gain
//! that is decided on a grid of blocks counted from the recording's first sample and interpolated in between. Whatever
//! the gain was at a sample, it is divided out of the restored sample again: nothing of it is heard.

use std::collections::VecDeque;

/// Length of a block, samples (100 ms).
const BLOCK: usize = 4_800;

/// How many blocks ahead of a block its gain is decided by (1 s): speech is raised from its first sound on.
const AHEAD_BLOCKS: usize = 10;

/// How many blocks are looked at in all (10 s).
const MEMORY_BLOCKS: usize = 100;

/// Where active speech is moved to, dBFS RMS.
const TARGET_DBFS: f64 = -26.0;

/// Blocks below this are silence and say nothing about the level of speech, dBFS RMS (the absolute gate of ITU-R
/// BS.1770-4).
const SILENCE_DBFS: f64 = -70.0;

/// Blocks this far below the mean of the others are pauses, dB (the relative gate of ITU-R BS.1770-4).
const PAUSE_DB: f64 = 10.0;

/// The gain stays within this range, dB.
const GAIN_RANGE_DB: (f64, f64) = (-20.0, 40.0);

/// It falls and rises at most by this much per block, dB: 10 dB/s down, for a loud voice must not meet the gain of a quiet
/// one for long, and 3 dB/s up.
const STEP_DB: (f64, f64) = (-1.0, 0.3);

/// The leveller of one channel.
#[derive(Debug)]
pub struct Leveller {
    /// Samples whose gain is not decided yet; the first is the first of block `decided`.
    held: VecDeque<f32>,
    /// Energy and length of the block that is being filled.
    filling: (f64, usize),
    /// Mean squares of the last complete blocks, at most [`MEMORY_BLOCKS`].
    blocks: VecDeque<f64>,
    /// How many blocks are complete.
    complete: u64,
    /// How many blocks have been raised.
    raised: u64,
    /// Gain in dB at the end of the last raised block; `None` before speech was seen.
    gain_db: Option<f64>,
    /// Gains at both ends of the raised blocks that are not undone yet, from block `undone` on.
    gains: VecDeque<(f32, f32)>,
    /// Place in the first of `gains`, samples.
    undone: usize,
}

impl Leveller {
    /// At the start of a recording.
    pub fn new() -> Self {
        Self {
            held: VecDeque::new(),
            filling: (0.0, 0),
            blocks: VecDeque::new(),
            complete: 0,
            raised: 0,
            gain_db: None,
            gains: VecDeque::new(),
            undone: 0,
        }
    }

    /// Takes samples; gives back those whose gain is decided, with it.
    pub fn raise(&mut self, samples: &[f32]) -> Vec<f32> {
        let mut output = Vec::with_capacity(samples.len());
        for &sample in samples {
            self.held.push_back(sample);
            self.filling.0 += f64::from(sample).powi(2);
            self.filling.1 += 1;
            if self.filling.1 == BLOCK {
                self.complete_block();
                if self.complete > self.raised + AHEAD_BLOCKS as u64 {
                    self.raise_block(&mut output);
                }
            }
        }
        output
    }

    /// The samples held back, at the end of the recording.
    pub fn raise_rest(&mut self) -> Vec<f32> {
        let mut output = Vec::with_capacity(self.held.len());
        if self.filling.1 > 0 {
            self.complete_block();
        }
        while !self.held.is_empty() {
            self.raise_block(&mut output);
        }
        output
    }

    /// Divides the gain out of the next samples, counted from the recording's first.
    pub fn undo(&mut self, samples: &mut [f32]) {
        for sample in samples {
            let Some(&ends) = self.gains.front() else { return };
            *sample /= gain_at(ends, self.undone);
            self.undone += 1;
            if self.undone == BLOCK {
                self.undone = 0;
                self.gains.pop_front();
            }
        }
    }

    fn complete_block(&mut self) {
        let (energy, length) = std::mem::take(&mut self.filling);
        self.blocks.push_back(energy / length as f64);
        if self.blocks.len() > MEMORY_BLOCKS {
            self.blocks.pop_front();
        }
        self.complete += 1;
    }

    fn raise_block(&mut self, output: &mut Vec<f32>) {
        let start_db = self.gain_db;
        let wanted_db = self.wanted_gain_db();
        self.gain_db = match (start_db, wanted_db) {
            (Some(start), Some(wanted)) => Some(start + (wanted - start).clamp(STEP_DB.0, STEP_DB.1)),
            (start, wanted) => start.or(wanted),
        };
        let end = linear(self.gain_db.unwrap_or(0.0));
        // The first speech is met with its own gain from the start of its block.
        let start = start_db.map_or(end, linear);
        self.gains.push_back((start, end));
        self.raised += 1;
        let length = BLOCK.min(self.held.len());
        output.extend(
            self.held
                .drain(..length)
                .enumerate()
                .map(|(place, sample)| sample * gain_at((start, end), place)),
        );
    }

    /// What the gated level of the blocks in memory asks for; `None` when all are silence.
    fn wanted_gain_db(&self) -> Option<f64> {
        let gated_mean = |gate: f64| {
            let (sum, count) = self
                .blocks
                .iter()
                .filter(|&&block| block > gate)
                .fold((0.0, 0u32), |(sum, count), block| (sum + block, count + 1));
            (count > 0).then(|| sum / f64::from(count))
        };
        let silence = power(SILENCE_DBFS);
        let mean = gated_mean(silence)?;
        let active = gated_mean(silence.max(mean * power(-PAUSE_DB)))?;
        Some((TARGET_DBFS - 10.0 * active.log10()).clamp(GAIN_RANGE_DB.0, GAIN_RANGE_DB.1))
    }
}

fn gain_at((start, end): (f32, f32), place: usize) -> f32 {
    start + (end - start) * (place as f32 / BLOCK as f32)
}

fn linear(db: f64) -> f32 {
    10f64.powf(db / 20.0) as f32
}

fn power(db: f64) -> f64 {
    10f64.powf(db / 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tone(dbfs: f64, seconds: f64) -> Vec<f32> {
        let peak = linear(dbfs) * std::f32::consts::SQRT_2;
        (0..(seconds * 48_000.0) as usize).map(|i| peak * (i as f32 * 0.1309).sin()).collect()
    }

    fn raise_all(signal: &[f32]) -> Vec<f32> {
        let mut leveller = Leveller::new();
        let mut output = leveller.raise(signal);
        output.extend(leveller.raise_rest());
        output
    }

    fn dbfs(signal: &[f32]) -> f64 {
        10.0 * (signal.iter().map(|&s| f64::from(s).powi(2)).sum::<f64>() / signal.len() as f64).log10()
    }

    #[test]
    fn quiet_and_loud_speech_are_moved_to_the_target_from_the_first_sample_on() {
        for level in [-60.0, -45.0, -26.0, -10.0] {
            let output = raise_all(&tone(level, 3.0));
            assert!(
                (dbfs(&output[..BLOCK]) - TARGET_DBFS).abs() < 0.1,
                "{level}: {}",
                dbfs(&output[..BLOCK])
            );
            assert!((dbfs(&output) - TARGET_DBFS).abs() < 0.1);
        }
        assert!((dbfs(&raise_all(&tone(-69.0, 2.0))) + 29.0).abs() < 0.1, "at most 40 dB");
        assert!((dbfs(&raise_all(&tone(0.0, 2.0))) + 20.0).abs() < 0.1, "at least -20 dB");
    }

    #[test]
    fn silence_is_not_raised_and_speech_after_it_is_met_with_its_own_gain() {
        assert!((dbfs(&raise_all(&tone(-80.0, 2.0))) + 80.0).abs() < 0.1);
        let mut signal = vec![0.0; 30 * BLOCK];
        signal.extend(tone(-60.0, 2.0));
        let output = raise_all(&signal);
        assert!((dbfs(&output[30 * BLOCK..31 * BLOCK]) - TARGET_DBFS).abs() < 0.1);
    }

    #[test]
    fn pauses_do_not_count() {
        let mut signal = Vec::new();
        for _ in 0..4 {
            signal.extend(tone(-40.0, 0.5));
            signal.extend(tone(-65.0, 1.5));
        }
        let output = raise_all(&signal);
        assert!((dbfs(&output[..5 * BLOCK]) - TARGET_DBFS).abs() < 0.5, "{}", dbfs(&output[..5 * BLOCK]));
    }

    #[test]
    fn the_gain_changes_slowly_and_undoing_restores_the_signal() {
        let mut signal = tone(-50.0, 4.0);
        signal.extend(tone(-10.0, 12.0));
        signal.extend(tone(-50.0, 20.0));
        let mut leveller = Leveller::new();
        let mut output = leveller.raise(&signal);
        output.extend(leveller.raise_rest());
        for &(start, end) in &leveller.gains {
            let step = 20.0 * f64::from(end / start).log10();
            assert!((STEP_DB.0 - 1e-3..=STEP_DB.1 + 1e-3).contains(&step), "{step}");
        }
        let end = &output[output.len() - BLOCK..];
        assert!((dbfs(end) - TARGET_DBFS).abs() < 8.0, "it follows: {}", dbfs(end));
        leveller.undo(&mut output);
        for (restored, original) in output.iter().zip(&signal) {
            assert!((restored - original).abs() <= original.abs() * 1e-6);
        }
        assert!(leveller.gains.is_empty(), "nothing is kept of what is undone");
    }
}
