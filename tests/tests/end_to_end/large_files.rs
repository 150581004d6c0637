//! Files above what one request may carry.

use conformance::harness::{Edge, Keys, PATIENCE, WorkerSetup, media};
use sha2::{Digest, Sha256};

#[test]
fn a_file_above_the_body_limit_is_stored_in_parts_and_comes_back_whole() {
    let edge = Edge::start();
    let _worker = WorkerSetup::new("mini-1")
        .environment("test", &edge.origin())
        .setting("parts_above_mib = 5\npart_mib = 5")
        .start_connected(&edge);
    let api = edge.api(Keys::ACME);
    let source = "anoisesrc=d=40:c=pink:r=48000:a=0.1";
    let recording = media::ffmpeg(&["-f", "lavfi", "-i", source, "-ac", "2", "-f", "flac", "pipe:1"]);
    let upload = api.upload("noise.flac", &recording);
    let job = api.post("/v1/jobs", &serde_json::json!({ "uploadId": upload, "outputs": ["wav"] }));
    let id = job.expect(201).json()["jobId"].as_str().unwrap().to_owned();
    api.wait_for_within(&id, "completed", PATIENCE * 4);

    let files = api.get(&format!("/v1/jobs/{id}/files")).expect(200).json();
    let file = &files["files"][0];
    assert!(file["size"].as_u64() > Some(11_000_000), "three parts: {file}");
    let read = api.get(file["url"].as_str().unwrap()).expect(200).body;
    let sha256: String = Sha256::digest(&read).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(file["sha256"], sha256);
}
