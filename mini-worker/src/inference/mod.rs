//! Restores speech: one model, one thread that owns it, any number of recordings in between each other.
//!
//! ```text
//! job ── restore(window) ─> queue ─> thread ─> channel: front end ─> engine ─> front end undone ─> answer
//! ```

pub mod channel;
pub mod condition;
pub mod deepfilternet3;
pub mod engine;
pub mod error;
pub mod front_end;
pub mod handle;
#[cfg(any(target_os = "macos", feature = "mlx"))]
pub mod mlx;
pub mod onnx;
pub mod queue;
pub mod sampler;
pub mod selection;
pub mod speed;
pub mod thread;

pub use engine::EngineError;
pub use error::InferenceError;
pub use handle::{Inference, InferenceConfig, Readiness, RestoreSession, RestoreSpec, Restored};
pub use queue::Scheduling;
pub use sampler::Resampler;
pub use selection::{EngineKind, Precision, Provider, Selection};

/// Every recording is restored at this rate, Hz.
pub const SAMPLE_RATE: u32 = 48_000;

/// Planar audio: one `Vec` per channel, all of one length.
pub type Planar = Vec<Vec<f32>>;
