//! The edge's page for Prometheus (text format 0.0.4): queue, workers, webhooks, what the object uses, and how long the phases of
//! recent jobs took. The worker has a page of its own.

use std::fmt::{Arguments, Write};

use super::admin::view::{QueueDetail, WorkerList};
use super::view::{JobView, UsageView};
use super::webhooks::view::WebhookView;

/// Media type of the page.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Jobs that the phases are taken from: those that were completed last.
pub const RECENT_JOBS: u32 = 200;

/// The quantiles of a phase that are shown.
const QUANTILES: [(f64, &str); 3] = [(0.5, "0.5"), (0.9, "0.9"), (0.99, "0.99")];

/// What every name begins with.
const PREFIX: &str = "minifleet_";

/// What the page is made of.
#[derive(Debug)]
pub struct Facts<'a> {
    /// The queue.
    pub queue: &'a QueueDetail,
    /// The workers.
    pub workers: &'a WorkerList,
    /// The webhooks.
    pub webhooks: &'a [WebhookView],
    /// What the scheduler's object has used since it was made.
    pub usage: &'a UsageView,
    /// The jobs that were completed last.
    pub recent: &'a [JobView],
}

#[derive(Debug, Default)]
struct Page(String);

impl Page {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        self.line(format_args!("# HELP {PREFIX}{name} {help}\n# TYPE {PREFIX}{name} {kind}\n"));
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        let labels: Vec<String> =
            labels.iter().map(|(label, text)| format!("{label}=\"{}\"", escaped(text))).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        self.line(format_args!("{PREFIX}{name}{labels} {value}\n"));
    }

    fn one(&mut self, name: &str, kind: &str, help: &str, value: f64) {
        self.family(name, kind, help);
        self.sample(name, &[], value);
    }

    fn line(&mut self, line: Arguments<'_>) {
        self.0.write_fmt(line).expect("writing to a String cannot fail");
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// The page.
pub fn render(facts: &Facts<'_>) -> String {
    let mut page = Page::default();
    queue(&mut page, facts.queue);
    workers(&mut page, facts.workers);
    webhooks(&mut page, facts.webhooks);
    usage(&mut page, facts.usage);
    recent(&mut page, facts.recent);
    page.0
}

fn queue(page: &mut Page, queue: &QueueDetail) {
    let statistics = &queue.statistics;
    page.family("jobs", "gauge", "Live jobs by state.");
    for (state, count) in [
        ("queued", statistics.counts.queued),
        ("offered", statistics.counts.offered),
        ("running", statistics.counts.running),
    ] {
        page.sample("jobs", &[("state", state)], count as f64);
    }
    page.one("jobs_limit", "gauge", "Live jobs at most.", queue.limit as f64);
    page.one(
        "jobs_scheduled",
        "gauge",
        "Waiting jobs that have a start of their own.",
        statistics.scheduled as f64,
    );
    page.one(
        "jobs_late",
        "gauge",
        "Waiting jobs expected to start later than the target.",
        statistics.late_jobs as f64,
    );
    let oldest = statistics.oldest_wait_ms.as_secs_f64();
    page.one("oldest_wait_seconds", "gauge", "How long the longest waiting job has waited.", oldest);
    if let Some(seconds) = statistics.seconds_to_drain {
        page.one(
            "seconds_to_drain",
            "gauge",
            "Expected inference of all waiting jobs, shared out evenly.",
            seconds,
        );
    }
    page.one(
        "workers_wanted",
        "gauge",
        "Workers more that would bring late jobs to zero.",
        statistics.workers_wanted as f64,
    );
    page.one(
        "queue_paused",
        "gauge",
        "1 while nothing is offered to anybody.",
        f64::from(u8::from(queue.paused)),
    );
    page.family("tenant_jobs", "gauge", "Live jobs of the tenants with the most waiting ones.");
    for tenant in &queue.tenants {
        let name = tenant.tenant.as_str();
        page.sample("tenant_jobs", &[("tenant", name), ("place", "queued")], tenant.queued as f64);
        page.sample("tenant_jobs", &[("tenant", name), ("place", "worker")], tenant.with_workers as f64);
    }
}

fn workers(page: &mut Page, workers: &WorkerList) {
    let flag = |is: bool| f64::from(u8::from(is));
    page.family("worker_connected", "gauge", "1 while the worker has a connection.");
    for worker in &workers.workers {
        page.sample("worker_connected", &[("worker", worker.worker_id.as_str())], flag(worker.connected));
    }
    page.family("worker_held_back", "gauge", "1 while nothing new is offered to the worker.");
    for worker in &workers.workers {
        page.sample("worker_held_back", &[("worker", worker.worker_id.as_str())], flag(worker.held_back));
    }
    page.family("worker_jobs", "gauge", "Jobs that the worker has.");
    for worker in &workers.workers {
        page.sample("worker_jobs", &[("worker", worker.worker_id.as_str())], worker.jobs.len() as f64);
    }
    let reports = || workers.workers.iter().filter_map(|w| Some((w.worker_id.as_str(), w.report.as_ref()?)));
    page.family("worker_slots", "gauge", "Jobs at once at most.");
    for (worker, report) in reports() {
        page.sample("worker_slots", &[("worker", worker)], f64::from(report.slots));
    }
    page.family(
        "worker_backlog_seconds",
        "gauge",
        "Seconds until an inference that is queued now would start.",
    );
    for (worker, report) in reports() {
        page.sample("worker_backlog_seconds", &[("worker", worker)], report.backlog_seconds);
    }
    page.family("worker_failures_in_a_row", "gauge", "Failures since the worker's last success or bench.");
    for (worker, report) in reports() {
        page.sample("worker_failures_in_a_row", &[("worker", worker)], f64::from(report.failures_in_a_row));
    }
}

fn webhooks(page: &mut Page, webhooks: &[WebhookView]) {
    page.family("webhook_waiting", "gauge", "Events that wait for the webhook or are being sent.");
    for webhook in webhooks {
        page.sample("webhook_waiting", &[("webhook", webhook.webhook_id.as_str())], webhook.waiting as f64);
    }
    page.family("webhook_dead_letters", "gauge", "Events that could not be delivered and are kept.");
    for webhook in webhooks {
        let labels = [("webhook", webhook.webhook_id.as_str())];
        page.sample("webhook_dead_letters", &labels, webhook.dead_letters as f64);
    }
    page.family(
        "webhook_events_total",
        "counter",
        "What became of the webhook's events since the scheduler's last restart.",
    );
    for webhook in webhooks {
        let counters = webhook.counters;
        for (outcome, count) in [
            ("delivered", counters.delivered),
            ("failed_attempt", counters.failed_attempts),
            ("coalesced", counters.coalesced),
            ("overtaken", counters.overtaken),
            ("undeliverable", counters.undeliverable),
            ("overflowed", counters.overflowed),
        ] {
            let labels = [("webhook", webhook.webhook_id.as_str()), ("outcome", outcome)];
            page.sample("webhook_events_total", &labels, count as f64);
        }
    }
}

fn usage(page: &mut Page, usage: &UsageView) {
    for (name, help, value) in [
        ("object_requests_total", "Requests to the scheduler's object since it was made.", usage.requests),
        ("object_frames_in_total", "Frames from workers.", usage.frames_in),
        ("object_frames_out_total", "Frames to workers.", usage.frames_out),
        ("object_alarms_total", "Times that its alarm went off.", usage.alarms),
        ("object_rows_read_total", "Rows read, those of indexes included.", usage.rows_read),
        ("object_rows_written_total", "Rows written, those of indexes included.", usage.rows_written),
    ] {
        page.one(name, "counter", help, value as f64);
    }
    page.one(
        "object_database_bytes",
        "gauge",
        "Size of the scheduler's database.",
        usage.database_bytes as f64,
    );
    page.one("object_memory_bytes", "gauge", "Memory of the Wasm instance.", usage.memory_bytes as f64);
}

/// Each phase over the recent jobs. Within one job time in which a phase ran several times at once counts once.
fn recent(page: &mut Page, jobs: &[JobView]) {
    page.one("recent_jobs", "gauge", "Completed jobs that the following is taken from.", jobs.len() as f64);
    let mut phases: std::collections::BTreeMap<&str, Vec<f64>> = std::collections::BTreeMap::new();
    for job in jobs {
        if let Some(started) = job.started_at_ms {
            phases.entry("queue").or_default().push((started - job.created_at_ms).as_secs_f64());
        }
        if let Some(first) = job.first_audio_at_ms {
            phases.entry("first_audio").or_default().push((first - job.created_at_ms).as_secs_f64());
        }
        if let Some(ended) = job.ended_at_ms {
            phases.entry("whole").or_default().push((ended - job.created_at_ms).as_secs_f64());
        }
        let mut of_job: std::collections::BTreeMap<&str, Vec<(u64, u64)>> = std::collections::BTreeMap::new();
        for timing in &job.timings {
            of_job.entry(&timing.phase).or_default().push((timing.start_ms.0, timing.end_ms.0));
        }
        for (phase, spans) in of_job {
            phases
                .entry(phase)
                .or_default()
                .push(super::projects::timeline::covered_spans(spans).as_secs_f64());
        }
    }
    page.family("recent_phase_seconds", "gauge", "How long a phase took in recent jobs, by quantile.");
    for (phase, mut seconds) in phases {
        seconds.sort_by(f64::total_cmp);
        for (quantile, name) in QUANTILES {
            let at = ((seconds.len() as f64 * quantile).ceil() as usize).clamp(1, seconds.len()) - 1;
            if let Some(value) = seconds.get(at) {
                page.sample("recent_phase_seconds", &[("phase", phase), ("quantile", name)], *value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_break_out_of_its_label() {
        let mut page = Page::default();
        page.sample("jobs", &[("tenant", "a\"b\\c\nd")], 1.5);
        assert_eq!(page.0, "minifleet_jobs{tenant=\"a\\\"b\\\\c\\nd\"} 1.5\n");
    }

    #[test]
    fn a_phase_that_ran_twice_at_once_counts_once() {
        let spans = vec![(0, 10), (5, 12), (20, 30)];
        assert_eq!(super::super::projects::timeline::covered_spans(spans).0, 22);
    }
}
