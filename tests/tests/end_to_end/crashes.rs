//! kill -9 in the middle of a job.

use conformance::harness::{Api, Edge, Keys, PATIENCE, WorkerProcess, media, start_restore, until};
use serde_json::Value;
use std::time::Duration;

use crate::long;

/// What a job takes at most on a busy machine.
const JOB_PATIENCE: Duration = Duration::from_secs(240);

/// Waits until the newest job has published its first audio and is still in the middle of it.
fn wait_for_the_middle(api: &Api) -> Value {
    until("a job to be in its middle", PATIENCE * 3, || {
        let jobs = api.get("/v1/jobs").expect(200).json();
        let job = jobs["jobs"].as_array()?.first()?.clone();
        assert_ne!(job["state"], "completed", "too quick to be killed in its middle: {job}");
        (job["state"] == "running" && job["publishedSeconds"].as_f64() > Some(0.0)).then_some(job)
    })
}

fn assert_whole(result: &conformance::harness::CommandResult, seconds: f64) {
    assert_eq!(result.code, 0, "{}\n{}", result.document, result.messages);
    let restored = &result.document["results"][0];
    let wav =
        restored["files"].as_array().unwrap().iter().find(|file| file["name"] == "restored.wav").unwrap();
    let samples = media::decode(wav["path"].as_str().unwrap().as_ref(), 48_000).len();
    assert!((samples as f64 / 48_000.0 - seconds).abs() < 0.01, "{samples} samples");
    let stream: f64 =
        media::ffprobe(restored["listen"]["url"].as_str().unwrap(), "format=duration").parse().unwrap();
    assert!((stream - seconds).abs() < 0.2, "{stream}");
}

#[test]
fn a_job_ends_once_though_the_edge_is_killed_in_its_middle() {
    let mut edge = Edge::start();
    let worker = WorkerProcess::start(&edge, "mini-1");
    let output = tempfile::tempdir().unwrap();
    let command = start_restore(&edge.origin(), &long("60s"), output.path());
    let job = wait_for_the_middle(&edge.api(Keys::ACME));
    edge.kill();
    std::thread::sleep(Duration::from_secs(2));
    edge.boot();
    let result = command.wait();
    assert_whole(&result, 60.0);
    let api = edge.api(Keys::ACME);
    let ended = api.job(job["jobId"].as_str().unwrap());
    assert_eq!(
        (&ended["state"], &ended["attempt"]),
        (&"completed".into(), &1.into()),
        "{ended}\n{}",
        worker.log()
    );
    let jobs = api.get("/v1/jobs").expect(200).json();
    assert_eq!(jobs["jobs"].as_array().unwrap().len(), 1, "one job, done once");
}

#[test]
fn a_job_ends_though_its_worker_is_killed_in_its_middle() {
    let edge = Edge::start();
    let mut worker = WorkerProcess::start(&edge, "mini-1");
    let output = tempfile::tempdir().unwrap();
    let command = start_restore(&edge.origin(), &long("60s"), output.path());
    let api = edge.api(Keys::ACME);
    let job = wait_for_the_middle(&api);
    let id = job["jobId"].as_str().unwrap();
    worker.kill();
    worker.start_again();
    api.wait_for_within(id, "completed", JOB_PATIENCE);
    assert_whole(&command.wait(), 60.0);
    let ended = api.job(id);
    assert_eq!(ended["attempt"], 2, "{ended}");
}

#[test]
fn another_worker_takes_over_from_one_that_was_killed() {
    let edge = Edge::start();
    let mut first = WorkerProcess::start(&edge, "mini-1");
    let output = tempfile::tempdir().unwrap();
    let command = start_restore(&edge.origin(), &long("60s"), output.path());
    let api = edge.api(Keys::ACME);
    let job = wait_for_the_middle(&api);
    let _second = WorkerProcess::start(&edge, "mini-2");
    first.kill();
    api.wait_for_within(job["jobId"].as_str().unwrap(), "completed", JOB_PATIENCE);
    assert_whole(&command.wait(), 60.0);
    assert_eq!(api.job(job["jobId"].as_str().unwrap())["worker"], "mini-2");
}
