//! Every engine on one core with the same minute of speech: speed, memory, and how far its output is from ONNX Runtime's. All
//! take turns in the same run, each in a process of its own.

use conformance::measures::snr;
use serde_json::Value;

use super::one_engine::{ALL, ONNX, Restorer};
use super::report::{Options, Report, median, megabytes};

/// Measures.
pub fn run(options: &Options) -> Report {
    let (length, repetitions) = if options.quick { ("10s", 1) } else { ("60s", 3) };
    let engines: Vec<_> = ALL.into_iter().filter(|one| one.is_there()).collect();
    let folder = tempfile::tempdir().expect("there is room for outputs");
    let output = |engine: Restorer| folder.path().join(engine.name());
    let mut runs: Vec<Value> = vec![];
    for round in 0..repetitions {
        let mut order = engines.clone();
        if round % 2 == 1 {
            order.reverse();
        }
        runs.extend(order.into_iter().map(|engine| engine.measure(length, Some(&output(engine)))));
    }
    let of = |engine: Restorer, value: &str| -> f64 {
        let own = runs.iter().filter(|run| run["engine"] == engine.name());
        median(&own.filter_map(|run| run[value].as_f64()).collect::<Vec<_>>())
    };
    let samples = |engine: Restorer| -> Vec<f32> {
        let bytes = std::fs::read(output(engine)).expect("every engine has written its output");
        bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
    };
    let published = samples(ONNX);
    let row = |engine: &Restorer| {
        let factor = of(*engine, "realTimeFactor");
        let difference = match engine {
            // The bare model, and with its delay: the output is not to be compared.
            Restorer::LibDeepFilter => "-".to_owned(),
            one if *one == ONNX => "-".to_owned(),
            one => format!("{:.1} dB", snr(&samples(*one), &published)),
        };
        vec![
            engine.name(),
            format!("{factor:.4}"),
            format!("{:.1}x", 1.0 / factor),
            format!("{:.2} s", of(*engine, "loadSeconds")),
            megabytes(of(*engine, "peakMemoryBytes") as u64),
            difference,
        ]
    };
    let rows = engines.iter().map(row).collect();
    let ratio = of(Restorer::LibDeepFilter, "realTimeFactor") / of(ONNX, "realTimeFactor");
    Report {
        columns: vec!["engine", "real-time factor", "times real time", "load", "peak memory", "from onnx"],
        rows,
        figure: format!("onnx is {ratio:.1} times as fast as libdeepfilter"),
        runs,
        goal: "at least 6 times as fast, at equal output",
        met: ratio >= 6.0,
    }
}
