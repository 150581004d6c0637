//! Who may do what: clients their own, workers the worker's side, nobody anything else.

use conformance::harness::{Edge, Key, Keys, ScriptedWorker};
use serde_json::json;

/// Every path that needs a client's key.
fn client_paths(job: &str, upload: &str) -> Vec<(&'static str, String)> {
    vec![
        ("POST", "/v1/uploads".into()),
        ("GET", format!("/v1/uploads/{upload}")),
        ("POST", "/v1/jobs".into()),
        ("GET", "/v1/jobs".into()),
        ("GET", format!("/v1/jobs/{job}")),
        ("POST", format!("/v1/jobs/{job}/cancel")),
        ("GET", format!("/v1/jobs/{job}/files")),
        ("GET", format!("/v1/jobs/{job}/files/restored.wav")),
        ("GET", format!("/v1/jobs/{job}/hls/index.m3u8")),
        ("GET", format!("/v1/jobs/{job}/hls/1/init.mp4")),
        ("POST", format!("/v1/jobs/{job}/playback")),
        ("GET", format!("/v1/jobs/{job}/original")),
        ("GET", "/v1/status".into()),
    ]
}

#[test]
fn without_a_clients_key_nothing_of_a_client_is_seen_or_done() {
    let edge = Edge::start();
    let api = edge.api(Keys::ACME);
    let job = api.queue(&json!({}));
    let (id, upload) = (job["jobId"].as_str().unwrap(), job["uploadId"].as_str().unwrap());
    for (method, path) in client_paths(id, upload) {
        let body = (method == "POST").then_some(b"{}".as_slice());
        edge.api_without_key().call(method, &path, &[], body).expect_problem(401, "key_missing");
        for key in [Keys::WRONG, Keys::WORKER, Key(""), Key(" "), Key("test-client-key-of-acme-and-more")] {
            let answer = edge.api(key).call(method, &path, &[], body);
            assert_eq!(answer.status, 401, "{method} {path} with {key:?}: {}", answer.text());
        }
        let basic = [("Authorization", "Basic dGVzdA==")];
        let answer = edge.api_without_key().call(method, &path, &basic, body);
        assert_eq!(answer.status, 401, "{method} {path}: {}", answer.text());
    }
    assert_eq!(api.job(id)["state"], "queued", "none of them cancelled it");
}

#[test]
fn during_a_rotation_both_keys_of_a_client_are_the_same_client() {
    let edge = Edge::start();
    let id = edge.api(Keys::ACME).queue_job();
    assert_eq!(edge.api(Keys::ACME_NEXT).job(&id)["jobId"], json!(id));
}

#[test]
fn another_tenants_job_and_upload_are_not_there() {
    let edge = Edge::start();
    let job = edge.api(Keys::ACME).queue(&json!({}));
    let (id, upload) = (job["jobId"].as_str().unwrap(), job["uploadId"].as_str().unwrap());
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 1);
    let assign = worker.take_job();
    worker.put_segment(&assign, 0);
    edge.api(Keys::ACME).get(&format!("/v1/jobs/{id}/hls/1/init.mp4")).expect(200);
    let other = edge.api(Keys::OTHER);
    other.get(&format!("/v1/uploads/{upload}")).expect_problem(404, "upload_not_found");
    other.post("/v1/jobs", &json!({ "uploadId": upload })).expect_problem(404, "upload_not_found");
    for (method, path) in client_paths(id, upload) {
        if path.contains("/jobs/") {
            let body = (method == "POST").then_some(b"{}".as_slice());
            // Segments are read without asking for the job: their bytes say whose they are.
            let code = if path.contains("/hls/1/") { "file_not_found" } else { "job_not_found" };
            other.call(method, &path, &[], body).expect_problem(404, code);
        }
    }
    assert_eq!(other.get("/v1/jobs").expect(200).json()["jobs"], json!([]));
    assert_eq!(edge.api(Keys::ACME).job(id)["state"], "running");
}

#[test]
fn two_tenants_may_use_the_same_idempotency_key() {
    let edge = Edge::start();
    let create = |key: Key| {
        let api = edge.api(key);
        let body = json!({ "uploadId": api.upload("a.wav", b"x") });
        api.post_with("/v1/jobs", &[("Idempotency-Key", "1")], &body).expect(201).json()["jobId"].clone()
    };
    assert_ne!(create(Keys::ACME), create(Keys::OTHER));
}

#[test]
fn only_a_workers_key_opens_a_workers_link() {
    let edge = Edge::start();
    for key in [None, Some(Keys::WRONG), Some(Keys::ACME), Some(Key(""))] {
        assert_eq!(ScriptedWorker::upgrade(&edge, key).err(), Some(401), "{key:?}");
    }
    assert!(ScriptedWorker::upgrade(&edge, Some(Keys::WORKER)).is_ok());
    edge.api(Keys::WORKER).get("/v1/worker/connect").expect_problem(426, "upgrade_required");
}

#[test]
fn the_state_of_the_fleet_names_nobody_elses_jobs() {
    let edge = Edge::start();
    let mine = edge.api(Keys::ACME).queue_job();
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 1);
    worker.take_job();
    let seen = |key| edge.api(key).get("/v1/status").expect(200).json()["workers"][0]["running"].clone();
    assert_eq!(seen(Keys::ACME), json!([mine]));
    assert_eq!(seen(Keys::OTHER), json!([]), "its id is its tenant's alone");
}
