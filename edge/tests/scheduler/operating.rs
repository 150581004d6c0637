//! The operator's levers, and the breaker that pulls one by itself.

use super::rig::*;
use edge::scheduler::{
    AuditEntry, AuditOutcome, ConnectionId, FIRST_BENCH, JobRequest, PauseNote, Reason, WaitsFor,
};
use shared_protocol::*;

fn mini(n: u32) -> WorkerId {
    WorkerId::new(format!("mini-{n}")).unwrap()
}

#[test]
fn a_deploy_never_unpauses_a_queue() {
    // trigger.dev #2066
    let mut rig = Rig::new();
    rig.scheduler.pause(None);
    rig.settle();
    let job = rig.submit();
    rig.evict(false);
    rig.hello(1, "mini-1");
    rig.ready(1, 1, &[]);
    assert_eq!(rig.take_offers(), vec![]);
    rig.scheduler.resume(rig.now, None);
    rig.settle();
    assert_eq!(rig.take_offers(), vec![(1, job, 1)]);
}

#[test]
fn a_paused_tenant_stands_in_nobodys_way() {
    let mut rig = Rig::new();
    rig.scheduler.pause(Some(TenantId::new("held").unwrap()));
    rig.settle();
    rig.submit_as("held", request());
    let other = rig.submit();
    rig.hello(1, "mini-1");
    rig.ready(1, 5, &[]);
    assert_eq!(rig.take_offers(), vec![(1, other, 1)]);
}

#[test]
fn a_drained_worker_keeps_what_it_has_for_an_hour_and_gets_nothing_new() {
    // Inngest #3822: a draining worker's heartbeats were ignored, and its live step was lost.
    let mut rig = Rig::new();
    rig.hello(1, "mini-1");
    rig.ready(1, 2, &[]);
    let job = rig.submit();
    rig.accept(1, &job, 1);
    rig.take_offers();
    rig.scheduler.drain(&mini(1), "new disk");
    rig.settle();
    let waiting = rig.submit();
    for _ in 0..1_200 {
        rig.pass(3_000);
        rig.ping(1);
    }
    assert_eq!((rig.state(&job), rig.state(&waiting)), ("running", "queued"));
    rig.evict(true);
    rig.complete(1, &job, 1);
    rig.ready(1, 2, &[]);
    assert_eq!(rig.take_offers(), vec![], "a restart ends no drain");
    rig.scheduler.undrain(rig.now, &mini(1));
    rig.settle();
    assert_eq!(rig.take_offers(), vec![(1, waiting, 1)]);
}

#[test]
fn a_broken_worker_does_not_drain_the_queue() {
    // Tdarr #878: broken machines failed everything quickly, and so got everything.
    let mut rig = Rig::new();
    rig.hello(1, "mini-1");
    for _ in 0..3 {
        let job = rig.submit();
        rig.ready(1, 1, &[]);
        let attempt = rig.rows[&job].attempt.0;
        rig.accept(1, &job, attempt);
        rig.fail(1, &job, attempt, FailureCode::EngineFailed);
        rig.pass(1);
    }
    rig.take_offers();
    rig.submit();
    rig.ready(1, 1, &[]);
    assert_eq!(rig.take_offers(), vec![], "benched");
    assert!(rig.controls[&mini(1)].benched_until.is_some());
    rig.evict(true);
    for _ in 0..(FIRST_BENCH.0 / 3_000 + 1) {
        rig.pass(3_000);
        rig.ping(1);
    }
    assert_eq!(rig.take_offers().len(), 1, "and on trial again after a minute");
}

#[test]
fn a_quarantined_job_waits_for_an_operator_who_may_retry_it() {
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
    let row = rig.rows[&job].clone();
    rig.scheduler.retry(rig.now, row).unwrap();
    rig.settle();
    rig.take_offers();
    rig.hello(9, "mini-9");
    rig.ready(9, 1, &[]);
    assert_eq!(rig.take_offers(), vec![(9, job.clone(), 4)], "attempts go on: old ones stay fenced off");
    rig.accept(9, &job, 4);
    rig.complete(9, &job, 4);
    let done = rig.rows[&job].clone();
    assert!(rig.scheduler.retry(rig.now, done).is_err(), "a completed job is not run again");
}

#[test]
fn the_history_explains_every_state() {
    let mut rig = Rig::new();
    let job = rig.submit();
    rig.hello(1, "mini-1");
    rig.ready(1, 1, &[]);
    rig.accept(1, &job, 1);
    rig.fail(1, &job, 1, FailureCode::DownloadFailed);
    rig.pass(1_000);
    rig.ready(1, 1, &[]);
    rig.accept(1, &job, 2);
    rig.complete(1, &job, 2);
    let history: Vec<(&str, u32, Reason)> =
        rig.rows[&job].history.iter().map(|t| (t.to.as_str(), t.attempt.0, t.reason)).collect();
    assert_eq!(
        history,
        vec![
            ("queued", 0, Reason::Submitted),
            ("offered", 1, Reason::SlotOpen),
            ("running", 1, Reason::Accepted),
            ("queued", 1, Reason::RetryableFailure),
            ("offered", 2, Reason::SlotOpen),
            ("running", 2, Reason::Accepted),
            ("completed", 2, Reason::Completed),
        ]
    );
}

#[test]
fn the_hint_asks_for_workers_when_jobs_would_start_too_late() {
    let mut rig = Rig::new();
    let target = DurationMs::from_secs(60);
    for _ in 0..100 {
        rig.submit_as("acme", edge::scheduler::JobRequest { expected_seconds: Some(600), ..request() });
    }
    let none = rig.scheduler.statistics(rig.now, target);
    assert_eq!((none.late_jobs, none.seconds_to_drain), (100, None));
    rig.hello(1, "mini-1");
    rig.ready(1, 0, &[]);
    let one = rig.scheduler.statistics(rig.now, target);
    // 600 s of audio at the assumed 20 times real time are 30 s each: the third and all later ones start after 60 s.
    assert_eq!((one.late_jobs, one.seconds_to_drain, one.workers_wanted), (97, Some(3000.0), 50));
}

#[test]
fn who_paused_and_why_is_kept_as_long_as_the_pause() {
    let mut rig = Rig::new();
    let note = PauseNote { tenant: None, at: rig.now, key_id: "ops".into(), reason: "storage moves".into() };
    let of_tenant = PauseNote { tenant: Some(TenantId::new("acme").unwrap()), ..note.clone() };
    rig.scheduler.pause_with_note(note.clone());
    rig.scheduler.pause_with_note(of_tenant.clone());
    rig.settle();
    rig.evict(false);
    assert_eq!(rig.scheduler.meta().pause_notes, [note, of_tenant.clone()]);
    rig.scheduler.resume(rig.now, None);
    rig.settle();
    assert_eq!(rig.scheduler.meta().pause_notes, [of_tenant], "the tenant's own pause goes on");
    assert!(rig.scheduler.is_paused(Some(&TenantId::new("acme").unwrap())));
    assert!(!rig.scheduler.is_paused(None));
}

#[test]
fn an_entry_of_the_audit_log_is_kept_with_what_it_tells_of() {
    let mut rig = Rig::new();
    let entry = AuditEntry {
        request_id: "req_1".into(),
        at: rig.now,
        key_id: "ops".into(),
        action: "worker.drain".into(),
        target: Some("mini-1".into()),
        reason: "new disk".into(),
        outcome: AuditOutcome::Done,
        refusal: None,
        changed: None,
        left: None,
    };
    rig.scheduler.drain(&mini(1), "new disk");
    rig.scheduler.audit(entry.clone());
    rig.settle();
    assert!(rig.controls[&mini(1)].drained);
    assert_eq!(rig.audit, [entry]);
}

#[test]
fn a_job_that_waits_says_for_what() {
    let mut rig = Rig::new();
    let later = JobRequest { not_before: Some(TimestampMs(rig.now.0 + 5_000)), ..request() };
    let scheduled = rig.submit_as("acme", later);
    let first = rig.submit();
    let studio = rig.submit_as("acme", JobRequest { labels: vec!["studio".into()], ..request() });
    let waits = |rig: &Rig, id: &JobId| rig.scheduler.waiting_for(rig.now, id).map(|w| w.waits_for);
    assert_eq!(waits(&rig, &scheduled), Some(WaitsFor::ItsTime));
    assert_eq!(waits(&rig, &first), Some(WaitsFor::AnyWorker));
    rig.hello(1, "mini-1");
    assert_eq!(waits(&rig, &first), Some(WaitsFor::OpenSlot), "it has not said ready");
    assert_eq!(waits(&rig, &studio), Some(WaitsFor::FittingWorker));
    assert_eq!(rig.scheduler.waiting_for(rig.now, &studio).unwrap().jobs_ahead, Some(1));
    rig.scheduler.drain(&mini(1), "");
    rig.settle();
    assert_eq!(waits(&rig, &first), Some(WaitsFor::HeldBackWorkers));
    rig.scheduler.pause(Some(TenantId::new("acme").unwrap()));
    rig.settle();
    assert_eq!(waits(&rig, &first), Some(WaitsFor::TenantsResume));
    rig.scheduler.pause(None);
    rig.settle();
    assert_eq!(waits(&rig, &first), Some(WaitsFor::Resume));
    rig.scheduler.resume(rig.now, None);
    rig.scheduler.resume(rig.now, Some(&TenantId::new("acme").unwrap()));
    rig.scheduler.undrain(rig.now, &mini(1));
    rig.settle();
    rig.ready(1, 1, &[]);
    assert_eq!(waits(&rig, &first), None, "it is offered");
}

#[test]
fn a_connection_that_says_nothing_is_closed_and_one_that_says_hello_is_not() {
    let mut rig = Rig::new();
    for connection in [1, 2, 3] {
        rig.scheduler.handle_connected(rig.now, ConnectionId(connection));
    }
    rig.hello(2, "mini-2");
    rig.close(3);
    rig.pass(5_000);
    rig.ping(2);
    rig.pass(4_999);
    assert_eq!(rig.closed, []);
    rig.ping(2);
    rig.pass(1);
    assert_eq!(rig.closed, [ConnectionId(1)]);
}
