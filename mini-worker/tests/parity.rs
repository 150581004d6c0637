//! The bare model (front end off) against the authors' own runtime, and against itself: windows, and recordings in
//! between each other, change no bit.
//!
//! Needs the model, the reference and the recordings; a test that lacks one fails and says how to get it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod parity_recordings;
mod parity_reference;

use mini_worker::inference::channel::Channel;
use mini_worker::inference::engine::Engine;
use mini_worker::inference::onnx::{OnnxEngine, OnnxStream};
use mini_worker::inference::{Inference, InferenceConfig, Provider, RestoreSpec};
use mini_worker::storage::{Bundle, Home};
use parity_recordings::{Recording, recordings};
use parity_reference::Reference;
use shared_protocol::Sampler;

/// What the outputs may differ by: both compute in single precision, in another order.
const MIN_SNR_DB: f64 = 60.0;

fn bundle() -> Bundle {
    let home = Home::locate().unwrap_or_else(|error| panic!("{error}"));
    Bundle::open(&home).unwrap_or_else(|error| panic!("{error}"))
}

/// One channel through the engine in windows of `window` samples.
fn restore(engine: &mut OnnxEngine, front_end: bool, signal: &[f32], window: usize) -> Vec<f32> {
    let mut channel: Channel<OnnxStream> = Channel::open(engine, Sampler::Flash, front_end);
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

/// At most ten seconds of each: the reference takes a fifth of real time.
fn excerpts() -> Vec<Recording> {
    // Four different voices or noises.
    let mut all = recordings(4);
    for recording in &mut all {
        recording.samples.truncate(480_000);
    }
    all
}

#[test]
#[cfg_attr(
    not(all(target_os = "linux", target_arch = "x86_64")),
    ignore = "the authors' runtime is published for Linux on x86-64 only"
)]
fn the_output_is_that_of_the_authors_runtime() {
    let reference = Reference::load();
    let mut engine = OnnxEngine::load(&bundle(), 1).unwrap();
    let mut compared = 0;
    for recording in excerpts() {
        let ours = restore(&mut engine, false, &recording.samples, 96_000);
        let theirs = reference.restore(&recording.samples, engine.delay());
        let snr = snr_db(&theirs, &ours);
        println!("{}: {snr:.1} dB over {:.1} s", recording.name, ours.len() as f64 / 48_000.0);
        assert!(snr >= MIN_SNR_DB, "{}: {snr:.1} dB, not {MIN_SNR_DB} dB", recording.name);
        compared += 1;
    }
    assert!(compared >= 3, "only {compared} recordings");
}

#[test]
fn windows_of_any_size_give_the_bits_of_the_whole_recording_in_one_run() {
    let bundle = bundle();
    let mut engine = OnnxEngine::load(&bundle, 1).unwrap();
    for recording in excerpts().into_iter().take(3) {
        let frames = (recording.samples.len() + engine.delay()).div_ceil(480);
        let mut one_run = OnnxEngine::load_with(&bundle, Provider::Cpu, 1, frames).unwrap();
        let whole = restore(&mut one_run, false, &recording.samples, usize::MAX);
        for window in [480, 3_333, 24_000, 96_000, usize::MAX] {
            let windowed = restore(&mut engine, false, &recording.samples, window);
            let different = whole.iter().zip(&windowed).filter(|(a, b)| a.to_bits() != b.to_bits()).count();
            let snr = snr_db(&whole, &windowed);
            assert_eq!(different, 0, "{}: windows of {window} samples ({snr:.1} dB)", recording.name);
        }
    }
}

#[test]
fn the_front_end_makes_no_difference_between_windows_either() {
    let mut engine = OnnxEngine::load(&bundle(), 1).unwrap();
    let recording = excerpts().remove(0);
    let whole = restore(&mut engine, true, &recording.samples, usize::MAX);
    for window in [3_333, 96_000] {
        assert!(
            restore(&mut engine, true, &recording.samples, window) == whole,
            "windows of {window} samples"
        );
    }
}

#[test]
fn silence_is_restored_to_silence_and_what_is_no_number_does_no_harm() {
    let mut engine = OnnxEngine::load(&bundle(), 1).unwrap();
    let silence = vec![0.0; 150_000];
    assert_eq!(restore(&mut engine, true, &silence, 96_000), silence);
    assert_eq!(restore(&mut engine, false, &silence, 96_000), silence);

    let mut spoilt = excerpts().remove(0).samples;
    (spoilt[1_000], spoilt[2_000], spoilt[3_000]) = (f32::NAN, f32::INFINITY, f32::NEG_INFINITY);
    let restored = restore(&mut engine, true, &spoilt, 96_000);
    assert!(restored.iter().all(|sample| sample.is_finite() && sample.abs() <= 1.0));
}

#[test]
fn quiet_speech_is_kept_as_well_as_loud_speech() {
    let mut engine = OnnxEngine::load(&bundle(), 1).unwrap();
    let recording = excerpts().remove(0);
    let scaled = |gain: f32| recording.samples.iter().map(|s| s * gain).collect::<Vec<_>>();
    let normal = restore(&mut engine, true, &recording.samples, 96_000);
    // 40 dB down: about -65 dBFS, where the bare model keeps next to nothing.
    let quiet = restore(&mut engine, true, &scaled(0.01), 96_000);
    let raised: Vec<_> = quiet.iter().map(|s| s * 100.0).collect();
    let snr = snr_db(&normal, &raised);
    assert!(snr > 15.0, "{}: {snr:.1} dB", recording.name);
}

#[test]
fn two_jobs_in_between_each_other_get_the_bits_that_each_gets_alone() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let recordings = excerpts();
    let mut engine = OnnxEngine::load(&bundle(), 1).unwrap();
    let alone: Vec<_> =
        recordings[..2].iter().map(|r| restore(&mut engine, false, &r.samples, usize::MAX)).collect();

    runtime.block_on(async {
        let config = InferenceConfig { front_end: false, ..InferenceConfig::default() };
        let (inference, readiness) = Inference::start(bundle(), config).await.unwrap();
        assert!(readiness.real_time_factor > 0.0 && readiness.engine.contains("DeepFilterNet3"));
        let jobs = recordings[..2].iter().zip([24_000, 31_111]).map(|(recording, window)| {
            let inference = inference.clone();
            let samples = recording.samples.clone();
            tokio::spawn(async move {
                let expected_samples = Some(samples.len() as u64);
                let spec = RestoreSpec {
                    environment_rank: 0,
                    sampler: Sampler::Flash,
                    transcript: None,
                    channels: 1,
                    expected_samples,
                };
                let mut session = inference.open(spec).await.unwrap();
                let mut output = Vec::new();
                for part in samples.chunks(window) {
                    output.extend(session.restore(vec![part.to_vec()]).await.unwrap().audio.remove(0));
                }
                output.extend(session.finish().await.unwrap().audio.remove(0));
                output
            })
        });
        let jobs: Vec<_> = jobs.collect();
        for (job, alone) in jobs.into_iter().zip(&alone) {
            assert!(job.await.unwrap() == *alone);
        }
        inference.stop().await;
    });
}
