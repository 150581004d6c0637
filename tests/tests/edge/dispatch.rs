//! From the queue to a worker and to the end.

use conformance::harness::{Edge, Keys, ScriptedWorker};
use serde_json::json;
use shared_protocol::{
    FailureCode, OutputKind, Reject, RejectReason, Sampler, WorkerMessage, limits::OFFER_TIMEOUT,
};
use std::time::{Duration, Instant};

fn reject(worker: &mut ScriptedWorker, assign: &shared_protocol::Assign, reason: RejectReason) {
    worker.send(&WorkerMessage::Reject(Reject {
        job_id: assign.job_id.clone(),
        attempt: assign.attempt,
        reason,
    }));
}

#[test]
fn a_job_goes_from_the_queue_to_its_end_and_every_step_shows() {
    let edge = Edge::start();
    let api = edge.api(Keys::ACME);
    let job = api.queue(&json!({ "outputs": ["hls", "wav"] }));
    let id = job["jobId"].as_str().unwrap();
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 1);

    let assign = worker.expect_assign();
    assert_eq!(assign.job_id.as_str(), id);
    assert_eq!(assign.attempt.0, 1);
    assert_eq!(assign.sampler, Sampler::Flash);
    assert_eq!(assign.outputs, [OutputKind::Hls, OutputKind::Wav]);
    assert_eq!(json!(assign.source.upload_id), job["uploadId"]);
    assert_eq!((assign.source.name.as_str(), assign.source.size), ("talk.wav", 16));
    let offered = api.job(id);
    assert_eq!((&offered["state"], &offered["worker"]), (&json!("offered"), &json!("mini-1")));

    worker.accept(&assign);
    let segment = worker.put_segment(&assign, 0);
    worker.progress(&assign, 0.42, std::slice::from_ref(&segment));
    worker.expect_link_alive();
    let running = api.job(id);
    assert_eq!(running["state"], "running");
    assert_eq!(running["attempt"], 1);
    assert_eq!(running["phase"], "restoring");
    assert_eq!(running["progress"], 0.42);
    assert_eq!(running["audioSeconds"], 12.0);
    assert_eq!(running["publishedSeconds"], 4.0);
    let (started, first_audio) = (running["startedAtMs"].as_u64(), running["firstAudioAtMs"].as_u64());
    assert!(started.is_some() && first_audio >= started, "{running}");
    assert_eq!(api.get(&format!("/v1/jobs/{id}/files")).expect(200).json(), json!({ "files": [] }));

    let file = worker.put_wav(&assign, b"RIFF restored");
    let complete = ScriptedWorker::completion(&assign, &[segment], &[file]);
    worker.send(&WorkerMessage::Complete(complete.clone()));
    worker.expect_ack(&complete.message_id);
    let ended = api.job(id);
    assert_eq!(ended["state"], "completed");
    assert_eq!(ended["progress"], 1.0);
    assert_eq!(ended["realTimeFactor"], 0.03);
    assert!(ended["endedAtMs"].as_u64() >= first_audio, "{ended}");
    let files = api.get(&format!("/v1/jobs/{id}/files")).expect(200).json();
    let url = files["files"][0]["url"].as_str().unwrap();
    assert_eq!(api.get(url).expect(200).body, b"RIFF restored");
}

#[test]
fn no_more_jobs_are_offered_than_slots_are_open() {
    let edge = Edge::start();
    let api = edge.api(Keys::ACME);
    let ids: Vec<String> = (0..3).map(|_| api.queue_job()).collect();
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 2);
    let (first, second) = (worker.take_job(), worker.take_job());
    assert_eq!(
        [first.job_id.as_str(), second.job_id.as_str()],
        [&ids[0], &ids[1]],
        "in the order of submission"
    );
    worker.expect_silence(Duration::from_secs(1));
    worker.complete(&first);
    worker.send_ready(1, &[&second]);
    assert_eq!(worker.take_job().job_id.as_str(), ids[2]);
}

#[test]
fn somebody_who_waits_goes_before_somebody_who_does_not() {
    let edge = Edge::start();
    let api = edge.api(Keys::ACME);
    let queue = |priority: &str| api.queue(&json!({ "priority": priority }))["jobId"].clone();
    let (low, normal, high) = (queue("low"), queue("normal"), queue("high"));
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 3);
    let order: Vec<_> = (0..3).map(|_| json!(worker.take_job().job_id)).collect();
    assert_eq!(order, [high, normal, low]);
}

#[test]
fn a_rejected_offer_costs_the_job_nothing_and_the_worker_its_slots_until_it_is_ready_again() {
    let edge = Edge::start();
    let api = edge.api(Keys::ACME);
    let id = api.queue_job();
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 1);
    // Far more often than any budget of retries or lost workers.
    for round in 1..=8 {
        let assign = worker.expect_assign();
        assert_eq!(assign.attempt.0, round, "every offer has its own number");
        reject(&mut worker, &assign, RejectReason::NoSlot);
        worker.expect_link_alive();
        assert_eq!(api.job(&id)["state"], "queued");
        worker.offer_slots(1);
    }
    let assign = worker.take_job();
    worker.complete(&assign);
    assert_eq!(api.job(&id)["state"], "completed");
}

#[test]
fn a_rejected_job_goes_to_another_worker_at_once() {
    let edge = Edge::start();
    let api = edge.api(Keys::ACME);
    let mut first = ScriptedWorker::ready(&edge, "mini-1", 1);
    let id = api.queue_job();
    let assign = first.expect_assign();
    let mut second = ScriptedWorker::ready(&edge, "mini-2", 1);
    reject(&mut first, &assign, RejectReason::Draining);
    assert_eq!(second.take_job().job_id.as_str(), id);
    first.expect_silence(Duration::from_millis(500));
}

#[test]
fn an_offer_that_was_lost_on_its_way_comes_back_to_the_queue() {
    // Like a forwarder that reports success before anything was written: nothing runs before job.accept.
    let edge = Edge::start();
    let api = edge.api(Keys::ACME);
    let id = api.queue_job();
    let mut deaf = ScriptedWorker::ready(&edge, "mini-1", 1);
    let lost = deaf.expect_assign();
    let offered = Instant::now();
    let mut other = ScriptedWorker::ready(&edge, "mini-2", 1);
    // It pings on, so only the offer's own deadline can help.
    let assign = loop {
        deaf.ping();
        other.ping();
        match other.receive_within(Duration::from_secs(1)).unwrap() {
            Some(shared_protocol::SchedulerMessage::Assign(assign)) => break assign,
            Some(other) => panic!("{other:?}"),
            None => assert!(offered.elapsed() < Duration::from_secs(15), "nobody gets the job"),
        }
    };
    let waited = offered.elapsed();
    assert!(waited >= Duration::from_millis(OFFER_TIMEOUT.0 - 500), "too early: {waited:?}");
    assert!(waited < Duration::from_millis(OFFER_TIMEOUT.0 + 2_500), "too late: {waited:?}");
    assert_eq!(assign.job_id.as_str(), id);
    // Its answer comes too late: it is told to stop.
    deaf.accept(&lost);
    deaf.expect_cancel(&lost);
    other.accept(&assign);
    other.complete(&assign);
    assert_eq!(api.job(&id)["attempt"], 2);
}

#[test]
fn an_accepted_job_that_ready_no_longer_lists_is_queued_again() {
    let edge = Edge::start();
    let api = edge.api(Keys::ACME);
    let id = api.queue_job();
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 1);
    let first = worker.take_job();
    api.wait_for(&id, "running");
    // It was restarted and knows nothing.
    let mut restarted = ScriptedWorker::ready(&edge, "mini-1", 1);
    let second = restarted.take_job();
    assert_eq!((second.job_id.as_str(), second.attempt.0), (id.as_str(), first.attempt.0 + 1));
    restarted.complete(&second);
    assert_eq!(api.job(&id)["state"], "completed");
}

#[test]
fn no_job_is_lost_between_the_end_of_one_and_the_start_of_the_next() {
    // `ready` and `job.assign` cross: the worker says it has one slot and nothing running while an offer is on its way.
    let edge = Edge::start();
    let api = edge.api(Keys::ACME);
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 1);
    for _ in 0..10 {
        let id = api.queue_job();
        worker.offer_slots(1);
        worker.offer_slots(1);
        let assign = worker.take_job();
        assert_eq!(assign.job_id.as_str(), id);
        worker.complete(&assign);
        assert_eq!(api.job(&id)["attempt"], 1);
    }
}

#[test]
fn a_fault_of_the_recording_is_final_and_says_what_to_do() {
    let edge = Edge::start();
    let api = edge.api(Keys::ACME);
    let id = api.queue_job();
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 1);
    let assign = worker.take_job();
    worker.fail(&assign, FailureCode::NoAudio, "one stream: video (h264)");
    let job = api.job(&id);
    assert_eq!(job["state"], "failed");
    assert_eq!(job["failure"]["code"], "no_audio");
    assert_eq!(job["failure"]["message"], "one stream: video (h264)");
    assert_eq!(job["failure"]["retryable"], false);
    assert_eq!(job["failure"]["advice"], FailureCode::NoAudio.advice());
    // The worker goes on.
    let next = api.queue_job();
    worker.offer_slots(1);
    assert_eq!(worker.take_job().job_id.as_str(), next);
}

#[test]
fn a_fault_of_the_worker_is_tried_again() {
    let edge = Edge::start();
    let api = edge.api(Keys::ACME);
    let id = api.queue_job();
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 1);
    let assign = worker.take_job();
    worker.fail(&assign, FailureCode::EngineFailed, "the model said no");
    worker.offer_slots(1);
    let again = worker.take_job();
    assert_eq!((again.job_id.as_str(), again.attempt.0), (id.as_str(), 2));
    worker.complete(&again);
    let job = api.job(&id);
    assert_eq!((&job["state"], &job["failure"]), (&json!("completed"), &json!(null)));
}

#[test]
fn a_job_for_a_sampler_that_no_worker_has_waits_and_blocks_nobody() {
    let edge = Edge::start();
    let api = edge.api(Keys::ACME);
    let pro = api.queue(&json!({ "sampler": "pro" }))["jobId"].clone();
    let flash = api.queue_job();
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 2);
    assert_eq!(worker.take_job().job_id.as_str(), flash);
    worker.expect_silence(Duration::from_millis(500));
    assert_eq!(api.job(pro.as_str().unwrap())["state"], "queued");
}
