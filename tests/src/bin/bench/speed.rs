//! The model alone on one core: seconds of work per second of audio, and memory, beside the authors' own runtime
//! (libdeepfilter, the same weights) in the same run. The two take turns, so that a busy machine hurts both alike; each
//! run is a process of its own.

use serde_json::Value;

use super::one_engine::{ONNX, Restorer};
use super::report::{Options, Report, median, megabytes};

/// Measures.
pub fn run(options: &Options) -> Report {
    let (length, repetitions) = if options.quick { ("10s", 1) } else { ("60s", 5) };
    let engines: Vec<_> = [ONNX, Restorer::LibDeepFilter].into_iter().filter(|one| one.is_there()).collect();
    let mut runs: Vec<Value> = vec![];
    for round in 0..repetitions {
        // Whoever goes first meets another machine: they take turns in that too.
        let mut order = engines.clone();
        if round % 2 == 1 {
            order.reverse();
        }
        runs.extend(order.into_iter().map(|engine| engine.measure(length, None)));
    }
    let of = |engine: Restorer, value: &str| -> Vec<f64> {
        let own = runs.iter().filter(|run| run["engine"] == engine.name());
        own.filter_map(|run| run[value].as_f64()).collect()
    };
    let row = |engine: &Restorer| {
        let factor = median(&of(*engine, "realTimeFactor"));
        vec![
            engine.name(),
            format!("{factor:.4}"),
            format!("{:.1}x", 1.0 / factor),
            megabytes(median(&of(*engine, "peakMemoryBytes")) as u64),
        ]
    };
    let rows = engines.iter().map(row).collect();
    let ratio = median(&of(Restorer::LibDeepFilter, "realTimeFactor")) / median(&of(ONNX, "realTimeFactor"));
    Report {
        columns: vec!["engine", "real-time factor", "times real time", "peak memory"],
        rows,
        figure: if ratio.is_finite() {
            format!("{ratio:.1} times as fast as libdeepfilter")
        } else {
            "no libdeepfilter to compare with (`mini-worker models fetch --with reference`)".to_owned()
        },
        runs,
        goal: "at least 3 times as fast",
        met: ratio >= 3.0,
    }
}
