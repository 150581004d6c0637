//! What was asked for is what runs. Needs the model: `mini-worker models fetch`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use mini_worker::inference::engine::{Engine, EngineError};
use mini_worker::inference::onnx::OnnxEngine;
use mini_worker::inference::{Inference, InferenceConfig, InferenceError, Provider, Selection};
use mini_worker::storage::{Bundle, Home};

fn bundle() -> Bundle {
    let home = Home::locate().unwrap_or_else(|error| panic!("{error}"));
    Bundle::open(&home).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn the_processor_is_named_as_what_runs_because_onnxruntime_says_so() {
    let engine = OnnxEngine::load_on(&bundle(), Provider::Cpu, 1).unwrap();
    assert!(engine.name().ends_with("on ONNX Runtime (CPU)"), "{}", engine.name());
}

/// What CUDA runs (places that never move, one number of frames, the graph captured once), on the processor.
#[test]
fn fixed_places_change_no_bit() {
    let mut engine = OnnxEngine::load(&bundle(), 1).unwrap();
    let mut fixed = OnnxEngine::load_fixed(&bundle(), 1).unwrap();
    let samples: Vec<f32> = (0..6 * engine.block())
        .map(|i| (0.2 + 0.2 * (i as f32 * 3e-5).sin()) * (i as f32 * 0.0711).sin())
        .collect();
    let (mut stream, mut other) = (engine.open(), fixed.open());
    let expected = engine.process(&mut stream, &samples).unwrap();
    let found = fixed.process(&mut other, &samples).unwrap();
    assert!(expected.iter().any(|sample| sample.abs() > 0.01), "something is restored");
    let different = expected.iter().zip(&found).filter(|(a, b)| a.to_bits() != b.to_bits()).count();
    assert_eq!(different, 0, "of {}", expected.len());
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "the provider is selectable on Linux only")]
fn cuda_with_a_library_that_lacks_it_is_an_error_that_says_what_to_do_and_not_the_processor_instead() {
    let error =
        OnnxEngine::load_on(&bundle(), Provider::Cuda, 1).err().expect("there is no CUDA in the bundle");
    assert!(matches!(error, EngineError::NoProvider { provider: Provider::Cuda, .. }), "{error:?}");
    let words = error.to_string();
    assert!(words.contains("\"cuda\" cannot be used") && words.contains("Set `onnxruntime`"), "{words}");
}

#[tokio::test]
#[cfg_attr(not(target_os = "linux"), ignore = "the provider is refused on Linux only")]
async fn a_provider_of_another_system_stops_the_start_of_inference() {
    let selection = Selection { provider: Some(Provider::CoreMl), ..Selection::default() };
    let config = InferenceConfig { selection, ..InferenceConfig::default() };
    let error = Inference::start(bundle(), config).await.err().expect("this is not macOS");
    assert!(matches!(error, InferenceError::Engine(EngineError::Selection(_))), "{error:?}");
}
