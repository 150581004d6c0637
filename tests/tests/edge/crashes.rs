//! The edge dies at any moment and comes back on what it had stored.

use conformance::harness::{Edge, Keys, ScriptedWorker};
use serde_json::json;
use shared_protocol::WorkerMessage;
use std::time::Duration;

#[test]
fn a_job_outlives_the_edge_that_is_killed_in_the_middle_of_it_and_ends_once() {
    let mut edge = Edge::start();
    let id = edge.api(Keys::ACME).queue_job();
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 1);
    let assign = worker.take_job();
    let first = worker.put_segment(&assign, 0);
    worker.progress(&assign, 0.3, std::slice::from_ref(&first));
    worker.expect_link_alive();
    let playlist = edge.api(Keys::ACME).playlist(&id).expect(200).text();
    edge.kill();
    edge.boot();

    let api = edge.api(Keys::ACME);
    assert_eq!(api.job(&id)["state"], "running", "a restart re-queues nothing");
    assert_eq!(api.playlist(&id).expect(200).text(), playlist, "what could be played still can");
    let mut other = ScriptedWorker::ready(&edge, "mini-2", 1);
    other.expect_silence(Duration::from_secs(3));
    let mut back = ScriptedWorker::reconnect(&edge, "mini-1", &[], 0, &[&assign]);
    let second = back.put_segment(&assign, 1);
    back.progress(&assign, 0.7, std::slice::from_ref(&second));
    let file = back.put_wav(&assign, b"RIFF restored");
    let complete = ScriptedWorker::completion(&assign, &[first, second], &[file]);
    back.send(&WorkerMessage::Complete(complete.clone()));
    back.expect_ack(&complete.message_id);
    let job = api.job(&id);
    assert_eq!((&job["state"], &job["attempt"]), (&json!("completed"), &json!(1)));
    back.offer_slots(1);
    back.expect_silence(Duration::from_secs(1));
    other.expect_silence(Duration::from_millis(300));
}

#[test]
fn what_was_acknowledged_is_durable_the_moment_it_is_acknowledged() {
    let mut edge = Edge::start();
    for round in 0..3 {
        let api = edge.api(Keys::ACME);
        let upload = api.upload("a.wav", b"RIFF");
        let key = format!("round-{round}");
        let body = json!({ "uploadId": upload });
        let created = api.post_with("/v1/jobs", &[("Idempotency-Key", &key)], &body).expect(201).json();
        edge.kill();
        edge.boot();
        let api = edge.api(Keys::ACME);
        let again = api.post_with("/v1/jobs", &[("Idempotency-Key", &key)], &body).expect(200).json();
        assert_eq!(created["jobId"], again["jobId"]);
        let mut worker = ScriptedWorker::ready(&edge, "mini-1", 1);
        let assign = worker.take_job();
        let file = worker.put_wav(&assign, b"RIFF restored");
        let complete = ScriptedWorker::completion(&assign, &[], &[file]);
        worker.send(&WorkerMessage::Complete(complete.clone()));
        worker.expect_ack(&complete.message_id);
        edge.kill();
        edge.boot();
        let api = edge.api(Keys::ACME);
        let job = api.job(created["jobId"].as_str().unwrap());
        assert_eq!(job["state"], "completed");
        let path = format!("/v1/jobs/{}/files/restored.wav", assign.job_id);
        assert_eq!(api.get(&path).expect(200).body, b"RIFF restored");
    }
}

#[test]
fn jobs_that_wait_and_an_offer_on_its_way_survive_a_crash() {
    let mut edge = Edge::start();
    let api = edge.api(Keys::ACME);
    let ids: Vec<String> = (0..3).map(|_| api.queue_job()).collect();
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 1);
    let offered = worker.expect_assign();
    edge.kill();
    edge.boot();
    // It had taken the offer, but its answer met nobody.
    let mut back = ScriptedWorker::reconnect(&edge, "mini-1", &[], 0, &[&offered]);
    back.complete(&offered);
    back.offer_slots(2);
    let (second, third) = (back.take_job(), back.take_job());
    assert_eq!([second.job_id.as_str(), third.job_id.as_str()], [&ids[1], &ids[2]]);
    assert_eq!(edge.api(Keys::ACME).job(&ids[0])["attempt"], 1);
}

#[test]
fn a_worker_that_does_not_come_back_after_a_crash_of_the_edge_keeps_no_job_for_ever() {
    let mut edge = Edge::start();
    let id = edge.api(Keys::ACME).queue_job();
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 1);
    worker.take_job();
    edge.api(Keys::ACME).wait_for(&id, "running");
    edge.kill();
    edge.boot();
    let mut other = ScriptedWorker::ready(&edge, "mini-2", 1);
    let started = std::time::Instant::now();
    let again = loop {
        other.ping();
        match other.receive_within(Duration::from_secs(1)).unwrap() {
            Some(shared_protocol::SchedulerMessage::Assign(assign)) => break assign,
            Some(message) => panic!("{message:?}"),
            None => assert!(started.elapsed() < Duration::from_secs(30), "nobody gets the job"),
        }
    };
    assert!(
        started.elapsed() > Duration::from_secs(15),
        "workers get time to come back: {:?}",
        started.elapsed()
    );
    assert_eq!((again.job_id.as_str(), again.attempt.0), (id.as_str(), 2));
}
