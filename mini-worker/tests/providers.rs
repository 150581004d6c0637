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
