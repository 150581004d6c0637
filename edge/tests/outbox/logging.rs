//! What is kept of attempts: enough to say what a backend was sent, and bounded.

use super::rig::*;
use edge::outbox::EventKind::*;
use edge::outbox::*;
use shared_protocol::*;

/// An endpoint's log as the store has it, newest first: kind, attempt, how it ended.
fn log(rig: &Rig, endpoint: &str) -> Vec<(EventKind, u32, AttemptOutcome)> {
    let mut entries: Vec<&LogEntry> =
        rig.attempts.values().filter(|entry| entry.endpoint.as_str() == endpoint).collect();
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.sequence));
    entries.iter().map(|entry| (entry.kind, entry.attempt, entry.outcome.clone())).collect()
}

fn failed(failure: DeliveryFailure) -> AttemptOutcome {
    AttemptOutcome::Failed(failure)
}

#[test]
fn every_attempt_is_kept_with_its_time_and_outcome() {
    let mut rig = Rig::new(&["a"]);
    let event = rig.publish(1, Completed);
    let published = rig.now;
    rig.pass(DurationMs(40));
    rig.answer("a", status(503));
    rig.next_deadline();
    let second = rig.now;
    rig.answer("a", DeliveryOutcome::TimedOut);
    rig.next_deadline();
    rig.answer("a", DeliveryOutcome::NotConnected { detail: "refused".into() });
    rig.next_deadline();
    // Its shell forgets to tell.
    rig.pass(DELIVERY_LEASE);
    rig.sent.clear();
    rig.next_deadline();
    rig.pass(DurationMs(7));
    rig.answer("a", status(204));
    assert_eq!(
        log(&rig, "a"),
        [
            (Completed, 5, AttemptOutcome::Acknowledged(204)),
            (Completed, 4, failed(DeliveryFailure::NoOutcome)),
            (Completed, 3, failed(DeliveryFailure::NotConnected { detail: "refused".into() })),
            (Completed, 2, failed(DeliveryFailure::TimedOut)),
            (Completed, 1, failed(DeliveryFailure::Status { status: 503 })),
        ]
    );
    let entries: Vec<&LogEntry> = rig.attempts.values().collect();
    assert_eq!((entries[0].at, entries[0].duration), (published, DurationMs(40)));
    assert_eq!((entries[1].at, entries[1].duration), (second, DurationMs(0)));
    assert_eq!(entries[4].acknowledged_at(), Some(rig.now));
    assert!(entries.iter().all(|entry| entry.event.as_str() == event && entry.published_at == published));
}

#[test]
fn the_latest_attempts_take_the_place_of_the_oldest_also_after_a_restart() {
    let mut rig = Rig::new(&["a", "b"]);
    rig.publish(0, Failed);
    rig.drain();
    for n in 1..=250 {
        rig.publish(n, Completed);
        rig.drain();
        if n % 60 == 0 {
            rig.evict();
        }
    }
    for endpoint in ["a", "b"] {
        let sequences: Vec<u64> = rig
            .attempts
            .values()
            .filter(|entry| entry.endpoint.as_str() == endpoint)
            .map(|entry| entry.sequence)
            .collect();
        assert_eq!(sequences.len() as u64, LOG_LENGTH);
        assert_eq!((sequences.iter().min(), sequences.iter().max()), (Some(&52), Some(&251)));
    }
    rig.outbox.remove_endpoint(rig.now, &EndpointId::new("a").unwrap());
    rig.settle();
    assert!(log(&rig, "a").is_empty() && !log(&rig, "b").is_empty());
}

#[test]
fn progress_that_arrived_pushes_nothing_out_and_progress_that_did_not_is_kept() {
    let mut rig = Rig::new(&["a"]);
    rig.publish(1, Started);
    rig.drain();
    for _ in 0..3 {
        rig.publish(1, Progress);
        rig.drain();
    }
    rig.publish(1, Progress);
    rig.answer("a", status(500));
    assert_eq!(
        log(&rig, "a"),
        [
            (Progress, 1, failed(DeliveryFailure::Status { status: 500 })),
            (Started, 1, AttemptOutcome::Acknowledged(200)),
        ]
    );
}

#[test]
fn what_is_nobodys_webhook_and_what_an_operator_does_not_want_is_not_kept() {
    let mut outbox = Outbox::restore(
        OutboxConfig::default(),
        TimestampMs(0),
        vec![Endpoint::of_projects()],
        vec![],
        RowId(0),
    );
    let mut rig = Rig::with(OutboxConfig { keep_log: false, ..OutboxConfig::default() }, &["a"]);
    let event = Event { in_project: true, ..rig.event(1, Completed) };
    outbox.publish(rig.now, &event);
    let delivery = std::iter::from_fn(|| outbox.poll_effect()).find_map(|effect| match effect {
        Effect::Deliver(delivery) => Some(delivery.id),
        _ => None,
    });
    outbox.handle_delivered(rig.now, delivery.expect("the project is told"), ok());
    assert!(std::iter::from_fn(|| outbox.poll_effect()).all(|effect| !matches!(effect, Effect::Log(_))));

    rig.publish(1, Completed);
    rig.drain();
    assert!(rig.attempts.is_empty() && rig.rows.is_empty());
}
