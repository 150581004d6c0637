//! What listeners are told, in which order, and that it costs nothing while there are none.

use edge::job_events;
use edge::outbox::signature::Secret;
use edge::outbox::{self, Endpoint, EndpointId, EventKind, Outbox, OutboxConfig};
use edge::scheduler::{Effect, JobChange, News};
use shared_protocol::*;

use super::rig::*;

fn listened() -> Rig {
    let mut rig = Rig::new();
    rig.scheduler.set_listened_to(true);
    rig.hello(1, "mini-1");
    rig.ready(1, 1, &[]);
    rig
}

impl Rig {
    /// What was announced since the last call: the change, and the job's state then.
    fn take_changes(&mut self) -> Vec<(JobChange, &'static str)> {
        let of = |news| match news {
            News::Job { change, job } => (change, job.state.name()),
            other => panic!("{other:?}"),
        };
        self.announced.drain(..).map(|announcement| of(announcement.news)).collect()
    }
}

#[test]
fn a_job_is_announced_from_its_queue_to_its_result() {
    let mut rig = listened();
    let job = rig.submit();
    rig.accept(1, &job, 1);
    rig.progress(1, &job, 1, segments(0..1));
    rig.complete(1, &job, 1);
    assert_eq!(
        rig.take_changes(),
        [
            (JobChange::Queued, "queued"),
            (JobChange::Started, "running"),
            (JobChange::PhaseChanged, "running"),
            (JobChange::Playable, "running"),
            (JobChange::Completed, "completed"),
        ]
    );
}

#[test]
fn segments_that_come_with_the_result_are_announced_before_it() {
    let mut rig = listened();
    let job = rig.submit();
    rig.accept(1, &job, 1);
    rig.take_changes();
    rig.say(
        1,
        WorkerMessage::Complete(Complete {
            message_id: MessageId::new("m").unwrap(),
            job_id: job,
            attempt: Attempt(1),
            segments: segments(0..3),
            outcome: outcome(),
        }),
    );
    let expected = [(JobChange::Playable, "running"), (JobChange::Completed, "completed")];
    assert_eq!(rig.take_changes(), expected);
}

#[test]
fn progress_within_a_phase_is_announced_every_few_seconds_only() {
    let mut rig = listened();
    let job = rig.submit();
    rig.accept(1, &job, 1);
    rig.progress(1, &job, 1, vec![]);
    rig.take_changes();
    for _ in 0..44 {
        rig.pass(250);
        rig.progress(1, &job, 1, vec![]);
    }
    assert_eq!(rig.take_changes(), [(JobChange::Progressed, "running"); 2], "11 s");
}

#[test]
fn an_attempt_that_failed_is_announced_as_waiting_again_and_an_offer_not_at_all() {
    let mut rig = listened();
    let job = rig.submit();
    rig.reject(1, &job, 1);
    rig.ready(1, 1, &[]);
    rig.accept(1, &job, 2);
    rig.fail(1, &job, 2, FailureCode::EngineFailed);
    let expected =
        [(JobChange::Queued, "queued"), (JobChange::Started, "running"), (JobChange::Queued, "queued")];
    assert_eq!(rig.take_changes(), expected);
}

#[test]
fn every_way_to_end_without_a_result_is_announced_and_so_is_an_operators_second_thought() {
    let mut rig = listened();
    let cancelled = rig.submit();
    rig.scheduler.cancel(rig.now, &cancelled);
    rig.settle();
    rig.cancelled(1, &cancelled, 1);
    rig.ready(1, 1, &[]);
    let failed = rig.submit();
    rig.accept(1, &failed, 1);
    rig.fail(1, &failed, 1, FailureCode::Undecodable);
    let row = rig.rows[&failed].clone();
    rig.scheduler.retry(rig.now, row).unwrap();
    rig.settle();
    let quarantined = rig.submit();
    let mut row = rig.rows[&quarantined].clone();
    row.state = edge::scheduler::JobState::Quarantined;
    rig.scheduler.discard(rig.now, row).unwrap();
    rig.settle();
    assert_eq!(
        rig.take_changes(),
        [
            (JobChange::Queued, "queued"),
            (JobChange::Cancelled, "cancelled"),
            (JobChange::Queued, "queued"),
            (JobChange::Started, "running"),
            (JobChange::Failed, "failed"),
            (JobChange::Queued, "queued"),
            (JobChange::Queued, "queued"),
            (JobChange::Failed, "failed"),
        ]
    );
}

#[test]
fn nothing_is_announced_while_nobody_listens() {
    let mut rig = Rig::new();
    rig.hello(1, "mini-1");
    rig.ready(1, 1, &[]);
    let job = rig.submit();
    rig.accept(1, &job, 1);
    rig.progress(1, &job, 1, segments(0..1));
    rig.complete(1, &job, 1);
    assert_eq!(rig.announced, []);
}

/// The outbox's rows after a whole job with stems and quality: kind and body.
fn told(kinds: Option<&[EventKind]>, tenant: Option<&str>) -> Vec<(EventKind, serde_json::Value)> {
    let mut outbox = Outbox::new(OutboxConfig::default());
    let endpoint = Endpoint {
        id: EndpointId::new("ep_1").unwrap(),
        tenant: tenant.map(|tenant| TenantId::new(tenant).unwrap()),
        url: "https://example.com/hook".into(),
        secrets: vec![Secret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap()],
        enabled: true,
        gone_at: None,
        kinds: kinds.map(|kinds| kinds.iter().copied().collect()),
    };
    outbox.set_endpoint(TimestampMs(0), endpoint).unwrap();
    let mut rig = listened();
    let job = rig.submit();
    rig.accept(1, &job, 1);
    rig.progress(1, &job, 1, segments(0..1));
    rig.complete(1, &job, 1);
    let message_id = |n| MessageId::new(format!("m{n}")).unwrap();
    let stem = StemFile { name: "speech.flac".into(), size: 1, sha256: "00".into() };
    let (job_id, attempt) = (job.clone(), Attempt(1));
    rig.say(
        1,
        WorkerMessage::Stems(Stems {
            message_id: message_id(1),
            job_id,
            attempt,
            files: vec![stem],
            failure: None,
        }),
    );
    let scores = QualityScores { scorer: "dnsmos".into(), original: 2.5, restored: 3.5, attempt };
    rig.say(1, WorkerMessage::Quality(Quality { message_id: message_id(2), job_id: job, scores }));
    let mut number = 0;
    for announcement in std::mem::take(&mut rig.announced) {
        let fresh = || {
            number += 1;
            number
        };
        job_events::publish(&mut outbox, rig.now, &[Effect::Announce(announcement)], fresh);
    }
    let mut rows = vec![];
    while let Some(effect) = outbox.poll_effect() {
        if let outbox::Effect::Insert { row, body } = effect {
            rows.push((row.kind, serde_json::from_str(&body).unwrap()));
        }
    }
    rows
}

#[test]
fn an_event_tells_the_job_as_it_was_and_whose_it_is() {
    let rows = told(None, Some("acme"));
    let kinds: Vec<EventKind> = rows.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(
        kinds,
        [
            EventKind::Queued,
            EventKind::Started,
            EventKind::PhaseChanged,
            EventKind::Playable,
            EventKind::Completed,
            EventKind::Stems,
            EventKind::Quality,
        ]
    );
    for (kind, body) in &rows {
        assert_eq!((&body["type"], &body["data"]["tenant"]), (&kind.name().into(), &"acme".into()), "{body}");
        assert_eq!(body["data"]["jobId"], "job_000001");
    }
    let data = |kind: EventKind| &rows.iter().find(|row| row.0 == kind).unwrap().1["data"];
    assert_eq!(data(EventKind::Queued)["job"]["state"], "queued");
    assert_eq!(data(EventKind::PhaseChanged)["job"]["phase"], "restoring");
    assert_eq!(data(EventKind::Completed)["job"]["progress"], 1.0);
    assert_eq!(data(EventKind::Stems)["stems"][0]["name"], "speech.flac");
    assert_eq!(data(EventKind::Quality)["quality"]["restored"], 3.5);
}

#[test]
fn an_endpoint_is_told_only_what_it_wants_of_whom_it_may_hear() {
    let kinds: Vec<EventKind> =
        told(Some(&[EventKind::Completed, EventKind::Failed]), None).iter().map(|row| row.0).collect();
    assert_eq!(kinds, [EventKind::Completed]);
    assert_eq!(told(None, Some("another")), []);
}
