//! Stems, from the real worker to a client.

use conformance::harness::{Edge, Keys, PATIENCE, WorkerProcess, media, until};

#[test]
fn speech_and_background_of_a_completed_job_follow_and_add_up_to_the_recording() {
    let edge = Edge::start();
    let _worker = WorkerProcess::start(&edge, "mini-1");
    let api = edge.api(Keys::ACME);
    let source = "anoisesrc=d=31:c=pink:r=48000:a=0.1";
    let recording = media::ffmpeg(&["-f", "lavfi", "-i", source, "-ac", "2", "-f", "flac", "pipe:1"]);
    let upload = api.upload("noise.flac", &recording);
    let job = api.post("/v1/jobs", &serde_json::json!({ "uploadId": upload, "outputs": ["hls", "stems"] }));
    let id = job.expect(201).json()["jobId"].as_str().unwrap().to_owned();
    api.wait_for_within(&id, "completed", PATIENCE * 4);
    let stems = until("the stems", PATIENCE * 4, || {
        let files = api.get(&format!("/v1/jobs/{id}/files")).expect(200).json();
        (files["stems"]["state"] == "ready").then(|| files["stems"]["files"].clone())
    });
    assert_eq!(stems.as_array().map(Vec::len), Some(3 * 2 + 3 + 1), "{stems}");

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
