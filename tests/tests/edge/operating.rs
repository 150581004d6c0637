//! The operator's levers over HTTP, and what they do to jobs and workers.

use conformance::harness::{Answer, Edge, EdgeOptions, Key, Keys, ScriptedWorker, until};
use edge::api::call::Call;
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

/// A job whose workers were lost three times, as the scheduler sees it.
fn quarantined_job(edge: &Edge, worker: &mut ScriptedWorker) -> String {
    let id = edge.api(Keys::ACME).queue_job();
    for _ in 0..3 {
        let assign = worker.take_job();
        assert_eq!(assign.job_id.as_str(), id);
        worker.send_ready(1, &[]);
    }
    edge.api(Keys::ACME).wait_for(&id, "quarantined");
    id
}

#[test]
fn a_quarantined_job_is_found_and_put_back_or_given_up() {
    let mut edge = Edge::start();
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 1);
    let retried = quarantined_job(&edge, &mut worker);
    let discarded = quarantined_job(&edge, &mut worker);
    let list = look(&edge, "jobs?state=quarantined");
    let ids: Vec<&Value> = list["jobs"].as_array().unwrap().iter().map(|job| &job["jobId"]).collect();
    assert_eq!(ids, [&json!(discarded), &json!(retried)]);
    assert_eq!(list["jobs"][0]["failure"], "worker_lost");
    let job = look(&edge, &format!("jobs/{retried}"));
    assert_eq!((&job["budgets"]["workersLost"], &job["budgets"]["maxWorkersLost"]), (&json!(3), &json!(2)));
    let reasons: Vec<&str> =
        job["history"].as_array().unwrap().iter().map(|change| change["reason"].as_str().unwrap()).collect();
    let round = ["slot_open", "accepted", "not_listed"];
    let last = ["slot_open", "accepted", "workers_used_up"];
    assert_eq!(reasons, [&["submitted"][..], &round, &round, &last].concat());

    act(&edge, "queue/pause", &json!({})).expect(200);
    let back =
        act(&edge, &format!("jobs/{retried}/retry"), &json!({ "reason": "power cut" })).expect(200).json();
    assert_eq!((&back["job"]["state"], &back["budgets"]["workersLost"]), (&json!("queued"), &json!(0)));
    act(&edge, &format!("jobs/{retried}/retry"), &json!({})).expect(200);
    act(&edge, &format!("jobs/{retried}/discard"), &json!({})).expect_problem(409, "wrong_state");
    let gone = act(&edge, &format!("jobs/{discarded}/discard"), &json!({})).expect(200).json();
    assert_eq!(gone["job"]["state"], "failed");
    act(&edge, &format!("jobs/{discarded}/discard"), &json!({})).expect(200);
    edge.kill();
    edge.boot();
    act(&edge, "queue/resume", &json!({})).expect(200);
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 1);
    let assign = worker.take_job();
    assert_eq!((assign.job_id.as_str(), assign.attempt.0), (retried.as_str(), 4));
    worker.complete(&assign);
    edge.api(Keys::ACME).wait_for(&retried, "completed");
    assert_eq!(look(&edge, "jobs?state=quarantined")["jobs"], json!([]));
}

#[test]
fn a_decision_is_kept_with_its_candidates_and_jobs_go_where_they_asked_to() {
    let edge = Edge::start();
    let mut first = ScriptedWorker::ready(&edge, "mini-1", 1);
    let mut second = ScriptedWorker::ready(&edge, "mini-2", 1);
    let fields = json!({ "expectedSeconds": 60, "labels": [] });
    let id = edge.api(Keys::ACME).queue(&fields)["jobId"].as_str().unwrap().to_owned();
    let assign = first.receive_within(Duration::from_secs(2)).unwrap();
    let went_to = if assign.is_some() { "mini-1" } else { "mini-2" };
    if assign.is_none() {
        second.expect_assign();
    }
    let decision = look(&edge, &format!("jobs/{id}"))["decision"].clone();
    assert_eq!((&decision["chosen"], &decision["considered"]), (&json!(went_to), &json!(2)));
    assert_eq!(
        (&decision["policy"], &decision["decidedBy"]),
        (&json!("earliest_finish"), &json!("longest_idle"))
    );
    let candidates = decision["candidates"].as_array().unwrap();
    let names: std::collections::BTreeSet<&str> =
        candidates.iter().map(|candidate| candidate["worker"].as_str().unwrap()).collect();
    assert_eq!(names.into_iter().collect::<Vec<_>>(), ["mini-1", "mini-2"]);
    assert!(candidates.iter().all(|one| one["finishSeconds"].as_f64() > one["startSeconds"].as_f64()));

    // An operator may choose the other estimate, and a variable that is misspelt changes nothing.
    for (vars, holds) in [
        (&[("ROUTING_POLICY", "earliest_start")], "earliest_start"),
        (&[("ROUTING_POLICY", "soonest")], "earliest_finish"),
    ] {
        let edge = Edge::start_with(EdgeOptions { vars, ..EdgeOptions::default() });
        let mut worker = ScriptedWorker::ready(&edge, "mini-1", 1);
        let id = edge.api(Keys::ACME).queue_job();
        worker.take_job();
        assert_eq!(look(&edge, &format!("jobs/{id}"))["decision"]["policy"], holds);
    }

    let wishes = json!({ "labels": ["studio", "gpu", "studio"], "startAfter": 1_700_000_000_000_u64 });
    let job = edge.api(Keys::ACME).queue(&wishes);
    assert_eq!(job["labels"], json!(["gpu", "studio"]));
    let waiting = look(&edge, &format!("jobs/{}", job["jobId"].as_str().unwrap()))["waiting"].clone();
    assert_eq!(waiting["waitsFor"], "fitting_worker");
    let upload = edge.api(Keys::ACME).upload("a.wav", b"x");
    for bad in [
        json!({ "startAfter": 1_700_000_000 }),
        json!({ "labels": ["a b"] }),
        json!({ "expectedSeconds": 0 }),
    ] {
        let mut body = json!({ "uploadId": upload });
        for (name, value) in bad.as_object().unwrap() {
            body[name] = value.clone();
        }
        let problem = edge.api(Keys::ACME).post("/v1/jobs", &body).expect_problem(400, "invalid_request");
        assert_eq!(problem["field"], *bad.as_object().unwrap().keys().next().unwrap());
    }
}

#[test]
fn a_job_with_a_time_of_its_own_starts_then_and_not_before() {
    let edge = Edge::start();
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 1);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as u64;
    let job = edge.api(Keys::ACME).queue(&json!({ "startAfter": now + 3_000 }));
    let id = job["jobId"].as_str().unwrap();
    assert_eq!(job["startAfter"], now + 3_000);
    assert_eq!(look(&edge, &format!("jobs/{id}"))["waiting"]["waitsFor"], "its_time");
    assert_eq!(look(&edge, "queue")["scheduled"], 1);
    let assign = worker.take_job();
    let started = edge.api(Keys::ACME).wait_for(id, "running");
    assert_eq!(assign.job_id.as_str(), id);
    assert!(started["startedAtMs"].as_u64() >= Some(now + 3_000), "{started}");
}

#[test]
fn five_hundred_jobs_are_cancelled_in_bounded_steps_and_nobody_elses() {
    let edge = Edge::start();
    let (acme, other) = (edge.api(Keys::ACME), edge.api(Keys::OTHER));
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 1);
    let running = acme.queue_job();
    let assign = worker.take_job();
    let kept = other.queue_job();
    let upload = acme.upload("a.wav", b"x");
    for number in 0..500 {
        acme.post("/v1/jobs", &json!({ "uploadId": upload })).expect(201);
        if number % 20 == 0 {
            worker.expect_link_alive();
        }
    }
    let filter = json!({ "tenant": "acme", "reason": "a flood", "dryRun": true });
    let preview = act(&edge, "bulk/cancel", &filter).expect(200).json();
    assert_eq!((&preview["changed"], &preview["left"]), (&json!(200), &json!(301)));
    assert_eq!(look(&edge, "queue")["counts"]["queued"], 501, "a dry run changes nothing");
    let mut steps = Vec::new();
    loop {
        let step =
            act(&edge, "bulk/cancel", &json!({ "tenant": "acme", "reason": "a flood" })).expect(200).json();
        steps.push((step["changed"].as_u64().unwrap(), step["left"].as_u64().unwrap()));
        if step["left"] == 0 {
            break;
        }
    }
    assert_eq!(steps, [(200, 301), (200, 101), (101, 0)]);
    worker.expect_cancel(&assign);
    worker.send(&shared_protocol::WorkerMessage::Cancelled(ScriptedWorker::cancellation(&assign)));
    until("the running one to end", Duration::from_secs(30), || {
        (acme.job(&running)["state"] == "cancelled").then_some(())
    });
    assert_eq!(other.job(&kept)["state"], "queued");
    let counted: Vec<Value> = look(&edge, "audit")["entries"].as_array().unwrap().to_vec();
    assert_eq!(counted.len(), 3, "one line for each call, none for the dry run");
    assert_eq!(counted[0]["changed"], 101);
    assert_eq!(counted[0]["target"], "tenant=acme");

    // Pages of all of them, and of those of one tenant.
    let (mut seen, mut cursor) = (0, None::<String>);
    loop {
        let place = cursor.map(|cursor| format!("&cursor={cursor}")).unwrap_or_default();
        let page = look(&edge, &format!("jobs?tenant=acme&state=cancelled&limit=200{place}"));
        seen += page["jobs"].as_array().unwrap().len();
        cursor = page["nextCursor"].as_str().map(str::to_owned);
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(seen, 501);
    assert_eq!(look(&edge, "jobs?worker=mini-1")["jobs"][0]["jobId"], json!(running));
    assert_eq!(look(&edge, "jobs?state=live")["jobs"].as_array().unwrap().len(), 1);
}

#[test]
fn failed_jobs_are_put_back_in_bulk() {
    let edge = Edge::start();
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 1);
    let mut failed = Vec::new();
    for _ in 0..3 {
        failed.push(edge.api(Keys::ACME).queue_job());
        let assign = worker.take_job();
        worker.fail(&assign, shared_protocol::FailureCode::NoAudio, "none");
        edge.api(Keys::ACME).wait_for(assign.job_id.as_str(), "failed");
        worker.offer_slots(1);
    }
    act(&edge, "queue/pause", &json!({})).expect(200);
    let body = json!({ "state": "failed", "worker": "mini-1", "limit": 2 });
    let step = act(&edge, "bulk/retry", &body).expect(200).json();
    assert_eq!(
        (&step["changed"], &step["left"], &step["jobIds"]),
        (&json!(2), &json!(1), &json!(&failed[..2])),
        "the oldest first"
    );
    let step = act(&edge, "bulk/retry", &json!({ "tenant": "acme" })).expect(200).json();
    assert_eq!((&step["changed"], &step["left"]), (&json!(1), &json!(0)));
    assert_eq!(look(&edge, "queue")["counts"]["queued"], 3);
    let none = act(&edge, "bulk/retry", &json!({ "worker": "mini-2" })).expect(200).json();
    assert_eq!(none["changed"], 0);
}

#[test]
fn jobs_that_ended_long_ago_are_forgotten_and_no_others() {
    let edge = Edge::start_with(EdgeOptions { movable_wall_clock: true, ..EdgeOptions::default() });
    let api = edge.api(Keys::ACME);
    let waiting = api.queue(&json!({ "labels": ["nobody-has-it"] }))["jobId"].as_str().unwrap().to_owned();
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 1);
    let old = api.queue_job();
    let assign = worker.take_job();
    worker.complete(&assign);
    api.wait_for(&old, "completed");
    edge.call_scheduler(&[Call::Poke]);
    assert_eq!(api.job(&old)["state"], "completed");
    edge.set_wall_clock_ahead(Duration::from_secs(31 * 86_400));
    let recent = api.queue(&json!({ "labels": ["nobody-has-it"] }))["jobId"].as_str().unwrap().to_owned();
    api.cancel(&recent).expect(200);
    edge.call_scheduler(&[Call::Poke]);
    api.get(&format!("/v1/jobs/{old}")).expect_problem(404, "job_not_found");
    assert_eq!(api.job(&recent)["state"], "cancelled");
    assert_eq!(api.job(&waiting)["state"], "queued", "what has not ended is not old");
}
