//! Workers that vanish, come back, or come back too late.

use super::rig::*;
use shared_protocol::*;

fn running(rig: &mut Rig) -> JobId {
    let job = rig.submit();
    rig.hello(1, "mini-1");
    rig.ready(1, 1, &[]);
    rig.accept(1, &job, 1);
    rig.take_offers();
    job
}

#[test]
fn a_vanished_workers_job_is_offered_again_within_ten_seconds_of_its_last_sign_of_life() {
    // workerd #1187: a dead socket can stay open without any event.
    let mut rig = Rig::new();
    let job = running(&mut rig);
    rig.pass(2_000);
    rig.ping(1);
    let last_sign = rig.now;
    rig.hello(2, "mini-2");
    rig.ready(2, 1, &[]);
    while rig.offers.is_empty() {
        rig.pass(500);
        rig.ping(2);
        assert!(rig.now - last_sign <= DurationMs(10_000), "nobody was offered the job");
    }
    assert_eq!(rig.take_offers(), vec![(2, job.clone(), 2)]);
    assert_eq!(rig.closed.len(), 1, "the silent socket is closed");
    assert_eq!(rig.rows[&job].workers_lost, 1);
}

#[test]
fn an_hour_long_job_on_a_healthy_worker_is_never_rescued() {
    // Oban at hexpm #1825: jobs of 9 to 47 minutes were rescued after 6.
    let mut rig = Rig::new();
    let job = running(&mut rig);
    for _ in 0..1_200 {
        rig.pass(3_000);
        rig.ping(1);
    }
    assert_eq!(rig.state(&job), "running");
    assert_eq!(rig.rows[&job].attempt, Attempt(1));
}

#[test]
fn a_worker_that_comes_back_in_time_keeps_its_job() {
    let mut rig = Rig::new();
    let job = running(&mut rig);
    rig.close(1);
    rig.pass(5_000);
    rig.hello(2, "mini-1");
    rig.ready(2, 0, &[(&job, 1)]);
    rig.pass(3_000);
    assert_eq!(rig.state(&job), "running");
    rig.complete(2, &job, 1);
    assert_eq!(rig.state(&job), "completed");
}

#[test]
fn a_presumed_lost_worker_that_comes_back_first_keeps_its_job() {
    let mut rig = Rig::new();
    let job = running(&mut rig);
    rig.close(1);
    rig.pass(30_000);
    assert_eq!(rig.state(&job), "queued");
    rig.hello(2, "mini-1");
    rig.ready(2, 0, &[(&job, 1)]);
    assert_eq!(rig.state(&job), "running");
    assert_eq!(rig.take_offers(), vec![]);
}

#[test]
fn a_restarted_worker_that_no_longer_lists_a_job_gives_it_back_at_once() {
    let mut rig = Rig::new();
    let job = running(&mut rig);
    rig.close(1);
    rig.hello_after_boot(2, "mini-1", "boot-2");
    rig.ready(2, 1, &[]);
    assert_eq!(rig.take_offers(), vec![(2, job, 2)]);
}

#[test]
fn late_truth_wins_over_running_again() {
    // OpenFn kit #1179: a completion in flight when the socket dropped was lost, and the run marked lost though it was done.
    let mut rig = Rig::new();
    let job = running(&mut rig);
    rig.close(1);
    rig.pass(30_000);
    rig.hello(2, "mini-2");
    rig.ready(2, 1, &[]);
    rig.accept(2, &job, 2);
    assert_eq!(rig.state(&job), "running");
    rig.hello(3, "mini-1");
    rig.complete(3, &job, 1);
    assert_eq!(rig.state(&job), "completed");
    assert_eq!(rig.rows[&job].accepted, Some(Attempt(1)));
    assert_eq!(rig.cancels(), vec![(2, job.clone(), 2, CancelReason::Superseded)]);
    rig.complete(2, &job, 2);
    assert_eq!(rig.rows[&job].accepted, Some(Attempt(1)), "the second result changes nothing");
    assert_eq!(rig.acks(), 2, "and is acknowledged all the same");
}

#[test]
fn an_old_attempts_failure_and_progress_change_nothing() {
    let mut rig = Rig::new();
    let job = running(&mut rig);
    rig.close(1);
    rig.pass(30_000);
    rig.hello(2, "mini-2");
    rig.ready(2, 1, &[]);
    rig.accept(2, &job, 2);
    rig.hello(3, "mini-1");
    rig.progress(3, &job, 1, segments(0..3));
    rig.fail(3, &job, 1, FailureCode::NoAudio);
    assert_eq!(rig.state(&job), "running");
    assert!(rig.rows[&job].playlist.is_empty());
    rig.ready(3, 0, &[(&job, 1)]);
    assert_eq!(rig.cancels(), vec![(3, job, 1, CancelReason::Superseded)], "the stale attempt is stopped");
}

#[test]
fn a_job_that_kills_its_workers_does_not_go_round_the_fleet() {
    // activepieces #15130: a job that killed its worker went round the fleet for 17 h.
    let mut rig = Rig::new();
    let job = rig.submit();
    for n in 1..=3u32 {
        rig.hello(n.into(), &format!("mini-{n}"));
        rig.ready(n.into(), 1, &[]);
        rig.accept(n.into(), &job, n);
        rig.close(n.into());
        rig.pass(30_000);
    }
    assert_eq!(rig.state(&job), "quarantined");
    assert_eq!(rig.rows[&job].failure.as_ref().unwrap().code, FailureCode::WorkerLost);
}

#[test]
fn the_newest_connection_of_a_worker_wins() {
    let mut rig = Rig::new();
    let job = running(&mut rig);
    rig.hello(2, "mini-1");
    assert_eq!(rig.closed.len(), 1);
    rig.close(1);
    rig.ready(2, 0, &[(&job, 1)]);
    rig.pass(2_000);
    rig.ping(2);
    rig.pass(8_000);
    assert_eq!(rig.state(&job), "running", "the old socket's end is nobody's end");
}

#[test]
fn a_restarted_job_continues_the_playlist_that_listeners_already_have() {
    let mut rig = Rig::new();
    let job = running(&mut rig);
    rig.progress(1, &job, 1, segments(0..3));
    rig.close(1);
    rig.pass(30_000);
    rig.hello(2, "mini-2");
    rig.ready(2, 1, &[]);
    rig.accept(2, &job, 2);
    rig.progress(2, &job, 2, segments(0..5));
    let list = &rig.rows[&job].playlist;
    assert_eq!(list.len(), 5);
    assert!(list.lists(Attempt(1), 2) && list.lists(Attempt(2), 3) && !list.lists(Attempt(2), 0));
}

#[test]
fn a_scheduler_that_stood_still_hears_its_workers_out_before_it_gives_their_jobs_away() {
    // Its process was stopped for longer than any worker may be silent. The alarm comes first, the pings wait behind it.
    let mut rig = Rig::new();
    let job = running(&mut rig);
    rig.stand_still(30_000);
    rig.hello(2, "mini-2");
    rig.ready(2, 1, &[]);
    rig.pass(1_000);
    rig.ping(1);
    rig.pass(8_000);
    assert_eq!(rig.state(&job), "running");
    assert_eq!(rig.take_offers(), vec![], "nobody else was offered it");
    // Once only: a worker that is really gone is not waited for again and again.
    rig.stand_still(30_000);
    rig.pass(3_000);
    assert_eq!(rig.state(&job), "queued");
}

#[test]
fn a_scheduler_that_stood_still_waits_for_the_answer_to_its_offer() {
    let mut rig = Rig::new();
    let job = rig.submit();
    rig.hello(1, "mini-1");
    rig.ready(1, 1, &[]);
    assert_eq!(rig.take_offers().len(), 1);
    rig.stand_still(25_000);
    assert_eq!(rig.state(&job), "offered");
    rig.accept(1, &job, 1);
    assert_eq!(rig.state(&job), "running");
}

#[test]
fn a_scheduler_that_stood_still_waits_for_the_confirmation_of_a_cancel() {
    let mut rig = Rig::new();
    let job = running(&mut rig);
    rig.scheduler.cancel(rig.now, &job);
    rig.settle();
    rig.stand_still(60_000);
    assert_eq!(
        rig.state(&job),
        "running",
        "the confirmation, or a result that came first, may wait to be heard"
    );
    rig.complete(1, &job, 1);
    assert_eq!(rig.state(&job), "completed");
}
