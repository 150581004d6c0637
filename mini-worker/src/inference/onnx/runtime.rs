//! ONNX Runtime: its library, loaded once for the process, and sessions in it.

use super::assignment::{Assignment, RECORD};
use crate::inference::engine::EngineError;
use crate::inference::selection::Provider;
use ort::environment::Environment;
use ort::ep::{self, ExecutionProvider, ExecutionProviderDispatch};
use ort::session::Session;
use ort::session::builder::{GraphOptimizationLevel, SessionBuilder};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// A process can have one environment, from one library.
static ENVIRONMENT: Mutex<Option<Environment>> = Mutex::new(None);

/// The environment of the process; the first call loads the library at `path`, which later ones no longer read.
pub fn environment(path: &Path) -> Result<Environment, EngineError> {
    let refused = |reason: String| EngineError::Load { what: path.display().to_string(), reason };
    let mut environment = ENVIRONMENT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(environment) = &*environment {
        return Ok(environment.clone());
    }
    // A library that speaks another version of the interface makes `ort` panic.
    let loaded = catch_unwind(AssertUnwindSafe(|| {
        ort::init_from(path)
            .map_err(|e| refused(e.to_string()))?
            .with_name("minifleet")
            .with_telemetry(false)
            .build()
            .map_err(|e| refused(e.to_string()))
    }))
    .unwrap_or_else(|_| Err(refused("it is not the expected version of ONNX Runtime".to_owned())))?;
    *environment = Some(loaded.clone());
    Ok(loaded)
}

/// A session with a model given as bytes, on a provider. What the provider compiles of it is kept in `cache`. `frames` fixes
/// numbers of frames by their symbols; without them the session takes any number.
///
/// # Errors
/// [`EngineError::NoProvider`] when the library or the machine does not have it.
pub fn session(
    environment: &Environment,
    what: &str,
    model: &[u8],
    provider: Provider,
    threads: usize,
    cache: &Path,
    frames: &[(String, i64)],
) -> Result<(Session, Assignment), EngineError> {
    let refused = |reason: String| EngineError::Load { what: what.to_owned(), reason };
    let not_there = |reason: String| EngineError::NoProvider { provider, reason, remedy: remedy(provider) };
    let mut builder = options(environment, threads, frames).map_err(|e| refused(e.to_string()))?;
    builder =
        builder.with_execution_providers(providers(provider, cache)).map_err(|e| not_there(e.to_string()))?;
    let session = builder.commit_from_memory(model).map_err(|e| match provider {
        Provider::Cpu => refused(e.to_string()),
        _ => not_there(e.to_string()),
    })?;
    let assignment = Assignment::of(&session).map_err(|e| refused(e.to_string()))?;
    Ok((session, assignment))
}

fn options(
    environment: &Environment,
    threads: usize,
    frames: &[(String, i64)],
) -> ort::Result<SessionBuilder> {
    let mut builder = Session::builder(environment)?;
    for (symbol, count) in frames {
        builder = builder.with_dimension_override(symbol, *count)?;
    }
    // Threads that wait must not spin: the cores belong to decoding and encoding meanwhile.
    Ok(builder
        .with_intra_threads(threads.max(1))?
        .with_optimization_level(GraphOptimizationLevel::Level3)?
        .with_memory_pattern(true)?
        .with_config_entry("session.intra_op.allow_spinning", "0")?
        .with_config_entry(RECORD.0, RECORD.1)?)
}

/// The provider, then the processor for what it cannot compute; a provider that cannot be had is an error.
fn providers(provider: Provider, cache: &Path) -> Vec<ExecutionProviderDispatch> {
    // Registering the CPU provider turns its arena off unless asked for; with it restoring is a third faster.
    let processor = ep::CPU::default().with_arena_allocator(true).build();
    match provider {
        Provider::Cpu | Provider::Metal => vec![processor],
        Provider::CoreMl => {
            let coreml = ep::CoreML::default()
                .with_model_format(ep::coreml::ModelFormat::MLProgram)
                .with_compute_units(ep::coreml::ComputeUnits::All)
                .with_model_cache_dir(cache.display());
            vec![coreml.build().error_on_failure(), processor]
        }
        // TF32 would round the products of matrices to 10 bits. A captured graph is replayed as a whole: that needs fixed
        // places for inputs and outputs, see `fixed`.
        Provider::Cuda => {
            let cuda = ep::CUDA::default().with_tf32(false).with_cuda_graph(true);
            vec![cuda.build().error_on_failure(), processor]
        }
    }
}

/// What ONNX Runtime calls the provider.
fn provider_name(provider: Provider) -> &'static str {
    match provider {
        Provider::Cpu | Provider::Metal => ep::CPU::NAME,
        Provider::CoreMl => ep::CoreML::NAME,
        Provider::Cuda => ep::CUDA::NAME,
    }
}

fn remedy(provider: Provider) -> &'static str {
    match provider {
        Provider::Cuda => {
            "Set `onnxruntime` to a library of ONNX Runtime built for CUDA, with CUDA and cuDNN installed, or provider = \"cpu\""
        }
        _ => "Set provider = \"cpu\"",
    }
}

/// What the graphs run on, for people: only when the network's work is where it was asked for.
///
/// # Errors
/// [`EngineError::NoProvider`] when ONNX Runtime gave work back to the processor that belongs on the provider. CoreML has
/// no recurrent layers, so there it is enough that a part of the graph runs on it; how much of it is told.
pub fn really_runs_on(provider: Provider, assignment: &Assignment) -> Result<String, EngineError> {
    let not_there = |reason: String| EngineError::NoProvider { provider, reason, remedy: remedy(provider) };
    let name = provider_name(provider);
    let (on, all) = (assignment.on(name), assignment.all());
    if on == 0 {
        return Err(not_there("no part of the model would run on it".to_owned()));
    }
    let left = match provider {
        Provider::CoreMl => Vec::new(),
        _ => assignment.elsewhere(name, &HEAVY),
    };
    if let Some(first) = left.first() {
        return Err(not_there(format!(
            "{} of the model's layers stayed on the processor ({first})",
            left.len()
        )));
    }
    Ok(match provider {
        Provider::CoreMl => format!("{}, {on} of {all} operators", provider.title()),
        _ => provider.title().to_owned(),
    })
}

/// The operators that make up the work: a provider has to take all of them. ONNX Runtime leaves arithmetic on shapes on the
/// processor by design.
const HEAVY: [&str; 6] = ["Conv", "ConvTranspose", "FusedConv", "GRU", "MatMul", "Einsum"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_that_is_not_in_the_library_is_an_error_that_says_what_to_do() {
        // Nothing is loaded for this: the words alone are looked at.
        let error = really_runs_on(Provider::Cuda, &Assignment::default()).unwrap_err().to_string();
        assert!(
            error
                .contains("\"cuda\" cannot be used: no part of the model would run on it. Set `onnxruntime`"),
            "{error}"
        );
    }
}
