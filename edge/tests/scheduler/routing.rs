//! Where a job goes, and why.

use super::rig::*;
use edge::scheduler::{Config, DecidedBy, JobRequest, Policy};
use shared_protocol::*;

struct Mini<'a> {
    name: &'a str,
    backlog_seconds: f64,
    upload_bytes_per_second: f64,
    priority: i32,
    labels: &'a [&'a str],
}

const PLAIN: Mini<'static> =
    Mini { name: "mini", backlog_seconds: 0.0, upload_bytes_per_second: 5.0e6, priority: 0, labels: &[] };

fn join(rig: &mut Rig, connection: u64, mini: &Mini<'_>, slots: u32) {
    rig.sockets.insert(edge::scheduler::ConnectionId(connection), None);
    rig.say(
        connection,
        WorkerMessage::Hello(Hello {
            protocol: PROTOCOL_VERSION,
            worker_id: WorkerId::new(mini.name).unwrap(),
            boot_id: BootId::new("boot-1").unwrap(),
            version: "0.1.0".into(),
            slots: 6,
            samplers: vec![Sampler::Flash],
            engine: "onnx-cpu".into(),
            labels: mini.labels.iter().map(|label| (*label).to_owned()).collect(),
            priority: mini.priority,
        }),
    );
    report(rig, connection, mini, slots);
}

fn report(rig: &mut Rig, connection: u64, mini: &Mini<'_>, slots: u32) {
    let link = LinkReport { upload_bytes_per_second: mini.upload_bytes_per_second, ..LinkReport::default() };
    let speed = SamplerSpeed { sampler: Sampler::Flash, audio_seconds_per_second: 35.0 };
    let held: Vec<RunningAttempt> = rig
        .scheduler
        .held_by(&WorkerId::new(mini.name).unwrap())
        .filter(|job| job.state.name() == "running")
        .map(|job| RunningAttempt { job_id: job.id.clone(), attempt: job.attempt })
        .collect();
    rig.now = TimestampMs(rig.now.0 + 10);
    let ready = Ready {
        slots,
        job_ids: held,
        backlog_seconds: mini.backlog_seconds,
        draining: false,
        speeds: vec![speed],
        link: Some(link),
    };
    rig.say(connection, WorkerMessage::Ready(ready));
}

fn minute() -> JobRequest {
    JobRequest { expected_seconds: Some(60), ..request() }
}

#[test]
fn the_slow_uplink_gets_nothing_while_the_fast_one_is_free() {
    // The fleet's gap: 50 MB/s and 4.5 MB/s looked equal on short files, so every other job went to the slow one.
    let mut rig = Rig::new();
    let slow = Mini { name: "slow", upload_bytes_per_second: 0.4e6, ..PLAIN };
    let fast = Mini { name: "fast", upload_bytes_per_second: 50.0e6, ..PLAIN };
    join(&mut rig, 1, &slow, 6);
    join(&mut rig, 2, &fast, 6);
    for _ in 0..4 {
        let job = rig.submit_as("acme", minute());
        assert_eq!(rig.take_offers(), vec![(2, job.clone(), 1)]);
        rig.accept(2, &job, 1);
    }
    let by_start = Config { policy: Policy::EarliestStart, ..Config::default() };
    let mut rig = Rig::with(by_start);
    join(&mut rig, 1, &slow, 6);
    join(&mut rig, 2, &fast, 6);
    let mut to_slow = 0;
    for _ in 0..4 {
        let job = rig.submit_as("acme", minute());
        let (connection, ..) = rig.take_offers().remove(0);
        rig.accept(connection, &job, 1);
        to_slow += usize::from(connection == 1);
        rig.pass(100);
    }
    assert_eq!(to_slow, 2, "the policy of the fleet sends it every other job");
}

#[test]
fn a_burst_between_two_reports_spreads_over_the_fleet() {
    let mut rig = Rig::with(Config { policy: Policy::EarliestStart, ..Config::default() });
    join(&mut rig, 1, &Mini { name: "a", ..PLAIN }, 6);
    join(&mut rig, 2, &Mini { name: "b", ..PLAIN }, 6);
    for _ in 0..6 {
        rig.submit_as("acme", JobRequest { expected_seconds: Some(1_200), ..request() });
    }
    let to_a = rig.take_offers().iter().filter(|offer| offer.0 == 1).count();
    assert_eq!(to_a, 3, "34 s of inference each: they must not pile up on one");
}

#[test]
fn what_a_report_cannot_have_included_is_added_until_one_can() {
    let mut rig = Rig::new();
    let mini = Mini { name: "a", ..PLAIN };
    join(&mut rig, 1, &mini, 6);
    let job = rig.submit_as("acme", JobRequest { expected_seconds: Some(350), ..request() });
    assert_eq!(rig.worker("a").backlog_seconds(), 10.0);
    rig.ping(1);
    assert_eq!(rig.worker("a").backlog_seconds(), 10.0, "this ping left before the offer arrived");
    rig.accept(1, &job, 1);
    rig.ping(1);
    assert_eq!(rig.worker("a").backlog_seconds(), 0.0, "this one counts it");
}

#[test]
fn a_reconnect_never_lowers_a_known_backlog() {
    let mut rig = Rig::new();
    let mini = Mini { name: "a", backlog_seconds: 80.0, ..PLAIN };
    join(&mut rig, 1, &mini, 6);
    rig.hello(2, "a");
    assert_eq!(rig.worker("a").backlog_seconds(), 80.0);
}

#[test]
fn among_equals_the_operators_preference_decides_then_who_was_idle_longest() {
    let mut rig = Rig::new();
    join(&mut rig, 1, &Mini { name: "a", ..PLAIN }, 6);
    join(&mut rig, 2, &Mini { name: "b", priority: 5, backlog_seconds: 9.0, ..PLAIN }, 6);
    let job = rig.submit();
    assert_eq!(rig.take_offers(), vec![(2, job.clone(), 1)]);
    let decision = rig.rows[&job].decision.clone().unwrap();
    assert_eq!((decision.decided_by, decision.considered), (DecidedBy::WorkerPriority, 2));
    assert_eq!(decision.candidates[0].worker.as_str(), "a", "the soonest first, chosen or not");
}

#[test]
fn a_job_that_asks_for_a_label_waits_for_a_worker_that_has_it() {
    let mut rig = Rig::new();
    join(&mut rig, 1, &PLAIN, 6);
    let job = rig.submit_as("acme", JobRequest { labels: vec!["studio".into()], ..request() });
    let other = rig.submit();
    assert_eq!(rig.take_offers(), vec![(1, other, 1)], "and stands in nobody's way");
    join(&mut rig, 2, &Mini { name: "studio-1", labels: &["studio"], ..PLAIN }, 1);
    assert_eq!(rig.take_offers(), vec![(2, job, 1)]);
}
