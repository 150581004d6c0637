//! What one whole job costs, in what the platform bills: requests to the scheduler's object, frames, alarms, rows. Counted by
//! the object itself, from the platform's own cursors. A worker with the real session brain takes the jobs; one
//! client submits, and looks once at the finished job and once at its files.

use conformance::harness::{Api, Edge, EdgeOptions, FleetLog, JobPlan, Keys, SessionWorker, until};
use edge::api::{call::Call, view::UsageView};
use serde_json::{Value, json};
use std::time::Duration;

use super::report::{Options, Report};

/// Frames from a socket that are billed as one request.
const FRAMES_PER_REQUEST: f64 = 20.0;

const MAX_ROWS: f64 = 12.0;
const MAX_REQUESTS: f64 = 6.0;

/// A minute of audio in segments of four seconds, restored in two and a half.
const MINUTE: JobPlan = JobPlan { lasts: Duration::from_millis(2_500), segments: 15 };

/// What a stretch of time, or one job of it, has used.
#[derive(Debug, Clone, Copy, Default)]
struct Used {
    requests: f64,
    frames_in: f64,
    frames_out: f64,
    alarms: f64,
    alarms_set: f64,
    rows_read: f64,
    rows_written: f64,
}

impl Used {
    /// Between two readings, of which the second was a request itself.
    fn between(before: UsageView, after: UsageView) -> Self {
        let less = |after: u64, before: u64| after.saturating_sub(before) as f64;
        Self {
            requests: less(after.requests, before.requests) - 1.0,
            frames_in: less(after.frames_in, before.frames_in),
            frames_out: less(after.frames_out, before.frames_out),
            alarms: less(after.alarms, before.alarms),
            alarms_set: less(after.alarms_set, before.alarms_set),
            rows_read: less(after.rows_read, before.rows_read),
            rows_written: less(after.rows_written, before.rows_written),
        }
    }

    fn per(self, count: f64) -> Self {
        Self {
            requests: self.requests / count,
            frames_in: self.frames_in / count,
            frames_out: self.frames_out / count,
            alarms: self.alarms / count,
            alarms_set: self.alarms_set / count,
            rows_read: self.rows_read / count,
            rows_written: self.rows_written / count,
        }
    }

    fn billed_requests(self) -> f64 {
        self.requests + self.alarms + self.frames_in / FRAMES_PER_REQUEST
    }

    fn billed_rows(self) -> f64 {
        self.rows_written + self.alarms_set
    }

    fn row(self, what: &str) -> Vec<String> {
        let cells = [
            self.requests,
            self.frames_in,
            self.frames_out,
            self.alarms,
            self.billed_requests(),
            self.rows_read,
            self.rows_written,
            self.alarms_set,
            self.billed_rows(),
        ];
        std::iter::once(what.to_owned()).chain(cells.map(|cell| format!("{cell:.2}"))).collect()
    }

    fn json(self, what: &str) -> Value {
        json!({
            "what": what,
            "requests": self.requests,
            "framesIn": self.frames_in,
            "framesOut": self.frames_out,
            "alarms": self.alarms,
            "alarmsSet": self.alarms_set,
            "rowsRead": self.rows_read,
            "rowsWritten": self.rows_written,
        })
    }
}

/// Measures.
pub fn run(options: &Options) -> Report {
    let jobs = if options.quick { 3 } else { 10 };
    let edge = Edge::start_with(EdgeOptions { movable_wall_clock: true, ..EdgeOptions::default() });
    let api = edge.api(Keys::ACME);
    let upload = api.upload("talk.wav", b"not really audio");
    let _worker = SessionWorker::start(&edge, "mini-1", 1, 1, MINUTE, FleetLog::default());
    // The first one pays for what is there once.
    one_job(&api, &upload, "warm-up");
    let before = edge.usage();
    let begun = std::time::Instant::now();
    for number in 0..jobs {
        one_job(&api, &upload, &format!("job-{number}"));
    }
    let seconds = begun.elapsed().as_secs_f64();
    let ran = Used::between(before, edge.usage()).per(f64::from(jobs));
    // Hours later their receipts are thrown away.
    let before = edge.usage();
    edge.set_wall_clock_ahead(Duration::from_secs(3 * 3600));
    edge.call_scheduler(&[Call::Poke]);
    let mut pruned = Used::between(before, edge.usage());
    (pruned.requests, pruned.alarms_set) = (0.0, 0.0);
    let pruned = pruned.per(f64::from(jobs) + 1.0);
    let idle = idle();
    let rows = ran.billed_rows() + pruned.billed_rows();
    let requests = ran.billed_requests();
    let ran_as = format!("a job, of {:.1} s", seconds / f64::from(jobs));
    let table =
        [(ran_as.as_str(), ran), ("its receipt, 2 h later", pruned), ("a connected worker, a minute", idle)];
    Report {
        columns: vec![
            "what",
            "requests",
            "frames in",
            "frames out",
            "alarms",
            "billed requests",
            "rows read",
            "rows written",
            "alarm set",
            "billed rows",
        ],
        rows: table.iter().map(|(what, used)| used.row(what)).collect(),
        runs: table.iter().map(|(what, used)| used.json(what)).collect(),
        figure: format!("{rows:.1} rows written and {requests:.1} requests billed for one job"),
        goal: "12 rows written and 6 requests",
        met: rows <= MAX_ROWS && requests <= MAX_REQUESTS,
    }
}

fn one_job(api: &Api, upload: &str, key: &str) {
    let body = json!({ "uploadId": upload, "outputs": ["hls", "wav"] });
    let job = api.post_with("/v1/jobs", &[("Idempotency-Key", key)], &body).expect(201).json();
    let id = job["jobId"].as_str().expect("a job has an id").to_owned();
    // Without looking at it meanwhile: how often a client looks is the client's affair.
    std::thread::sleep(MINUTE.lasts + Duration::from_millis(300));
    let mut looks = 0;
    until("the job's end", Duration::from_secs(30), || {
        looks += 1;
        (api.job(&id)["state"] == "completed").then_some(())
    });
    if looks > 1 {
        eprintln!("{id} took longer than planned: {looks} looks instead of one");
    }
    api.get(&format!("/v1/jobs/{id}/files")).expect(200);
}

/// A minute in which a worker is connected and nothing happens, from a part of it.
fn idle() -> Used {
    let edge = Edge::start();
    let _worker = SessionWorker::start(&edge, "mini-1", 1, 1, MINUTE, FleetLog::default());
    until("the worker", Duration::from_secs(30), || (edge.usage().frames_in >= 2).then_some(()));
    let before = edge.usage();
    std::thread::sleep(Duration::from_secs(30));
    Used::between(before, edge.usage()).per(0.5)
}
