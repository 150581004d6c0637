//! Cancels in every state, and their races.

use super::rig::*;
use edge::scheduler::CancelOutcome;
use shared_protocol::*;

fn cancel(rig: &mut Rig, job: &JobId) -> CancelOutcome {
    let outcome = rig.scheduler.cancel(rig.now, job);
    rig.settle();
    outcome
}

fn running(rig: &mut Rig) -> JobId {
    let job = rig.submit();
    rig.hello(1, "mini-1");
    rig.ready(1, 1, &[]);
    rig.accept(1, &job, 1);
    job
}

#[test]
fn a_waiting_job_ends_at_once_and_is_never_offered() {
    let mut rig = Rig::new();
    let job = rig.submit();
    assert_eq!(cancel(&mut rig, &job), CancelOutcome::Cancelled);
    assert_eq!(rig.state(&job), "cancelled");
    rig.hello(1, "mini-1");
    rig.ready(1, 1, &[]);
    assert_eq!(rig.take_offers(), vec![]);
    assert_eq!(cancel(&mut rig, &job), CancelOutcome::NotLive);
}

#[test]
fn a_running_job_ends_when_its_worker_has_stopped() {
    let mut rig = Rig::new();
    let job = running(&mut rig);
    assert_eq!(cancel(&mut rig, &job), CancelOutcome::Requested);
    assert_eq!(rig.state(&job), "running");
    rig.cancelled(1, &job, 1);
    assert_eq!(rig.state(&job), "cancelled");
}

#[test]
fn a_cancel_racing_a_completion_ends_in_exactly_one_of_the_two() {
    let mut rig = Rig::new();
    let job = running(&mut rig);
    cancel(&mut rig, &job);
    rig.complete(1, &job, 1);
    assert_eq!(rig.state(&job), "completed");
    rig.cancelled(1, &job, 1);
    assert_eq!(rig.state(&job), "completed");
    assert_eq!(rig.acks(), 2);
}

#[test]
fn a_cancelled_job_is_not_run_again_when_its_worker_is_lost() {
    let mut rig = Rig::new();
    let job = running(&mut rig);
    cancel(&mut rig, &job);
    rig.close(1);
    rig.pass(30_000);
    assert_eq!(rig.state(&job), "cancelled");
}

#[test]
fn a_worker_that_was_away_hears_of_the_cancel_when_it_comes_back() {
    let mut rig = Rig::new();
    let job = running(&mut rig);
    rig.close(1);
    cancel(&mut rig, &job);
    rig.hello(2, "mini-1");
    rig.ready(2, 0, &[(&job, 1)]);
    assert_eq!(rig.cancels(), vec![(2, job, 1, CancelReason::Requested)]);
}

#[test]
fn a_worker_that_never_confirms_is_not_waited_for_for_ever() {
    let mut rig = Rig::new();
    let job = running(&mut rig);
    cancel(&mut rig, &job);
    for _ in 0..6 {
        rig.pass(3_000);
        rig.ping(1);
    }
    assert_eq!(rig.state(&job), "cancelled");
}

#[test]
fn an_offered_job_that_is_rejected_after_a_cancel_stays_cancelled() {
    let mut rig = Rig::new();
    let job = rig.submit();
    rig.hello(1, "mini-1");
    rig.ready(1, 1, &[]);
    assert_eq!(cancel(&mut rig, &job), CancelOutcome::Requested);
    rig.reject(1, &job, 1);
    assert_eq!(rig.state(&job), "cancelled");
}
