//! What the worker is at, for Prometheus: off unless `metrics_listen` is set, and meant for this machine only.

mod exposition;
mod server;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use shared_protocol::{FailureCode, JobOutcome, Phase, Sampler};

pub use server::serve;

use crate::inference::Inference;
use crate::job::upload::Uploader;
use exposition::Exposition;

/// Counts of what happened and what runs. Clones are handles to the same ones.
#[derive(Debug, Clone, Default)]
pub struct Metrics(Arc<Mutex<Counts>>);

#[derive(Debug, Default)]
struct Counts {
    slots: u32,
    /// Attempts that run, by environment and phase.
    running: BTreeMap<(String, &'static str), u64>,
    connected: BTreeMap<String, bool>,
    /// Attempts that ended, by environment and result.
    ended: BTreeMap<(String, String), u64>,
    /// Intervals and seconds of completed attempts, by phase. Intervals of one phase never overlap within an attempt.
    phases: BTreeMap<String, (u64, f64)>,
    audio_seconds: f64,
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy)]
pub enum Ended<'a> {
    /// Restored and published.
    Completed(&'a JobOutcome),
    /// Failed.
    Failed(FailureCode),
    /// Stopped, as it was asked to.
    Stopped,
}

impl Metrics {
    /// What runs now, by environment, and whether the environment's scheduler is connected.
    pub fn set_running<'a>(
        &self,
        slots: u32,
        environments: impl IntoIterator<Item = (&'a str, bool, BTreeMap<Phase, u64>)>,
    ) {
        let mut counts = self.counts();
        counts.slots = slots;
        counts.running.clear();
        for (name, connected, phases) in environments {
            counts.connected.insert(name.to_owned(), connected);
            for (phase, running) in phases {
                counts.running.insert((name.to_owned(), phase_name(phase)), running);
            }
        }
    }

    /// An attempt ended.
    pub fn count_end(&self, environment: &str, ended: Ended<'_>) {
        let mut counts = self.counts();
        let result = match ended {
            Ended::Completed(outcome) => {
                counts.audio_seconds += outcome.audio_seconds;
                for timing in &outcome.timings {
                    let (intervals, seconds) = counts.phases.entry(timing.phase.clone()).or_default();
                    *intervals += 1;
                    *seconds += timing.end_ms.as_secs_f64() - timing.start_ms.as_secs_f64();
                }
                "completed".to_owned()
            }
            Ended::Failed(code) => {
                let code = serde_json::to_value(code).unwrap_or_default();
                code.as_str().unwrap_or("failed").to_owned()
            }
            Ended::Stopped => "stopped".to_owned(),
        };
        *counts.ended.entry((environment.to_owned(), result)).or_default() += 1;
    }

    /// Everything in Prometheus' text format.
    pub fn render(&self, inference: &Inference, uploader: &Uploader) -> String {
        let mut page = Exposition::default();
        self.counts().render(&mut page);
        let (windows, busy) = inference.windows_restored();
        page.gauge(
            "inference_backlog_seconds",
            "Expected seconds of inference left.",
            inference.backlog_seconds(),
        );
        page.gauge(
            "inference_windows_waiting",
            "Windows that wait for the model.",
            inference.windows_waiting() as f64,
        );
        page.gauge(
            "inference_real_time_factor",
            "Seconds of work per second of audio of one channel, with the sampler flash.",
            inference.real_time_factor(Sampler::Flash),
        );
        page.gauge(
            "inference_pro_real_time_factor",
            "Seconds of work per second of audio of one channel, with the sampler pro.",
            inference.real_time_factor(Sampler::Pro),
        );
        page.counter("inference_windows_total", "Windows restored.", windows as f64);
        page.counter("inference_busy_seconds_total", "Time that the model worked.", busy.as_secs_f64());
        let uploads = uploader.gauges();
        page.gauge("uploads_limit", "Uploads that may run at once.", uploads.limit as f64);
        page.gauge("uploads_running", "Uploads that run.", uploads.running as f64);
        page.gauge("uploads_waiting", "Uploads that wait.", uploads.waiting as f64);
        if let Some(link) = uploader.link_report() {
            page.gauge("uplink_bytes_per_second", "Measured speed of uploads.", link.upload_bytes_per_second);
            page.gauge(
                "downlink_bytes_per_second",
                "Measured speed of downloads.",
                link.download_bytes_per_second,
            );
        }
        if let Some(memory) = resident_bytes() {
            page.gauge("memory_resident_bytes", "Resident memory of the worker.", memory as f64);
        }
        if let Some(descriptors) = crate::descriptors::open_count() {
            page.gauge("descriptors_open", "Open descriptors of the worker.", descriptors as f64);
        }
        page.into_text()
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        // Nothing panics while it is held; if something did, a number is off.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counts {
    fn render(&self, page: &mut Exposition) {
        page.gauge("slots", "Jobs at once at most.", f64::from(self.slots));
        page.family("jobs_running", "gauge", "Attempts that run.");
        for ((environment, phase), running) in &self.running {
            page.sample("jobs_running", &[("environment", environment), ("phase", phase)], *running as f64);
        }
        page.family("connected", "gauge", "Whether the scheduler is connected.");
        for (environment, connected) in &self.connected {
            page.sample("connected", &[("environment", environment)], f64::from(u8::from(*connected)));
        }
        page.family("jobs_ended_total", "counter", "Attempts that ended, by result.");
        for ((environment, result), ended) in &self.ended {
            page.sample(
                "jobs_ended_total",
                &[("environment", environment), ("result", result)],
                *ended as f64,
            );
        }
        page.family("phase_seconds", "summary", "Time of completed attempts in each phase.");
        for (phase, (intervals, seconds)) in &self.phases {
            page.sample("phase_seconds_sum", &[("phase", phase)], *seconds);
            page.sample("phase_seconds_count", &[("phase", phase)], *intervals as f64);
        }
        page.counter("audio_seconds_total", "Audio of completed attempts.", self.audio_seconds);
    }
}

fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Downloading => "downloading",
        Phase::PreparingAudio => "preparing_audio",
        Phase::Restoring => "restoring",
        Phase::Publishing => "publishing",
    }
}

/// Memory of this process, where the system says it without being asked through C.
fn resident_bytes() -> Option<u64> {
    status_bytes("VmRSS:")
}

/// The most memory that this process ever had.
pub fn peak_memory_bytes() -> Option<u64> {
    #[cfg(target_os = "macos")]
    {
        let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: the pointer is valid for one rusage, which getrusage fills; zeros are a valid one too.
        let usage = unsafe {
            if libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) != 0 {
                return None;
            }
            usage.assume_init()
        };
        // Bytes on macOS (getrusage(2)).
        u64::try_from(usage.ru_maxrss).ok()
    }
    #[cfg(not(target_os = "macos"))]
    status_bytes("VmHWM:")
}

fn status_bytes(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared_protocol::{DurationMs, PhaseTiming};

    #[test]
    fn what_runs_and_what_ended_is_told_with_its_labels() {
        let metrics = Metrics::default();
        let phases = BTreeMap::from([(Phase::Restoring, 2)]);
        metrics.set_running(6, [("production", true, phases), ("dev", false, BTreeMap::new())]);
        let timing = |start: u64, end: u64| PhaseTiming {
            phase: "inference".into(),
            start_ms: DurationMs(start),
            end_ms: DurationMs(end),
        };
        let outcome = JobOutcome {
            files: vec![],
            hls_segments: 0,
            audio_seconds: 60.0,
            channels: 1,
            real_time_factor: 0.03,
            timings: vec![timing(100, 1_100), timing(2_000, 2_500)],
        };
        metrics.count_end("production", Ended::Completed(&outcome));
        metrics.count_end("production", Ended::Failed(FailureCode::DiskFull));
        let mut page = Exposition::default();
        metrics.counts().render(&mut page);
        let text = page.into_text();
        for line in [
            "# TYPE minifleet_worker_jobs_running gauge",
            "minifleet_worker_jobs_running{environment=\"production\",phase=\"restoring\"} 2",
            "minifleet_worker_connected{environment=\"dev\"} 0",
            "minifleet_worker_jobs_ended_total{environment=\"production\",result=\"completed\"} 1",
            "minifleet_worker_jobs_ended_total{environment=\"production\",result=\"disk_full\"} 1",
            "minifleet_worker_phase_seconds_sum{phase=\"inference\"} 1.5",
            "minifleet_worker_phase_seconds_count{phase=\"inference\"} 2",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
        }
    }
}
