//! Scores, from the real worker to a client.

use conformance::harness::{Edge, Keys, PATIENCE, WorkerSetup, until};

#[test]
fn a_noisy_recording_is_scored_before_and_after_once_it_is_complete() {
    let edge = Edge::start();
    let worker =
        WorkerSetup::new("mini-1").environment("test", &edge.origin()).scores().start_connected(&edge);
    let api = edge.api(Keys::ACME);
    let noisy = std::fs::read(super::noisy_speech().path).unwrap();
    let upload = api.upload("talk.wav", &noisy);
    let job = api.post("/v1/jobs", &serde_json::json!({ "uploadId": upload, "outputs": ["mp3"] }));
    let id = job.expect(201).json()["jobId"].as_str().unwrap().to_owned();
    api.wait_for_within(&id, "completed", PATIENCE * 4);
    let quality = until("the scores", PATIENCE * 4, || {
        let files = api.get(&format!("/v1/jobs/{id}/files")).expect(200).json();
        files["quality"].is_object().then(|| files["quality"].clone())
    });
    assert_eq!((&quality["scorer"], &quality["attempt"]), (&"dnsmos-p835".into(), &1.into()));
    let [original, restored] = ["original", "restored"].map(|of| quality[of].as_f64().unwrap());
    // docs/quality.md: about 1 point at these ratios.
    assert!((1.0..3.0).contains(&original) && restored > original + 0.3, "{quality}");
    let left = std::fs::read_dir(worker.folder().join("work/jobs")).unwrap().count();
    assert_eq!(left, 0, "the job's folder goes when it was scored");
}
