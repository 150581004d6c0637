//! One engine, measured in a process of its own: seconds of work per second of audio on one core, and memory.

// The one binding to libdeepfilter, shared with the worker's parity test.
#[path = "../../../../mini-worker/tests/parity_reference/mod.rs"]
#[allow(clippy::unwrap_used, reason = "a missing function of the library ends the bench")]
mod parity_reference;

use conformance::{harness::media, recordings::RecordingSet};
use mini_worker::{
    inference::{EngineKind, Precision, Provider, channel::Channel, engine::Engine, onnx::OnnxEngine},
    storage::{Bundle, Home, bundle},
};
use parity_reference::Reference;
use serde_json::{Value, json};
use shared_protocol::Sampler;
use std::{
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    time::Instant,
};

use super::report::own_peak_memory_bytes;

/// The argument with which this program measures one engine.
pub const CHILD: &str = "--measure-engine";

/// Samples at a time, as in the worker: two seconds.
pub const WINDOW: usize = 96_000;

/// What restores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restorer {
    /// An engine of ours on the processor, front end included.
    Ours(EngineKind, Precision),
    /// The authors' own runtime with the same weights.
    LibDeepFilter,
}

/// Every one that there may be.
pub const ALL: [Restorer; 6] = [
    Restorer::Ours(EngineKind::Onnx, Precision::Float32),
    Restorer::Ours(EngineKind::Mlx, Precision::Float32),
    Restorer::Ours(EngineKind::Mlx, Precision::Float16),
    Restorer::Ours(EngineKind::Mlx, Precision::Int8),
    Restorer::Ours(EngineKind::Mlx, Precision::Int4),
    Restorer::LibDeepFilter,
];

/// ONNX Runtime on the processor: what the worker runs unless told otherwise.
pub const ONNX: Restorer = ALL[0];

/// The home folder.
pub fn home() -> Home {
    Home::locate().unwrap_or_else(|error| panic!("{error}"))
}

impl Restorer {
    /// For tables, and to ask for it.
    pub fn name(self) -> String {
        match self {
            Self::Ours(EngineKind::Onnx, _) => "onnx".to_owned(),
            Self::Ours(EngineKind::Mlx, precision) => format!("mlx {precision}"),
            Self::LibDeepFilter => "libdeepfilter".to_owned(),
        }
    }

    /// Whether it is on this machine and in this build.
    pub fn is_there(self) -> bool {
        match self {
            Self::Ours(EngineKind::Onnx, _) => true,
            Self::Ours(EngineKind::Mlx, _) => cfg!(any(target_os = "macos", feature = "mlx")),
            Self::LibDeepFilter => bundle::reference(&home()).is_ok(),
        }
    }

    /// Measures in a process of its own. What it restored is written to `output`, as 32-bit floats.
    pub fn measure(self, length: &str, output: Option<&Path>) -> Value {
        let own = std::env::current_exe().expect("a running program has a path");
        let mut command = Command::new(own);
        command.args([CHILD, &self.name(), length]).args(output);
        // One core: MLX's products of matrices are OpenBLAS's, which takes all there are.
        command.env("OPENBLAS_NUM_THREADS", "1");
        let run = command.output().expect("this program can be run");
        let words = String::from_utf8_lossy(&run.stderr);
        assert!(run.status.success(), "{}: {words}", self.name());
        serde_json::from_slice(&run.stdout)
            .unwrap_or_else(|error| panic!("{}: {error}: {words}", self.name()))
    }
}

/// Measures one engine once and prints a JSON object.
pub fn child(arguments: &mut impl Iterator<Item = String>) -> ExitCode {
    let (Some(name), Some(length)) = (arguments.next(), arguments.next()) else { return ExitCode::from(2) };
    let Some(restorer) = ALL.into_iter().find(|one| one.name() == name) else { return ExitCode::from(2) };
    let path = RecordingSet::ready().unwrap_or_else(|error| panic!("{error}")).long(&length);
    let audio = media::decode(&path, 48_000);
    let (load_seconds, run_seconds, restored) = restore(restorer, &audio);
    assert_eq!(restored.len(), audio.len());
    if let Some(output) = arguments.next().map(PathBuf::from) {
        let bytes: Vec<u8> = restored.iter().flat_map(|sample| sample.to_le_bytes()).collect();
        std::fs::write(&output, bytes).unwrap_or_else(|error| panic!("{}: {error}", output.display()));
    }
    let seconds = audio.len() as f64 / 48_000.0;
    let document = json!({
        "engine": restorer.name(),
        "audioSeconds": seconds,
        "loadSeconds": load_seconds,
        "runSeconds": run_seconds,
        "realTimeFactor": run_seconds / seconds,
        "peakMemoryBytes": own_peak_memory_bytes(),
    });
    println!("{document}");
    ExitCode::SUCCESS
}

fn restore(restorer: Restorer, audio: &[f32]) -> (f64, f64, Vec<f32>) {
    let bundle = || Bundle::open(&home()).unwrap_or_else(|error| panic!("{error}"));
    match restorer {
        Restorer::Ours(EngineKind::Onnx, _) => with_engine(audio, || OnnxEngine::load(&bundle(), 1)),
        #[cfg(any(target_os = "macos", feature = "mlx"))]
        Restorer::Ours(EngineKind::Mlx, precision) => {
            use mini_worker::inference::mlx::MlxEngine;
            with_engine(audio, || MlxEngine::load(&bundle(), Provider::Cpu, precision))
        }
        #[cfg(not(any(target_os = "macos", feature = "mlx")))]
        Restorer::Ours(EngineKind::Mlx, _) => panic!("no MLX for {} in this build", Provider::Cpu),
        Restorer::LibDeepFilter => {
            let started = Instant::now();
            let reference = Reference::load();
            let loaded = started.elapsed().as_secs_f64();
            let started = Instant::now();
            // Its state is made inside; that is little beside a minute of audio.
            let restored = reference.restore(audio, 0);
            (loaded, started.elapsed().as_secs_f64(), restored)
        }
    }
}

fn with_engine<E: Engine>(
    audio: &[f32],
    load: impl FnOnce() -> Result<E, mini_worker::inference::EngineError>,
) -> (f64, f64, Vec<f32>) {
    let started = Instant::now();
    let mut engine = load().unwrap_or_else(|error| panic!("{error}"));
    // The first run of a graph plans its memory.
    let mut warm = engine.open();
    let block = vec![0.0; engine.block()];
    engine.process(&mut warm, &block).unwrap_or_else(|error| panic!("{error}"));
    let loaded = started.elapsed().as_secs_f64();
    let started = Instant::now();
    let mut channel = Channel::open(&engine, Sampler::Flash, true);
    let mut restored = Vec::new();
    for window in audio.chunks(WINDOW) {
        let part = channel.restore(&mut engine, window.to_vec());
        restored.extend(part.unwrap_or_else(|error| panic!("{error}")));
    }
    restored.extend(channel.finish(&mut engine).unwrap_or_else(|error| panic!("{error}")));
    (loaded, started.elapsed().as_secs_f64(), restored)
}
