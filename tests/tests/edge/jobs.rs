//! Creating, finding and listing jobs.

use conformance::harness::{Edge, Keys, ScriptedWorker};
use serde_json::{Value, json};

#[test]
fn a_new_job_is_queued_as_asked_for() {
    let edge = Edge::start();
    let api = edge.api(Keys::ACME);
    let job = api.queue(&json!({
        "sampler": "flash", "outputs": ["wav", "hls"], "priority": "high",
        "metadata": { "episode": "7" }, "futureField": { "a": [1] }
    }));
    assert_eq!(job["state"], "queued");
    assert_eq!(job["name"], "talk.wav");
    assert_eq!(job["sampler"], "flash");
    assert_eq!(job["priority"], "high");
    assert_eq!(job["metadata"], json!({ "episode": "7" }));
    let mut outputs: Vec<&str> =
        job["outputs"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    outputs.sort_unstable();
    assert_eq!(outputs, ["hls", "wav"]);
    let found = api.job(job["jobId"].as_str().unwrap());
    assert_eq!(found, job);
}

#[test]
fn the_same_idempotency_key_never_makes_a_second_job() {
    let edge = Edge::start();
    let api = edge.api(Keys::ACME);
    let body = json!({ "uploadId": api.upload("a.wav", b"x") });
    let key = [("Idempotency-Key", "order-17")];
    let first = api.post_with("/v1/jobs", &key, &body).expect(201).json();
    let again = api.post_with("/v1/jobs", &key, &body).expect(200).json();
    assert_eq!(first["jobId"], again["jobId"]);
    let other = json!({ "uploadId": body["uploadId"], "sampler": "pro" });
    api.post_with("/v1/jobs", &key, &other).expect_problem(409, "idempotency_mismatch");
    assert_eq!(api.get("/v1/jobs").expect(200).json()["jobs"].as_array().unwrap().len(), 1);
    // Without a key each request is a job of its own.
    let third = api.post("/v1/jobs", &body).expect(201).json();
    assert_ne!(third["jobId"], first["jobId"]);
}

#[test]
fn a_key_still_names_its_job_after_the_job_has_ended() {
    let edge = Edge::start();
    let api = edge.api(Keys::ACME);
    let body = json!({ "uploadId": api.upload("a.wav", b"x") });
    let key = [("Idempotency-Key", "order-18")];
    let first = api.post_with("/v1/jobs", &key, &body).expect(201).json();
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 1);
    let assign = worker.take_job();
    worker.complete(&assign);
    let again = api.post_with("/v1/jobs", &key, &body).expect(200).json();
    assert_eq!((&again["jobId"], &again["state"]), (&first["jobId"], &json!("completed")));
}

#[test]
fn a_job_needs_an_upload_whose_content_has_arrived() {
    let edge = Edge::start();
    let api = edge.api(Keys::ACME);
    api.post("/v1/jobs", &json!({ "uploadId": "upl_none" })).expect_problem(404, "upload_not_found");
    let announced = api.announce(&json!({ "name": "a.wav", "size": 5 }));
    api.post("/v1/jobs", &json!({ "uploadId": announced.id })).expect_problem(404, "upload_not_found");
}

#[test]
fn a_list_shows_every_job_once_newest_first() {
    let edge = Edge::start();
    let api = edge.api(Keys::ACME);
    let mut ids: Vec<Value> = (0..5).map(|_| json!(api.queue_job())).collect();
    ids.reverse();
    let mut seen = Vec::new();
    let mut path = "/v1/jobs?limit=2".to_owned();
    loop {
        let page = api.get(&path).expect(200).json();
        let jobs = page["jobs"].as_array().unwrap();
        assert!((1..=2).contains(&jobs.len()), "{page}");
        seen.extend(jobs.iter().map(|job| job["jobId"].clone()));
        let Some(cursor) = page["nextCursor"].as_str() else { break };
        path = format!("/v1/jobs?limit=2&cursor={cursor}");
        assert!(seen.len() <= 5, "the pages do not end");
    }
    assert_eq!(seen, ids);
    api.cancel(ids[1].as_str().unwrap()).expect(200);
    let listed = |state: &str| {
        let page = api.get(&format!("/v1/jobs?state={state}")).expect(200).json();
        page["jobs"].as_array().unwrap().iter().map(|job| job["jobId"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(listed("ended"), [ids[1].clone()]);
    assert_eq!(listed("live"), [&ids[..1], &ids[2..]].concat());
}

#[test]
fn the_status_shows_queue_and_workers() {
    let edge = Edge::start();
    let api = edge.api(Keys::ACME);
    api.queue_job();
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 1);
    let assign = worker.take_job();
    api.wait_for(assign.job_id.as_str(), "running");
    api.queue_job();
    let status = api.get("/v1/status").expect(200).json();
    assert_eq!(
        (&status["queue"]["queued"], &status["queue"]["offered"], &status["queue"]["running"]),
        (&json!(1), &json!(0), &json!(1)),
        "{status}"
    );
    let mini = &status["workers"][0];
    assert_eq!(mini["workerId"], "mini-1");
    assert_eq!(mini["connected"], true);
    assert_eq!(mini["openSlots"], 0);
    assert_eq!(mini["running"], json!([assign.job_id]));
}
