//! How much better recordings sound after restoring. `docs/quality.md` tells what the figures say.

use super::report::{Options, Report};
use conformance::harness::program;
use conformance::quality::{self, COLUMNS, Row};
use serde_json::Value;

/// Restoring has to raise the estimated opinion by this much, without taking from the speech.
const GOAL: f64 = 0.4;

/// Measures.
pub fn run(options: &Options) -> Report {
    let mut how = quality::Options::new(program("mini-worker"));
    how.quick = options.quick;
    let found = quality::run(&how).unwrap_or_else(|error| panic!("{error}"));
    let runs = found.rows.iter().map(|row| serde_json::to_value(row).unwrap_or(Value::Null)).collect();
    Report {
        columns: COLUMNS.to_vec(),
        rows: found.rows.iter().map(Row::cells).collect(),
        runs,
        figure: format!(
            "overall score {:+.2}, SI-SDR {:+.1} dB at 0 to 10 dB of noise",
            found.overall_gain, found.si_sdr_gain_db
        ),
        goal: "overall score +0.40 and SI-SDR above 0 dB",
        met: found.overall_gain >= GOAL && found.si_sdr_gain_db > 0.0,
    }
}
