//! The life of one job, and of a few beside it.

use super::rig::*;
use edge::scheduler::{Config, ConnectionId, JobRequest, KnownKey, NewJob, SubmitError, Submitted};
use shared_protocol::*;

#[test]
fn a_job_is_offered_accepted_and_completed() {
    let mut rig = Rig::new();
    rig.hello(1, "mini-1");
    rig.ready(1, 1, &[]);
    let job = rig.submit();
    assert_eq!(rig.take_offers(), vec![(1, job.clone(), 1)]);
    assert_eq!(rig.state(&job), "offered");
    rig.accept(1, &job, 1);
    assert_eq!(rig.state(&job), "running");
    rig.progress(1, &job, 1, segments(0..2));
    assert_eq!(rig.rows[&job].playlist.len(), 2);
    assert_eq!(rig.rows[&job].playlist.listed_since, Some(rig.now));
    rig.complete(1, &job, 1);
    assert_eq!(rig.state(&job), "completed");
    assert_eq!(rig.rows[&job].accepted, Some(Attempt(1)));
    assert!(rig.rows[&job].playlist.ended, "players stop at the end");
    assert_eq!(rig.acks(), 1);
}

#[test]
fn one_offer_for_each_open_slot_and_no_more() {
    let mut rig = Rig::new();
    let jobs: Vec<_> = (0..4).map(|_| rig.submit()).collect();
    rig.hello(1, "mini-1");
    assert_eq!(rig.take_offers(), vec![], "nothing before ready");
    rig.ready(1, 2, &[]);
    assert_eq!(rig.take_offers(), vec![(1, jobs[0].clone(), 1), (1, jobs[1].clone(), 1)]);
    rig.accept(1, &jobs[0], 1);
    assert_eq!(rig.take_offers(), vec![], "an accept opens no slot");
    rig.ready(1, 1, &[(&jobs[0], 1)]);
    assert_eq!(
        rig.take_offers(),
        vec![],
        "the unanswered offer still takes the slot that this ready did not know of"
    );
    rig.accept(1, &jobs[1], 1);
    rig.ready(1, 1, &[(&jobs[0], 1), (&jobs[1], 1)]);
    assert_eq!(rig.take_offers(), vec![(1, jobs[2].clone(), 1)]);
}

#[test]
fn a_rejected_offer_costs_the_job_nothing_and_closes_the_worker_until_ready() {
    let mut rig = Rig::new();
    let job = rig.submit();
    rig.hello(1, "mini-1");
    rig.ready(1, 3, &[]);
    rig.take_offers();
    rig.reject(1, &job, 1);
    assert_eq!(rig.state(&job), "queued");
    assert_eq!((rig.rows[&job].retries, rig.rows[&job].workers_lost), (0, 0));
    assert_eq!(rig.take_offers(), vec![], "zero open slots until the next ready");
    rig.ready(1, 3, &[]);
    assert_eq!(rig.take_offers(), vec![(1, job, 2)]);
}

#[test]
fn a_lost_offer_returns_uncharged() {
    // Inngest #3868: a job was taken as forwarded before the socket write, and dropped until its lease ended.
    let mut rig = Rig::new();
    let job = rig.submit();
    rig.hello(1, "mini-1");
    rig.ready(1, 1, &[]);
    assert_eq!(rig.take_offers().len(), 1);
    for _ in 0..3 {
        rig.pass(3_000);
        rig.ping(1);
    }
    assert_eq!(rig.state(&job), "queued");
    assert_eq!((rig.rows[&job].retries, rig.rows[&job].workers_lost), (0, 0));
    rig.ready(1, 1, &[]);
    assert_eq!(rig.take_offers(), vec![(1, job, 2)]);
}

#[test]
fn a_late_answer_still_counts_while_nobody_else_has_the_job() {
    let mut rig = Rig::new();
    let job = rig.submit();
    rig.hello(1, "mini-1");
    rig.ready(1, 1, &[]);
    for _ in 0..3 {
        rig.pass(3_000);
        rig.ping(1);
    }
    assert_eq!(rig.state(&job), "queued");
    rig.accept(1, &job, 1);
    assert_eq!((rig.state(&job), rig.cancels()), ("running", vec![]));
    rig.complete(1, &job, 1);
    assert_eq!(rig.state(&job), "completed");
}

#[test]
fn whoever_reports_progress_runs_the_job_though_its_accept_was_lost() {
    // The accept went down with a turn whose transaction failed.
    let mut rig = Rig::new();
    let job = rig.submit();
    rig.hello(1, "mini-1");
    rig.ready(1, 1, &[]);
    rig.take_offers();
    rig.progress(1, &job, 1, segments(0..2));
    assert_eq!(rig.state(&job), "running");
    assert_eq!(rig.rows[&job].playlist.len(), 2);
    rig.pass(8_500);
    rig.ping(1);
    assert_eq!((rig.state(&job), rig.take_offers()), ("running", vec![]), "no second worker gets it");
}

#[test]
fn a_failure_that_another_attempt_may_not_have_is_retried_with_a_pause_then_final() {
    let mut rig = Rig::new();
    let job = rig.submit();
    for attempt in 1..=4 {
        let connection = u64::from(attempt);
        rig.hello(connection, &format!("mini-{attempt}"));
        rig.ready(connection, 1, &[]);
        rig.accept(connection, &job, attempt);
        rig.fail(connection, &job, attempt, FailureCode::UploadFailed);
        rig.pass(8_000);
    }
    assert_eq!(rig.state(&job), "failed");
    assert_eq!(rig.rows[&job].failure.as_ref().unwrap().code, FailureCode::UploadFailed);
    assert_eq!(rig.rows[&job].attempt, Attempt(4), "one try and three retries");
}

#[test]
fn a_bad_recording_is_not_tried_again() {
    let mut rig = Rig::new();
    let job = rig.submit();
    rig.hello(1, "mini-1");
    rig.ready(1, 1, &[]);
    rig.accept(1, &job, 1);
    rig.fail(1, &job, 1, FailureCode::NoAudio);
    assert_eq!(rig.state(&job), "failed");
    assert_eq!(rig.take_offers().len(), 1);
}

#[test]
fn an_urgent_job_goes_first_and_equals_go_in_order() {
    let mut rig = Rig::new();
    let (first, second) = (rig.submit(), rig.submit());
    let urgent = job_id(900);
    let request = JobRequest { priority: Priority::High, ..request() };
    let new =
        NewJob { id: urgent.clone(), tenant: TenantId::new("acme").unwrap(), request, idempotency_key: None };
    rig.scheduler.submit(rig.now, new, None).unwrap();
    rig.settle();
    rig.hello(1, "mini-1");
    rig.ready(1, 3, &[]);
    let order: Vec<JobId> = rig.take_offers().into_iter().map(|(_, id, _)| id).collect();
    assert_eq!(order, vec![urgent, first, second]);
}

#[test]
fn a_full_queue_says_so_and_takes_nothing() {
    let mut rig = Rig::with(Config { max_live_jobs: 2, ..Config::default() });
    rig.submit();
    rig.submit();
    assert_eq!(rig.try_submit(), Err(SubmitError::QueueFull { limit: 2 }));
    assert_eq!(rig.rows.len(), 2);
}

#[test]
fn a_tenant_with_as_many_live_jobs_as_it_may_have_is_told_so_and_others_are_not_concerned() {
    let mut rig = Rig::new();
    let jobs = [rig.submit(), rig.submit()];
    let submit = |rig: &mut Rig, id: u64, tenant: &str| {
        let tenant = TenantId::new(tenant).unwrap();
        let new = NewJob { id: job_id(id), tenant, request: request(), idempotency_key: None };
        rig.scheduler.submit_within(rig.now, new, None, Some(2))
    };
    assert_eq!(submit(&mut rig, 70, "acme"), Err(SubmitError::TenantFull { limit: 2 }));
    assert_eq!(submit(&mut rig, 71, "other"), Ok(Submitted::New(job_id(71))));
    rig.scheduler.cancel(rig.now, &jobs[0]);
    assert_eq!(submit(&mut rig, 72, "acme"), Ok(Submitted::New(job_id(72))));
}

#[test]
fn an_idempotency_key_gives_the_same_job_for_a_day_and_refuses_another_request() {
    let mut rig = Rig::new();
    let job = rig.submit();
    let known = KnownKey { job_id: job.clone(), request: request(), created_at: rig.now };
    let again = |request| NewJob {
        id: job_id(77),
        tenant: TenantId::new("acme").unwrap(),
        request,
        idempotency_key: Some("k".into()),
    };
    assert_eq!(
        rig.scheduler.submit(rig.now, again(request()), Some(known.clone())),
        Ok(Submitted::Known(job.clone()))
    );
    let other = JobRequest { priority: Priority::Low, ..request() };
    assert_eq!(
        rig.scheduler.submit(rig.now, again(other), Some(known.clone())),
        Err(SubmitError::IdempotencyMismatch { job_id: job })
    );
    rig.pass(24 * 3_600_000);
    assert_eq!(rig.scheduler.submit(rig.now, again(request()), Some(known)), Ok(Submitted::New(job_id(77))));
}

#[test]
fn starts_are_judged_against_the_soonest_and_not_in_turn() {
    // Backlogs of 0, 9 and 18 s: 0 and 9 tie, 18 does not, though it is within 10 s of 9.
    let mut rig = Rig::new();
    for (connection, name, backlog_seconds) in [(1, "mini-a", 18.0), (2, "mini-b", 9.0), (3, "mini-c", 0.0)] {
        rig.hello(connection, name);
        rig.now = TimestampMs(rig.now.0 + 10);
        let ready =
            Ready { slots: 1, job_ids: vec![], backlog_seconds, draining: false, speeds: vec![], link: None };
        rig.say(connection, WorkerMessage::Ready(ready));
    }
    rig.submit();
    assert_eq!(
        rig.take_offers().first().map(|o| o.0),
        Some(2),
        "mini-b and mini-c tie; mini-b has been idle longer"
    );
}

#[test]
fn an_unknown_speaker_is_asked_for_hello_and_a_foreign_version_is_turned_away() {
    let mut rig = Rig::new();
    rig.ping(9);
    let codes: Vec<String> = rig
        .sent
        .iter()
        .filter_map(|(_, m)| match m {
            SchedulerMessage::Error(e) => Some(e.code.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(codes, vec!["hello_expected"]);
    rig.say(
        9,
        WorkerMessage::Hello(Hello {
            protocol: ProtocolVersion(99),
            worker_id: WorkerId::new("mini-9").unwrap(),
            boot_id: BootId::new("b").unwrap(),
            version: String::new(),
            slots: 1,
            samplers: vec![],
            engine: String::new(),
            labels: vec![],
            priority: 0,
        }),
    );
    assert_eq!(rig.closed.len(), 1);
    assert_eq!(rig.scheduler.workers().count(), 0);
}

/// All of it is kept with the worker's socket, where the platform has room for 16 KB.
#[test]
fn a_worker_that_talks_too_much_of_itself_is_still_remembered() {
    let mut rig = Rig::new();
    let mut hello = Hello {
        protocol: PROTOCOL_VERSION,
        worker_id: WorkerId::new("mini-1").unwrap(),
        boot_id: BootId::new("boot-1").unwrap(),
        version: "ä".repeat(100_000),
        slots: 6,
        samplers: vec![Sampler::Flash; 50_000],
        engine: "x".repeat(100_000),
        labels: vec!["gpu".repeat(1_000); 1_000],
        priority: 0,
    };
    hello.samplers.push(Sampler::Pro);
    rig.say(1, WorkerMessage::Hello(hello));
    let snapshot = rig.sockets[&ConnectionId(1)].clone().unwrap();
    assert_eq!(snapshot.samplers, [Sampler::Flash, Sampler::Pro]);
    assert!(serde_json::to_string(&snapshot).unwrap().encode_utf16().count() < 4_000);
}
