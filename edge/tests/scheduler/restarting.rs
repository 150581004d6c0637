//! The object loses its memory: by hibernation (sockets stay) or by a deploy (sockets go).

use super::rig::*;
use shared_protocol::*;

#[test]
fn a_deploy_with_running_jobs_runs_none_of_them_again() {
    // Hatchet #552: an engine's restart ran live steps twice.
    let mut rig = Rig::new();
    let jobs: Vec<JobId> = (0..6).map(|_| rig.submit()).collect();
    rig.hello(1, "mini-1");
    rig.ready(1, 6, &[]);
    for job in &jobs {
        rig.accept(1, job, 1);
    }
    rig.take_offers();
    rig.evict(false);
    rig.pass(8_000);
    rig.hello(2, "mini-1");
    let listed: Vec<(&JobId, u32)> = jobs.iter().map(|job| (job, 1)).collect();
    rig.ready(2, 0, &listed);
    rig.pass(5_000);
    rig.ping(2);
    for job in &jobs {
        assert_eq!(rig.state(job), "running");
        rig.complete(2, job, 1);
        assert_eq!(rig.state(job), "completed");
    }
    assert_eq!(rig.take_offers(), vec![]);
}

#[test]
fn hibernation_forgets_no_open_slot_and_gives_none_away_twice() {
    let mut rig = Rig::new();
    rig.hello(1, "mini-1");
    rig.ready(1, 2, &[]);
    let first = rig.submit();
    rig.evict(true);
    assert_eq!(rig.take_offers().len(), 1);
    rig.accept(1, &first, 1);
    let (second, third) = (rig.submit(), rig.submit());
    assert_eq!(rig.take_offers(), vec![(1, second, 1)], "one slot was left, not two");
    assert_eq!(rig.state(&third), "queued");
}

#[test]
fn an_offer_in_flight_at_a_deploy_is_run_once() {
    let mut rig = Rig::new();
    rig.hello(1, "mini-1");
    rig.ready(1, 1, &[]);
    let job = rig.submit();
    rig.take_offers();
    rig.evict(false);
    // The worker had accepted; its accept went down with the old socket.
    rig.hello(2, "mini-1");
    rig.ready(2, 0, &[(&job, 1)]);
    assert_eq!(rig.state(&job), "running");
    rig.complete(2, &job, 1);
    assert_eq!((rig.state(&job), rig.take_offers()), ("completed", vec![]));
}

#[test]
fn a_worker_that_does_not_come_back_after_a_deploy_loses_its_jobs_after_the_grace() {
    let mut rig = Rig::new();
    rig.hello(1, "mini-1");
    rig.ready(1, 1, &[]);
    let job = rig.submit();
    rig.accept(1, &job, 1);
    rig.evict(false);
    rig.take_offers();
    rig.hello(2, "mini-2");
    rig.ready(2, 1, &[]);
    rig.pass(4_000);
    rig.ping(2);
    assert_eq!(rig.take_offers(), vec![], "the grace has not passed");
    for _ in 0..6 {
        rig.pass(3_000);
        rig.ping(2);
    }
    assert_eq!(rig.take_offers(), vec![(2, job, 2)]);
}

#[test]
fn waiting_jobs_keep_their_order_and_new_ones_come_behind() {
    let mut rig = Rig::new();
    let (first, second) = (rig.submit(), rig.submit());
    rig.evict(false);
    let third = rig.submit();
    rig.hello(1, "mini-1");
    rig.ready(1, 3, &[]);
    let order: Vec<JobId> = rig.take_offers().into_iter().map(|o| o.1).collect();
    assert_eq!(order, vec![first, second, third]);
}

#[test]
fn a_retry_pause_outlives_a_restart() {
    let mut rig = Rig::new();
    let job = rig.submit();
    rig.hello(1, "mini-1");
    rig.ready(1, 1, &[]);
    rig.accept(1, &job, 1);
    rig.fail(1, &job, 1, FailureCode::EngineFailed);
    rig.take_offers();
    rig.evict(true);
    rig.ready(1, 1, &[]);
    assert_eq!(rig.take_offers(), vec![]);
    rig.pass(1_000);
    assert_eq!(rig.take_offers(), vec![(1, job, 2)]);
}
