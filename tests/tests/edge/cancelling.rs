//! Cancel, wherever the job is.

use conformance::harness::{Edge, Keys, ScriptedWorker};
use shared_protocol::{CancelReason, WorkerMessage};
use std::time::Duration;

#[test]
fn a_queued_job_is_cancelled_at_once_and_never_offered() {
    let edge = Edge::start();
    let api = edge.api(Keys::ACME);
    let id = api.queue_job();
    assert_eq!(api.cancel(&id).expect(200).json()["state"], "cancelled");
    assert_eq!(api.cancel(&id).expect(200).json()["state"], "cancelled", "asking twice is asking once");
    ScriptedWorker::ready(&edge, "mini-1", 1).expect_silence(Duration::from_millis(700));
}

#[test]
fn a_running_job_is_cancelled_when_its_worker_says_so() {
    let edge = Edge::start();
    let api = edge.api(Keys::ACME);
    let id = api.queue_job();
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 1);
    let assign = worker.take_job();
    api.wait_for(&id, "running");
    assert_eq!(api.cancel(&id).expect(202).json()["state"], "running");
    assert_eq!(worker.expect_cancel(&assign).reason, CancelReason::Requested);
    let cancelled = ScriptedWorker::cancellation(&assign);
    worker.send(&WorkerMessage::Cancelled(cancelled.clone()));
    worker.expect_ack(&cancelled.message_id);
    assert_eq!(api.job(&id)["state"], "cancelled");
    worker.offer_slots(1);
    worker.expect_silence(Duration::from_millis(500));
}

#[test]
fn a_completion_that_races_a_cancel_wins_and_the_job_ends_once() {
    let edge = Edge::start();
    let api = edge.api(Keys::ACME);
    let id = api.queue_job();
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 1);
    let assign = worker.take_job();
    api.wait_for(&id, "running");
    api.cancel(&id).expect(202);
    // The worker had finished before it heard of the cancel; both answers are on their way.
    let complete = ScriptedWorker::completion(&assign, &[], &[]);
    let cancelled = ScriptedWorker::cancellation(&assign);
    worker.send(&WorkerMessage::Complete(complete.clone()));
    worker.send(&WorkerMessage::Cancelled(cancelled.clone()));
    worker.expect_cancel(&assign);
    worker.expect_ack(&complete.message_id);
    worker.expect_ack(&cancelled.message_id);
    assert_eq!(api.job(&id)["state"], "completed");
    api.cancel(&id).expect_problem(409, "job_ended");
}

#[test]
fn an_offered_job_is_cancelled_whatever_the_worker_answers() {
    let edge = Edge::start();
    let api = edge.api(Keys::ACME);
    let id = api.queue_job();
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 1);
    let assign = worker.expect_assign();
    let status = api.cancel(&id).status;
    assert!(status == 200 || status == 202, "{status}");
    // It accepts before it hears of it, then stops.
    worker.accept(&assign);
    worker.expect_cancel(&assign);
    let cancelled = ScriptedWorker::cancellation(&assign);
    worker.send(&WorkerMessage::Cancelled(cancelled.clone()));
    loop {
        // More than one cancel may have been sent.
        match worker.receive() {
            shared_protocol::SchedulerMessage::Ack(ack) if ack.message_id == cancelled.message_id => break,
            shared_protocol::SchedulerMessage::Cancel(_) => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(api.job(&id)["state"], "cancelled");
}

#[test]
fn a_cancel_reaches_a_worker_that_was_away() {
    let edge = Edge::start();
    let api = edge.api(Keys::ACME);
    let id = api.queue_job();
    let mut worker = ScriptedWorker::ready(&edge, "mini-1", 1);
    let assign = worker.take_job();
    api.wait_for(&id, "running");
    worker.vanish();
    api.cancel(&id).expect(202);
    let mut back = ScriptedWorker::reconnect(&edge, "mini-1", &[], 0, &[&assign]);
    back.expect_cancel(&assign);
    let cancelled = ScriptedWorker::cancellation(&assign);
    back.send(&WorkerMessage::Cancelled(cancelled.clone()));
    back.expect_ack(&cancelled.message_id);
    assert_eq!(api.job(&id)["state"], "cancelled");
}
