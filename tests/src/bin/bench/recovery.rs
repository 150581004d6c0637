//! How soon things are well again: after a worker vanished, after the edge was killed under running jobs, and for a fleet
//! that lost its scheduler at one moment. Real sockets, the real session brain with its real pauses.

use conformance::harness::{
    Edge, FleetLog, JobPlan, Keys, ScriptedWorker, SessionWorker, WorkerEvent, until,
};
use serde_json::{Value, json};
use shared_protocol::{SchedulerMessage, limits::PING_INTERVAL};
use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use super::report::{Options, Report, median};

/// From a worker's last sign of life until its job is offered to another one.
const MAX_OFFER_SECONDS: f64 = 10.0;
/// Of a fleet's reconnects: the busiest second against the mean.
const MAX_PEAK: f64 = 3.0;

/// The slices in which reconnects are counted.
const SLICE: Duration = Duration::from_millis(500);

struct Found {
    rows: Vec<Vec<String>>,
    runs: Vec<Value>,
}

impl Found {
    fn add(&mut self, what: &str, figure: String, goal: &str, run: Value) {
        eprintln!("{what}: {figure}");
        self.rows.push(vec![what.to_owned(), figure, goal.to_owned()]);
        self.runs.push(json!({ "what": what, "found": run }));
    }
}

/// Measures.
pub fn run(options: &Options) -> Report {
    let repetitions = if options.quick { 1 } else { 5 };
    let (workers, jobs) = if options.quick { (20, 10) } else { (100, 50) };
    let mut found = Found { rows: vec![], runs: vec![] };
    let closed = vanished(repetitions, true, &mut found);
    let silent = vanished(repetitions, false, &mut found);
    let again = killed_under_jobs(jobs, &mut found);
    let peak = fleet_comes_back(workers, &mut found);
    let slowest = closed.max(silent);
    Report {
        columns: vec!["what", "figure", "goal"],
        rows: found.rows,
        runs: found.runs,
        figure: format!(
            "offered again after {slowest:.1} s, {again} run again, peak {peak:.1} times the mean"
        ),
        goal: "10 s, none, 3 times",
        met: slowest <= MAX_OFFER_SECONDS && again == 0 && peak <= MAX_PEAK,
    }
}

/// A worker vanishes with a job; another one is idle. Gives the longest time from the last sign of life to the other's offer.
fn vanished(repetitions: usize, closes: bool, found: &mut Found) -> f64 {
    let edge = Edge::start();
    let api = edge.api(Keys::ACME);
    let mut waits = Vec::new();
    for _ in 0..repetitions {
        let id = api.queue_job();
        let mut lost = ScriptedWorker::ready(&edge, "mini-lost", 1);
        lost.take_job();
        lost.expect_link_alive();
        let begun = Instant::now();
        let kept = if closes {
            lost.vanish();
            None
        } else {
            Some(lost)
        };
        let mut other = ScriptedWorker::ready(&edge, "mini-other", 1);
        let mut pinged = Instant::now();
        let again = loop {
            if pinged.elapsed() >= Duration::from_millis(PING_INTERVAL.0) {
                pinged = Instant::now();
                other.ping();
            }
            match other.receive_within(Duration::from_millis(100)) {
                Ok(Some(SchedulerMessage::Assign(assign))) => break assign,
                Ok(_) if begun.elapsed() < Duration::from_secs(60) => {}
                other => panic!("nobody gets the job: {other:?}"),
            }
        };
        waits.push(begun.elapsed().as_secs_f64());
        assert_eq!(again.job_id.as_str(), id, "there is no other job");
        other.accept(&again);
        other.complete(&again);
        other.close();
        drop(kept);
    }
    let slowest = waits.iter().copied().fold(0.0, f64::max);
    let how = if closes { "its connection ended" } else { "its connection stayed open, as after SIGSTOP" };
    found.add(
        &format!("last sign of life to the next offer; {how}"),
        format!("{:.2} s, at most {slowest:.2} s", median(&waits)),
        "10 s",
        json!(waits),
    );
    slowest
}

/// The edge is killed while so many jobs run, and booted again. Gives how many of them were run again.
fn killed_under_jobs(jobs: usize, found: &mut Found) -> usize {
    let mut edge = Edge::start();
    let api = edge.api(Keys::ACME);
    let upload = api.upload("talk.wav", b"not really audio");
    let plan = JobPlan { lasts: Duration::from_secs(25), segments: 20 };
    let log = FleetLog::default();
    let begun = Instant::now();
    let _fleet: Vec<SessionWorker> = (0..jobs.div_ceil(5))
        .map(|n| SessionWorker::start(&edge, &format!("mini-{n}"), 5, n as u64, plan, log.of_worker(n)))
        .collect();
    for _ in 0..jobs {
        api.post("/v1/jobs", &json!({ "uploadId": upload })).expect(201);
    }
    let starts = || log.times(begun, |event| matches!(event, WorkerEvent::Started(..))).len();
    until("all to run", Duration::from_secs(60), || (starts() >= jobs).then_some(()));
    edge.kill();
    std::thread::sleep(Duration::from_secs(3));
    edge.boot();
    let ends = || log.times(begun, |event| matches!(event, WorkerEvent::Ended(..))).len();
    until("all to end", Duration::from_secs(120), || (ends() >= jobs).then_some(()));
    let api = edge.api(Keys::ACME);
    until("the scheduler to know", Duration::from_secs(60), || {
        let queue = api.get("/v1/status").expect(200).json();
        (queue["queue"]["running"] == 0 && queue["queue"]["queued"] == 0).then_some(())
    });
    let distinct: BTreeSet<String> = log
        .since(begun)
        .into_iter()
        .filter_map(|found| match found.event {
            WorkerEvent::Started(id, _) => Some(id.to_string()),
            _ => None,
        })
        .collect();
    let again = starts() - distinct.len();
    found.add(
        &format!("edge killed for 3 s under {jobs} running jobs: run again"),
        again.to_string(),
        "0",
        json!({ "started": starts(), "jobs": distinct.len() }),
    );
    again
}

/// A fleet loses its scheduler at one moment. Gives the busiest second of its reconnects against their mean.
fn fleet_comes_back(workers: usize, found: &mut Found) -> f64 {
    let mut edge = Edge::start();
    let plan = JobPlan { lasts: Duration::from_secs(1), segments: 0 };
    let log = FleetLog::default();
    let begun = Instant::now();
    let _fleet: Vec<SessionWorker> = (0..workers)
        .map(|n| {
            SessionWorker::start(&edge, &format!("mini-{n}"), 1, 7 * n as u64 + 1, plan, log.of_worker(n))
        })
        .collect();
    let greeted = |since| log.times(since, |event| *event == WorkerEvent::Greeted);
    until("the fleet", Duration::from_secs(60), || (greeted(begun).len() >= workers).then_some(()));
    // Their links have to last, or the first pause is not the shortest.
    std::thread::sleep(Duration::from_secs(11));
    let mut worst: f64 = 0.0;
    for away in [0, 10] {
        edge.kill();
        let killed = Instant::now();
        std::thread::sleep(Duration::from_secs(away));
        edge.boot();
        let booted = Instant::now();
        until("the fleet again", Duration::from_secs(60), || {
            (greeted(booted).len() >= workers).then_some(())
        });
        let back = greeted(booted);
        let knocks = log.times(killed, |event| *event == WorkerEvent::Knocked);
        let (peak, all) = peak(&back, booted);
        worst = worst.max(peak);
        let down = booted.duration_since(killed).as_secs_f64();
        found.add(
            &format!("{workers} workers after {down:.1} s without a scheduler: all ready again"),
            format!("{all:.1} s after its boot"),
            "",
            json!(seconds(&back, booted)),
        );
        found.add(
            "... busiest half second of their reconnects against the mean",
            format!("{peak:.1} times, {} attempts in all", knocks.len()),
            "3 times",
            json!(seconds(&knocks, killed)),
        );
        std::thread::sleep(Duration::from_secs(11));
    }
    worst
}

/// The busiest slice against the mean of all slices from `since` to the last one, and the seconds to the last one.
fn peak(times: &[Instant], since: Instant) -> (f64, f64) {
    let last = times.iter().max().map_or(Duration::ZERO, |last| last.duration_since(since));
    let slices = last.as_secs_f64() / SLICE.as_secs_f64();
    let mut counts = vec![0_u32; slices.ceil().max(1.0) as usize];
    for time in times {
        let slice = (time.duration_since(since).as_secs_f64() / SLICE.as_secs_f64()) as usize;
        if let Some(count) = counts.get_mut(slice) {
            *count += 1;
        }
    }
    let mean = times.len() as f64 / slices.max(1.0);
    (f64::from(counts.into_iter().max().unwrap_or(0)) / mean, last.as_secs_f64())
}

fn seconds(times: &[Instant], since: Instant) -> Vec<f64> {
    times.iter().map(|time| time.duration_since(since).as_secs_f64()).collect()
}
