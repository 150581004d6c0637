//! ONNX Runtime: its library, loaded once for the process, and sessions in it.

use crate::inference::engine::EngineError;
use ort::environment::Environment;
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

/// A session with a model given as bytes.
pub fn session(
    environment: &Environment,
    what: &str,
    model: &[u8],
    threads: usize,
) -> Result<Session, EngineError> {
    let refused = |reason: String| EngineError::Load { what: what.to_owned(), reason };
    builder(environment, threads)
        .and_then(|mut builder| builder.commit_from_memory(model))
        .map_err(|e| refused(e.to_string()))
}

fn builder(environment: &Environment, threads: usize) -> ort::Result<SessionBuilder> {
    // Registering the CPU provider turns its arena off unless asked for; with it restoring is a third faster. Threads
    // that wait must not spin: the cores belong to decoding and encoding meanwhile.
    Ok(Session::builder(environment)?
        .with_intra_threads(threads.max(1))?
        .with_optimization_level(GraphOptimizationLevel::Level3)?
        .with_memory_pattern(true)?
        .with_config_entry("session.intra_op.allow_spinning", "0")?
        .with_execution_providers([ort::ep::CPU::default().with_arena_allocator(true).build()])?)
}
