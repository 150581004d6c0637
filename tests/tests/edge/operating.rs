//! The operator's levers over HTTP, and what they do to jobs and workers.

use conformance::harness::{Answer, Edge, Key, Keys, ScriptedWorker, until};
use serde_json::{Value, json};
use std::time::Duration;

/// An act with a body.
fn act(edge: &Edge, path: &str, body: &Value) -> Answer {
    edge.api(Keys::ADMIN).post(&format!("/v1/admin/{path}"), body)
}

/// Something to look at.
fn look(edge: &Edge, path: &str) -> Value {
    edge.api(Keys::ADMIN).get(&format!("/v1/admin/{path}")).expect(200).json()
}

#[test]
fn a_pause_is_state_that_outlives_a_crash_until_it_is_ended() {
    let mut edge = Edge::start();
    let paused = act(&edge, "queue/pause", &json!({ "reason": "storage is being moved" })).expect(200).json();
    assert_eq!(paused["paused"], true);
    act(&edge, "queue/pause", &json!({})).expect(200);
    let id = edge.api(Keys::ACME).queue_job();
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 1);
    worker.expect_silence(Duration::from_secs(1));
    edge.kill();
    edge.boot();
    let queue = look(&edge, "queue");
    assert_eq!(queue["paused"], true, "{queue}");
    assert_eq!(queue["pauses"][0]["reason"], "storage is being moved", "the second one changed nothing");
    assert_eq!(queue["pauses"][0]["keyId"], "ops-1");
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 1);
    worker.expect_silence(Duration::from_secs(1));
    assert_eq!(look(&edge, &format!("jobs/{id}"))["waiting"]["waitsFor"], "resume");
    act(&edge, "queue/resume", &json!({})).expect(200);
    assert_eq!(worker.take_job().job_id.as_str(), id);
}

#[test]
fn a_paused_tenant_waits_and_no_other_does() {
    let edge = Edge::start();
    act(&edge, "queue/pause", &json!({ "tenant": "acme" })).expect(200);
    let held = edge.api(Keys::ACME).queue_job();
    let other = edge.api(Keys::OTHER).queue_job();
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 2);
    assert_eq!(worker.take_job().job_id.as_str(), other);
    worker.expect_silence(Duration::from_millis(500));
    let queue = look(&edge, "queue");
    assert_eq!((&queue["paused"], &queue["pausedTenants"]), (&json!(false), &json!(["acme"])));
    assert_eq!(look(&edge, &format!("jobs/{held}"))["waiting"]["waitsFor"], "tenants_resume");
    act(&edge, "queue/resume", &json!({ "tenant": "acme" })).expect(200);
    assert_eq!(worker.take_job().job_id.as_str(), held);
}

#[test]
fn keys_of_other_roles_open_nothing_and_a_reading_key_changes_nothing() {
    let edge = Edge::start();
    let id = edge.api(Keys::ACME).queue_job();
    let looks = ["queue", "workers", "jobs", "audit"].map(|path| ("GET", format!("/v1/admin/{path}")));
    let acts = [
        "queue/pause".to_owned(),
        "queue/resume".to_owned(),
        "workers/mini-1/drain".to_owned(),
        "workers/mini-1/bench".to_owned(),
        format!("jobs/{id}/cancel"),
        format!("jobs/{id}/retry"),
    ]
    .map(|path| ("POST", format!("/v1/admin/{path}")));
    for (method, path) in looks.iter().chain(&acts) {
        let body = (*method == "POST").then_some(b"{}".as_slice());
        edge.api_without_key().call(method, path, &[], body).expect_problem(401, "key_missing");
        for key in [Keys::WRONG, Keys::WORKER, Keys::ACME, Key("test-admin-key-and-more")] {
            edge.api(key).call(method, path, &[], body).expect_problem(401, "key_invalid");
        }
        let reader = edge.api(Keys::ADMIN_READER).call(method, path, &[], body);
        if body.is_some() {
            reader.expect_problem(403, "key_read_only");
        } else {
            reader.expect(200);
        }
    }
    for key in [Keys::ADMIN, Keys::ADMIN_READER] {
        edge.api(key).get("/v1/jobs").expect_problem(401, "key_invalid");
        edge.api(key).get("/v1/status").expect_problem(401, "key_invalid");
        assert_eq!(ScriptedWorker::upgrade(&edge, Some(key)).err(), Some(401));
    }
    assert_eq!(edge.api(Keys::ACME).job(&id)["state"], "queued");
    let entries = look(&edge, "audit")["entries"].as_array().unwrap().clone();
    assert_eq!(entries.len(), acts.len(), "what the reader tried is written down: {entries:?}");
    assert!(entries.iter().all(|entry| entry["outcome"] == "refused" && entry["keyId"] == "board"));
}

#[test]
fn a_drained_worker_keeps_its_job_and_gets_no_other() {
    let edge = Edge::start();
    let api = edge.api(Keys::ACME);
    let first = api.queue_job();
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 2);
    let assign = worker.take_job();
    let drained = act(&edge, "workers/mini-1/drain", &json!({ "reason": "new disk" })).expect(200).json();
    assert_eq!((&drained["drained"], &drained["reason"]), (&json!(true), &json!("new disk")));
    let second = api.queue_job();
    worker.expect_silence(Duration::from_secs(1));
    assert_eq!(look(&edge, &format!("jobs/{second}"))["waiting"]["waitsFor"], "held_back_workers");
    let workers = look(&edge, "workers");
    let seen = &workers["workers"][0];
    assert_eq!((&seen["heldBack"], &seen["jobs"][0]["jobId"]), (&json!(true), &json!(first)), "{workers}");
    worker.complete(&assign);
    api.wait_for(&first, "completed");
    act(&edge, "workers/mini-1/undrain", &json!({})).expect(200);
    assert_eq!(worker.take_job().job_id.as_str(), second);
}

#[test]
fn a_benched_worker_comes_back_by_itself_or_is_let_back_earlier() {
    let edge = Edge::start();
    act(&edge, "workers/mini-1/bench", &json!({ "seconds": 2, "reason": "hot" })).expect(200);
    let id = edge.api(Keys::ACME).queue_job();
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 2);
    worker.expect_silence(Duration::from_millis(500));
    let assign = until("the bench to end", Duration::from_secs(30), || {
        worker.ping();
        match worker.receive_within(Duration::from_millis(500)).unwrap() {
            Some(shared_protocol::SchedulerMessage::Assign(assign)) => Some(assign),
            _ => None,
        }
    });
    assert_eq!(assign.job_id.as_str(), id);
    act(&edge, "workers/mini-1/bench", &json!({ "seconds": 3600 })).expect(200);
    let unbenched = act(&edge, "workers/mini-1/unbench", &json!({})).expect(200).json();
    assert_eq!(unbenched["benchedUntilMs"], Value::Null);
}

#[test]
fn every_act_leaves_one_line_in_the_audit_log_refused_ones_too() {
    let mut edge = Edge::start();
    let id = edge.api(Keys::ACME).queue_job();
    let mut request_ids = Vec::new();
    let mut note = |answer: Answer| request_ids.push(answer.header("X-Request-Id").to_owned());
    note(act(&edge, "queue/pause", &json!({ "reason": "a test" })).expect(200));
    note(act(&edge, "queue/pause", &json!({})).expect(200));
    note(act(&edge, "workers/mini-1/bench", &json!({ "seconds": 60, "reason": "hot" })).expect(200));
    note(act(&edge, &format!("jobs/{id}/retry"), &json!({})));
    note(act(&edge, "jobs/job_of_nobody/cancel", &json!({})));
    note(act(&edge, &format!("jobs/{id}/cancel"), &json!({ "reason": "asked by phone" })).expect(200));
    note(act(&edge, "bulk/cancel", &json!({ "tenant": "acme" })).expect(200));
    act(&edge, "bulk/cancel", &json!({})).expect_problem(400, "invalid_request");
    edge.kill();
    edge.boot();

    let log = look(&edge, "audit");
    let mut entries = log["entries"].as_array().unwrap().clone();
    entries.reverse();
    let of = |name: &str| entries.iter().map(|entry| entry[name].clone()).collect::<Vec<_>>();
    assert_eq!(of("requestId"), request_ids.iter().map(|id| json!(id)).collect::<Vec<_>>());
    let actions = ["queue.pause", "queue.pause", "worker.bench", "job.retry", "job.cancel", "job.cancel"];
    assert_eq!(of("action")[..6], actions.map(Value::from));
    assert_eq!(of("action")[6], "jobs.cancel");
    assert_eq!(
        of("outcome"),
        ["done", "unchanged", "done", "refused", "refused", "done", "unchanged"].map(Value::from)
    );
    assert_eq!((&of("refusal")[3], &of("refusal")[4]), (&json!("wrong_state"), &json!("job_not_found")));
    assert_eq!((&of("target")[2], &of("reason")[2]), (&json!("mini-1"), &json!("hot")));
    assert_eq!((&of("target")[5], &of("reason")[5]), (&json!(id), &json!("asked by phone")));
    assert!(of("atMs").iter().all(|at| at.as_u64() > Some(0)));

    let page = look(&edge, "audit?limit=3");
    assert_eq!(page["entries"].as_array().unwrap().len(), 3);
    let rest = look(&edge, &format!("audit?limit=10&cursor={}", page["nextCursor"].as_str().unwrap()));
    assert_eq!(rest["entries"].as_array().unwrap().len(), 4);
    assert_eq!(rest["nextCursor"], Value::Null);
}
