//! The model alone on one core: seconds of work per second of audio, and memory, beside the authors' own runtime
//! (libdeepfilter, the same weights) in the same run. The two take turns, so that a busy machine hurts both alike; each
//! run is a process of its own.

// The one binding to libdeepfilter, shared with the worker's parity test.
#[path = "../../../../mini-worker/tests/parity_reference/mod.rs"]
#[allow(clippy::unwrap_used, reason = "a missing function of the library ends the bench")]
mod parity_reference;

use conformance::{harness::media, recordings::RecordingSet};
use mini_worker::{
    inference::{channel::Channel, engine::Engine, onnx::OnnxEngine},
    storage::{Bundle, Home, bundle},
};
use parity_reference::Reference;
use serde_json::{Value, json};
use std::{
    process::{Command, ExitCode},
    time::Instant,
};

use super::report::{Options, Report, median, megabytes, own_peak_memory_bytes};

/// The argument with which this program measures one engine.
pub const CHILD: &str = "--measure-engine";

/// Samples at a time, as in the worker: two seconds.
const WINDOW: usize = 96_000;

/// Ours, and what it is compared with.
const ENGINES: [&str; 2] = ["minifleet", "libdeepfilter"];

/// Measures.
pub fn run(options: &Options) -> Report {
    let (length, repetitions) = if options.quick { ("10s", 1) } else { ("60s", 5) };
    let home = Home::locate().unwrap_or_else(|error| panic!("{error}"));
    let engines = if bundle::reference(&home).is_ok() { &ENGINES[..] } else { &ENGINES[..1] };
    let mut runs: Vec<Value> = vec![];
    for round in 0..repetitions {
        // Whoever goes first meets another machine: they take turns in that too.
        let mut order = engines.to_vec();
        if round % 2 == 1 {
            order.reverse();
        }
        runs.extend(order.into_iter().map(|engine| measure(engine, length)));
    }
    let of = |engine: &str, value: &str| -> Vec<f64> {
        let own = runs.iter().filter(|run| run["engine"] == engine);
        own.filter_map(|run| run[value].as_f64()).collect()
    };
    let row = |engine: &&str| {
        let factor = median(&of(engine, "realTimeFactor"));
        vec![
            (*engine).to_owned(),
            format!("{factor:.4}"),
            format!("{:.1}x", 1.0 / factor),
            megabytes(median(&of(engine, "peakMemoryBytes")) as u64),
        ]
    };
    let rows = engines.iter().map(row).collect();
    let ratio = median(&of(ENGINES[1], "realTimeFactor")) / median(&of(ENGINES[0], "realTimeFactor"));
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

fn measure(engine: &str, length: &str) -> Value {
    let own = std::env::current_exe().expect("a running program has a path");
    let output = Command::new(own).args([CHILD, engine, length]).output().expect("this program can be run");
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{engine}: {words}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{engine}: {error}: {words}"))
}

/// Measures one engine once and prints a JSON object.
pub fn child(arguments: &mut impl Iterator<Item = String>) -> ExitCode {
    let (Some(engine), Some(length)) = (arguments.next(), arguments.next()) else { return ExitCode::from(2) };
    let path = RecordingSet::ready().unwrap_or_else(|error| panic!("{error}")).long(&length);
    let audio = media::decode(&path, 48_000);
    let seconds = audio.len() as f64 / 48_000.0;
    let (load_seconds, run_seconds) = if engine == ENGINES[0] { ours(&audio) } else { theirs(&audio) };
    let document = json!({
        "engine": engine,
        "audioSeconds": seconds,
        "loadSeconds": load_seconds,
        "runSeconds": run_seconds,
        "realTimeFactor": run_seconds / seconds,
        "peakMemoryBytes": own_peak_memory_bytes(),
    });
    println!("{document}");
    ExitCode::SUCCESS
}

fn ours(audio: &[f32]) -> (f64, f64) {
    let started = Instant::now();
    let home = Home::locate().unwrap_or_else(|error| panic!("{error}"));
    let bundle = Bundle::open(&home).unwrap_or_else(|error| panic!("{error}"));
    let mut engine = OnnxEngine::load(&bundle, 1).unwrap_or_else(|error| panic!("{error}"));
    // The first run of a graph plans its memory.
    let mut warm = engine.open();
    let block = vec![0.0; engine.block()];
    engine.process(&mut warm, &block).unwrap_or_else(|error| panic!("{error}"));
    let loaded = started.elapsed().as_secs_f64();
    let started = Instant::now();
    let mut channel = Channel::open(&engine, true);
    let mut count = 0;
    for window in audio.chunks(WINDOW) {
        count +=
            channel.restore(&mut engine, window.to_vec()).unwrap_or_else(|error| panic!("{error}")).len();
    }
    count += channel.finish(&mut engine).unwrap_or_else(|error| panic!("{error}")).len();
    assert_eq!(count, audio.len());
    (loaded, started.elapsed().as_secs_f64())
}

fn theirs(audio: &[f32]) -> (f64, f64) {
    let started = Instant::now();
    let reference = Reference::load();
    let loaded = started.elapsed().as_secs_f64();
    let started = Instant::now();
    // Its state is made inside; that is little beside a minute of audio.
    let restored = reference.restore(audio, 0);
    assert_eq!(restored.len(), audio.len());
    (loaded, started.elapsed().as_secs_f64())
}
