//! Means over the recordings.

use super::Measured;
use mini_worker::scorer::Scores;
use serde::Serialize;

/// What [`Row::cells`] holds.
pub const COLUMNS: [&str; 7] = ["noise", "SNR dB", "clips", "OVRL", "SIG", "BAK", "SI-SDR dB"];

/// Means over the clips of one kind of noise at one ratio.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The noise, the room and noise, `clean speech` or `demonstration`.
    pub set: String,
    /// Signal-to-noise ratio in dB, where noise was added.
    pub snr_db: Option<i32>,
    /// Number of clips.
    pub clips: usize,
    /// Scores of the input.
    pub before: Scores,
    /// Scores of the restored speech.
    pub after: Scores,
    /// SI-SDR of the input in dB.
    pub si_sdr_before: Option<f64>,
    /// SI-SDR of the restored speech in dB.
    pub si_sdr_after: Option<f64>,
}

/// All rows, and what they come to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// One for each set and ratio.
    pub rows: Vec<Row>,
    /// Mean gain of the overall score over all clips with added noise at 0 to 10 dB.
    pub overall_gain: f64,
    /// Mean gain of SI-SDR in dB over the clips among them that have a reference.
    pub si_sdr_gain_db: f64,
}

impl Row {
    pub(super) fn mean(set: String, snr_db: Option<i32>, measured: &[Measured]) -> Self {
        let count = measured.len() as f64;
        let mean = |pick: fn(&Measured) -> Scores| {
            measured.iter().fold(Scores::default(), |sum, m| sum + pick(m)) / count
        };
        let ratios: Vec<(f64, f64)> = measured.iter().filter_map(|m| m.si_sdr).collect();
        let ratio = |pick: fn(&(f64, f64)) -> f64| {
            (!ratios.is_empty()).then(|| ratios.iter().map(pick).sum::<f64>() / ratios.len() as f64)
        };
        Self {
            set,
            snr_db,
            clips: measured.len(),
            before: mean(|m| m.before),
            after: mean(|m| m.after),
            si_sdr_before: ratio(|r| r.0),
            si_sdr_after: ratio(|r| r.1),
        }
    }

    /// The row under [`COLUMNS`], for people.
    pub fn cells(&self) -> Vec<String> {
        let score =
            |pick: fn(&Scores) -> f64| format!("{:.2} → {:.2}", pick(&self.before), pick(&self.after));
        vec![
            self.set.clone(),
            self.snr_db.map_or_else(|| "-".to_owned(), |snr| snr.to_string()),
            self.clips.to_string(),
            score(|scores| scores.overall),
            score(|scores| scores.signal),
            score(|scores| scores.background),
            self.si_sdr_before.zip(self.si_sdr_after).map_or_else(
                || "-".to_owned(),
                |(before, after)| format!("{before:.1} → {after:.1} ({:+.1})", after - before),
            ),
        ]
    }

    fn si_sdr_gain(&self) -> Option<f64> {
        Some(self.si_sdr_after? - self.si_sdr_before?)
    }
}

impl Report {
    pub(super) fn new(rows: Vec<Row>) -> Self {
        let noisy: Vec<&Row> =
            rows.iter().filter(|row| row.snr_db.is_some_and(|snr| (0..=10).contains(&snr))).collect();
        let overall_gain = weighted(noisy.iter().map(|row| (row.clips, (row.after - row.before).overall)));
        let si_sdr_gain_db = weighted(noisy.iter().filter_map(|row| Some((row.clips, row.si_sdr_gain()?))));
        Self { rows, overall_gain, si_sdr_gain_db }
    }
}

/// Mean of values with weights; 0 without any.
fn weighted(values: impl Iterator<Item = (usize, f64)>) -> f64 {
    let (weight, sum) =
        values.fold((0, 0.0), |(weight, sum), (count, value)| (weight + count, sum + count as f64 * value));
    if weight == 0 { 0.0 } else { sum / weight as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scores(overall: f64) -> Scores {
        Scores { overall, signal: 3.0, background: 2.0 }
    }

    #[test]
    fn the_figures_are_means_over_clips_with_noise_up_to_10_db() {
        let measured =
            |before, after, si_sdr| Measured { before: scores(before), after: scores(after), si_sdr };
        let two = [measured(2.0, 3.0, Some((5.0, 11.0))), measured(2.0, 2.5, Some((5.0, 8.0)))];
        let one = [measured(2.0, 2.0, None)];
        let report = Report::new(vec![
            Row::mean("train".into(), Some(5), &two),
            Row::mean("hall-train".into(), Some(10), &one),
            Row::mean("train".into(), Some(20), &[measured(3.0, 1.0, Some((20.0, 10.0)))]),
            Row::mean("clean speech".into(), None, &[measured(4.0, 1.0, None)]),
        ]);
        assert!((report.overall_gain - 0.5).abs() < 1e-12, "{}", report.overall_gain);
        assert!((report.si_sdr_gain_db - 4.5).abs() < 1e-12, "{}", report.si_sdr_gain_db);
        assert_eq!(
            report.rows[0].cells(),
            ["train", "5", "2", "2.00 → 2.75", "3.00 → 3.00", "2.00 → 2.00", "5.0 → 9.5 (+4.5)"]
        );
    }
}
