//! One worker with one slot for two schedulers.

use conformance::harness::{Api, Edge, Keys, Uplink, UplinkConditions, WorkerProcess, WorkerSetup, media};
use serde_json::{Value, json};
use std::time::Duration;

const JOB_PATIENCE: Duration = Duration::from_secs(120);

/// The worker, with its second scheduler behind this line.
fn start(production: &Edge, dev: &Edge, line: UplinkConditions) -> (WorkerProcess, Uplink) {
    let uplink = Uplink::start(dev.port(), line);
    let worker = WorkerSetup::new("mini-1")
        .environment("production", &production.origin())
        .environment("dev", &uplink.origin())
        .start_connected(production);
    worker.wait_until_connected(dev);
    (worker, uplink)
}

fn submit(api: &Api, upload: &str) -> String {
    let body = json!({ "uploadId": upload, "outputs": ["mp3"] });
    api.post("/v1/jobs", &body).expect(201).json()["jobId"].as_str().unwrap().to_owned()
}

fn completed(api: &Api, job: &str) -> Value {
    api.wait_for_within(job, "completed", JOB_PATIENCE)
}

fn tone(seconds: u32) -> Vec<u8> {
    let source = format!("sine=frequency=300:sample_rate=48000:duration={seconds}");
    media::ffmpeg(&["-f", "lavfi", "-i", &source, "-f", "flac", "-"])
}

#[test]
fn a_freed_slot_goes_to_production_though_dev_waited_longer() {
    let (production, dev) = (Edge::start(), Edge::start());
    let _worker = start(&production, &dev, UplinkConditions::default());
    let (ours, theirs) = (production.api(Keys::ACME), dev.api(Keys::ACME));
    let recording = tone(20);
    let (here, there) = (ours.upload("a.flac", &recording), theirs.upload("b.flac", &recording));
    let first = submit(&ours, &here);
    ours.wait_for(&first, "running");
    let waiting = submit(&theirs, &there);
    let second = submit(&ours, &here);
    let second = completed(&ours, &second);
    let waiting = completed(&theirs, &waiting);
    // Two clocks, but of one machine.
    assert!(
        waiting["startedAtMs"].as_u64() >= second["startedAtMs"].as_u64(),
        "production first: {second}\n{waiting}"
    );
    assert_eq!((&second["attempt"], &waiting["attempt"]), (&json!(1), &json!(1)), "nobody was turned down");
}

#[test]
fn when_both_give_out_the_last_slot_one_is_turned_down_and_loses_no_try() {
    let (production, dev) = (Edge::start(), Edge::start());
    // What dev hears of the worker is a second old, so it gives out a slot that is taken.
    let far = UplinkConditions { round_trip: Duration::from_secs(2), ..UplinkConditions::default() };
    let (worker, _uplink) = start(&production, &dev, far);
    let (ours, theirs) = (production.api(Keys::ACME), dev.api(Keys::ACME));
    let recording = tone(20);
    let (here, there) = (ours.upload("a.flac", &recording), theirs.upload("b.flac", &recording));
    let taken = submit(&ours, &here);
    let turned_down = submit(&theirs, &there);
    let taken = completed(&ours, &taken);
    let turned_down = completed(&theirs, &turned_down);
    assert_eq!(taken["attempt"], 1, "{taken}\n{}", worker.log());
    assert_eq!(turned_down["attempt"], 2, "{turned_down}\n{}", worker.log());
    let starts = worker.log_lines("the attempt starts").len();
    assert_eq!(starts, 2, "each ran once:\n{}", worker.log());
}
