//! The platform takes the object's memory whenever it likes. Sockets stay, and nobody notices anything.

use conformance::harness::{Edge, EdgeOptions, Keys, ScriptedWorker};
use serde_json::json;
use shared_protocol::{Assign, SchedulerMessage, WorkerMessage};
use std::time::Duration;

#[test]
fn an_eviction_between_any_two_messages_runs_nothing_twice_and_loses_nothing() {
    // Hatchet #552: an engine's restart ran live steps twice.
    let edge = Edge::start();
    let api = edge.api(Keys::ACME);
    let ids: Vec<String> = (0..6).map(|_| api.queue_job()).collect();
    let mut worker = ScriptedWorker::connect(&edge, "mini-1");
    edge.evict();
    worker.hello();
    edge.evict();
    worker.offer_slots(6);
    let assigns: Vec<Assign> = (0..6).map(|_| worker.expect_assign()).collect();
    for assign in &assigns {
        edge.evict();
        worker.accept(assign);
    }
    let mut other = ScriptedWorker::ready(&edge, "mini-2", 6);
    for assign in &assigns {
        edge.evict();
        let segment = worker.put_segment(assign, 0);
        worker.progress(assign, 0.5, std::slice::from_ref(&segment));
        worker.expect_link_alive();
        edge.evict();
        let listed = api.playlist(assign.job_id.as_str()).expect(200).text();
        assert!(listed.contains("seg-00000"), "what was listed stays listed: {listed}");
        worker.complete(assign);
    }
    edge.evict();
    other.expect_silence(Duration::from_millis(500));
    worker.expect_silence(Duration::from_millis(300));
    for id in &ids {
        let job = api.job(id);
        assert_eq!((&job["state"], &job["attempt"]), (&json!("completed"), &json!(1)));
        assert!(job["firstAudioAtMs"].as_u64().is_some(), "{job}");
    }
}

#[test]
fn evictions_in_a_loop_leave_the_memory_as_it_is() {
    // workers-rs #722: the memory of an object in Rust stays after its eviction.
    // V8 does not know how much memory of Wasm hangs on one of its small objects, and would take its time.
    let edge = Edge::start_with(EdgeOptions {
        garbage_is_collected_often: true,
        vars: &[("MAX_LIVE_JOBS", "400")],
        ..EdgeOptions::default()
    });
    let api = edge.api(Keys::ACME);
    let upload = api.upload("talk.wav", b"RIFF");
    for _ in 0..400 {
        api.post("/v1/jobs", &json!({ "uploadId": upload, "sampler": "pro" })).expect(201);
    }
    api.post("/v1/jobs", &json!({ "uploadId": upload })).expect_problem(429, "queue_full");
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 1);
    let mut round = || {
        edge.evict();
        worker.expect_link_alive();
        edge.usage().memory_bytes
    };
    let after_few = (0..10).map(|_| round()).max().unwrap_or(0);
    let after_many = (0..60).map(|_| round()).max().unwrap_or(0);
    // A brain with 400 jobs is about a megabyte: sixty that stayed would be sixty.
    assert!(after_many <= after_few + 4_000_000, "{after_few} bytes grew to {after_many}");
}

#[test]
fn an_offer_that_crossed_an_eviction_is_neither_repeated_nor_forgotten() {
    let edge = Edge::start();
    let api = edge.api(Keys::ACME);
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 2);
    for round in 0..5 {
        let id = api.queue_job();
        edge.evict();
        let assign = worker.expect_assign();
        assert_eq!(assign.job_id.as_str(), id);
        // It counts on one more slot, and gets one more job.
        let next = api.queue_job();
        edge.evict();
        let second = worker.expect_assign();
        assert_eq!(second.job_id.as_str(), next, "round {round}");
        let third = api.queue_job();
        worker.expect_silence(Duration::from_millis(200));
        api.cancel(&third).expect(200);
        worker.accept(&assign);
        worker.accept(&second);
        edge.evict();
        for assign in [&assign, &second] {
            worker.send(&WorkerMessage::Complete(ScriptedWorker::completion(assign, &[], &[])));
            assert!(matches!(worker.receive(), SchedulerMessage::Ack(_)));
        }
        worker.offer_slots(2);
        assert_eq!((&api.job(&id)["attempt"], &api.job(&next)["attempt"]), (&json!(1), &json!(1)));
    }
}
