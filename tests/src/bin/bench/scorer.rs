//! What scoring costs the jobs: the same jobs by a worker that scores and by one that does not, in turn, and the interval of
//! the paired difference.

use super::report::{Options, Report, median, median_interval};
use conformance::{
    harness::{Edge, Keys, PATIENCE, WorkerSetup, until},
    recordings::RecordingSet,
};
use serde_json::{Value, json};

struct Run {
    scored: bool,
    seconds: f64,
}

/// Measures.
pub fn run(options: &Options) -> Report {
    let pairs = if options.quick { 3 } else { 15 };
    let set = RecordingSet::ready().unwrap_or_else(|error| panic!("{error}"));
    let recording = conformance::harness::media::to_flac(&set.long("60s"));
    let sites = [true, false].map(|scored| {
        let edge = Edge::start();
        let setup = WorkerSetup::new("bench").environment("bench", &edge.origin());
        let setup = if scored { setup.scores() } else { setup };
        let worker = setup.start_connected(&edge);
        (edge, worker, scored)
    });
    let mut differences = vec![];
    let mut runs: Vec<Run> = vec![];
    for pair in 0..=pairs {
        let mut order: Vec<_> = sites.iter().collect();
        if pair % 2 == 1 {
            order.reverse();
        }
        let both: Vec<Run> =
            order.into_iter().map(|(edge, _, scored)| one_job(edge, *scored, &recording)).collect();
        // The first jobs meet a cold system.
        if pair > 0 {
            let of = |scored| both.iter().find(|run| run.scored == scored).map_or(0.0, |run| run.seconds);
            differences.push(of(true) - of(false));
            runs.extend(both);
        }
    }
    let of = |scored| {
        median(&runs.iter().filter(|run| run.scored == scored).map(|run| run.seconds).collect::<Vec<f64>>())
    };
    let (low, high) = median_interval(&differences);
    let share = 100.0 * median(&differences) / of(false);
    Report {
        columns: vec!["worker", "a job of 60 s is complete after"],
        rows: vec![
            vec!["scores".to_owned(), format!("{:.2} s", of(true))],
            vec!["does not".to_owned(), format!("{:.2} s", of(false))],
        ],
        figure: format!(
            "median difference of {} pairs {:+.3} s ({share:+.1} %), 95 % interval {low:+.3} to {high:+.3} s",
            differences.len(),
            median(&differences),
        ),
        runs: runs.iter().map(|run| json!({ "scored": run.scored, "seconds": run.seconds })).collect(),
        goal: "no difference: the interval holds 0, or is within 2 % of the job",
        met: (low <= 0.0 && high >= 0.0) || high.abs().max(low.abs()) <= 0.02 * of(false),
    }
}

/// A job, and its scores awaited, so that they do not disturb the next one.
fn one_job(edge: &Edge, scored: bool, recording: &[u8]) -> Run {
    let api = edge.api(Keys::ACME);
    let upload = api.upload("talk.flac", recording);
    let body = json!({ "uploadId": upload, "outputs": ["hls", "mp3"] });
    let job = api.post("/v1/jobs", &body).expect(201).json();
    let id = job["jobId"].as_str().expect("a job has an id").to_owned();
    let done = api.wait_for_within(&id, "completed", PATIENCE * 10);
    if scored {
        until("the scores", PATIENCE * 10, || {
            let files: Value = api.get(&format!("/v1/jobs/{id}/files")).expect(200).json();
            files["quality"].is_object().then_some(())
        });
    }
    let time = |name: &str| done[name].as_u64().unwrap_or(0);
    Run { scored, seconds: (time("endedAtMs") - time("createdAtMs")) as f64 / 1_000.0 }
}
