//! MLX says the same as ONNX Runtime, window by window, on recordings of speech.
//!
//! On Linux: `scripts/setup-mlx`, then `cargo test --config .minifleet/mlx/cargo.toml -p mini-worker --features mlx --test mlx`.
//! Needs the model, its converted weights (`mini-worker models convert`) and the recordings.

#![cfg(any(target_os = "macos", feature = "mlx"))]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod parity_recordings;

use mini_worker::inference::channel::Channel;
use mini_worker::inference::engine::Engine;
use mini_worker::inference::mlx::MlxEngine;
use mini_worker::inference::onnx::OnnxEngine;
use mini_worker::inference::{
    EngineKind, Inference, InferenceConfig, Precision, Provider, RestoreSpec, Selection,
};
use mini_worker::storage::{Bundle, Home};
use parity_recordings::{Recording, recordings};
use shared_protocol::Sampler;

/// What the outputs may differ by in 32 bits: both round, in another order.
const MIN_SNR_DB: f64 = 60.0;

/// Two seconds, as in the worker.
const WINDOW: usize = 96_000;

fn bundle() -> Bundle {
    let home = Home::locate().unwrap_or_else(|error| panic!("{error}"));
    Bundle::open(&home).unwrap_or_else(|error| panic!("{error}"))
}

fn mlx(precision: Precision) -> MlxEngine {
    let selection = Selection { engine: EngineKind::Mlx, provider: None, precision };
    let provider = selection.provider().unwrap_or_else(|error| panic!("{error}"));
    MlxEngine::load(&bundle(), provider, precision).unwrap_or_else(|error| panic!("{error}"))
}

/// One channel through an engine, front end included, in windows of `window` samples.
fn restore<E: Engine>(engine: &mut E, signal: &[f32], window: usize) -> Vec<f32> {
    let mut channel = Channel::open(engine, Sampler::Flash, true);
    let mut restored = Vec::new();
    for part in signal.chunks(window) {
        restored.extend(channel.restore(engine, part.to_vec()).unwrap());
    }
    restored.extend(channel.finish(engine).unwrap());
    assert_eq!(restored.len(), signal.len());
    restored
}

/// Energy of `reference` over energy of the difference, dB.
fn snr_db(reference: &[f32], other: &[f32]) -> f64 {
    let energy = |values: &mut dyn Iterator<Item = f64>| values.map(|v| v * v).sum::<f64>();
    let signal = energy(&mut reference.iter().map(|&v| f64::from(v)));
    let error = energy(&mut reference.iter().zip(other).map(|(&a, &b)| f64::from(a) - f64::from(b)));
    10.0 * (signal / error.max(1e-30)).log10()
}

/// The first seconds of several recordings.
fn excerpts(count: usize, seconds: usize) -> Vec<Recording> {
    let mut all = recordings(count);
    for recording in &mut all {
        recording.samples.truncate(seconds * 48_000);
    }
    all
}

#[test]
fn the_output_is_that_of_onnxruntime_on_every_recording() {
    let (mut onnx, mut mlx) = (OnnxEngine::load(&bundle(), 1).unwrap(), mlx(Precision::Float32));
    println!("{}", mlx.name());
    let recordings = excerpts(6, 6);
    assert!(recordings.len() >= 5, "only {} recordings", recordings.len());
    for recording in recordings {
        let snr = snr_db(
            &restore(&mut onnx, &recording.samples, WINDOW),
            &restore(&mut mlx, &recording.samples, WINDOW),
        );
        println!("{}: {snr:.1} dB", recording.name);
        assert!(snr >= MIN_SNR_DB, "{}: {snr:.1} dB, not {MIN_SNR_DB} dB", recording.name);
    }
}

#[test]
fn fewer_bits_differ_by_no_more_than_is_written_down() {
    let mut onnx = OnnxEngine::load(&bundle(), 1).unwrap();
    let recordings = excerpts(5, 2);
    let expected: Vec<_> = recordings.iter().map(|r| restore(&mut onnx, &r.samples, WINDOW)).collect();
    // The least of five recordings, and room for another processor's rounding. The table is in docs/performance.md.
    for (precision, floor) in [(Precision::Float16, 30.0), (Precision::Int8, 15.0), (Precision::Int4, 0.0)] {
        let mut engine = mlx(precision);
        let found = recordings.iter().zip(&expected);
        let found: Vec<_> =
            found.map(|(r, expected)| snr_db(expected, &restore(&mut engine, &r.samples, WINDOW))).collect();
        println!("{precision}: {found:.1?} dB");
        assert!(found.iter().all(|&snr| snr >= floor), "{precision}: {found:.1?} dB, not {floor} dB");
    }
}

#[test]
fn windows_of_any_size_give_the_bits_of_the_whole_recording() {
    let mut engine = mlx(Precision::Float32);
    let recording = excerpts(1, 4).remove(0);
    let whole = restore(&mut engine, &recording.samples, usize::MAX);
    for window in [3_333, 24_000, WINDOW] {
        assert!(restore(&mut engine, &recording.samples, window) == whole, "windows of {window} samples");
    }
}

#[test]
fn blocks_of_several_jobs_in_one_run_give_what_each_gives_alone_but_for_rounding() {
    let mut engine = mlx(Precision::Float32);
    let recordings = excerpts(3, 2);
    let block = engine.block();
    let mut streams: Vec<_> = recordings.iter().map(|_| engine.open()).collect();
    let mut together = vec![Vec::new(); recordings.len()];
    for start in (0..2 * 48_000).step_by(block) {
        let inputs: Vec<_> = recordings.iter().map(|r| &r.samples[start..start + block]).collect();
        let outputs = engine.process_together(&mut streams.iter_mut().collect::<Vec<_>>(), &inputs).unwrap();
        together.iter_mut().zip(outputs).for_each(|(all, output)| all.extend(output));
    }
    for (recording, together) in recordings.iter().zip(&together) {
        let mut stream = engine.open();
        let alone = engine.process(&mut stream, &recording.samples).unwrap();
        let snr = snr_db(&alone, together);
        assert!(snr > 90.0, "{}: {snr:.1} dB", recording.name);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_inference_thread_owns_all_of_mlx_and_jobs_interleave_in_it() {
    let selection = Selection { engine: EngineKind::Mlx, ..Selection::default() };
    let config = InferenceConfig { selection, ..InferenceConfig::default() };
    let (inference, readiness) = Inference::start(bundle(), config).await.unwrap();
    assert!(readiness.engine.contains("on MLX ("), "{}", readiness.engine);
    assert!(readiness.memory_bytes.is_some_and(|bytes| bytes > 8_000_000), "{:?}", readiness.memory_bytes);
    let recordings = excerpts(2, 3);
    let jobs = recordings.iter().map(|recording| {
        let (inference, samples) = (inference.clone(), recording.samples.clone());
        tokio::spawn(async move {
            let spec = RestoreSpec {
                environment_rank: 0,
                sampler: Sampler::Flash,
                transcript: None,
                channels: 1,
                expected_samples: None,
            };
            let mut session = inference.open(spec).await.unwrap();
            let mut output = Vec::new();
            for part in samples.chunks(31_111) {
                output.extend(session.restore(vec![part.to_vec()]).await.unwrap().audio.remove(0));
            }
            output.extend(session.finish().await.unwrap().audio.remove(0));
            output
        })
    });
    let jobs: Vec<_> = jobs.collect();
    let mut alone = Vec::new();
    for job in jobs {
        alone.push(job.await.unwrap());
    }
    inference.stop().await;
    // The same engine, in another thread and one after the other.
    let samples: Vec<_> = recordings.into_iter().map(|r| r.samples).collect();
    let again = std::thread::spawn(move || {
        let mut engine = mlx(Precision::Float32);
        samples.iter().map(|samples| restore(&mut engine, samples, WINDOW)).collect::<Vec<_>>()
    });
    assert!(again.join().unwrap() == alone, "interleaving changes no bit");
}

#[test]
#[cfg_attr(target_os = "macos", ignore = "a Mac has the GPU")]
fn a_gpu_that_is_not_there_is_an_error_that_says_what_to_do() {
    let error = MlxEngine::load(&bundle(), Provider::Metal, Precision::Float32).err().expect("no GPU here");
    assert!(error.to_string().contains("\"metal\" cannot be used: MLX has no GPU here"), "{error}");
}
