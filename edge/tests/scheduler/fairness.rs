//! Who waits for whom.

use super::rig::*;
use edge::scheduler::{JobRequest, MAX_CLASS_WAIT};
use shared_protocol::*;

fn order(rig: &mut Rig, jobs: usize) -> Vec<JobId> {
    rig.hello(1, "mini-1");
    rig.ready(1, jobs as u32, &[]);
    rig.take_offers().into_iter().map(|offer| offer.1).collect()
}

fn seconds(expected: u32) -> JobRequest {
    JobRequest { expected_seconds: Some(expected), ..request() }
}

#[test]
fn a_tenant_with_a_thousand_jobs_does_not_delay_anothers_single_one() {
    let mut rig = Rig::new();
    for _ in 0..1_000 {
        rig.submit_as("flood", seconds(60));
    }
    let single = rig.submit_as("quiet", seconds(60));
    let order = order(&mut rig, 5);
    let place = order.iter().position(|id| *id == single).expect("among the first five");
    assert!(place <= 1, "behind at most the one that came first: {place}");
}

#[test]
fn tenants_share_by_seconds_of_audio_and_not_by_number_of_jobs() {
    let mut rig = Rig::new();
    let long: Vec<JobId> = (0..4).map(|_| rig.submit_as("films", seconds(600))).collect();
    let short: Vec<JobId> = (0..40).map(|_| rig.submit_as("clips", seconds(60))).collect();
    let order = order(&mut rig, 22);
    let films = order.iter().filter(|id| long.contains(id)).count();
    let clips = order.iter().filter(|id| short.contains(id)).count();
    assert_eq!((films, clips), (2, 20), "as many seconds of each");
}

#[test]
fn a_job_that_comes_back_keeps_its_place() {
    let mut rig = Rig::new();
    let first = rig.submit();
    let second = rig.submit();
    rig.hello(1, "mini-1");
    rig.ready(1, 1, &[]);
    assert_eq!(rig.take_offers()[0].1, first);
    rig.reject(1, &first, 1);
    rig.ready(1, 2, &[]);
    let order: Vec<JobId> = rig.take_offers().into_iter().map(|offer| offer.1).collect();
    assert_eq!(order, vec![first, second]);
}

#[test]
fn a_low_job_does_not_starve_behind_an_endless_stream_of_high_ones() {
    let mut rig = Rig::new();
    let low = rig.submit_as("patient", JobRequest { priority: Priority::Low, ..request() });
    rig.hello(1, "mini-1");
    let high = JobRequest { priority: Priority::High, ..request() };
    let mut waited = 0;
    loop {
        rig.submit_as("urgent", high.clone());
        rig.submit_as("urgent", high.clone());
        rig.ready(1, 1, &[]);
        let (_, job, attempt) = rig.take_offers().remove(0);
        rig.accept(1, &job, attempt);
        if job == low {
            break;
        }
        rig.complete(1, &job, attempt);
        rig.pass(5_000);
        rig.hello(1, "mini-1");
        waited += 5_000;
        assert!(waited <= MAX_CLASS_WAIT.0 + 15_000, "the low job starved for {waited} ms");
    }
    assert!(waited >= MAX_CLASS_WAIT.0 - 5_000, "and classes count until then: {waited} ms");
}

#[test]
fn a_scheduled_job_waits_for_its_time_and_takes_no_slot_before() {
    let mut rig = Rig::new();
    let at = TimestampMs(rig.now.0 + 60_000);
    let later = rig.submit_as("acme", JobRequest { not_before: Some(at), ..request() });
    let now = rig.submit();
    assert_eq!(order(&mut rig, 5), vec![now.clone()]);
    rig.accept(1, &now, 1);
    rig.evict(true);
    for _ in 0..20 {
        rig.ping(1);
        rig.pass(3_000);
    }
    assert_eq!(rig.take_offers(), vec![(1, later, 1)]);
    assert_eq!(rig.now, at);
}

#[test]
fn jobs_that_nobody_can_do_stand_in_nobodys_way() {
    let mut rig = Rig::new();
    for _ in 0..200 {
        rig.submit_as("acme", JobRequest { labels: vec!["gpu".into()], ..request() });
    }
    let single = rig.submit_as("acme", request());
    assert_eq!(order(&mut rig, 1), vec![single]);
}

#[test]
fn a_paused_tenants_many_jobs_stand_in_nobodys_way_and_nor_do_they_when_it_is_resumed() {
    let mut rig = Rig::new();
    let paused = TenantId::new("paused").unwrap();
    rig.submit_as("paused", seconds(60));
    rig.scheduler.pause(Some(paused.clone()));
    rig.settle();
    for _ in 0..200 {
        rig.submit_as("paused", seconds(60));
    }
    let busy: Vec<JobId> = (0..50).map(|_| rig.submit_as("busy", seconds(60))).collect();
    assert_eq!(order(&mut rig, 50), busy);
    rig.evict(true);
    rig.scheduler.resume(rig.now, Some(&paused));
    rig.settle();
    let single = rig.submit_as("quiet", seconds(60));
    rig.ready(1, 4, &busy.iter().map(|id| (id, 1)).collect::<Vec<_>>());
    let offers = rig.take_offers();
    assert!(offers.iter().any(|offer| offer.1 == single), "what was paused has not been waiting: {offers:?}");
}

#[test]
fn jobs_for_later_do_not_push_in_when_their_time_comes() {
    let mut rig = Rig::new();
    let at = TimestampMs(rig.now.0 + 60_000);
    for _ in 0..50 {
        rig.submit_as("nightly", JobRequest { not_before: Some(at), ..seconds(60) });
    }
    let busy: Vec<JobId> = (0..60).map(|_| rig.submit_as("busy", seconds(60))).collect();
    assert_eq!(order(&mut rig, 60), busy);
    for _ in 0..20 {
        rig.pass(3_000);
        rig.ping(1);
    }
    let single = rig.submit_as("quiet", seconds(60));
    rig.ready(1, 4, &busy.iter().map(|id| (id, 1)).collect::<Vec<_>>());
    assert!(rig.take_offers().iter().any(|offer| offer.1 == single));
}
