//! What comes after a completion, and what comes twice.

use super::rig::*;
use shared_protocol::*;

fn completed(rig: &mut Rig) -> JobId {
    let job = rig.submit();
    rig.hello(1, "mini-1");
    rig.ready(1, 1, &[]);
    rig.accept(1, &job, 1);
    rig.complete(1, &job, 1);
    job
}

fn stems(job: &JobId, attempt: u32, message: &str) -> WorkerMessage {
    WorkerMessage::Stems(Stems {
        message_id: MessageId::new(message).unwrap(),
        job_id: job.clone(),
        attempt: Attempt(attempt),
        files: vec![StemFile { name: "speech.flac".into(), size: 1, sha256: "00".into() }],
        failure: None,
    })
}

#[test]
fn stems_follow_once_and_only_on_the_accepted_attempt() {
    let mut rig = Rig::new();
    let job = completed(&mut rig);
    rig.say(1, stems(&job, 7, "m1"));
    assert!(rig.follow_ups.is_empty(), "another attempt's stems are nobody's");
    rig.say(1, stems(&job, 1, "m2"));
    assert_eq!(rig.follow_ups[&job].stems.as_ref().unwrap().len(), 1);
    assert_eq!(rig.state(&job), "completed");
    assert_eq!(rig.acks(), 3);
}

#[test]
fn stems_still_follow_after_a_restart_but_not_after_their_window() {
    let mut rig = Rig::new();
    let job = completed(&mut rig);
    rig.evict(true);
    rig.pass(1_000);
    assert!(rig.scheduler.follow_up(&job).is_some());
    rig.pass(limits::STEMS_WINDOW.0);
    rig.hello(2, "mini-1");
    rig.say(2, stems(&job, 1, "m2"));
    assert!(rig.follow_ups.is_empty());
    assert_eq!(rig.acks(), 2, "acknowledged, so that the worker lets go of it");
}

#[test]
fn a_replayed_message_is_acknowledged_and_nothing_else() {
    let mut rig = Rig::new();
    let job = completed(&mut rig);
    let row = rig.rows[&job].clone();
    for _ in 0..3 {
        rig.complete(1, &job, 1);
    }
    rig.evict(true);
    rig.complete(1, &job, 1);
    assert_eq!(rig.rows[&job], row);
    assert_eq!(rig.acks(), 5);
    assert_eq!(rig.receipts.len(), 1);
}

#[test]
fn receipts_are_thrown_away_in_bounded_steps() {
    let mut rig = Rig::new();
    rig.hello(1, "mini-1");
    for n in 0..250 {
        rig.say(1, stems(&job_id(n), 1, &format!("m{n}")));
    }
    rig.evict(true);
    assert_eq!(rig.receipts.len(), 250);
    rig.pass(2 * 3_600_000);
    assert_eq!(rig.receipts.len(), 0);
}
