//! Workers Analytics Engine, where the operator has bound it: one data point for each generation whose audio is there.

use worker::{AnalyticsEngineDataPointBuilder, AnalyticsEngineDataset, Env, console_warn};

use crate::project::{Generation, ReadyAudio};

/// Name of the binding.
const BINDING: &str = "ANALYTICS";

/// Writes a generation's data point, if somebody wants it. It may come twice after a restart, and none is waited for: what counts is
/// in the ledger.
///
/// `index1` tenant; `blob1` sampler, `blob2` generation, `blob3` job; `double1` seconds of audio, `double2` seconds from the dispatch
/// to the worker, `double3` to the first audio, `double4` to all of it, `double5` of the model's work.
pub fn generation_is_ready(env: &Env, tenant: &str, generation: &Generation, ready: &ReadyAudio) {
    let Ok(dataset) = env.get_binding::<AnalyticsEngineDataset>(BINDING) else { return };
    let since = |at: Option<shared_protocol::TimestampMs>| {
        at.map_or(f64::NAN, |at| (at - ready.queued_at).as_secs_f64())
    };
    let inference: f64 = ready
        .timings
        .iter()
        .filter(|timing| timing.phase == "inference")
        .map(|timing| timing.end_ms.0.saturating_sub(timing.start_ms.0) as f64 / 1e3)
        .sum();
    let sampler = serde_json::to_value(generation.request.sampler).unwrap_or_default();
    let written = AnalyticsEngineDataPointBuilder::new()
        .indexes([tenant])
        .blobs([sampler.as_str().unwrap_or_default(), generation.id.as_str(), generation.job_id.as_str()])
        .doubles([
            ready.audio_seconds,
            since(ready.started_at),
            since(ready.first_audio_at),
            since(Some(ready.at)),
            inference,
        ])
        .write_to(&dataset);
    if let Err(error) = written {
        console_warn!("a data point could not be written: {error}");
    }
}
