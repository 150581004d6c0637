//! Stems, from the real worker to a client.

use conformance::harness::{
    Api, Edge, Keys, PATIENCE, Uplink, UplinkConditions, WorkerProcess, WorkerSetup, media, until,
};
use serde_json::{Value, json};
use std::time::Duration;

/// A worker behind a line on which every PUT takes a second, and that may swallow stems; and a job that the worker has completed
/// but for the stems.
fn stems_to_come(edge: &Edge, swallowed: u32) -> (WorkerProcess, Uplink, String) {
    let put = Duration::from_secs(1);
    let line = UplinkConditions { put_overhead: put..put, ..UplinkConditions::default() };
    let uplink = Uplink::start(edge.port(), line);
    uplink.swallow("/stems/", swallowed);
    let worker = WorkerSetup::new("mini-1").environment("test", &uplink.origin()).start_connected(edge);
    let api = edge.api(Keys::ACME);
    let source = "anoisesrc=d=4:c=pink:r=48000:a=0.1";
    let upload = api.upload("noise.flac", &media::ffmpeg(&["-f", "lavfi", "-i", source, "-f", "flac", "-"]));
    let job =
        api.post("/v1/jobs", &json!({ "uploadId": upload, "outputs": ["mp3", "stems"] })).expect(201).json();
    let id = job["jobId"].as_str().unwrap().to_owned();
    api.wait_for_within(&id, "completed", PATIENCE * 4);
    assert_eq!(stems(&api, &id)["state"], "waiting");
    (worker, uplink, id)
}

fn stems(api: &Api, job: &str) -> Value {
    api.get(&format!("/v1/jobs/{job}/files")).expect(200).json()["stems"].clone()
}

fn settled(api: &Api, job: &str) -> Value {
    until("what becomes of the stems", PATIENCE * 4, || {
        Some(stems(api, job)).filter(|stems| stems["state"] != "waiting")
    })
}

#[test]
fn a_worker_that_drains_makes_its_stems_before_it_ends() {
    let edge = Edge::start();
    let (mut worker, _uplink, job) = stems_to_come(&edge, 0);
    worker.signal("TERM");
    assert_eq!(worker.wait_for_end(PATIENCE * 4), Some(0));
    let stems = stems(&edge.api(Keys::ACME), &job);
    assert_eq!(stems["state"], "ready", "{stems}\n{}", worker.log());
    assert_eq!(stems["files"].as_array().map(Vec::len), Some(3 + 3 + 1));
}

#[test]
fn a_second_signal_ends_a_worker_at_once_and_its_stems_are_said_to_have_failed() {
    let edge = Edge::start();
    let (mut worker, _uplink, job) = stems_to_come(&edge, u32::MAX);
    worker.signal("TERM");
    until("the worker to drain", PATIENCE, || worker.log().contains("draining").then_some(()));
    worker.signal("TERM");
    assert_eq!(worker.wait_for_end(PATIENCE), Some(0));
    let stems = stems(&edge.api(Keys::ACME), &job);
    assert_eq!(
        (&stems["state"], &stems["failure"]["code"]),
        (&json!("failed"), &json!("worker_stopping")),
        "{stems}"
    );
    assert_eq!(edge.api(Keys::ACME).job(&job)["state"], "completed", "the job itself is what it was");
}

#[test]
fn stems_of_a_worker_that_was_killed_are_said_to_have_failed_as_soon_as_it_is_back() {
    let edge = Edge::start();
    let (mut worker, _uplink, job) = stems_to_come(&edge, u32::MAX);
    worker.kill();
    worker.start_again();
    let stems = settled(&edge.api(Keys::ACME), &job);
    assert_eq!(
        (&stems["state"], &stems["failure"]["code"]),
        (&json!("failed"), &json!("worker_lost")),
        "{stems}"
    );
    assert_eq!(edge.api(Keys::ACME).job(&job)["state"], "completed", "the job itself is what it was");
}

#[test]
fn speech_and_background_of_a_completed_job_follow_and_add_up_to_the_recording() {
    let edge = Edge::start();
    let _worker = WorkerProcess::start(&edge, "mini-1");
    let api = edge.api(Keys::ACME);
    let source = "anoisesrc=d=31:c=pink:r=48000:a=0.1";
    let recording = media::ffmpeg(&["-f", "lavfi", "-i", source, "-ac", "2", "-f", "flac", "pipe:1"]);
    let upload = api.upload("noise.flac", &recording);
    let job = api.post("/v1/jobs", &json!({ "uploadId": upload, "outputs": ["hls", "stems"] }));
    let id = job.expect(201).json()["jobId"].as_str().unwrap().to_owned();
    api.wait_for_within(&id, "completed", PATIENCE * 4);
    let stems = settled(&api, &id);
    assert_eq!(stems["state"], "ready", "{stems}");
    assert_eq!(stems["files"].as_array().map(Vec::len), Some(3 * 2 + 3 + 1), "{stems}");

    let folder = tempfile::tempdir().unwrap();
    let [speech, background, original] = ["speech", "background", "original"].map(|stem| {
        let path = folder.path().join(stem);
        let bytes = api.get(&format!("/v1/jobs/{id}/stems/{stem}.flac")).expect(200).body;
        std::fs::write(&path, bytes).unwrap();
        media::decode(&path, 48_000)
    });
    assert_eq!(original.len(), 31 * 48_000);
    let sums = speech.iter().zip(&background).map(|(speech, background)| speech + background);
    // Decoded to one channel: the mean of two exact sums, rounded.
    let worst = sums.zip(&original).map(|(sum, original)| (sum - original).abs()).fold(0.0, f32::max);
    assert!(worst < 1e-6, "{worst}");
}
